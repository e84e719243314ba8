"""The state file of an adoption, for --remove and --check: JSON, meant to be committed.

It lists the hash of each file that adoption wrote. It names no machine and no path outside.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from ...errors import Refused
from ..hooks.host_file import FILES as HOSTS
from .folder import Folder

PATH = ".kaizen/adopted.json"
# Where version 1 kept what it had replaced; git-ignored, as it may be private.
ORIGINALS = ".kaizen/before"
# One more when PLACES or SKILL change, so that an older engine can tell that it is older.
VERSION = 3
FILES = (
    "kaizen.py", "requirements-kaizen.txt", "Kaizen_System.md", "setup/SETUP.md", "evals/README.md", "evals/GOTCHA.md",
    "evals/LEARNING.md", "evals/LEARNED.md", ".vscode/tasks.json", ".vscode/kaizen.code-snippets",
)  # fmt: skip
PLACES = {  # path -> the kinds of part that may be there
    **dict.fromkeys(FILES, ("file",)),
    **dict.fromkeys((".gitignore", "AGENTS.md", "CLAUDE.md"), ("lines",)),
    **dict.fromkeys(HOSTS.values(), ("hooks",)),
    "kaizen_components": ("link", "copy"),
}
SKILL = re.compile(r"\.(?:agents|claude)/skills/[a-z0-9-]{1,64}")


@dataclass
class State:
    mode: str = ""
    hooks: list[str] = field(default_factory=list)
    vscode: bool = False
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def encode(self) -> bytes:
        return (json.dumps({"version": VERSION, **vars(self)}, indent=2) + "\n").encode()


def read_state(folder: Folder) -> State | None:
    content = folder.read(PATH)
    if content is None:
        return None
    try:
        known = json.loads(content)
        version = known["version"]
        if type(version) is int and version > VERSION:
            raise Refused(
                "state_newer",
                f"{PATH} was written by a newer engine than this one.",
                "This engine does not know everything that was added here.",
                "Update this engine with setup/install-agent-kaizen, then run this again.",
            )
        if version in (1, 2, 3):
            return _check_state(known)
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        pass
    raise Refused(
        "state_unreadable",
        f"{PATH} is not what an adoption of this version wrote.",
        "It says how to remove everything again.",
        "Restore it from git. If it is lost, delete it: --apply writes it anew from what is there.",
    )


def _check_state(known: dict[str, Any]) -> State:
    """Return the state. Anybody may have written the committed file, so it may name only what
    adoption makes."""
    hooks = [host for host in HOSTS if host in known["hooks"]]
    state = State(known["mode"], hooks, known["vscode"])
    if state.mode not in ("link", "copy") or type(state.vscode) is not bool:
        raise ValueError(known)
    if sorted(known["hooks"]) != hooks:
        raise ValueError(known)
    for path, entry in known["parts"].items():
        kind = entry["kind"]
        # Version 1 called the hash of a copy its digest.
        sha256 = entry.get("sha256", entry.get("digest", ""))
        kinds = ("skill",) if SKILL.fullmatch(path) else PLACES[path]
        if kind not in kinds or type(sha256) is not str:
            raise ValueError(entry)
        state.parts[path] = {"kind": kind, "sha256": sha256}
        if kind == "file":
            state.parts[path]["created"] = entry["created"] is True
    return state
