"""A commit made of a base and changed files, by plumbing: the user's index, HEAD, tree and reflog take no part."""

import os

from ...errors import Refused
from .objects import LINK, SUBMODULE, Objects, require_path

WHO = ("Kaizen", "kaizen@localhost")
PLAIN = "100644"


def commit(store: Objects, base: str, prefix: str, changes: dict[str, bytes | None], message: str, objects: str) -> str:
    """The id; the same base, changes and message give the same one, because nothing of the moment is in it."""
    os.makedirs(objects, exist_ok=True)
    index = os.path.join(store.folder, "index")
    if os.path.exists(index):
        os.unlink(index)
    store.told("read-tree", base, objects=objects)
    store.told(
        "update-index", "-z", "--index-info", stdin=_lines(store, base, prefix, changes, objects), objects=objects
    )
    tree = store.told("write-tree", objects=objects).decode().strip()
    words = ("commit-tree", tree, "-p", base, "-F", "-")
    text = message.replace("\0", "").encode("utf-8", "replace")
    return store.told(*words, stdin=text, objects=objects, more=_identity(store, base, objects)).decode().strip()


def _lines(store, base, prefix, changes, objects):
    """For update-index: what goes first, so that a folder can take a file's place."""
    modes = {entry.path: entry.mode for entry in store.entries(base, prefix, objects)}
    gone, written = [], []
    for path, data in sorted(changes.items()):
        require_path(path)
        if modes.get(path) in (LINK, SUBMODULE):
            raise Refused(
                "not_a_file",
                f"{path} is a link or a submodule.",
                "Only plain files are changed by a run.",
                "Change it by hand.",
            )
        name = b"\t" + os.fsencode(prefix + path) + b"\0"
        if data is None:
            gone.append(b"0 " + b"0" * len(base) + name)
        else:
            id = store.told("hash-object", "-w", "--stdin", stdin=data, objects=objects).strip()
            written.append(modes.get(path, PLAIN).encode() + b" " + id + name)
    return b"".join(gone + written)


def _identity(store, base, objects):
    """Nobody in particular, at the time of the base."""
    head = store.blob(base, objects).partition(b"\n\n")[0]
    stamp = next(line for line in head.split(b"\n") if line.startswith(b"committer ")).split()[-2].decode()
    return {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", WHO[0]), ("EMAIL", WHO[1]), ("DATE", f"@{stamp} +0000"))
    }
