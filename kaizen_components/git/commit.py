"""Write a commit with `fast-import`; the user's index and HEAD are not involved."""

import os

from ..errors import Refused
from .objects import LINK, SUBMODULE, ObjectStore, quote_path, require_path

AUTHOR = b"Kaizen <kaizen@localhost>"
PLAIN = "100644"
BRANCH = b"refs/heads/candidate"  # in our private repository; nothing reads it


def write_commit(
    store: ObjectStore,
    base: str,
    prefix: str,
    changes: dict[str, bytes | None],
    message: str,
    objects: str,
) -> str:
    """Write a commit on top of `base` into the private objects, and return its id.

    It has the time of its base, so the same base, changes and message give the same id.
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
    file_commands = []
    for path, data in sorted(changes.items()):
        require_path(path)
        if modes.get(path) in (LINK, SUBMODULE):
            raise Refused(
                "not_a_file",
                f"{path} is a link or a submodule.",
                "A run can change only plain files.",
                "Change it by hand.",
            )
        name = os.fsencode(quote_path(prefix + path))
        if data is None:  # deletions first, so that a folder can replace a file
            lines.append(b"D " + name)
        else:
            mode = modes.get(path, PLAIN).encode()
            file_commands += [b"M " + mode + b" inline " + name, _encode_data(data)]
    lines += [*file_commands, b"get-mark :1", b"done", b""]
    words = ("fast-import", "--quiet", "--done", "--force")
    return store.run_git(*words, stdin=b"\n".join(lines), objects=objects).decode().strip()


def _encode_data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content
