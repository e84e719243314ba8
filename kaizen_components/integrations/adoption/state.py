"""What --remove and --check have to know about an adoption: one JSON file in the repository, meant to be committed.

It names no machine and no path outside. Originals that may be private are kept beside it, git-ignored.
"""

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import Refused
from .engine import COPY_OLD, COPY_PART
from .finding import BEFORE, settled
from .folder import PART, Folder

PATH = ".kaizen/adopted.json"
VERSION = 1
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
        if known.pop("version") == VERSION and _is_sound(known):
            return State(**known)
    except (ValueError, AttributeError, KeyError, TypeError):
        pass
    raise Refused(
        "state_unreadable",
        f"{PATH} is not what an adoption of this version wrote.",
        "It says how to take everything out again.",
        "Put it back from git. Is it lost? Move it away: --apply then finds what is there and writes it anew.",
    )


def _is_sound(known: dict[str, Any]) -> bool:
    """The file is committed, so anybody may have written it: it may name only what adoption itself makes."""
    entries, skills = known["parts"].values(), {path for path in known["parts"] if SKILL.fullmatch(path)}
    return {*known["parts"], *known["folders"]} - skills <= PLACES and all(isinstance(one, dict) for one in entries)


PLACES = {
    "kaizen.py", "kaizen_components", "requirements-kaizen.txt", "AGENTS.md", "CLAUDE.md", ".gitignore", "evals",
    "evals/README.md", ".claude", ".claude/settings.json", ".codex", ".codex/hooks.json", ".vscode",
    ".vscode/tasks.json", ".vscode/kaizen.code-snippets", ".kaizen", ".agents", ".agents/skills", ".claude/skills",
}  # fmt: skip
SKILL = re.compile(r"\.(?:agents|claude)/skills/[a-z0-9-]{1,64}")
