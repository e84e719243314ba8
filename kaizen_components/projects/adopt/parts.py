"""Compare the parts of an adoption with a repository, and plan a step for each."""

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

# The entry of a part in the state file: its kind, and the hash of what was written.
Entry = dict[str, Any]
MERGES = {"lines": "append", "hooks": "merge"}


@dataclass(frozen=True)
class Step:
    """The state of one part in the repository, and what --apply would do to it."""

    path: str
    state: str  # ok, missing, outdated, changed (by the user), yours (the user's own file)
    says: str
    action: str = ""  # what --apply does; empty for nothing
    entry: Entry = field(default_factory=dict)
    do: Callable[[], None] | None = None
    needs_git: bool = False  # git must have the file, because adoption did not write its content


def hash_text(content: bytes) -> str:
    """Return the hash with LF line ends, because git on Windows may check files out with CRLF."""
    return sha256(use_plain_newlines(content)).hexdigest()


def use_plain_newlines(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


def decode_utf8(content: bytes, path: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        what = f"{path} is not UTF-8."
        raise Conflict(
            "not_text",
            what,
            "Kaizen can change the file only as text.",
            "Save it as UTF-8, then run this again.",
        ) from None


class Plan:
    """The steps of an adoption. Nothing changes until the `do` of a step is called."""

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
        """Plan a file that belongs to Kaizen. If the user changed it, it stays.

        A file of an older Kaizen is recognized by `mark` and may be replaced. A seed belongs to the
        user once it exists. A user's own file stays if `to_add` says what the user may add to it;
        otherwise raise Conflict.
        """
        file_content, entry = self.folder.read(path), self.entries.get(path, {})
        old_content = file_content or b""
        is_ours = use_plain_newlines(old_content) == content
        our_entry = {
            "kind": "file",
            "sha256": hash_text(content),
            "created": entry.get("created", True),
        }
        their_entry = {"kind": "file", "sha256": "", "created": False}

        def write() -> None:
            self.folder.write(path, content, is_executable)

        if file_content is None and not (is_seed and entry):
            step = Step(path, "missing", says, "create", our_entry, write)
        elif is_seed:
            step = Step(path, "ok", says, entry=entry or (our_entry if is_ours else their_entry))
        elif is_ours:
            step = Step(path, "ok", says, entry=our_entry)
        elif hash_text(old_content) == entry.get("sha256"):
            step = Step(path, "outdated", f"{says}, as in this engine", "update", our_entry, write)
        elif entry:
            advice = "you changed it, so it stays; delete it to get a new one"
            step = Step(path, "changed", advice, entry=entry)
        elif mark and mark in old_content:
            description = f"{says}; the present file stays in git's history"
            entry = {**our_entry, "created": False}
            step = Step(path, "outdated", description, "replace", entry, write, needs_git=True)
        elif to_add:
            step = Step(path, "yours", f"is yours and stays; {to_add}")
        else:
            raise Conflict(
                "name_taken",
                f"{path} already exists, and it is not from Kaizen.",
                f"Adoption needs that name for {says}.",
                "Rename your file, then run this again. Nothing was changed.",
            )
        self.steps.append(step)

    def add_lines(self, path: str, lines: bytes, says: str, twin: str = "") -> None:
        """Plan our lines in a user's file, unless it is a link to `twin`, which gets the lines."""
        place = self.folder.path(path)
        if twin and os.path.islink(place) and os.path.realpath(place) == self.folder.path(twin):
            self.steps.append(Step(path, "ok", f"is a link to {twin}, which has the lines"))
            return
        old_content = self.folder.read(path) or b""
        if b"\0" in old_content:
            what = f"{path} contains NUL bytes, so lines cannot be added to it."
            raise Conflict(
                "not_text",
                what,
                "Lines can be added only to a text file.",
                "Save it as UTF-8, then run this again.",
            )
        new_content = block.put_block(old_content, lines, path)
        self._add_merge(
            path, "lines", says, old_content, new_content, b"kaizen:begin" in old_content
        )

    def add_hooks(self, host: str) -> None:
        """Plan our entries in the settings file of an agent host."""
        path, says = FILES[host], f"hooks for {host}: session start, after each command, stop"
        old_content = self.folder.read(path) or b""
        text = decode_utf8(old_content, path) if old_content else None
        new_content = merge_hooks(text, host, HOOK_COMMAND).encode()
        self._add_merge(path, "hooks", says, old_content, new_content, b"kaizen.py" in old_content)

    def _add_merge(
        self,
        path: str,
        kind: str,
        says: str,
        old_content: bytes,
        new_content: bytes,
        has_our_part: bool,
    ) -> None:
        """Add the step for a user's file that contains our part; `merged` is its new content."""
        entry = self.entries.get(path, {})
        if new_content == old_content:
            step = Step(path, "ok", says, entry=entry or {"kind": kind, "sha256": ""})
        else:
            state, action = "missing", "create" if not old_content else MERGES[kind]
            if has_our_part:
                state, action = "outdated", "update"
            needs_git = old_content != b"" and hash_text(old_content) != entry.get("sha256")
            our_entry = {"kind": kind, "sha256": hash_text(new_content)}
            write = partial(self.folder.write, path, new_content)
            step = Step(path, state, says, action, our_entry, write, needs_git)
        self.steps.append(step)

    def add_skill(self, path: str, target: str | None) -> None:
        """Plan a link to the skill at `target`; if it is None, check a link of an earlier adoption.

        A missing old link is only reported: the state file does not name the store, because
        its path differs between machines.
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
                path, "yours", "is yours and stays; it replaced a link to a skill", entry=entry
            )
        else:
            says = "a link to a skill; --skills STORE creates it again"
            step = Step(path, "missing", says, entry=entry)
        self.steps.append(step)
