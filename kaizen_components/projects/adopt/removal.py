"""Remove an adoption: delete the files that nobody changed, and list the others."""

import os

from ...errors import Conflict, Refused
from ..hooks.host_file import FILES as HOSTS
from ..hooks.host_file import remove_hooks
from . import block, engine, state
from .folder import Folder
from .parts import Entry, Step, decode_utf8, hash_text

CHANGED = "it has changed since the adoption, so it stays"


def plan_removal(folder: Folder, old_state: state.State) -> list[Step]:
    """Return a step for each part. The engine comes last, because it may be the running one."""
    steps = []
    for path, entry in sorted(old_state.parts.items(), key=lambda part: part[0] == engine.NAME):
        try:
            steps.append(_plan_part(folder, path, entry))
        except (Conflict, Refused) as error:
            steps.append(_leave(path, f"{error.what} Remove Kaizen's part by hand."))
    if folder.is_there(state.ORIGINALS):
        says = "files that an older engine replaced; check them before you delete the folder"
        steps.append(_leave(state.ORIGINALS, says))
    return [step for step in steps if step]


def _plan_part(folder: Folder, path: str, entry: Entry) -> Step | None:
    """Plan to delete a part, to cut our lines out of it, or to leave it; None if it is missing."""
    kind = entry["kind"]
    if kind == "skill":
        folder.require_own(os.path.dirname(path))
    if kind in ("link", "copy", "skill"):
        target = folder.link_target(path)
        if target is not None:
            return _remove(folder, path, f"the link to {target}")
        if kind == "skill" or not folder.is_there(path):
            return None
        is_ours = kind == "copy" and engine.hash_engine(folder.path(path)) == entry["sha256"]
        return _remove(folder, path, "the copy") if is_ours else _leave(path, CHANGED)

    content = folder.read(path)
    if content is None:
        return None
    if kind == "file":
        if not entry["sha256"]:
            return None
        if hash_text(content) != entry["sha256"]:
            return _leave(path, CHANGED)
        if not entry["created"]:
            return _leave(path, "it replaced your file, which is in git's history")
        return _remove(folder, path, "from Kaizen, unchanged")

    if kind == "lines":
        remaining = block.cut_block(content, path)
    else:
        host = next(host for host in HOSTS if HOSTS[host] == path)
        remaining = remove_hooks(decode_utf8(content, path), host).encode()
    if remaining == content:
        return None
    if remaining.strip() in (b"", b"{}"):
        return _remove(folder, path, "it contains only Kaizen's lines")
    return Step(
        path, "", "only Kaizen's lines are removed", "cut", do=lambda: folder.write(path, remaining)
    )


def _leave(path: str, says: str) -> Step:
    return Step(path, "", says, "leave")


def _remove(folder: Folder, path: str, says: str) -> Step:
    return Step(path, "", says, "remove", do=lambda: folder.remove(path))
