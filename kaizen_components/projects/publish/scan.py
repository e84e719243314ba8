"""Scan files for secrets and personal data before they are published.

A finding names the path, the line and the kind, but never the value of a secret.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...git.client import ObjectReader
from ...records.files.files import OPEN_FLAGS
from ...records.secrets import scan
from .finders import Finder
from .hidden_content import HiddenContent

BYTES_MAX = 200_000_000  # of one file; a longer one is a finding, and only its beginning is read
PIECE_BYTES = 20_000_000  # read into memory at a time
OVERLAP_BYTES = 64_000  # longer than any private key
HEAD_BYTES = 8_000
RUN = re.compile(rb"[\x20-\x7e\t]{6,}")
SHOWN_CHARS = 60
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # such a file is not cut, because a cut may split a character
UNSEEN = "not looked at"


class Leak(NamedTuple):
    path: str
    line: int | None  # None for a name, a link, or bytes that have no lines
    kind: str
    found: str
    text: str  # the whole line, for the comparison with the allowances


def scan_file(root: str, path: str, finder: Finder) -> list[Leak]:
    """Return the leaks in the name, the link target and the content of a file."""
    leaks = _scan_line(path, None, path, finder)
    full_path = os.path.join(root, path)
    try:
        facts = os.lstat(full_path)
        if stat.S_ISLNK(facts.st_mode):
            leaks += _scan_link(path, os.readlink(full_path), finder)
        elif stat.S_ISREG(facts.st_mode):
            with open(os.open(full_path, OPEN_FLAGS), "rb") as file:
                leaks += scan_content(path, file.read, facts.st_size, finder)
    except FileNotFoundError:
        pass  # it was deleted just now
    except OSError as error:
        leaks.append(_build_unseen(path, f"cannot be read: {error.strerror}"))
    return leaks


def scan_blob(content: HiddenContent, reader: ObjectReader, finder: Finder) -> list[Leak]:
    """Return the leaks in content that only git has, and in the name of its file."""
    path = content.path
    leaks = _scan_line(path, None, path, finder)
    size = reader.open(content.blob)
    if size is None:
        return [*leaks, _build_unseen(path, "git does not have its content")]
    if content.is_link:
        return leaks + _scan_link(path, os.fsdecode(reader.read(size)), finder)
    return [*leaks, *scan_content(path, reader.read, size, finder)]


def _build_unseen(path: str, why: str) -> Leak:
    return Leak(path, None, UNSEEN, why, "")


def _scan_link(path: str, target: str, finder: Finder) -> list[Leak]:
    leaks = _scan_line(path, None, target, finder)
    if os.path.isabs(target):
        leaks.insert(0, Leak(path, None, "link to a place on this machine", "", target))
    return leaks


def scan_content(
    path: str, read: Callable[[int], bytes], size: int, finder: Finder
) -> Iterator[Leak]:
    """Yield the leaks in the content that `read` returns. Scan only the start of a long file.

    Consecutive pieces overlap, so that a secret at the cut between them is found.
    """
    reported_keys = set()
    data, next_piece, lines = b"", read(PIECE_BYTES), 0
    head = next_piece[:HEAD_BYTES]
    is_utf_16, is_binary = head[:2] in UTF_16, b"\0" in head
    while next_piece:
        data, next_piece = data + next_piece, read(PIECE_BYTES)
        end = len(data)
        if next_piece:  # cut after the last line, if there is one near the end
            end = data.rfind(b"\n", max(end - OVERLAP_BYTES, 0)) + 1 or end
        piece = data[:end]
        if is_utf_16:
            leaks = _scan_text(path, piece.decode("utf-16", errors="replace"), lines, finder)
        elif is_binary:
            text = b"\n".join(RUN.findall(piece)).decode("ascii")
            leaks = _scan_text(path, text, None, finder)
        else:
            leaks = _scan_text(path, piece.decode("utf-8", errors="replace"), lines, finder)
        for leak in leaks:
            # Without lines, each kind counts once.
            key = (leak.line, leak.kind, leak.line and leak.found)
            if key not in reported_keys:
                reported_keys.add(key)
                yield leak
        if size > (PIECE_BYTES if is_utf_16 else BYTES_MAX):
            yield _build_unseen(path, f"only its first {PIECE_BYTES:,} bytes were scanned")
            return
        start = max(end - OVERLAP_BYTES, 0)
        start = data.find(b"\n", start, end) + 1 or start
        lines += data.count(b"\n", 0, start)
        data = data[start:]


def _scan_text(path: str, text: str, lines: int | None, finder: Finder) -> list[Leak]:
    """Return the leaks in a text by line. The whole text is searched first, as most are clean.

    `lines` is the number of lines before the text, or None for binary content without lines.
    """
    secret = scan.find_secret(text)
    if not secret and next(finder.find(text), None) is None:
        return []
    leaks = []
    for number, line in enumerate(text.split("\n"), (lines or 0) + 1):
        leaks += _scan_line(path, None if lines is None else number, line, finder)
    if secret and all(leak.found for leak in leaks):  # it spans lines, as a private key does
        begin = text[: max(text.find("-----BEGIN"), 0)].count("\n") + 1
        line_number = None if lines is None else lines + begin
        leaks.append(Leak(path, line_number, f"secret: {secret}", "", ""))
    return leaks


def _scan_line(path: str, number: int | None, line: str, finder: Finder) -> list[Leak]:
    kind = scan.find_secret(line)
    if kind:  # no other finding in this line, because it could show the secret
        return [Leak(path, number, f"secret: {kind}", "", line)]
    return [Leak(path, number, hit.kind, hit.text[:SHOWN_CHARS], line) for hit in finder.find(line)]
