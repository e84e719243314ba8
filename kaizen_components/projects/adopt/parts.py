"""Compare the files and links of an adoption with a repository; each step says what to do."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

from ...errors import Conflict
from ..hooks.host_file import FILES, HOOK_COMMAND, merge_hooks
from ..skills.links import make_link
from . import block
from .folder import Folder

# What the state file remembers of a part: its kind, and the hash of what was written.
Entry = dict[str, Any]
MERGES = {"lines": "append", "hooks": "merge"}


@dataclass(frozen=True)
class Step:
    """The state of a part in the repository, and what would be done about it."""

    path: str
    state: str  # ok, missing, outdated, changed (by the user), yours (and left alone)
    says: str
    action: str = ""  # what --apply does; empty for nothing
    entry: Entry = field(default_factory=dict)
    do: Callable[[], None] | None = None
    needs_git: bool = False  # git has to be able to undo it: the file is not as adoption left it


def hash_text(content: bytes) -> str:
    """Return the hash with plain newlines, because git on Windows may check a file out with
    others."""
    return sha256(use_plain_newlines(content)).hexdigest()


def use_plain_newlines(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


def decode_utf8(content: bytes, path: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        what = f"{path} is not UTF-8."
        raise Conflict("not_text", what, "", "Save it as UTF-8, then run this again.") from None


class Plan:
    """The steps of an adoption. Nothing is touched until somebody calls their `do`."""

    def __init__(self, folder: Folder, entries: dict[str, Entry]):
        self.folder = folder
        self.entries = entries  # of the state file
        self.steps: list[Step] = []

    def add_file(
        self,
        path: str,
        content: bytes,
        says: str,
        *,
        mark: bytes = b"",
        is_executable: bool = False,
        is_seed: bool = False,
        to_add: str = "",
    ) -> None:
        """Plan a file that is ours alone. One that the user changed stays.

        A file of an older Kaizen, known by its `mark`, may be replaced. A seed is the user's once
        it is there. With `to_add`, a file of the user's own stays, and this says what to add.
        """
        found, entry = self.folder.read(path), self.entries.get(path, {})
        there = found or b""
        is_ours = use_plain_newlines(there) == content
        ours = {"kind": "file", "sha256": hash_text(content), "created": entry.get("created", True)}
        theirs = {"kind": "file", "sha256": "", "created": False}

        def write() -> None:
            self.folder.write(path, content, is_executable)

        if found is None and not (is_seed and entry):
            step = Step(path, "missing", says, "create", ours, write)
        elif is_seed:
            step = Step(path, "ok", says, entry=entry or (ours if is_ours else theirs))
        elif is_ours:
            step = Step(path, "ok", says, entry=ours)
        elif hash_text(there) == entry.get("sha256"):
            step = Step(path, "outdated", f"{says}, of this engine", "update", ours, write)
        elif entry:
            changed = "you changed it, so it stays; delete it to get ours again"
            step = Step(path, "changed", changed, entry=entry)
        elif mark and mark in there:
            replaced = f"{says}; the one that is there stays in git's history"
            entry = {**ours, "created": False}
            step = Step(path, "outdated", replaced, "replace", entry, write, needs_git=True)
        elif to_add:
            step = Step(path, "yours", f"is yours and stays; {to_add}")
        else:
            raise Conflict(
                "name_taken",
                f"{path} is there already, and it is not Kaizen's.",
                f"Adoption needs that name for {says}.",
                "Rename yours, then run this again. Nothing was changed.",
            )
        self.steps.append(step)

    def add_lines(self, path: str, lines: bytes, says: str, twin: str = "") -> None:
        """Plan our lines in a file of the user's; none in a link to its `twin`, which has them."""
        place = self.folder.path(path)
        if twin and os.path.islink(place) and os.path.realpath(place) == self.folder.path(twin):
            self.steps.append(Step(path, "ok", f"is a link to {twin}, which has the lines"))
            return
        there = self.folder.read(path) or b""
        if b"\0" in there:
            what = f"{path} holds NUL bytes: lines cannot be added to it."
            raise Conflict("not_text", what, "", "Save it as UTF-8.")
        merged = block.put_block(there, lines, path)
        self._add_merge(path, "lines", says, there, merged, b"kaizen:begin" in there)

    def add_hooks(self, host: str) -> None:
        """Plan our entries in the file from which an agent host reads its hooks."""
        path, says = FILES[host], f"hooks for {host}: session start, after a command, stop"
        there = self.folder.read(path) or b""
        text = decode_utf8(there, path) if there else None
        merged = merge_hooks(text, host, HOOK_COMMAND).encode()
        self._add_merge(path, "hooks", says, there, merged, b"kaizen.py" in there)

    def _add_merge(
        self, path: str, kind: str, says: str, there: bytes, merged: bytes, is_known: bool
    ) -> None:
        entry = self.entries.get(path, {})
        if merged == there:
            step = Step(path, "ok", says, entry=entry or {"kind": kind, "sha256": ""})
        else:
            state, action = "missing", "create" if not there else MERGES[kind]
            if is_known:
                state, action = "outdated", "update"
            needs_git = there != b"" and hash_text(there) != entry.get("sha256")
            ours = {"kind": kind, "sha256": hash_text(merged)}
            write = partial(self.folder.write, path, merged)
            step = Step(path, state, says, action, ours, write, needs_git)
        self.steps.append(step)

    def add_skill(self, path: str, target: str | None) -> None:
        """Plan a link to a skill of an outside store: a new one to `target`, or one that was made
        before.

        The state does not name the store, whose path is of one machine; a lost link is only named.
        """
        entry = self.entries.get(path) or {"kind": "skill", "sha256": ""}
        if target is not None:
            self.folder.require_own(os.path.dirname(path))
            says = f"a link to the skill {os.path.basename(path)}"
            make = partial(make_link, target, self.folder.path(path))
            step = Step(path, "missing", says, "link", entry, make)
        elif self.folder.link_target(path) is not None:
            step = Step(path, "ok", "a link to a skill", entry=entry)
        elif self.folder.is_there(path):
            step = Step(
                path, "yours", "is yours and stays; there was a link to a skill", entry=entry
            )
        else:
            says = "a link to a skill; --skills with its store makes it again"
            step = Step(path, "missing", says, entry=entry)
        self.steps.append(step)
