"""The engine itself in the repository: a link that is never committed, or a copy that is."""

import os
import shutil
from typing import Any

from ...errors import Conflict
from . import engine
from .finding import Finding
from .folder import Folder, is_link, problem, target
from .state import is_lost

Entry = dict[str, Any]


class EnginePart:
    path = engine.NAME

    def __init__(self, mode: str):
        self.mode = mode

    def look(self, folder: Folder, entry: Entry) -> Finding:
        path = folder.path(self.path)
        if not os.path.lexists(path):
            return self._found("missing", folder)
        if is_link(path):
            return self._beside_link(folder, entry, path)
        if os.path.realpath(path) == engine.PACKAGE:  # the copy itself runs: there is nothing to compare it with
            return Finding(self.path, "ok", "the copy that runs", entry=entry)
        there = engine.digest(path)
        if entry.get("kind") != "copy" and there != entry.get("was"):
            raise Conflict(
                "name_taken",
                f"{self.path} is there already, and adoption did not put it there.",
                "It would be replaced by the engine.",
                "Move it away, then run this again. Nothing was touched.",
            )
        return self._beside_copy(folder, entry, there)

    def _beside_link(self, folder, entry, path):
        keep = None if entry else os.fsencode(target(path))
        if self.mode == "link" and os.path.realpath(path) == engine.PACKAGE:
            keep = None if is_lost(folder) else keep  # else it was made by hand, and --remove is to leave it
            return Finding(self.path, "ok", f"-> {target(path)}", entry=entry or {"kind": "link"}, keep=keep)
        return self._found("outdated", folder, keep)

    def _beside_copy(self, folder, entry, there):
        if self.mode == "copy" and there == engine.digest(engine.PACKAGE):
            return Finding(self.path, "ok", "a copy of this engine", entry=entry)
        if there not in (entry.get("digest"), entry.get("was")):
            return Finding(
                self.path, "changed", "you changed the copy, so it stays; delete it to get ours", entry=entry
            )
        return self._found("outdated", folder, was=there)

    def _found(self, state, folder, keep=None, was=None):
        if self.mode == "link":
            to = engine.link_target(folder.root)
            says, known = f"-> {to}; never committed", {"kind": "link"}
        else:
            says, known = (
                "a copy of the engine, to be committed",
                {"kind": "copy", "digest": engine.digest(engine.PACKAGE)},
            )
        known = {**known, "was": was} if was else known
        action = self.mode if state == "missing" else f"{self.mode} anew"
        return Finding(self.path, state, says, action, known, keep, lambda: self._put(folder))

    def _put(self, folder: Folder) -> None:
        path, part = folder.path(self.path), folder.path(engine.COPY_PART)
        try:
            if self.mode == "copy":
                clear(part)
                engine.copy_to(part)
            take_away(folder)
            if self.mode == "copy":
                os.rename(part, path)
            else:
                engine.make_link(path, engine.link_target(folder.root))
        except OSError as error:
            raise problem(self.path, error) from None


def clear(part: str) -> None:
    """What one that was killed left there: a part of a copy, or a link."""
    if is_link(part):
        engine.remove_link(part)
    else:
        shutil.rmtree(part, ignore_errors=True)


def take_away(folder: Folder) -> None:
    """The link, or the copy that was found to be ours."""
    path, old = folder.path(engine.NAME), folder.path(engine.COPY_OLD)
    if is_link(path):
        engine.remove_link(path)
    elif os.path.isdir(path):
        shutil.rmtree(old, ignore_errors=True)
        os.rename(path, old)  # first away as a whole: one that is killed here leaves no half of an engine
        shutil.rmtree(old)
