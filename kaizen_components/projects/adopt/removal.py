"""Take an adoption out again: what is as adoption left it goes, and the rest stays with a sentence that names it."""

import os

from ...errors import Conflict, Refused
from ..hooks import host_file as hook_files
from . import block, engine, state
from .folder import Folder
from .parts import Entry, Step, hash_of, utf8

CHANGED = "it is not as adoption left it, so it stays"


def plan(folder: Folder, known: state.State) -> list[Step]:
    """Return what goes and what stays. The engine goes at the very end, because it may be the one that runs."""
    steps = []
    for path, entry in sorted(known.parts.items(), key=lambda part: part[0] == engine.NAME):
        try:
            steps.append(LOOKS[entry["kind"]](folder, path, entry))
        except (Conflict, Refused) as error:
            steps.append(_leave(path, f"{error.what} Take out by hand what is ours in it."))
    if folder.is_there(state.ORIGINALS):
        steps.append(
            _leave(
                state.ORIGINALS, "what an older engine replaced; look into it before you delete it"
            )
        )
    return [step for step in steps if step]


def carry_out(folder: Folder, steps: list[Step]) -> None:
    for step in steps:
        if step.do:
            step.do()
    folder.remove(state.PATH)


def _file(folder: Folder, path: str, entry: Entry) -> Step | None:
    there = folder.read(path)
    if there is None or not entry["sha256"]:
        return None
    if hash_of(there) != entry["sha256"]:
        return _leave(path, CHANGED)
    if not entry["created"]:
        return _leave(path, "it replaced yours, which is in git's history")
    return _remove(folder, path, "ours, unchanged")


def _shared(folder: Folder, path: str, entry: Entry) -> Step | None:
    there = folder.read(path)
    if there is None:
        return None
    if entry["kind"] == "lines":
        rest = block.cut(there, path)
    else:
        host = next(host for host in hook_files.FILES if hook_files.FILES[host] == path)
        rest = hook_files.remove_hooks(utf8(there, path), host).encode()
    if rest == there:
        return None
    if rest.strip() in (b"", b"{}"):
        return _remove(folder, path, "it has nothing but ours")
    return Step(path, "", "only ours goes", "cut", do=lambda: folder.write(path, rest))


def _engine(folder: Folder, path: str, entry: Entry) -> Step | None:
    target = folder.link_target(path)
    if target is not None:
        return _remove(folder, path, f"the link to {target}")
    if not folder.is_there(path):
        return None
    is_ours = entry["kind"] == "copy" and engine.digest(folder.path(path)) == entry["sha256"]
    return _remove(folder, path, "the copy") if is_ours else _leave(path, CHANGED)


def _skill(folder: Folder, path: str, entry: Entry) -> Step | None:
    folder.require_own(os.path.dirname(path))
    target = folder.link_target(path)
    return None if target is None else _remove(folder, path, f"the link to {target}")


def _leave(path: str, says: str) -> Step:
    return Step(path, "", says, "leave")


def _remove(folder: Folder, path: str, says: str) -> Step:
    return Step(path, "", says, "remove", do=lambda: folder.remove(path))


LOOKS = {
    "file": _file,
    "lines": _shared,
    "hooks": _shared,
    "link": _engine,
    "copy": _engine,
    "skill": _skill,
}
