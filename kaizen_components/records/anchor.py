"""Checkpoints outside the database: every commit appends one to AI/db/manifests/checkpoints.

A checkpoint is three lines (origin, size, base64 root) and a blank one. The file is written after COMMIT and
inside the gate, so it never runs ahead of the database; a crash between the two only leaves one anchor out.
"""

import os

from .hashing import Frontier

SEPARATOR = b"\n\n"
TAIL_BYTES = 1_000  # holds several checkpoints


def checkpoint(origin: str, size: int, root_hex: str) -> str:
    from binascii import b2a_base64

    return f"{origin}\n{size}\n{b2a_base64(bytes.fromhex(root_hex), newline=False).decode()}\n\n"


def append(path: str, origin: str, frontier: Frontier) -> None:
    data = checkpoint(origin, frontier.size, frontier.root()).encode()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        end = os.fstat(descriptor).st_size
        if end:
            os.lseek(descriptor, end - 2, os.SEEK_SET)
            if os.read(descriptor, 2) != SEPARATOR:  # a kill or a full disk cut the last one off
                data = SEPARATOR + data
        if os.write(descriptor, data) != len(data):
            os.ftruncate(descriptor, end)
            raise OSError(28, "No space left on device")
    finally:
        os.close(descriptor)


def read(path: str) -> tuple[list[tuple[str, int, str]], int]:
    """All anchors as (origin, size, root in hex), in the order of writing, and how many blocks were unreadable."""
    try:
        with open(path, "rb") as file:
            return _parsed(file.read())
    except FileNotFoundError:
        return [], 0


def last(path: str) -> tuple[str, int, str] | None:
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
            origin, size, root = block.decode().split("\n")[:3]
            raw = a2b_base64(root, strict_mode=True)
            if len(raw) != 32 or not size.isdecimal() or not origin:
                raise ValueError
            anchors.append((origin, int(size), raw.hex()))
        except (ValueError, Error):
            damaged += 1
    return anchors, damaged
