"""Adopt a repository, compare it, or let it go: the plan first, then all of it, one at a time."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import Busy, NotFound, Refused
from . import engine, state
from .finding import Finding, kept_name
from .folder import Folder
from .shape import Choices, parts
from .state import State


def opened(path: str) -> Folder:
    """The repository at a path; refused when it is none, or the engine's own."""
    if not os.path.isdir(path):
        raise NotFound("no_folder", f"There is no folder {path!r}.", "", "Name the repository that is to use Kaizen.")
    folder = Folder(path)
    _require_utf8(folder.root)
    if not folder.is_there(".git"):
        raise Refused(
            "not_a_repository",
            f"{path!r} is not the top folder of a git repository.",
            "Adoption adds files that are to be committed, and a link that must not be.",
            "Name the folder that has .git, or run `git init` in it first.",
        )
    if folder.root == engine.HOME and not folder.is_there(state.PATH):
        raise Refused(
            "engine_itself",
            f"{path!r} is the home of the engine that runs.",
            "It has its own launcher and records already.",
            "Name another repository.",
        )
    return folder


def _require_utf8(root: str) -> None:
    try:
        root.encode()
    except UnicodeEncodeError:
        raise Refused(
            "path_not_utf8",
            "The path of the repository is not UTF-8.",
            "SQLite keeps no database there.",
            "Rename the folder, then run this again.",
        ) from None


@contextmanager
def alone(folder: Folder) -> Iterator[None]:
    """One at a time, by a lock on the folder itself: nothing to leave behind. Windows has no such lock."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    held = os.open(folder.root, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Busy("busy", "Another adoption is at work here.", "", "Try again in a moment.") from None
    finally:
        os.close(held)


def look(folder: Folder, asked: Choices, known: State | None) -> list[Finding]:
    """Every part as it is and what would be done. All refusals come from here, before anything is touched."""
    entries = known.parts if known else {}
    found = [part.look(folder, entries.get(part.path, {})) for part in parts(asked)]
    folder.require_own(state.PATH)
    return found


def next_state(folder: Folder, asked: Choices, known: State | None, found: list[Finding]) -> State:
    made = known.folders if known else []
    needed = sorted({above for one in found if one.do for above in _above(one.path)} | {".kaizen"})
    made = [*made, *(name for name in needed if name not in made and not _was_there(folder, name))]
    entries = {**(known.parts if known else {}), **{one.path: one.entry for one in found if one.entry}}
    return State(asked.mode, list(asked.hooks), asked.vscode, entries, made)


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _was_there(folder: Folder, name: str) -> bool:
    """Before us: a .kaizen with nothing but what a killed adoption leaves there was not."""
    ours = {os.path.basename(one) for one in state.LEFTOVERS}
    return folder.is_there(name) and not (name == ".kaizen" and set(os.listdir(folder.path(name))) <= ours)


def apply(folder: Folder, asked: Choices, known: State | None, found: list[Finding]) -> bool:
    """Carry the findings out; False if there was nothing to do. What --remove needs is on disk before any change."""
    wanted = next_state(folder, asked, known, found)
    steps = [one for one in found if one.do]
    if not steps and known == wanted:
        return False
    for one in found:
        if one.keep is not None:
            folder.write(kept_name(one.path), one.keep, folder.read(kept_name(one.path)))
    folder.write(state.PATH, wanted.text(), folder.read(state.PATH))
    for step in steps:
        assert step.do
        step.do()
    if wanted != wanted.settled():
        folder.write(state.PATH, wanted.settled().text(), wanted.text())
    return True


def tracked_link(folder: Folder, asked: Choices) -> bool:
    """Is the link in git's index? Then no .gitignore keeps it from being committed."""
    if asked.mode != "link":
        return False
    try:
        asked_git = ["git", "ls-files", "--cached", "--", engine.NAME]
        listed = subprocess.run(asked_git, cwd=folder.root, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return bool(listed.stdout.strip())
