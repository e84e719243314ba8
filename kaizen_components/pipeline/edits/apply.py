"""Edits of an answer, applied to the files they were made for: all of them or none, and without touching a disk.

The form is in edit_format, its reading in edit_parse, the search for a block's place in edit_match, the rules for paths
in edit_paths, and the jail for writing in edit_write. Whatever is refused says so in words that can be fed back.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise

from .format import FORMAT, WHOLE_FORM, Edit, EditRefused, PathRefused, describe_format, quote_text
from .match import Match, find_place
from .parse import parse_edits
from .paths import ExistingPaths, check_path
from .render import render_edits
from .write import write_changes

__all__ = [
    "FORMAT", "WHOLE_FORM", "Edit", "EditRefused", "PathRefused", "advise_whole_files", "apply_edits", "describe_format", "parse_edits", "render_edits", "write_changes",
]  # fmt: skip

FILE_BYTES_MAX = 1_000_000
REFUSED_MAX = 2  # patches, before whole files are asked for
BOM = "\ufeff"
LEAKS = ("<<<<<<<", ">>>>>>>", "FILE: ")  # how a line begins that was meant for us
UNREADABLE = "\ufffd"  # stands for bytes of the answer that were no text
Read = Callable[[str], bytes | None]
WHOLE_FILES = (
    "Two patches could not be applied. This time write every file that you change as a whole, between "
    "<<<<<<< WHOLE and >>>>>>> END, from its first line to its last; no SEARCH blocks."
)


def apply_edits(
    edits: list[Edit],
    read: Read,
    *,
    there: Iterable[str] = (),
    is_link: Callable[[str], bool] = lambda path: False,
) -> dict[str, bytes | None]:
    """Path -> new content (None: deleted) of every file that changes, or EditRefused.

    `read` gives the base. `there` are the paths of all its files, so that one which differs only in its letters is
    noticed; `is_link` says which of them are symbolic links.
    """
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(check_path(edit.path), []).append(edit)
    neighbours = ExistingPaths(there, is_link)
    changes: dict[str, bytes | None] = {}
    for path, of_file in by_path.items():
        neighbours.check(path)
        base = read(path)
        new = _changed(path, of_file, base)
        if new != base:
            changes[path] = new
    if not changes:
        raise EditRefused(
            "The edits change nothing.",
            "Every file is the same afterwards.",
            "Write what is to change.",
        )
    return changes


def _changed(path, of_file, base):
    first = of_file[0]
    whole = [edit for edit in of_file if edit.kind != "replace" or _is_new(edit, base)]
    if whole and len(of_file) > 1:
        numbers = " and ".join(str(edit.number) for edit in of_file[:2])
        raise EditRefused(
            f"Blocks {numbers} are both for {quote_text(path)}, and one is for the whole file.",
            "",
            "Write one.",
        )
    if first.kind == "delete":
        if base is None:
            raise EditRefused(
                f"{first.name} deletes a file that is not there.", "", "Leave it out."
            )
        return None
    old = _text(path, base)
    new = _whole(first, old) if whole else _replaced(path, of_file, base, old)
    return _sound(path, old, new)


def _is_new(edit, base):
    """A block that searches for nothing, in a file that is not there or empty, is the whole of it."""
    return not base and not any(line.strip() for line in edit.search)


def _text(path, base):
    if base is None:
        return ""
    if len(base) > FILE_BYTES_MAX:
        raise EditRefused(
            f"{quote_text(path)} has {len(base):,} bytes.",
            f"{FILE_BYTES_MAX:,} can be edited.",
            "Leave it as it is.",
        )
    try:
        text = base.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise EditRefused(
            f"{quote_text(path)} is not a text file.",
            "It is binary or not UTF-8.",
            "Leave it as it is.",
        )
    return text


def _whole(edit, old):
    """The lines with the ends of the base's; a file without a line break at its end keeps that."""
    end = _ending(old)
    last = end if not old or old.endswith("\n") else ""
    text = end.join(edit.text) + last if edit.text else ""
    return BOM + text if old.startswith(BOM) and not text.startswith(BOM) else text


