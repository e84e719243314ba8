"""The files of an adoption: each compares itself with what is there, and says what it would do."""

import os
from dataclasses import replace
from typing import Any

from ...errors import Conflict
from ..hooks import files as hook_files
from . import block
from .finding import Finding, hash_of, kept_name, settled, unix
from .folder import Folder, is_link
from .state import is_lost

Entry = dict[str, Any]


class OwnFile:
    """A file that is ours alone. One that the user changed stays; one that never was ours is not overwritten."""

    def __init__(self, path: str, content: bytes, says: str, known_by: bytes = b"", executable: bool = False):
        self.path = path
        self.content = content
        self.says = says
        self.known_by = known_by  # what a file of Kaizen has, from before there was an adoption; it may be replaced
        self.executable = executable

    def look(self, folder: Folder, entry: Entry) -> Finding:
        there = folder.read(self.path)
        new = {"kind": "file", "created": True, "sha256": hash_of(self.content)}
        if there is None:
            return self._found("missing", "create", self.says, new, folder, None)
        known = {**new, **_kept_facts(entry)}
        if unix(there) == self.content:
            theirs = not entry and not is_lost(folder)
            return Finding(self.path, "ok", self.says, entry={**known, **_before(there)} if theirs else known)
        if hash_of(unix(there)) in (entry.get("sha256"), entry.get("was")):
            known["was"] = hash_of(unix(there))
            keep = there if known["was"] == known.get("before_sha256") else None  # identical until now, so still theirs
            return self._found("outdated", "update", f"{self.says}, of this engine", known, folder, there, keep)
        if entry and folder.read(kept_name(self.path)) != there:
            says = "you changed it, so it stays; delete it to get ours again"
            return Finding(self.path, "changed", says, entry=entry)
        if entry or (self.known_by and self.known_by in there):
            says = f"{self.says}; the one that is there is kept in case of --remove"
            return self._found("outdated", "replace", says, {**known, **_before(there)}, folder, there, there)
        return self.foreign()

    def foreign(self) -> Finding:
        raise Conflict(
            "name_taken",
            f"{self.path} is there already, and it is not Kaizen's.",
            f"Adoption needs that name for {self.says}.",
            "Rename yours, then run this again. Nothing was touched.",
        )

    def _found(self, state, action, says, entry, folder, expected, keep=None):
        def do():
            folder.write(self.path, self.content, expected, self.executable)

        return Finding(self.path, state, says, action, entry, keep, do)


def _before(there: bytes) -> Entry:
    """What an entry says of a file that was there before us: by the hash it is known when nothing is left to undo."""
    return {"created": False, "before_sha256": hash_of(unix(there))}


def _kept_facts(entry: Entry) -> Entry:
    """What an update does not change: how it began."""
    return {name: entry[name] for name in ("created", "before_sha256") if name in entry}


class SharedFile(OwnFile):
    """A file that people have of their own, such as tasks.json: theirs stays, and they are told what they could add."""

    def __init__(self, path: str, content: bytes, says: str, to_add: str):
        super().__init__(path, content, says)
        self.to_add = to_add

    def foreign(self) -> Finding:
        return Finding(self.path, "yours", f"is yours and stays; {self.to_add}")


class Seed(OwnFile):
    """A first file that is the user's from then on, also to delete."""

    def look(self, folder: Folder, entry: Entry) -> Finding:
        if folder.read(self.path) is None and (not entry or "was" in entry):
            found = super().look(folder, {})
            return replace(found, entry={**found.entry, "was": ""})  # until it is made: one that is killed owes it
        theirs = {"kind": "file", "created": False, "sha256": ""}
        return Finding(self.path, "ok", self.says, entry=settled(entry) or theirs)


