"""Read and write the state file of an adoption, which --check and --remove use.

It is JSON and should be committed. It has the hash of each file that adoption wrote, and no path
outside of the repository.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from ...errors import Refused
from ..hooks.host_file import FILES as HOSTS
from .folder import Folder

PATH = ".kaizen/adopted.json"
# Version 1 kept the files that it replaced here. Git ignores them, because they may be private.
ORIGINALS = ".kaizen/before"
# Increase it when PLACES or SKILL change, so that an older engine refuses a newer file.
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
    """Return the state of an adoption, or None without a file; refuse an invalid or newer one."""
    content = folder.read(PATH)
    if content is None:
        return None
    try:
        fields = json.loads(content)
        version = fields["version"]
        if type(version) is int and version > VERSION:
            raise Refused(
                "state_newer",
                f"{PATH} was written by a newer engine than this one.",
                "This engine does not know all parts that the newer one added.",
                "Update this engine with setup/install-agent-kaizen, then run this again.",
            )
        if version in (1, 2, 3):
            return _check_state(fields)
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        pass
    raise Refused(
        "state_unreadable",
        f"{PATH} is not a valid state file of an adoption.",
        "Without it, --check and --remove do not know which files are from Kaizen.",
        "Restore it from git, or delete it and let --apply create a new one.",
    )


def _check_state(fields: dict[str, Any]) -> State:
    """Return the state; raise ValueError or KeyError if it names a part that adoption never makes.

    The file is committed, so it may come from somebody else.
    """
    hooks = [host for host in HOSTS if host in fields["hooks"]]
    state = State(fields["mode"], hooks, fields["vscode"])
    if state.mode not in ("link", "copy") or type(state.vscode) is not bool:
        raise ValueError(fields)
    if sorted(fields["hooks"]) != hooks:
        raise ValueError(fields)
    for path, entry in fields["parts"].items():
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
