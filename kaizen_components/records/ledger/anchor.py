"""Checkpoints outside the database: every commit appends one to AI/db/manifests/checkpoints.

A checkpoint is three lines (origin, size, base64 root) and a blank one. The file is written after COMMIT and
inside the gate, so it never runs ahead of the database; a crash between the two only leaves one anchor out.
"""

import os

from ...errors import Unavailable
from .hashing import Frontier

SEPARATOR = b"\n\n"
TAIL_BYTES = 1_000  # holds several checkpoints
SIZE_DIGITS_MAX = 18


def format_checkpoint(origin: str, size: int, root_hex: str) -> str:
    from binascii import b2a_base64

    return f"{origin}\n{size}\n{b2a_base64(bytes.fromhex(root_hex), newline=False).decode()}\n\n"


class AnchorFile:
    """The checkpoint file as one process writes it. It stays open and remembers its own last words, so that a process
    that stays neither opens nor reads it again as long as nobody else wrote to it."""

    def __init__(self, path: str):
        self.path = path
        self._descriptor = -1
        self._file: tuple[int, int] | None = None
        self._end = -1  # how long the file was when we left it, and the log that we had anchored
        self._peaks: list[str] = []

    def append(self, origin: str, before: Frontier, after: Frontier) -> str | None:
        """Anchor a commit that took the log from `before` to `after`; a sentence if the newest anchor contradicts it.

        An anchor that is as large as `before` or larger, and not `before` itself, means that the file was replaced
        or rewritten since. Then `before` is anchored too: the sizes go back, and K8 sees where.
        """
        end = self._opened()
        data, contradicted = format_checkpoint(origin, after.size, after.root()), None
        if end != self._end or self._peaks != before.peaks:
            tail = _tail(self._descriptor, end)
            contradicted = _contradicts(tail, origin, before)
            if contradicted:
                data = format_checkpoint(origin, before.size, before.root()) + data
            if end and not tail.endswith(SEPARATOR):  # a kill or a full disk cut the last one off
                data = "\n\n" + data
        written = data.encode()
        if os.write(self._descriptor, written) != len(written):
            os.ftruncate(self._descriptor, end)
            raise OSError(28, "No space left on device")
        self._end, self._peaks = end + len(written), list(after.peaks)
        return contradicted

    def _opened(self):
        """How long the file is that stands at the path now; it is open afterwards."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            found = None
        if found is None or self._file != (found.st_dev, found.st_ino):
            self.close()
            if found is None:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
            flags = (
                os.O_RDWR
                | os.O_CREAT
                | os.O_APPEND
                | getattr(os, "O_BINARY", 0)
                | getattr(os, "O_CLOEXEC", 0)
            )
            self._descriptor = os.open(self.path, flags, 0o644)
            found = os.fstat(self._descriptor)
            self._file, self._end = (found.st_dev, found.st_ino), -1
        return found.st_size

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._file = -1, None


def _tail(descriptor, end):
    os.lseek(descriptor, max(0, end - TAIL_BYTES), os.SEEK_SET)
    return os.read(descriptor, TAIL_BYTES)


def _contradicts(tail, origin, before):
    newest = format_checkpoint(origin, before.size, before.root()).encode()
    if not tail or tail.endswith(newest):
        return None
    anchors, _ = _parsed(tail)
    if not anchors or (anchors[-1][0] == origin and anchors[-1][1] < before.size):
        return None  # a crash lost the anchor of an earlier commit
    if anchors[-1] == (origin, before.size, before.root()):
        return None  # only its last line break is missing
    return (
        f"The newest checkpoint says {anchors[-1][1]} entries, but the database had {before.size} before this write: "
        "run K8."
    )


def read_anchors(path: str) -> tuple[list[tuple[str, int, str]], int]:
    """All anchors as (origin, size, root in hex), in the order of writing, and how many blocks were unreadable."""
    try:
        with open(path, "rb") as file:
            return _parsed(file.read())
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise Unavailable(
            "anchors_unreadable",
            "The checkpoints cannot be read.",
            str(error.strerror),
            "Make AI/db/manifests readable.",
        ) from None


def read_last_anchor(path: str) -> tuple[str, int, str] | None:
    """The newest anchor, without reading the others."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        anchors, _ = _parsed(file.read())
    return anchors[-1] if anchors else None


def _parsed(data):
    from binascii import Error, a2b_base64

    anchors, damaged = [], 0
    for block in filter(None, (block.strip(b"\n") for block in data.split(SEPARATOR))):
        try:
            origin, size, root = block.split(b"\n")[:3]
            raw = a2b_base64(root, strict_mode=True)
            if len(raw) != 32 or not size.isdigit() or len(size) > SIZE_DIGITS_MAX:
                raise ValueError
            # Bytes that are no text are an origin that nobody has, and not a block that was cut off.
            anchors.append((origin.decode("utf-8", "backslashreplace"), int(size), raw.hex()))
        except (ValueError, Error):
            damaged += 1
    return anchors, damaged
