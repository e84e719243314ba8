"""What --remove and --check have to know about an adoption: one JSON file in the repository, meant to be committed.

It names no machine and no path outside. Originals that may be private are kept beside it, git-ignored.
"""

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import Refused
from ..hooks import files as hook_files
from . import block
from .engine import COPY_OLD, COPY_PART, NAME
from .finding import BEFORE, settled
from .folder import PART, Folder

PATH = ".kaizen/adopted.json"
VERSION = 1  # one more when PLACES or FIELDS change: by it an older engine knows that it is the older one
LEFTOVERS = (BEFORE, COPY_PART, COPY_OLD, PART)  # beside the state file, git-ignored


@dataclass
class State:
    mode: str = ""
    hooks: list[str] = field(default_factory=list)
    vscode: bool = False
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)  # that adoption made

    def settled(self) -> "State":
        return replace(self, parts={path: settled(entry) for path, entry in self.parts.items()})

    def text(self) -> bytes:
        every = {"version": VERSION, **vars(self)}
        return (json.dumps(every, indent=2, ensure_ascii=False) + "\n").encode()


def read(folder: Folder) -> State | None:
    content = folder.read(PATH)
    if content is None:
        return None
    try:
        known = json.loads(content)
        version = known.pop("version")
        if type(version) is int and version > VERSION:
            raise _newer()
        if version in range(1, VERSION + 1) and _is_sound(known):
            sound = State(**known)
            sound.text()  # half a character is read from JSON, and cannot be written
            return sound
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        pass
    raise Refused(
        "state_unreadable",
        f"{PATH} is not what an adoption of this version wrote.",
        "It says how to take everything out again.",
        "Put it back from git. Is it lost? Move it away: --apply then finds what is there and writes it anew.",
    )


def _newer() -> Refused:
    return Refused(
        "state_newer",
        f"{PATH} was written by a newer engine than this one.",
        "So this one does not know all that was put here, nor how to take it out again.",
        "Update this engine (setup/install-kaizen does it), then run this again. Nothing was touched.",
    )


def _is_sound(known: dict[str, Any]) -> bool:
    """The file is committed, so anybody may have written it: it may name only what adoption itself makes."""
    places = {path for path in known["parts"] if not SKILL.fullmatch(path)}
    return (
        isinstance(known["folders"], list)
        and places | {*known["folders"]} <= PLACES
        and known.get("mode", "") in ("", "link", "copy")
        and isinstance(known.get("hooks", []), list)
        and all(host in hook_files.FILES for host in known.get("hooks", []))
        and isinstance(known.get("vscode", False), bool)
        and all(_is_entry(path, entry) for path, entry in known["parts"].items())
    )


def _is_entry(path: str, entry: dict[str, Any]) -> bool:
    """Has it all that --remove reads, and is it of a kind that can be in that place?"""
    kind = entry["kind"]
    if not all(isinstance(entry[name], kind_of) for name, kind_of in FIELDS[kind].items()):
        return False
    if kind == "lines":
        return entry["comment"] in block.COMMENTS and set(entry["glue"]) <= {"\r", "\n"}
    if kind == "hooks":
        return hook_files.FILES[entry["host"]] == path
    return (kind in ("link", "copy")) == (path == NAME) and (kind == "skill") == bool(SKILL.fullmatch(path))


def is_lost(folder: Folder) -> bool:
    """Our lines in .gitignore without a state file: what is as we would make it was made by us."""
    ignored = folder.read(".gitignore") or b""
    return not folder.is_there(PATH) and block.find(ignored, "ignore", ".gitignore") is not None


FIELDS: dict[str, dict[str, type]] = {
    "file": {"created": bool, "sha256": str},
    "lines": {"created": bool, "comment": str, "glue": str, "before_sha256": str},
    "hooks": {"created": bool, "host": str, "sha256": str},
    "copy": {"digest": str},
    "link": {},
    "skill": {},
}

PLACES = {
    "kaizen.py", "kaizen_components", "requirements-kaizen.txt", "AGENTS.md", "CLAUDE.md", ".gitignore", "evals",
    "evals/README.md", "evals/GOTCHA.md", "evals/LEARNING.md", "evals/LEARNED.md",
    ".claude", ".claude/settings.json", ".codex", ".codex/hooks.json", ".vscode",
    ".vscode/tasks.json", ".vscode/kaizen.code-snippets", ".kaizen", ".agents", ".agents/skills", ".claude/skills",
}  # fmt: skip
SKILL = re.compile(r"\.(?:agents|claude)/skills/[a-z0-9-]{1,64}")
