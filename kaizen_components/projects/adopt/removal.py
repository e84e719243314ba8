"""Taking an adoption out again: what is as we left it goes byte for byte, what the user changed keeps the changes.

One that is killed is finished by the next: the state goes last, and says that nothing is left to undo before the
originals go that the undoing needs. Out of a folder that we made it goes by way of LEAVING, or the empty folder that
one leaves could be anybody's.
"""

import os
from dataclasses import replace
from typing import Any

from ...errors import Conflict
from ..hooks import files as hook_files
from ..skills.links import ends
from ..skills.skill import link_target
from . import block, engine
from .engine_part import clear, take_away
from .finding import Removal, hash_of, kept_name, unix
from .folder import Folder, is_link, problem, target
from .state import LEFTOVERS, PATH, State

Entry = dict[str, Any]
THEIRS = "it was there before, so it stays"
KAIZEN = os.path.dirname(PATH)
LEAVING = ".kaizen.removing"


def plan(folder: Folder, state: State) -> list[Removal]:
    """The last that was made goes first; the engine goes at the very end, because it may be the one that runs."""
    order = [*reversed(state.parts)]
    order.sort(key=lambda path: path == engine.NAME)
    found = [KINDS[state.parts[path]["kind"]](folder, path, state.parts[path]) for path in order]
    return [one for one in found if one]


def carry_out(folder: Folder, state: State, steps: list[Removal]) -> None:
    for step in steps:
        if step.do:
            step.do()
    folder.write(PATH, replace(state, parts={}).text(), folder.read(PATH))
    for name in LEFTOVERS:
        folder.remove(name)
    for name in reversed(state.folders):
        folder.remove_if_empty(name)
    if KAIZEN in state.folders:
        _rename(PATH, folder.path(PATH), folder.path(LEAVING))
        sweep(folder)
    else:
        folder.remove(PATH)


def sweep(folder: Folder) -> None:
    """What is left when the state is on its way out, also by a removal that was killed then."""
    if folder.read(LEAVING) is not None:
        folder.remove_if_empty(KAIZEN)
        folder.remove(LEAVING)


def _file(folder: Folder, path: str, entry: Entry) -> Removal | None:
    there = folder.read(path)
    if there is None:
        return None
    kept = folder.read(kept_name(path))
    if hash_of(unix(there)) == entry.get("before_sha256"):
        return Removal(path, "leave", THEIRS)
    if hash_of(unix(there)) not in (entry["sha256"], entry.get("was")):
        ours = entry["sha256"] and there != kept
        return Removal(path, "leave", "you changed it, so it stays") if ours else None
    if kept is not None:
        return Removal(path, "restore", "as it was before", lambda: folder.write(path, kept, there))
    if not entry["created"]:
        says = "it replaced yours, which is kept only where it was adopted; git's history has it"
        return Removal(path, "leave", says)
    return Removal(path, "remove", "ours, unchanged", lambda: folder.remove(path))


def _lines(folder: Folder, path: str, entry: Entry) -> Removal | None:
    there = folder.read(path)
    if there is None:
        return None
    rest = block.taken_out(there, entry["comment"], path, entry["glue"].encode(), entry["before_sha256"])
    if rest == there:
        return None
    if not rest and entry["created"]:
        return Removal(path, "remove", "it has only our lines", lambda: folder.remove(path))
    return Removal(path, "cut", "only our lines go", lambda: folder.write(path, rest, there))


def _hooks(folder: Folder, path: str, entry: Entry) -> Removal | None:
    there = folder.read(path)
    if there is None:
        return None
    kept = folder.read(kept_name(path))
    unchanged = hash_of(there) in (entry["sha256"], entry.get("was"))
    if unchanged and kept is not None and hash_of(kept) == entry.get("before_sha256"):
        return Removal(path, "restore", "as it was before", lambda: folder.write(path, kept, there))
    try:
        rest = hook_files.without(there.decode(), entry["host"]).encode()
    except (Conflict, UnicodeDecodeError):
        return Removal(path, "leave", "it is not plain JSON any more; take our hooks out by hand")
    if entry["created"] and rest.strip() == b"{}":
        return Removal(path, "remove", "it has only our hooks", lambda: folder.remove(path))
    return Removal(path, "cut", "only our hooks go", lambda: folder.write(path, rest, there)) if rest != there else None


def _engine(folder: Folder, path: str, entry: Entry) -> Removal | None:
    place, part = folder.path(path), folder.path(engine.COPY_PART)
    kept = folder.read(kept_name(path))
    if not os.path.lexists(place):
        halfway = kept is not None and is_link(part)
        return Removal(path, "restore", "the link", lambda: _rename(path, part, place)) if halfway else None
    if is_link(place) and os.fsencode(target(place)) == kept:
        return Removal(path, "leave", THEIRS)
    if not is_link(place) and engine.digest(place) not in (entry.get("digest"), entry.get("was")):
        return Removal(path, "leave", "you changed it, so it stays")

    def do():
        try:
            clear(part)
            if kept is not None:
                engine.make_link(part, os.fsdecode(kept), folder.root)
            take_away(folder)
            if kept is not None:
                os.rename(part, place)
        except OSError as error:
            raise problem(path, error) from None

    says = f"the link; back to {os.fsdecode(kept)}" if kept is not None else f"the {entry['kind']}"
    return Removal(path, "restore" if kept is not None else "remove", says, do)


def _rename(path: str, part: str, place: str) -> None:
    try:
        os.rename(part, place)
    except OSError as error:
        raise problem(path, error) from None


def _skill(folder: Folder, path: str, entry: Entry) -> Removal | None:
    place = folder.path(path)
    there = link_target(place)
    if there is None:
        return None
    if os.path.realpath(os.path.dirname(place)) != os.path.dirname(place):
        return Removal(path, "leave", "its folder is a link now, and what is in there is not in the repository")
    made = folder.read(kept_name(path))
    if made is None or ends(place, os.fsdecode(made)) != ends(place, there):
        return Removal(path, "leave", "it does not lead where adoption linked it here, so it stays")
    return Removal(path, "remove", "the link", lambda: _unlink(path, place))


def _unlink(path: str, place: str) -> None:
    try:
        engine.remove_link(place)
    except OSError as error:
        raise problem(path, error) from None


KINDS = {"skill": _skill, "file": _file, "lines": _lines, "hooks": _hooks, "link": _engine, "copy": _engine}
