"""Checkpoints outside the database: every commit appends one to AI/db/manifests/checkpoints.

A checkpoint is three lines (origin, size, base64 root) and a blank one. The file is written after
COMMIT and inside the gate, so it is never ahead of the database; a crash between the two only omits
one anchor.
"""

import os

from ...errors import Unavailable
from .hashing import Frontier

TYPE_CHECKING = False
if TYPE_CHECKING:
    Anchor = tuple[str, int, str]  # origin, size, root in hexadecimal

SEPARATOR = b"\n\n"
TAIL_BYTES = 1_000  # holds several checkpoints
SIZE_DIGITS_MAX = 18


def format_checkpoint(origin: str, size: int, root_hex: str) -> str:
    from binascii import b2a_base64

    return f"{origin}\n{size}\n{b2a_base64(bytes.fromhex(root_hex), newline=False).decode()}\n\n"


class AnchorFile:
    """The checkpoint file as one process writes it.

    It stays open and remembers what it wrote last. A long-lived process neither opens nor reads it
    again as long as no other process writes to it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = -1
        self._file: tuple[int, int] | None = None
        self._end = -1  # the file's length after our last write, and the peaks that we anchored
        self._peaks: list[str] = []

    def append(self, origin: str, before: Frontier, after: Frontier) -> str | None:
        """Anchor a commit that extended the log from `before` to `after`.

        Return a warning if the newest anchor is not `before` although it has as many entries or
        more: the database was replaced or rewritten since. Then anchor `before` too, so that K8
        sees where the sizes go back.
        """
        end = self._open_current()
        data, warning = format_checkpoint(origin, after.size, after.root()), None
        if end != self._end or self._peaks != before.peaks:
            os.lseek(self._descriptor, max(0, end - TAIL_BYTES), os.SEEK_SET)
            tail = os.read(self._descriptor, TAIL_BYTES)
            newest = format_checkpoint(origin, before.size, before.root())
            anchors = [] if tail.endswith(newest.encode()) else parse_anchors(tail)[0]
            # Behind: a crash lost the anchor of an earlier commit. Same: only the last line break
            # is missing.
            is_behind = anchors and anchors[-1][0] == origin and anchors[-1][1] < before.size
            is_same = anchors and anchors[-1] == (origin, before.size, before.root())
            if anchors and not is_behind and not is_same:
                data = newest + data
                warning = (
                    f"The newest checkpoint has {anchors[-1][1]} entries, but the database had "
                    f"{before.size} before this write: run K8."
                )
            if end and not tail.endswith(SEPARATOR):  # a kill or a full disk truncated the last one
                data = "\n\n" + data
        written = data.encode()
        if os.write(self._descriptor, written) != len(written):
            os.ftruncate(self._descriptor, end)
            raise OSError(28, "No space left on device")
        self._end, self._peaks = end + len(written), list(after.peaks)
        return warning

    def _open_current(self) -> int:
        """Open the file that is at the path now; return its length."""
        try:
            stat: os.stat_result | None = os.stat(self.path)
        except FileNotFoundError:
            stat = None
        if stat is None or self._file != (stat.st_dev, stat.st_ino):
            self.close()
            if stat is None:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
            self._descriptor = os.open(self.path, flags, 0o644)
            stat = os.fstat(self._descriptor)
            self._file, self._end = (stat.st_dev, stat.st_ino), -1
        return stat.st_size

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._file = -1, None


def read_anchors(path: str) -> "tuple[list[Anchor], int]":
    """Return all anchors in the order of writing, and how many blocks are unreadable."""
    try:
        with open(path, "rb") as file:
            return parse_anchors(file.read())
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise Unavailable(
            "anchors_unreadable",
            "The checkpoints cannot be read.",
            str(error.strerror),
            "Make AI/db/manifests readable.",
        ) from None


def read_last_anchor(path: str) -> "Anchor | None":
    """Return the newest anchor, without reading the others."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        anchors, _ = parse_anchors(file.read())
    return anchors[-1] if anchors else None


def parse_anchors(data: bytes) -> "tuple[list[Anchor], int]":
    """Return the anchors in a checkpoint file, and how many of its blocks are unreadable."""
    from binascii import Error, a2b_base64

    anchors, damaged = [], 0
    for block in filter(None, (block.strip(b"\n") for block in data.split(SEPARATOR))):
        try:
            origin, size, root = block.split(b"\n")[:3]
            raw = a2b_base64(root, strict_mode=True)
            if len(raw) != 32 or not size.isdigit() or len(size) > SIZE_DIGITS_MAX:
                raise ValueError
            # An origin that is not UTF-8 belongs to another database; the block is not damaged.
            anchors.append((origin.decode("utf-8", "backslashreplace"), int(size), raw.hex()))
        except (ValueError, Error):
            damaged += 1
    return anchors, damaged
