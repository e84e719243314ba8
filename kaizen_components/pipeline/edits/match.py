"""Find the only place of a block's lines in a file, or refuse the block and name the nearest place.

There are three levels of comparison, each used only if the one before finds nothing: exact; without
blanks at the ends of lines; with another indentation (deeper, shallower, or tabs for blanks).
"""

import difflib
from collections import Counter
from collections.abc import Callable, Iterator

from .format import Edit, EditRefused, quote_text

COMPARED_MAX = 3_000_000  # lines compared in the search for the nearest place: about a second
CLOSE_LINES_MAX = 5_000
CLOSE_CHARS_MAX = 200
PLACES_MAX = 100  # counted for the message
UNITS = (4, 2, 8, 3)  # blanks per level of indentation, the most common first
INDENTS = {" ", "\t"}
Lines = list[str]
Change = Callable[[str], str]


class Match:
    """Lines of a file, from `start` up to but not including `end`, and their replacement."""

    def __init__(self, edit: Edit, start: int, end: int, text: Lines):
        self.edit = edit
        self.start = start
        self.end = end
        self.text = text

    def put_into(self, raw: Lines, crlf: bool) -> None:
        """Replace the lines in `raw`; lines at both ends that do not change stay byte for byte."""
        old, new = self.edit.search, self.edit.text
        room = min(len(old), len(new))
        head = next((at for at in range(room) if old[at] != new[at]), room)
        room -= head
        tail = next((at for at in range(room) if old[-1 - at] != new[-1 - at]), room)
        new_rows = [line + "\r" * crlf for line in self.text[head : len(new) - tail]]
        start, end = self.start + head, self.end - tail
        if new_rows and end == len(raw):
            new_rows[-1] = new_rows[-1].removesuffix("\r")  # the file has no line break at its end
        if not new_rows and start and end == len(raw):
            raw[start - 1] = raw[start - 1].removesuffix("\r")
        if new_rows and start == len(raw) and crlf:
            raw[-1] += "\r"
        raw[start:end] = new_rows


def find_place(edit: Edit, lines: Lines) -> Match:
    """Return the match of a block in a file; raise EditRefused unless there is exactly one."""
    search = list(edit.search)
    if not any(line.strip() for line in search):
        raise EditRefused(
            f"{edit.name} searches for nothing.",
            "",
            "Search for the lines above the place, and repeat them in the replacement.",
        )
    for places in _find_levels(search, lines):
        if len(places) > 1:
            suffix = " or more" if len(places) == PLACES_MAX else ""
            numbers = ", ".join(str(at + 1) for at in sorted(places)[:5])
            raise EditRefused(
                f"{edit.name} fits in {len(places)}{suffix} places, "
                f"at lines {numbers}{' …' if len(places) > 5 else ''}.",
                "It must fit in exactly one place.",
                "Search for more lines, so that only one place fits.",
            )
        for start, change in places.items():
            return Match(edit, start, start + len(search), [change(line) for line in edit.text])
    raise EditRefused(
        f"{edit.name} matches nothing in the file.",
        describe_nearest(search, lines),
        "Copy the lines exactly as they are in the file.",
    )


def _find_levels(search: Lines, lines: Lines) -> Iterator[dict[int, Change]]:
    """For each level, yield {start line: function that adapts a line of the replacement}."""
    # Level 1: the lines are equal.
    yield dict.fromkeys(_find_starts(search, lines), str)
    # Level 2: they are equal without blanks at their ends.
    trimmed_lines = [line.rstrip() for line in lines]
    trimmed_search = [line.rstrip() for line in search]
    yield dict.fromkeys(_find_starts(trimmed_search, trimmed_lines), str)
    # Level 3: they have another indentation, deeper or shallower, or tabs for blanks.
    places: dict[int, Change] = {}
    for at in _find_starts([line.strip() for line in search], [line.strip() for line in lines]):
        if change := _find_shift(trimmed_search, trimmed_lines[at : at + len(trimmed_search)]):
            places[at] = change
    ours, theirs = (
        {line[:1] for line in part} & INDENTS for part in (trimmed_search, trimmed_lines)
    )
    for unit in UNITS:
        if ours == {" "} and "\t" in theirs:
            old, new = " " * unit, "\t"
        elif ours == {"\t"} and " " in theirs:
            old, new = "\t", " " * unit
        else:
            break

        def reindent(line: str, old: str = old, new: str = new) -> str:
            depth = 0
            while line.startswith(old, depth * len(old)):
                depth += 1
            return new * depth + line[depth * len(old) :]

        for at in _find_starts([reindent(line) for line in trimmed_search], trimmed_lines):
            places.setdefault(at, reindent)
    yield places