class Lines:
    """Our lines in the user's file, between markers."""

    def __init__(self, path: str, lines: bytes, comment: str, says: str, twin: str = ""):
        self.path = path
        self.lines = lines
        self.comment = comment
        self.says = says
        self.twin = twin  # CLAUDE.md is often a link to AGENTS.md: then one block is enough

    def look(self, folder: Folder, entry: Entry) -> Finding:
        if self.twin and _leads_to(folder, self.path, self.twin):
            return Finding(self.path, "ok", f"is a link to {self.twin}, which has the lines")
        there = folder.read(self.path)
        if there is not None and b"\0" in there:
            raise Conflict(
                "not_text", f"{self.path} holds NUL bytes: lines cannot be added to it.", "", "Save it as UTF-8."
            )
        old = block.find(there or b"", self.comment, self.path)
        content, glue = block.put(there or b"", self.comment, self.lines, self.path)
        if old is None:
            known = {"kind": "lines", "comment": self.comment, "created": there is None, "glue": glue.decode()}
            known["before_sha256"] = hash_of(there or b"")
            action, says = ("create", self.says) if there is None else ("append", f"{self.says}; the rest stays yours")
            return self._found("missing", action, says, known, folder, there, content)
        known = entry or self._known_without_state(there or b"", old)
        if content == there:
            return Finding(self.path, "ok", self.says, entry=known)
        edited = block.version_of(old.lines) != old.version
        says = "the lines between the markers were edited" if edited else f"{self.says}, of this engine"
        return self._found("changed" if edited else "outdated", "update", says, known, folder, there, content)

    def _known_without_state(self, there, old):
        """The state file is lost: a file that has only our lines was made by us."""
        alone = old.start == 0 and old.end == len(there)
        head = hash_of(there[: old.start])
        return {"kind": "lines", "comment": self.comment, "created": alone, "glue": "", "before_sha256": head}

    def _found(self, state, action, says, entry, folder, expected, content):
        return Finding(
            self.path, state, says, action, entry, do=lambda: folder.write(self.path, content, expected)
        )  # fmt: skip


def _leads_to(folder, path, twin):
    return is_link(folder.path(path)) and os.path.realpath(folder.path(path)) == folder.path(twin)


class Hooks:
    """Our entries in the file that an agent host reads its hooks from."""

    def __init__(self, host: str):
        self.host = host
        self.path = hook_files.FILES[host]
        self.says = f"hooks for {host}: session start, after a command, stop"

    def look(self, folder: Folder, entry: Entry) -> Finding:
        there = folder.read(self.path)
        try:
            text = None if there is None else there.decode()
        except UnicodeDecodeError:
            raise Conflict(
                "not_text", f"{self.path} is not UTF-8.", "", "Save it as UTF-8, then run this again."
            ) from None
        content = hook_files.merged(text, self.host, hook_files.HOOK_COMMAND).encode()
        known = {"kind": "hooks", "host": self.host, "created": there is None, "sha256": hash_of(content)}
        if content == there:
            found_again = {**known, **_mixed({})} if is_lost(folder) else {}  # else they wrote it, and it stays
            return Finding(self.path, "ok", self.says, entry=entry or found_again)
        had = text is not None and hook_files.without(text, self.host) != text
        if there is not None:
            known.update(_updated(entry, hash_of(there)) if had else {"before_sha256": hash_of(there)})
        keep = there if there is not None and not had else None
        action, state = ("update", "outdated") if had else ("merge" if there is not None else "create", "missing")
        return Finding(
            self.path, state, self.says, action, known, keep, lambda: folder.write(self.path, content, there)
        )  # fmt: skip


def _updated(entry: Entry, there_sha256: str) -> Entry:
    """What stays true of a file when our entries in it are renewed."""
    if entry and there_sha256 in (entry["sha256"], entry.get("was")):
        return {**_kept_facts(entry), "was": there_sha256}
    return _mixed(entry)


def _mixed(entry: Entry) -> Entry:
    """Others wrote to it since: no hash, so --remove cuts our entries out and never puts an older file in its place."""
    return {"created": entry.get("created", False), "sha256": ""}
