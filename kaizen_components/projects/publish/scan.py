"""Look into files before they are published. What is found is named by path, line and kind; a secret's value never."""

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

BYTES_MAX = 200_000_000  # of one file; of what is longer, only the first piece is looked at, and that is a finding
PIECE_BYTES = 20_000_000  # in memory at a time
OVERLAP_BYTES = 64_000  # longer than any private key
HEAD_BYTES = 8_000
RUN = re.compile(rb"[\x20-\x7e\t]{6,}")
SHOWN_CHARS = 60
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # not read in pieces: a cut may fall into a character
UNSEEN = "not looked at"


class Leak(NamedTuple):
    path: str
    line: int | None  # None for a name, a link, or bytes that have no lines
    kind: str
    found: str
    text: str  # the whole line, to be compared with what is allowed


def scan_file(root: str, path: str, finders: list[Finder]) -> list[Leak]:
    """Everything in one file, its name and what it links to."""
    named = list(_in_line(path, None, path, finders))
    full = os.path.join(root, path)
    try:
        facts = os.lstat(full)
        if stat.S_ISLNK(facts.st_mode):
            return [*named, *_link(path, os.readlink(full), finders)]
        if not stat.S_ISREG(facts.st_mode):
            return named
        with open(os.open(full, OPEN_FLAGS), "rb") as file:
            return [*named, *scan_content(path, file.read, facts.st_size, finders)]
    except FileNotFoundError:  # it went away just now
        return named
    except OSError as error:
        return [*named, _unseen(path, f"cannot be read: {error.strerror}")]


def scan_blob(kept: HiddenContent, contents: ObjectReader, finders: list[Finder]) -> list[Leak]:
    """Everything in a content that git has, and in its file's name, which the work tree may not have any more."""
    named = list(_in_line(kept.path, None, kept.path, finders))
    size = contents.open(kept.blob)
    if size is None:
        return [*named, _unseen(kept.path, "git does not have its content")]
    if kept.is_link:
        return [*named, *_link(kept.path, os.fsdecode(contents.read(size)), finders)]
    return [*named, *scan_content(kept.path, contents.read, size, finders)]


def scan_content(
    path: str, read: Callable[[int], bytes], size: int, finders: list[Finder]
) -> Iterator[Leak]:
    """Everything in a content that `read` gives, in pieces; of one too long, what is in the first, and that it is."""
    seen = set()
    head = b""
    for lines, data in _pieces(read):
        head = head or data[:HEAD_BYTES]
        for one in _in_piece(path, head, lines, data, finders):
            known = (
                one.line,
                one.kind,
                one.line and one.found,
            )  # bytes have no lines: there each kind counts once
            if known not in seen:  # pieces overlap
                seen.add(known)
                yield one
        if size > (PIECE_BYTES if head[:2] in UTF_16 else BYTES_MAX):
            yield _unseen(path, f"only its first {PIECE_BYTES:,} bytes were")
            return


def _pieces(read: Callable[[int], bytes]) -> Iterator[tuple[int, bytes]]:
    """(lines before it, bytes): cut between lines where there are any. Each repeats the end of the one before, or a key
    that lies across the cut would be in neither."""
    data, lines = read(PIECE_BYTES), 0
    while data:
        more = read(PIECE_BYTES)
        end = (data.rfind(b"\n", max(len(data) - OVERLAP_BYTES, 0)) + 1 if more else 0) or len(data)
        yield lines, data[:end]
        start = max(end - OVERLAP_BYTES, 0)
        start = data.find(b"\n", start, end) + 1 or start
        lines += data.count(b"\n", 0, start)
        data = data[start:] + more if more else b""


def _unseen(path: str, why: str) -> Leak:
    return Leak(path, None, UNSEEN, why, "")


def _link(path: str, target: str, finders: list[Finder]) -> Iterator[Leak]:
    if os.path.isabs(target):
        yield Leak(path, None, "link to a place on this machine", "", target)
    yield from _in_line(path, None, target, finders)


def _in_piece(
    path: str, head: bytes, lines: int, data: bytes, finders: list[Finder]
) -> Iterator[Leak]:
    """The content's head says how to read each piece of it."""
    if head[:2] in UTF_16:
        yield from _in_text(path, data.decode("utf-16", errors="replace"), lines, finders)
    elif b"\0" in head:
        yield from _in_text(path, b"\n".join(RUN.findall(data)).decode("ascii"), None, finders)
    else:
        yield from _in_text(path, data.decode("utf-8", errors="replace"), lines, finders)


def _in_text(path: str, text: str, lines: int | None, finders: list[Finder]) -> Iterator[Leak]:
    """Line by line where there is something at all: most texts are clean, and one look tells.

    `lines` stand before the text; None for bytes, which have no lines to name.
    """
    secret = scan.find_secret(text)
    if not secret and not any(True for finder in finders for _ in finder(text)):
        return
    seen_secret = False
    for number, line in enumerate(text.split("\n"), (lines or 0) + 1):
        for one in _in_line(path, None if lines is None else number, line, finders):
            seen_secret = seen_secret or one.found == ""
            yield one
    if secret and not seen_secret:  # it spans lines, as a private key does
        begin = text[: max(text.find("-----BEGIN"), 0)].count("\n") + 1
        yield Leak(path, None if lines is None else lines + begin, f"secret: {secret}", "", "")


def _in_line(path: str, number: int | None, line: str, finders: list[Finder]) -> Iterator[Leak]:
    kind = scan.find_secret(line)
    if kind:
        yield Leak(path, number, f"secret: {kind}", "", line)
        return  # what else stands in this line is said without its value, or not at all
    for finder in finders:
        for hit in finder(line):
            yield Leak(path, number, hit.kind, hit.found[:SHOWN_CHARS], line)
