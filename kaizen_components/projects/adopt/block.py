"""Our lines in somebody else's file: between two markers, the rest byte for byte as it was.

The first marker carries the hash of the lines below it, so a block tells by itself whether it is of this engine, of
another version, or was edited. Everything here is bytes: a file that is not UTF-8 keeps what it has.
"""

import hashlib
import re
from dataclasses import dataclass

from ...errors import Conflict

COMMENTS = {"md": (b"<!-- ", b" -->"), "ignore": (b"# ", b"")}  # how a comment begins and ends there
ADVICE = b" (kept by `kaizen.py adopt`: change what is outside of the markers)"


@dataclass(frozen=True)
class Block:
    start: int
    end: int
    version: str  # as its marker says
    lines: bytes  # with \n, whatever the file has


def version_of(lines: bytes) -> str:
    return hashlib.sha256(lines).hexdigest()[:12]


def find(content: bytes, comment: str, path: str) -> Block | None:
    """The one block in a file, or None; a broken or doubled one is nothing to guess about."""
    opening, closing = (re.escape(part) for part in COMMENTS[comment])
    begin = rb"^" + opening + rb"kaizen:begin ([0-9a-f]{12})[^\r\n]*\r?\n"
    end = rb"^" + opening + rb"kaizen:end" + closing + rb"(?:\r?\n|\Z)"
    found = list(re.finditer(begin + rb"(.*?)" + end, content, re.M | re.S))
    markers = len(re.findall(begin, content, re.M)), len(re.findall(end, content, re.M))
    if markers not in ((0, 0), (1, 1)) or markers[0] != len(found):
        raise Conflict(
            "block_broken",
            f"{path} has markers of Kaizen that do not pair: {markers[0]} begin, {markers[1]} end.",
            "What lies between them is replaced as a whole, so it must be clear where it ends.",
            "Keep one `kaizen:begin` and one `kaizen:end` line there, or none at all; then run this again.",
        )
    if not found:
        return None
    one = found[0]
    return Block(one.start(), one.end(), one[1].decode(), one[2].replace(b"\r\n", b"\n"))


def put(content: bytes, comment: str, lines: bytes, path: str) -> tuple[bytes, bytes]:
    """(the file with the block in place of the old one or at its end, what had to go between)"""
    old = find(content, comment, path)
    sample = content[old.start : old.end] if old else content
    newline = b"\r\n" if b"\r\n" in sample else b"\n"
    opening, closing = COMMENTS[comment]
    marker = opening + b"kaizen:begin " + version_of(lines).encode() + ADVICE + closing
    text = marker + b"\n" + lines + opening + b"kaizen:end" + closing + b"\n"
    text = text.replace(b"\n", newline)
    if old:
        return content[: old.start] + text + content[old.end :], b""
    glue = b"" if not content else newline if content.endswith(b"\n") else newline * 2
    return content + glue + text, glue


def taken_out(content: bytes, comment: str, path: str, glue: bytes, before_sha256: str) -> bytes:
    """The file without the block; what went between goes too, if nobody wrote before or after it since."""
    old = find(content, comment, path)
    if old is None:
        return content
    head, tail = content[: old.start], content[old.end :]
    original = head[: len(head) - len(glue)] if head.endswith(glue) else head
    if not tail and hashlib.sha256(original).hexdigest() == before_sha256:
        return original
    return head + tail
