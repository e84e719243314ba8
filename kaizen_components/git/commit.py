"""Make a commit of a base and changed files by `fast-import`, without the user's index or HEAD."""

import os

from ..errors import Refused
from .objects import LINK, SUBMODULE, ObjectStore, quote_path, require_path

AUTHOR = b"Kaizen <kaizen@localhost>"
PLAIN = "100644"
BRANCH = b"refs/heads/candidate"  # of our own repository, where nothing reads it


def write_commit(
    store: ObjectStore,
    base: str,
    prefix: str,
    changes: dict[str, bytes | None],
    message: str,
    objects: str,
) -> str:
    """Write a commit among the private objects and return its id.

    The same base, changes and message give the same id: the commit carries the time of its base.
    """
    os.makedirs(objects, exist_ok=True)
    head = store.read_object(base, objects).partition(b"\n\n")[0]
    committer = next(line for line in head.split(b"\n") if line.startswith(b"committer "))
    author = AUTHOR + b" " + committer.split()[-2] + b" +0000"
    text = message.replace("\0", "").encode("utf-8", "replace")
    lines = [
        b"commit " + BRANCH, b"mark :1", b"author " + author, b"committer " + author,
        _encode_data(text), b"from " + base.encode(),
    ]  # fmt: skip

    modes = {entry.path: entry.mode for entry in store.list_entries(base, prefix, objects)}
    written = []
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
        if data is None:  # before what is written, so that a folder can take a file's place
            lines.append(b"D " + name)
        else:
            mode = modes.get(path, PLAIN).encode()
            written += [b"M " + mode + b" inline " + name, _encode_data(data)]
    lines += [*written, b"get-mark :1", b"done", b""]
    words = ("fast-import", "--quiet", "--done", "--force")
    return store.run_git(*words, stdin=b"\n".join(lines), objects=objects).decode().strip()


def _encode_data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content
