"""The engine that runs: where it is, and how it gets into another repository, by a link or as a copy."""

import os
import shutil
from dataclasses import dataclass

from ...errors import Conflict, Unavailable
from ...records.files.files import hash_tree
from ..skills.links import make_link
from .folder import Folder
from .parts import Entry, Step, hash_of

NAME = "kaizen_components"
PACKAGE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HOME = os.path.dirname(PACKAGE)
BYTECODE = "__pycache__"
COPY_PART = ".kaizen/engine.part"


def beside(name: str) -> bytes:
    """Return a file that stands beside the engine in its own repository."""
    try:
        with open(os.path.join(HOME, name), "rb") as file:
            return file.read()
    except OSError:
        raise Unavailable(
            "engine_not_whole",
            f"{name} is not beside the engine.",
            "A repository is adopted from a whole copy of Kaizen, such as a clone.",
            "Run the kaizen.py of a clone instead.",
        ) from None


def shipped(name: str) -> bytes:
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "files", name), "rb"
    ) as file:
        return file.read()


def digest(folder: str) -> str:
    """Return one hash of all files of an engine, without bytecode."""
    entries = []
    for here, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one != BYTECODE]
        for name in files:
            path = os.path.join(here, name)
            with open(path, "rb") as file:
                entries.append(
                    (
                        os.path.relpath(path, folder).replace(os.sep, "/"),
                        "file",
                        hash_of(file.read()),
                    )
                )
    return hash_tree(entries)


@dataclass(frozen=True)
class EnginePart:
    """A link that is never committed, or a copy that is."""

    mode: str
    path: str = NAME

    def look(self, folder: Folder, entry: Entry) -> Step:
        path, target = folder.path(NAME), folder.link_target(NAME)
        if target is not None:
            if self.mode == "link" and os.path.realpath(path) == PACKAGE:
                return Step(NAME, "ok", f"-> {target}", entry={"kind": "link", "sha256": ""})
            return self._put(folder, "outdated", f", in place of the link to {target}")
        if not os.path.lexists(path):
            return self._put(folder, "missing")
        if (
            os.path.realpath(path) == PACKAGE
        ):  # the copy itself runs: there is nothing to compare it with
            return Step(NAME, "ok", "the copy that runs", entry=entry)
        there = digest(path)
        if self.mode == "copy" and there == digest(PACKAGE):
            return Step(
                NAME, "ok", "a copy of this engine", entry={"kind": "copy", "sha256": there}
            )
        if there == entry.get("sha256"):
            return self._put(folder, "outdated")
        if entry.get("kind") == "copy":
            return Step(
                NAME,
                "changed",
                "you changed the copy, so it stays; delete it to get ours",
                entry=entry,
            )
        raise Conflict(
            "name_taken",
            f"{NAME} is there already, and adoption did not put it there.",
            "It would be replaced by the engine.",
            "Move it away, then run this again. Nothing was touched.",
        )

    def _put(self, folder: Folder, state: str, instead: str = "") -> Step:
        path, part, to = folder.path(NAME), folder.path(COPY_PART), PACKAGE
        if os.name != "nt" and os.path.dirname(folder.root) == os.path.dirname(HOME):
            to = os.path.relpath(
                PACKAGE, folder.root
            )  # so that both can be moved together; a junction is absolute
        says, entry = f"-> {to}; never committed", {"kind": "link", "sha256": ""}
        if self.mode == "copy":
            says, entry = (
                "a copy of the engine, to be committed",
                {"kind": "copy", "sha256": digest(PACKAGE)},
            )

        def do():
            if self.mode == "copy":
                shutil.rmtree(part, ignore_errors=True)
                shutil.copytree(PACKAGE, part, ignore=shutil.ignore_patterns(BYTECODE))
            if os.path.lexists(path):
                folder.remove(NAME)
            if self.mode == "copy":
                os.rename(part, path)
            else:
                make_link(to, path)

        return Step(
            NAME,
            state,
            says + instead,
            self.mode if state == "missing" else f"{self.mode} anew",
            entry,
            do,
        )
