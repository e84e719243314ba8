"""Add and remove our lines, between two markers, in a user's file, which need not be UTF-8."""

import re
from hashlib import sha256

from ...errors import Conflict

ADVICE = b" (kept by `kaizen.py adopt`: change what is outside of the markers)"


def _get_comment(path: str) -> tuple[bytes, bytes]:
    return (b"# ", b"") if path == ".gitignore" else (b"<!-- ", b" -->")


def find_block(content: bytes, path: str) -> re.Match[bytes] | None:
    """Return our block, or None; raise Conflict if a marker is missing or occurs twice."""
    opening, closing = (re.escape(part) for part in _get_comment(path))
    begin = rb"^" + opening + rb"kaizen:begin [0-9a-f]{12}[^\r\n]*\r?\n"
    end = rb"^" + opening + rb"kaizen:end" + closing + rb"(?:\r?\n|\Z)"
    blocks = list(re.finditer(begin + rb".*?" + end, content, re.M | re.S))
    begins, ends = len(re.findall(begin, content, re.M)), len(re.findall(end, content, re.M))
    if not begins == ends == len(blocks) <= 1:
        raise Conflict(
            "block_broken",
            f"Kaizen's markers in {path} do not pair: {begins} begin and {ends} end.",
            "The lines between the markers are replaced, so both must be there exactly once.",
            "Keep one `kaizen:begin` and one `kaizen:end` line, or neither. Then run this again.",
        )
    return blocks[0] if blocks else None


def put_block(content: bytes, lines: bytes, path: str) -> bytes:
    """Return the content with the old block replaced, or with a new one after an empty line."""
    old = find_block(content, path)
    newline = b"\r\n" if b"\r\n" in (old[0] if old else content) else b"\n"
    opening, closing = _get_comment(path)
    version = sha256(lines).hexdigest()[:12].encode()
    begin, end = (
        opening + b"kaizen:begin " + version + ADVICE + closing,
        opening + b"kaizen:end" + closing,
    )
    text = (begin + b"\n" + lines + end + b"\n").replace(b"\n", newline)
    if old:
        return content[: old.start()] + text + content[old.end() :]
    between = b"" if not content else newline if content.endswith(b"\n") else newline * 2
    return content + between + text


def cut_block(content: bytes, path: str) -> bytes:
    """Return the content without the block.

    If it was at the end of the file, the empty line before it is removed too.
    """
    old = find_block(content, path)
    if old is None:
        return content
    head, tail = content[: old.start()], content[old.end() :]
    ending = None if tail else re.search(rb"\n(\r?\n)\Z", head)
    return head[: ending.start(1) if ending else None] + tail
