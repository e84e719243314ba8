"""What one part of an adoption looks like in the repository, and what would be done about it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

# What a file of the user's was before we changed it, and where links lead: git-ignored, as it may be private and is
# true on one machine only.
BEFORE = ".kaizen/before"


@dataclass(frozen=True)
class Finding:
    path: str
    state: str  # ok, missing, outdated, changed (by the user), yours (and left alone)
    says: str
    action: str = ""  # what --apply does; empty for nothing
    entry: dict[str, Any] = field(default_factory=dict)  # what --remove has to know
    keep: bytes | None = None  # what was there (of a skill's link, where ours leads), to be kept first
    do: Callable[[], None] | None = None


@dataclass(frozen=True)
class Removal:
    path: str
    action: str  # remove, restore, cut (only our lines), leave
    says: str
    do: Callable[[], None] | None = None


def settled(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry once its file is written: `was` is what stands there until then, empty for nothing."""
    return {name: value for name, value in entry.items() if name != "was"}


def kept_name(path: str) -> str:
    return f"{BEFORE}/{path.replace('/', '__')}"


def hash_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def unix(content: bytes) -> bytes:
    """With plain newlines: git on Windows may check a file out with others, and that is no change of anybody's."""
    return content.replace(b"\r\n", b"\n")
