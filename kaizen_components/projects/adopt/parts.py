"""The files and links of an adoption: each compares itself with what is there, and says what it would do."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from ...errors import Conflict
from ..hooks import host_file as hook_files
from ..skills import links
from . import block
from .folder import Folder

Entry = dict[
    str, Any
]  # what the state file remembers of a part: its kind, and the hash of what was written


@dataclass(frozen=True)
class Step:
    """What a part is like in the repository, and what would be done about it."""

    path: str
    state: str  # ok, missing, outdated, changed (by the user), yours (and left alone)
    says: str
    action: str = ""  # what --apply does; empty for nothing
    entry: Entry = field(default_factory=dict)
    do: Callable[[], None] | None = None
    needs_git: bool = False  # it changes a file that is not as adoption left it, so git has to be able to undo that


def hash_of(content: bytes) -> str:
    """Return the hash with plain newlines: git on Windows may check a file out with others, and that is no change."""
    return sha256(unix(content)).hexdigest()


def unix(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


@dataclass(frozen=True)
class OwnFile:
    """A file that is ours alone. One that the user changed stays; one that is not ours is not overwritten."""

    path: str
    content: bytes
    says: str
    known_by: bytes = (
        b""  # what a file of Kaizen has, from before there was an adoption; it may be replaced
    )
    is_executable: bool = False
    is_seed: bool = (
        False  # once it is made, or one of theirs is there, it is the user's, also to delete
    )
    to_add: str = (
        ""  # people have a file of their own there, which stays; this is what they could add
    )

    def look(self, folder: Folder, entry: Entry) -> Step:
        there = folder.read(self.path)
        if there is None and not (self.is_seed and entry):
            return self._write(folder, "missing", "create", self.says)
        if there is None or self.is_seed:
            is_ours = unix(there or b"") == self.content
            return Step(
                self.path,
                "ok",
                self.says,
                entry=entry or self._entry(self.content if is_ours else b"", is_ours),
            )
        if unix(there) == self.content:
            return Step(
                self.path, "ok", self.says, entry=self._entry(there, entry.get("created", True))
            )
        if hash_of(there) == entry.get("sha256"):
            return self._write(
                folder, "outdated", "update", f"{self.says}, of this engine", entry["created"]
            )
        if entry:
            return Step(
                self.path,
                "changed",
                "you changed it, so it stays; delete it to get ours again",
                entry=entry,
            )
        if self.known_by and self.known_by in there:
            says = f"{self.says}; the one that is there stays in git's history"
            return self._write(folder, "outdated", "replace", says, created=False, needs_git=True)
        if self.to_add:
            return Step(self.path, "yours", f"is yours and stays; {self.to_add}")
        raise Conflict(
            "name_taken",
            f"{self.path} is there already, and it is not Kaizen's.",
            f"Adoption needs that name for {self.says}.",
            "Rename yours, then run this again. Nothing was touched.",
        )

    def _entry(self, content: bytes, created: bool) -> Entry:
        return {"kind": "file", "sha256": hash_of(content) if content else "", "created": created}

    def _write(self, folder, state, action, says, created=True, needs_git=False):
        def do():
            folder.write(self.path, self.content, self.is_executable)

        return Step(
            self.path, state, says, action, self._entry(self.content, created), do, needs_git
        )


@dataclass(frozen=True)
class SharedFile:
    """A file of the user's with something of ours in it."""

    path: str
    kind: str
    says: str
    mark: bytes  # by which our part in it is known
    merge: Callable[[bytes | None], bytes]  # the whole file as it should be
    twin: str = ""  # CLAUDE.md is often a link to AGENTS.md: then one block is enough

    def look(self, folder: Folder, entry: Entry) -> Step:
        place = folder.path(self.path)
        if (
            self.twin
            and os.path.islink(place)
            and os.path.realpath(place) == folder.path(self.twin)
        ):
            return Step(self.path, "ok", f"is a link to {self.twin}, which has the lines")
        there = folder.read(self.path)
        content = self.merge(there)
        if content == there:
            return Step(
                self.path, "ok", self.says, entry=entry or {"kind": self.kind, "sha256": ""}
            )
        known = {"kind": self.kind, "sha256": hash_of(content)}
        state, action = (
            "missing",
            {"lines": "append", "hooks": "merge"}[self.kind] if there else "create",
        )
        if self.mark in (there or b""):
            state, action = "outdated", "update"
        needs_git = bool(there) and hash_of(there or b"") != entry.get("sha256")
        return Step(
            self.path,
            state,
            self.says,
            action,
            known,
            lambda: folder.write(self.path, content),
            needs_git,
        )


def lines(path: str, content: bytes, says: str, twin: str = "") -> SharedFile:
    """Our lines in the user's file, between markers."""

    def merge(there: bytes | None) -> bytes:
        if b"\0" in (there or b""):
            raise Conflict(
                "not_text",
                f"{path} holds NUL bytes: lines cannot be added to it.",
                "",
                "Save it as UTF-8.",
            )
        return block.put(there or b"", content, path)

    return SharedFile(path, "lines", says, b"kaizen:begin", merge, twin)


def hooks(host: str) -> SharedFile:
    """Our entries in the file that an agent host reads its hooks from."""
    path = hook_files.FILES[host]

    def merge(there: bytes | None) -> bytes:
        return hook_files.merge_hooks(
            utf8(there, path) if there else None, host, hook_files.HOOK_COMMAND
        ).encode()

    return SharedFile(
        path,
        "hooks",
        f"hooks for {host}: session start, after a command, stop",
        b"kaizen.py",
        merge,
    )


def utf8(content: bytes, path: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        what = f"{path} is not UTF-8."
        raise Conflict("not_text", what, "", "Save it as UTF-8, then run this again.") from None


@dataclass(frozen=True)
class SkillLink:
    """A link to a skill of an outside store: to be made when it has a target, else one that was made before.

    Which store it came from is nowhere in the state, as that path is of one machine; so a lost link is only named.
    """

    path: str
    target: str | None

    def look(self, folder: Folder, entry: Entry) -> Step:
        entry = entry or {"kind": "skill", "sha256": ""}
        if self.target is not None:
            folder.require_own(os.path.dirname(self.path))
            says = f"a link to the skill {os.path.basename(self.path)}"
            return Step(self.path, "missing", says, "link", entry, lambda: self._make(folder))
        if folder.link_target(self.path) is not None:
            return Step(self.path, "ok", "a link to a skill", entry=entry)
        if folder.is_there(self.path):
            return Step(
                self.path, "yours", "is yours and stays; there was a link to a skill", entry=entry
            )
        return Step(
            self.path,
            "missing",
            "a link to a skill; --skills with its store makes it again",
            entry=entry,
        )

    def _make(self, folder: Folder) -> None:
        assert self.target
        links.make_link(self.target, folder.path(self.path))