def _ending(text):
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _replaced(path, of_file, base, old):
    if base is None:
        raise EditRefused(
            f"{of_file[0].name} searches in a file that is not there.",
            "",
            "Check the path, or write the file as a WHOLE.",
        )
    mark = BOM if old.startswith(BOM) else ""
    raw = old.removeprefix(BOM).split("\n")
    lines = [line.removesuffix("\r") for line in raw]
    if not raw[-1]:
        lines.pop()  # what follows the last line break is no line
    places = sorted((_placed(edit, lines) for edit in of_file), key=lambda found: found.start)
    for one, two in pairwise(places):
        if two.start < one.end:
            raise EditRefused(
                f"Blocks {one.edit.number} and {two.edit.number} overlap in {quote_text(path)}, at line {two.start + 1}.",
                "Both are made on the file as it stands.",
                "Make one block of the two.",
            )
    for found in reversed(places):
        _put(raw, found, _ending(old) == "\r\n")
    return mark + "\n".join(raw)


def _placed(edit, lines):
    if not any(line.strip() for line in edit.search):
        raise EditRefused(
            f"{edit.name} searches for nothing.",
            "",
            "Search for the lines before the place, and repeat them.",
        )
    return find_place(edit, lines)


def _put(raw: list[str], found: Match, crlf: bool) -> None:
    """Replace the lines that the block changes; those that it only repeats stay as they are, byte for byte."""
    old, new = found.edit.search, found.edit.text
    room = min(len(old), len(new))
    head = next((at for at in range(room) if old[at] != new[at]), room)
    tail = next((at for at in range(room - head) if old[-1 - at] != new[-1 - at]), room - head)
    text = found.text[head : len(new) - tail]
    fresh = [line + "\r" * crlf for line in text]
    if fresh and found.end - tail == len(raw):
        fresh[-1] = fresh[-1].removesuffix("\r")  # the file has no line break at its end
    start, end = found.start + head, found.end - tail
    if not fresh and start and end == len(raw):
        raw[start - 1] = raw[start - 1].removesuffix("\r")
    if fresh and start == len(raw) and crlf:
        raw[-1] += "\r"
    raw[start:end] = fresh


def _sound(path, old, new):
    """The new content as bytes, if nothing in it is a slip of the answer."""
    if "\0" in new:
        raise EditRefused(
            f"{quote_text(path)} would have a NUL byte.",
            "No text file has one.",
            "Write it as an escape.",
        )
    for leak in LEAKS:
        slips = [line for line in new.split("\n") if line.startswith(leak)]
        if len(slips) > sum(line.startswith(leak) for line in old.split("\n")):
            raise EditRefused(
                f"{quote_text(path)} would have the line {quote_text(slips[-1].rstrip())!r}.",
                "It looks like a marker of the answer and not like text of the file.",
                "Write every block with its own markers, and no marker inside.",
            )
    if new.count(UNREADABLE) > old.count(UNREADABLE):
        raise EditRefused(
            f"{quote_text(path)} would have a character that is no text.",
            "",
            "Write it as an escape.",
        )
    try:
        data = new.encode()
    except UnicodeEncodeError:
        raise EditRefused(
            f"{quote_text(path)} would not be UTF-8.",
            "It has half a character.",
            "Write it as an escape.",
        ) from None
    if len(data) > FILE_BYTES_MAX:
        raise EditRefused(
            f"{quote_text(path)} would have {len(data):,} bytes.",
            f"{FILE_BYTES_MAX:,} are allowed.",
            "Write less.",
        )
    return data


def advise_whole_files(refused: int) -> str:
    """What the next prompt says besides why: after the second refused answer, and only then, to write whole files."""
    return WHOLE_FILES if refused == REFUSED_MAX else ""
