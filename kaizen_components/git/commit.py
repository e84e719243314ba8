"""A commit made of a base and changed files, by `fast-import`: the user's index, HEAD, tree and reflog take no part."""

import os

from ..errors import Refused
from .objects import LINK, SUBMODULE, ObjectStore, quote_path, require_path

WHO = b"Kaizen <kaizen@localhost>"
PLAIN = "100644"
BRANCH = b"refs/heads/candidate"  # of our own repository; nobody reads it
IMPORT = ("fast-import", "--quiet", "--done", "--force")


def write_commit(
    store: ObjectStore,
    base: str,
    prefix: str,
    changes: dict[str, bytes | None],
    message: str,
    objects: str,
) -> str:
    """The id; the same base, changes and message give the same one, because nothing of the moment is in it."""
    os.makedirs(objects, exist_ok=True)
    who = WHO + b" " + _read_commit_time(store, base, objects)
    text = message.replace("\0", "").encode("utf-8", "replace")
    told = [
        b"commit " + BRANCH, b"mark :1", b"author " + who, b"committer " + who, _encode_data(text), b"from " + base.encode(),
        *_list_changes(store, base, prefix, changes, objects), b"get-mark :1", b"done", b"",
    ]  # fmt: skip
    return store.told(*IMPORT, stdin=b"\n".join(told), objects=objects).decode().strip()


def _list_changes(store, base, prefix, changes, objects):
    """What goes comes first, so that a folder can take a file's place."""
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
        name = os.fsencode(quote_path(prefix + path))
        if data is None:
            gone.append(b"D " + name)
        else:
            written += [
                b"M " + modes.get(path, PLAIN).encode() + b" inline " + name,
                _encode_data(data),
            ]
    return gone + written


def _encode_data(content):
    return b"data %d\n" % len(content) + content


def _read_commit_time(store, base, objects):
    """The time of the base: nothing of today is in a commit that can be made again."""
    head = store.blob(base, objects).partition(b"\n\n")[0]
    committed = next(line for line in head.split(b"\n") if line.startswith(b"committer "))
    return committed.split()[-2] + b" +0000"
