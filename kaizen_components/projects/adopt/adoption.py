"""Adopt a repository, or compare it: the plan first, then all of it.

git is the undo. A file that would change must be as git has it, or as adoption left it by the hash in the state file.
"""

import hashlib
import os

from ...errors import NotFound, Refused, Unavailable
from ...git.client import try_git
from . import engine, state
from .folder import Folder
from .parts import Step, unix
from .shape import Choices, parts
from .state import State


def opened(path: str) -> Folder:
    """Return the folder at a path; one that cannot adopt is refused."""
    if not os.path.isdir(path):
        raise NotFound(
            "no_folder",
            f"There is no folder {path!r}.",
            "",
            "Name the repository that is to use Kaizen.",
        )
    folder = Folder(path)
    try:
        folder.root.encode()
    except UnicodeEncodeError:
        what, why = "The path of the repository is not UTF-8.", "SQLite keeps no database there."
        raise Refused(
            "path_not_utf8", what, why, "Rename the folder, then run this again."
        ) from None
    if folder.root == engine.HOME and not folder.is_there(state.PATH):
        raise Refused(
            "engine_itself",
            f"{path!r} is the home of the engine that runs.",
            "It has its own launcher and records already.",
            "Name another repository.",
        )
    return folder


def look(folder: Folder, asked: Choices, known: State | None) -> list[Step]:
    """Return every part as it is and what would be done. Nothing is touched."""
    entries = known.parts if known else {}
    found = [part.look(folder, entries.get(part.path, {})) for part in parts(asked)]
    folder.require_own(state.PATH)
    return found


def ask_git(folder: Folder, steps: list[Step]) -> tuple[list[str], bool]:
    """Return (files that would change and that git could not give back, whether git has the link to the engine)."""
    paths = [step.path for step in steps if step.needs_git]
    blobs = {}
    try:
        listed = try_git(folder.root, "ls-files", "--stage", "-z", "--", engine.NAME, *paths)
    except Unavailable:
        return paths, False
    for entry in listed.text.split("\0")[:-1]:
        facts, path = entry.split("\t", 1)
        blobs[path] = facts.split(" ")[1]
    lost = [path for path in paths if not _is_blob(folder.read(path) or b"", blobs.get(path, ""))]
    return lost, engine.NAME in blobs


def _is_blob(content: bytes, blob: str) -> bool:
    """Is it the content with that id in git? The lines may end as git checked them out."""
    make = hashlib.sha256 if len(blob) == 64 else hashlib.sha1
    return any(
        make(b"blob %d\0" % len(form) + form).hexdigest() == blob
        for form in (content, unix(content))
    )


def require_undo(lost: list[str]) -> None:
    if lost:
        raise Refused(
            "not_committed",
            f"git could not give back {', '.join(lost)}, which would change.",
            "git is the undo of an adoption, so what it changes has to be there as it is now.",
            "Commit or stash, or move away what git is not to have; then run this again. Nothing was touched.",
        )


def apply(folder: Folder, asked: Choices, known: State | None, found: list[Step]) -> bool:
    """Carry the steps out; False if there was nothing to do. One that fails leaves what was done in the state."""
    entries = dict(known.parts) if known else {}
    entries |= {one.path: one.entry for one in found if one.entry and not one.do}
    wanted = State(asked.mode, asked.hooks, asked.vscode, entries)
    steps = [one for one in found if one.do]
    if not steps and known == wanted:
        return False
    try:
        for step in steps:
            assert step.do
            step.do()
            entries[step.path] = step.entry
    finally:
        folder.write(state.PATH, wanted.text())
    return True
