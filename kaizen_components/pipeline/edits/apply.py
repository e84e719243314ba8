"""Apply the edits of an answer in memory: either all of them or none.

The next prompt quotes the text of a refusal.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise

from .format import FORMAT, WHOLE_FORM, Edit, EditRefused, PathRefused, describe_format, quote_text
from .match import find_place
from .parse import parse_edits
from .paths import ExistingPaths, check_path
from .render import render_edits
from .write import write_changes

__all__ = [
    "FORMAT",
    "WHOLE_FORM",
    "Edit",
    "EditRefused",
    "PathRefused",
    "advise_whole_files",
    "apply_edits",
    "describe_format",
    "parse_edits",
    "render_edits",
    "write_changes",
]

FILE_BYTES_MAX = 1_000_000
REFUSED_MAX = 2  # refused patches before the prompt asks for whole files
BOM = "\ufeff"
LEAKS = ("<<<<<<<", ">>>>>>>", "FILE: ")  # a new line with such a beginning is a misplaced marker
UNREADABLE = "\ufffd"  # stands for bytes of the answer that are not text
Read = Callable[[str], bytes | None]
WHOLE_FILES = (
    "Two patches could not be applied. This time write every file that you change as a whole, "
    "between <<<<<<< WHOLE and >>>>>>> END, from its first line to its last; no SEARCH blocks."
)


def apply_edits(
    edits: list[Edit],
    read: Read,
    *,
    existing_paths: Iterable[str] = (),
    is_link: Callable[[str], bool] = lambda path: False,
) -> dict[str, bytes | None]:
    """Return {path: new content, or None if deleted} of the files that change.

    Raise EditRefused if any edit cannot be applied. `read` returns the content of a file of the
    base. `existing_paths` are all its files, to detect a path that differs only in case.
    """
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(check_path(edit.path), []).append(edit)
    existing = ExistingPaths(existing_paths, is_link)
    changes: dict[str, bytes | None] = {}
    for path, blocks in by_path.items():
        existing.check(path)
        base = read(path)
        new = _change_file(path, blocks, base)
        if new != base:
            changes[path] = new
    if not changes:
        raise EditRefused(
            "The edits change nothing.",
            "Every file would be the same as before.",
            "Write the lines that must change.",
        )
    return changes


def _change_file(path: str, blocks: list[Edit], base: bytes | None) -> bytes | None:
    """Return the content of one file after its edits, or None if an edit deletes the file."""
    first = blocks[0]
    data = base or b""
    # A block with an empty search, in a file that is missing or empty, is the whole file.
    has_whole = any(
        edit.kind != "replace" or (not data and not any(line.strip() for line in edit.search))
        for edit in blocks
    )
    if has_whole and len(blocks) > 1:
        numbers = " and ".join(str(edit.number) for edit in blocks[:2])
        raise EditRefused(
            f"Blocks {numbers} are both for {quote_text(path)}, and one is for the whole file.",
            "A block for the whole file must be the only one.",
            "Write only one of them.",
        )
    if first.kind == "delete":
        if base is None:
            raise EditRefused(
                f"{first.name} deletes a file that does not exist.", "", "Leave the block out."
            )
        return None
    if len(data) > FILE_BYTES_MAX:
        raise EditRefused(
            f"{quote_text(path)} has {len(data):,} bytes.",
            f"At most {FILE_BYTES_MAX:,} can be edited.",
            "Do not change this file.",
        )
    try:
        old = data.decode()
    except UnicodeDecodeError:
        old = "\0"
    if "\0" in old:
        raise EditRefused(
            f"{quote_text(path)} is not a text file.",
            "It is binary or not UTF-8.",
            "Do not change this file.",
        )
    if has_whole:
        # A file without a line break at its end stays without one.
        end = _line_end(old)
        new = end.join(first.text) + (end if not old or old.endswith("\n") else "")
        new = new if first.text else ""
        if old.startswith(BOM) and not new.startswith(BOM):
            new = BOM + new
    elif base is None:
        raise EditRefused(
            f"{first.name} searches in a file that does not exist.",
            "",
            "Check the path, or write the new file in a WHOLE block.",
        )
    else:
        new = _replace_blocks(path, blocks, old)
    return _encode_checked(path, old, new)


def _line_end(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _replace_blocks(path: str, blocks: list[Edit], old: str) -> str:
    """Replace the lines of each block, from the last block to the first; refuse overlaps."""
    raw = old.removeprefix(BOM).split("\n")
    lines = [line.removesuffix("\r") for line in raw]
    if not raw[-1]:
        lines.pop()  # the text after the last line break is not a line
    places = sorted((find_place(edit, lines) for edit in blocks), key=lambda place: place.start)
    for first, second in pairwise(places):
        if second.start < first.end:
            raise EditRefused(
                f"Blocks {first.edit.number} and {second.edit.number} overlap in "
                f"{quote_text(path)}, at line {second.start + 1}.",
                "All blocks apply to the present file, so they must not overlap.",
                "Combine the two blocks into one.",
            )
    for place in reversed(places):
        place.put_into(raw, _line_end(old) == "\r\n")
    return BOM * old.startswith(BOM) + "\n".join(raw)


def _encode_checked(path: str, old: str, new: str) -> bytes:
    """Encode the new content; refuse text that looks like a mistake, such as a stray marker."""
    name = quote_text(path)
    if "\0" in new:
        raise EditRefused(
            f"{name} would have a NUL byte.",
            "A text file cannot have one.",
            "Write it as an escape.",
        )
    for prefix in LEAKS:
        marker_lines = [line for line in new.split("\n") if line.startswith(prefix)]
        if len(marker_lines) > sum(line.startswith(prefix) for line in old.split("\n")):
            raise EditRefused(
                f"{name} would have the line {quote_text(marker_lines[-1].rstrip())!r}.",
                "It looks like a marker of the answer, not like text of the file.",
                "Write every block with its own markers, and no marker inside.",
            )
    if new.count(UNREADABLE) > old.count(UNREADABLE):
        raise EditRefused(
            f"{name} would have a character that is not text.", "", "Write it as an escape."
        )
    try:
        data = new.encode()
    except UnicodeEncodeError:
        raise EditRefused(
            f"{name} would not be UTF-8.", "It has a lone surrogate.", "Write it as an escape."
        ) from None
    if len(data) > FILE_BYTES_MAX:
        raise EditRefused(
            f"{name} would have {len(data):,} bytes.",
            f"At most {FILE_BYTES_MAX:,} are allowed.",
            "Write a shorter file.",
        )
    return data


def advise_whole_files(refusals: int) -> str:
    """After exactly two refusals, return the advice to write whole files; otherwise ""."""
    return WHOLE_FILES if refusals == REFUSED_MAX else ""