def _find_starts(search: Lines, lines: Lines) -> list[int]:
    """Return the start of each place where `search` occurs; look for its rarest line first."""
    counts = Counter(lines)
    offset = min(range(len(search)), key=lambda at: counts[search[at]])
    starts: list[int] = []
    at = -1
    for _ in range(counts[search[offset]]):
        at = lines.index(search[offset], at + 1)
        if at >= offset and lines[at - offset : at - offset + len(search)] == search:
            starts.append(at - offset)
            if len(starts) == PLACES_MAX:
                break
    return starts


def _find_shift(search: Lines, lines: Lines) -> Change | None:
    """Return a function that indents the block's lines as the file does; None if this fails."""
    pairs = [
        (search_line, file_line)
        for search_line, file_line in zip(search, lines, strict=True)
        if search_line
    ]
    if not pairs:
        return None
    ours_in, theirs_in = (line[: len(line) - len(line.lstrip())] for line in pairs[0])
    common = 0
    shortest = min(len(ours_in), len(theirs_in))
    while common < shortest and ours_in[-1 - common] == theirs_in[-1 - common]:
        common += 1
    out, into = ours_in[: len(ours_in) - common], theirs_in[: len(theirs_in) - common]
    if out and into:
        return None  # one has tabs and the other blanks

    def shift(line: str) -> str:
        if not line.strip():
            return line
        return into + (line[len(out) :] if line.startswith(out) else line.lstrip())

    return (
        shift if all(shift(search_line) == file_line for search_line, file_line in pairs) else None
    )


def describe_nearest(search: Lines, lines: Lines) -> str:
    """Describe the place most similar to the block, and the first line that differs.

    The most similar place has the most equal lines, ignoring blanks. If no line is equal, it is
    the line most like the first line of the block.
    """
    stripped_search = [line.strip() for line in search]
    stripped_lines = [line.strip() for line in lines]
    offsets: dict[str, list[int]] = {}
    for offset, line in enumerate(stripped_search):
        if line:
            offsets.setdefault(line, []).append(offset)
    scores: Counter[int] = Counter()
    compared_count = 0
    for number, line in enumerate(stripped_lines):
        for offset in offsets.get(line, ()):
            compared_count += 1
            if number >= offset:
                scores[number - offset] += 1
        if compared_count > COMPARED_MAX:
            break
    if scores:
        start = max(scores, key=lambda start_line: (scores[start_line], -start_line))
    else:
        first = next((line for line in stripped_search if line), "")[:CLOSE_CHARS_MAX]
        short = [line[:CLOSE_CHARS_MAX] for line in stripped_lines[:CLOSE_LINES_MAX]]
        close = difflib.get_close_matches(first, short, n=1, cutoff=0.5)
        if not close:
            first_line = quote_text(search[0].strip())
            return f"No line of the file resembles the block's first line, {first_line!r}."
        start = short.index(close[0])
    nearest = lines[start : start + len(search)]
    end = start + len(nearest)
    for number, (search_line, file_line) in enumerate(
        zip(search, nearest, strict=False), start + 1
    ):
        if search_line.rstrip() != file_line.rstrip():
            return (
                f"The nearest place is lines {start + 1}-{end}; they differ at line {number}, "
                f"where the file has {quote_text(file_line)!r} and the block has {quote_text(search_line)!r}."
            )
    return (
        f"The nearest place is lines {start + 1}-{end}, where the file ends before the block does."
    )
