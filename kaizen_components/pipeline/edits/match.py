"""Where a block's lines stand in a file: exactly once, or it is refused with the nearest place.

Three levels, the next one only where the one before finds nothing: exact; blanks at the ends of lines ignored; and the
whole block further in or out, or indented with tabs instead of blanks or the other way round.
"""

import difflib
from collections import Counter
from collections.abc import Callable, Iterator

from .format import Edit, EditRefused, quote_text

COMPARED_MAX = 3_000_000  # lines compared in the search for the nearest place: about a second
CLOSE_LINES_MAX = 5_000
CLOSE_CHARS_MAX = 200
PLACES_MAX = 100  # more than one are too many; these are counted for the message
UNITS = (4, 2, 8, 3)  # blanks of one level, the usual one first
Lines = list[str]


class Match:
    """Lines `start` to `end` of the file, and what is to stand there instead."""

    def __init__(self, edit: Edit, start: int, end: int, text: Lines):
        self.edit = edit
        self.start = start
        self.end = end
        self.text = text


def find_place(edit: Edit, lines: Lines) -> Match:
    """The one place where the block's lines stand in the file, or EditRefused."""
    search, text = list(edit.search), list(edit.text)
    for found in _levels(search, lines):
        if len(found) > 1:
            more = " or more" if len(found) == PLACES_MAX else ""
            raise EditRefused(
                f"{edit.name} fits in {len(found)}{more} places, at lines {_numbers(found)}.",
                "It must fit in exactly one.",
                "Search for more lines, so that only one place fits.",
            )
        for start, change in found.items():
            return Match(edit, start, start + len(search), [change(line) for line in text])
    raise EditRefused(
        f"{edit.name} matches nothing in the file.",
        describe_nearest(search, lines),
        "Copy the lines as they stand.",
    )


def _numbers(starts):
    return ", ".join(str(at + 1) for at in sorted(starts)[:5]) + (" …" if len(starts) > 5 else "")


def _levels(search: Lines, lines: Lines) -> Iterator[dict[int, Callable[[str], str]]]:
    """Each level's places, and how a line of the replacement changes there."""
    yield dict.fromkeys(_starts(search, lines), _as_it_is)
    bare, wanted = [line.rstrip() for line in lines], [line.rstrip() for line in search]
    yield dict.fromkeys(_starts(wanted, bare), _as_it_is)
    found = {}
    for at in _starts([line.strip() for line in search], [line.strip() for line in lines]):
        if change := _shift(wanted, bare[at : at + len(wanted)]):
            found[at] = change
    for respell in _respellings(wanted, bare):
        for at in _starts([respell(line) for line in wanted], bare):
            found.setdefault(at, respell)
    yield found


def _as_it_is(line):
    return line


def _starts(search: Lines, lines: Lines) -> list[int]:
    """Where the lines stand one below the other; looked for by the one that the file has least often."""
    counts = Counter(lines)
    offset = min(range(len(search)), key=lambda at: counts[search[at]])
    found: list[int] = []
    at = -1
    for _ in range(counts[search[offset]]):
        at = lines.index(search[offset], at + 1)
        if at >= offset and lines[at - offset : at - offset + len(search)] == search:
            found.append(at - offset)
            if len(found) == PLACES_MAX:
                break
    return found


def _shift(search, there):
    """What turns the block's lines into those in the file by putting blanks before all or taking them away, or None."""
    pairs = [(ours, theirs) for ours, theirs in zip(search, there, strict=True) if ours]
    if not pairs:
        return None
    ours, theirs = pairs[0]
    ours_in, theirs_in = (line[: len(line) - len(line.lstrip())] for line in (ours, theirs))
    kept = 0
    while kept < min(len(ours_in), len(theirs_in)) and ours_in[-1 - kept] == theirs_in[-1 - kept]:
        kept += 1
    out, into = ours_in[: len(ours_in) - kept], theirs_in[: len(theirs_in) - kept]
    if out and into:
        return None  # tabs against blanks: that is not a shift
    change = _shifted(out, into)
    return change if all(change(ours) == theirs for ours, theirs in pairs) else None


def _shifted(out, into):
    def change(line):
        if not line.strip():
            return line
        return into + (line[len(out) :] if line.startswith(out) else line.lstrip())

    return change


def _respellings(search, lines):
    """Ways to write the block's indentation as the file does: tabs for blanks, or blanks for tabs."""
    ours = {line[:1] for line in search} & {" ", "\t"}
    theirs = {line[:1] for line in lines} & {" ", "\t"}
    if ours == {" "} and "\t" in theirs:
        return [lambda line, unit=unit: _indented(line, " " * unit, "\t") for unit in UNITS]
    if ours == {"\t"} and " " in theirs:
        return [lambda line, unit=unit: _indented(line, "\t", " " * unit) for unit in UNITS]
    return []


def _indented(line, old, new):
    depth = 0
    while line.startswith(old, depth * len(old)):
        depth += 1
    return new * depth + line[depth * len(old) :]


def describe_nearest(search: Lines, lines: Lines) -> str:
    """The place that is most like the block, and the first line where the two part."""
    at = _likest(search, lines)
    if at is None:
        return f"No line of the file is like its first line, {quote_text(search[0].strip())!r}."
    there = lines[at : at + len(search)]
    end = at + len(there)
    for number, (ours, theirs) in enumerate(zip(search, there, strict=False)):
        if ours.rstrip() != theirs.rstrip():
            return (
                f"The nearest place is lines {at + 1}-{end}; they part at line {at + number + 1}, where the file has "
                f"{quote_text(theirs)!r} and the block has {quote_text(ours)!r}."
            )
    return f"The nearest place is lines {at + 1}-{end}, where the file ends before the block does."


def _likest(search, lines):
    """Where most lines are the same but for blanks; else where one line is close to the block's first."""
    wanted, there = [line.strip() for line in search], [line.strip() for line in lines]
    offsets: dict[str, list[int]] = {}
    for offset, line in enumerate(wanted):
        if line:
            offsets.setdefault(line, []).append(offset)
    scores: dict[int, int] = {}
    compared = 0
    for number, line in enumerate(there):
        for offset in offsets.get(line, ()):
            compared += 1
            if number >= offset:
                scores[number - offset] = scores.get(number - offset, 0) + 1
        if compared > COMPARED_MAX:
            break
    if scores:
        return max(scores, key=lambda at: (scores[at], -at))
    first = next((line for line in wanted if line), "")[:CLOSE_CHARS_MAX]
    short = [line[:CLOSE_CHARS_MAX] for line in there[:CLOSE_LINES_MAX]]
    close = difflib.get_close_matches(first, short, n=1, cutoff=0.5)
    return short.index(close[0]) if close else None
