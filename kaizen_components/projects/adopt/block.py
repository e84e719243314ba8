"""Our lines in the user's file, between two markers. Bytes, so a file need not be UTF-8."""

import re
from hashlib import sha256

from ...errors import Conflict

ADVICE = b" (kept by `kaizen.py adopt`: change what is outside of the markers)"


def _get_comment(path: str) -> tuple[bytes, bytes]:
    return (b"# ", b"") if path == ".gitignore" else (b"<!-- ", b" -->")


def find_block(content: bytes, path: str) -> re.Match[bytes] | None:
    """Return the block, or None; raise Conflict if its markers are broken or doubled."""
    opening, closing = (re.escape(part) for part in _get_comment(path))
    begin = rb"^" + opening + rb"kaizen:begin [0-9a-f]{12}[^\r\n]*\r?\n"
    end = rb"^" + opening + rb"kaizen:end" + closing + rb"(?:\r?\n|\Z)"
    found = list(re.finditer(begin + rb".*?" + end, content, re.M | re.S))
    begins, ends = len(re.findall(begin, content, re.M)), len(re.findall(end, content, re.M))
    if not begins == ends == len(found) <= 1:
        raise Conflict(
            "block_broken",
            f"{path} has markers of Kaizen that do not pair: {begins} begin, {ends} end.",
            "What lies between them is replaced as a whole, so it must be clear where it ends.",
            "Keep one `kaizen:begin` and one `kaizen:end` line, or none. Then run this again.",
        )
    return found[0] if found else None


def put_block(content: bytes, lines: bytes, path: str) -> bytes:
    """Return the file with the block in place of the old one, or at its end after an empty line."""
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
    """Return the file without the block; at its end the empty line before the block goes too."""
    old = find_block(content, path)
    if old is None:
        return content
    head, tail = content[: old.start()], content[old.end() :]
    ending = None if tail else re.search(rb"\n(\r?\n)\Z", head)
    return head[: ending.start(1) if ending else None] + tail
