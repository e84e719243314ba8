"""Look into files before they are published. What is found is named by path, line and kind; a secret's value never."""

import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from ..records import secrets
from ..records.files import OPEN_FLAGS
from .publish_words import Finder

BYTES_MAX = 20_000_000  # of one file; what is longer is said to have been cut
HEAD_BYTES = 8_000
RUN = re.compile(rb"[\x20-\x7e\t]{6,}")
SHOWN_CHARS = 60


class Found(NamedTuple):
    path: str
    line: int | None  # None for a name, a link, or bytes that have no lines
    kind: str
    found: str
    text: str  # the whole line, to be compared with what is allowed


class Looked(NamedTuple):
    found: list[Found]
    remark: str | None  # why it was not looked at as a whole


def look(root: str, path: str, finders: list[Finder]) -> Looked:
    """Everything in one file, its name and what it links to."""
    named = list(_in_line(path, None, path, finders))
    full = os.path.join(root, path)
    try:
        facts = os.lstat(full)
        if stat.S_ISLNK(facts.st_mode):
            return Looked([*named, *_link(path, os.readlink(full), finders)], None)
        if not stat.S_ISREG(facts.st_mode):
            return Looked(named, None)
        with open(os.open(full, OPEN_FLAGS), "rb") as file:
            data = file.read(BYTES_MAX + 1)
    except FileNotFoundError:  # it went away just now
        return Looked(named, None)
    except OSError as error:
        return Looked(named, f"cannot be read: {error.strerror}")
    cut = f"only its first {BYTES_MAX:,} bytes" if len(data) > BYTES_MAX else None
    return Looked([*named, *_content(path, data[:BYTES_MAX], finders)], cut)


def _link(path: str, target: str, finders: list[Finder]) -> Iterator[Found]:
    if os.path.isabs(target):
        yield Found(path, None, "link to a place on this machine", "", target)
    yield from _in_line(path, None, target, finders)


def _content(path: str, data: bytes, finders: list[Finder]) -> Iterator[Found]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield from _in_text(path, data.decode("utf-16", errors="replace"), True, finders)
    elif b"\0" in data[:HEAD_BYTES]:
        yield from _once(_in_text(path, b"\n".join(RUN.findall(data)).decode("ascii"), False, finders))
    else:
        yield from _in_text(path, data.decode("utf-8", errors="replace"), True, finders)


def _once(found: Iterator[Found]) -> Iterator[Found]:
    """Bytes have no lines to name: each kind counts once."""
    seen = set()
    for one in found:
        if one.kind not in seen:
            seen.add(one.kind)
            yield one


def _in_text(path: str, text: str, has_lines: bool, finders: list[Finder]) -> Iterator[Found]:
    """Line by line where there is something at all: most texts are clean, and one look tells."""
    secret = secrets.find(text)
    if not secret and not any(True for finder in finders for _ in finder(text)):
        return
    seen_secret = False
    for number, line in enumerate(text.split("\n"), 1):
        for one in _in_line(path, number if has_lines else None, line, finders):
            seen_secret = seen_secret or one.found == ""
            yield one
    if secret and not seen_secret:  # it spans lines, as a private key does
        begin = text[: max(text.find("-----BEGIN"), 0)].count("\n") + 1
        yield Found(path, begin if has_lines else None, f"secret: {secret}", "", "")


def _in_line(path: str, number: int | None, line: str, finders: list[Finder]) -> Iterator[Found]:
    kind = secrets.find(line)
    if kind:
        yield Found(path, number, f"secret: {kind}", "", line)
        return  # what else stands in this line is said without its value, or not at all
    for finder in finders:
        for hit in finder(line):
            yield Found(path, number, hit.kind, hit.found[:SHOWN_CHARS], line)
