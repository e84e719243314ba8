"""Answers for people: tables for lists, cards for records, sentences for errors. This is the hot path.

Made from the same dict that `--json` prints. Colour only on a terminal and never with NO_COLOR. Control characters in
stored text are shown, not obeyed.
"""

import os
import sys

from ..records.ledger.canonical import encode_compact, escape_invisible, measure_width

WIDTH_DEFAULT = 100
WIDTH_MIN = 40
COLUMN_MIN = 16
ERROR_INDENT = len("error: ")
LABELS = {"records": "", "log": "place in the log"}
CARDS = ("rules",)  # rows of prose, which is read as text and not in a column
TIMES = ("at", "changed_at", "since", "until", "lease_until", "deadline", "retrieved_at")
NO_MARKS = {ord(mark): "" for mark in "-:."}  # of a time, as an id has it
SHORT = {"hash": 12, "content_hash": 12, "leaf": 12, "root": 16}
QUIET = ("status", "count", "more")
COLOURS = {
    "done": "32", "ok": "32", "completed": "32", "active": "36", "blocked": "33", "warn": "33", "partial": "33",
    "fail": "31", "failed": "31", "critical": "31", "high": "33", "canceled": "90",
}  # fmt: skip


def render_result(result, command):
    """The whole answer as text, ending in a newline."""
    if command.name != "db-batch" or not any(map(_is_answer, result["records"])):
        return _render_answer(result)
    _, colour = measure_terminal()
    parts = [
        paint_text(f"line {row['line']}", "1", colour)
        + "\n"
        + _render_answer({**row, "line": None})
        for row in result["records"]
    ]
    rest = {name: value for name, value in result.items() if name not in ("records", *QUIET)}
    return "\n".join([*parts, _render_answer(rest)] if rest else parts)


def _is_answer(row):
    """What a command that reads brought into a batch: more than the line of a table."""
    return "text" in row or "document" in row or any(map(_is_nested, row.values()))


def _render_answer(result):
    if "document" in result:  # made to be shown or kept as it is, to the byte
        return result["document"]
    if (
        "text" in result
    ):  # a ready block, which is the whole answer for people; the rest is for programs
        return clean_text(result["text"]) + "\n"
    width, colour = measure_terminal()
    lines = []
    plain = {
        name: value for name, value in result.items() if name not in QUIET and not _is_nested(value)
    }
    if plain:
        lines += _render_card(plain, width, colour)
    for name, value in result.items():
        if isinstance(value, dict):
            lines += _render_heading(name, colour) + _render_card(
                _flatten_card(value), width, colour, indent=2
            )
        elif _is_nested(value) and value:
            lines += _render_heading(name, colour) if LABELS.get(name, name) else [""] * bool(lines)
            lines += (_render_cards if name in CARDS else _render_table)(value, width, colour)
    empty = [
        LABELS.get(name, name).replace("_", " ")
        for name, value in result.items()
        if value == [] and name != "records"
    ]
    if empty:
        lines += ["", *wrap_text("none: ", ", ".join(empty), width)]
    if "records" in result:
        lines.append(_tail(result))
    return "\n".join(lines) + "\n"


def render_notes(messages):
    return "".join(f"note: {clean_text(message)}\n" for message in messages)


def render_error(problem):
    """What, why and what next, each on its own line."""
    width, colour = measure_terminal(sys.stderr)
    lines = wrap_text(paint_text("error: ", "31;1", colour), problem.what, width, ERROR_INDENT)
    if problem.why:
        lines += wrap_text("  why: ", problem.why, width, ERROR_INDENT)
    if problem.next:
        lines += wrap_text(paint_text(" next: ", "36", colour), problem.next, width, ERROR_INDENT)
    if len(problem.findings) > 1 or any(
        str(one.get("id", "")) not in problem.what for one in problem.findings
    ):
        lines += ["", *_render_table(problem.findings, width, colour)]
    return "\n".join(lines) + "\n"


def measure_terminal(stream=None):
    """(width, may use colour) of the stream, stdout unless told."""
    stream = stream or sys.stdout
    try:
        tty = stream is not None and stream.isatty()
    except ValueError:
        tty = False
    told = os.environ.get("COLUMNS", "")
    width = int(told) if told.isdecimal() and len(told) < 5 else 0
    if not width and tty:
        try:
            width = os.get_terminal_size(stream.fileno()).columns
        except OSError:
            pass
    colour = tty and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return max(width or WIDTH_DEFAULT, WIDTH_MIN), colour


def paint_text(text, code, colour):
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def clean_text(text):
    return text if text.isprintable() else escape_invisible(text).expandtabs(4)


def _is_nested(value):
    """A list of dicts is a table, a dict is a card of its own; everything else is a line of the card."""
    return isinstance(value, dict) or (
        isinstance(value, list) and (not value or isinstance(value[0], dict))
    )


def _flatten_card(card):
    flat = {}
    for name, value in card.items():
        if isinstance(value, dict):
            flat.update({f"{name} {inner}": deeper for inner, deeper in value.items()})
        else:
            flat[name] = value
    return flat


def _render_heading(name, colour):
    return ["", paint_text(LABELS.get(name, name).replace("_", " "), "1", colour)]


def _format_value(name, value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(_format_value("", one) for one in value)
    if isinstance(value, dict) and not name:  # a record within a row: one line
        return "  ".join(filter(None, (_format_value(inner, one) for inner, one in value.items())))
    if isinstance(value, dict):  # deeper than a card goes
        value = encode_compact(value)
    text = clean_text(f"{value:.6g}" if isinstance(value, float) else str(value)).rstrip("\n")
    if name in TIMES and len(text) == 24:  # 2026-11-16T03:15:55.123Z
        return text[:10] + " " + text[11:19] + "Z"
    return text[: SHORT[name]] + "…" if name in SHORT and len(text) > SHORT[name] else text


def _render_card(card, width, colour, indent=0):
    """`name  value` lines; empty values are left out, long ones wrap under themselves."""
    shown = {name.replace("_", " "): _format_value(name, value) for name, value in card.items()}
    shown = {name: text for name, text in shown.items() if text}
    label = max((len(name) for name in shown), default=0)
    lines: list[str] = []
    for name, text in shown.items():
        painted = paint_text(text, COLOURS[text], colour) if text in COLOURS else None
        head = " " * indent + paint_text(name.ljust(label), "90", colour) + "  "
        lines += [head + painted] if painted else wrap_text(head, text, width, indent + label + 2)
    return lines


def _render_table(rows, width, colour):
    """Aligned columns, on two lines a row where one is too narrow; columns that are empty in every row are left out.
    What does not fit even so stands as cards."""
    rows = [{name: _format_cell(name, value) for name, value in row.items()} for row in rows]
    every = dict.fromkeys(name for row in rows for name in row if not isinstance(row[name], dict))
    names = [
        name
        for name in every
        if any(_format_value(name, row.get(name)) not in ("", "no") for row in rows)
    ]
    caption: list[str] = []
    if _least_width(names, rows) > width:
        names = [name for name in names if not _is_in_id(name, rows)]
    if _least_width(names, rows) > width and len(rows) > 1:
        same = [
            name
            for name in names
            if name != "title" and len({_format_value(name, row.get(name)) for row in rows}) == 1
        ]
        names = [name for name in names if name not in same]
        said = ", ".join(
            f"{name.replace('_', ' ')} {_format_value(name, rows[0].get(name))}" for name in same
        )
        caption = wrap_text("", f"In every row: {said}.", width) if same else []
    first, second = _split_columns(names, rows, width)
    fits = _least_width(first, rows) <= width and _least_width(second, rows) <= width - 2
    if not fits or (
        second and any("\n" in _format_value(name, row.get(name)) for row in rows for name in names)
    ):
        return caption + _render_cards(
            [{name: row.get(name) for name in names} for row in rows], width, colour
        )
    return caption + _grid([first, second] if second else [first], rows, width, colour)


def _is_in_id(name, rows):
    """A time that every id begins with."""
    stamps = [str(row.get(name)).translate(NO_MARKS) for row in rows]
    return name in TIMES and all(
        stamp in row.get("id", "") for stamp, row in zip(stamps, rows, strict=True)
    )


def _split_columns(names, rows, width):
    """The columns of the first line of a row, and those that go below: the broadest text, and what else is too much."""
    first, second = list(names), set[str]()
    free = [name for name in names if not _stays_whole(name)]
    while free and len(first) > 1 and _least_width(first, rows) > width:
        widths = dict(zip(names, _widths(names, rows), strict=True))
        out = first[-1] if second else max(free, key=lambda name: widths[name])
        first.remove(out)
        second.add(out)
    return first, [name for name in names if name in second]


def _render_cards(rows, width, colour):
    return [line for row in rows for line in (*_render_card(row, width, colour, indent=2), "")][:-1]


def _format_cell(name, value):
    """What a table shows: the head of a hash, and a list of texts in one line where it can."""
    if name == "sha256" and value:
        return value[:12] + "…"
    return (
        ", ".join(_format_value("", one) for one in value)
        if isinstance(value, list) and not _is_nested(value)
        else value
    )


def _least_width(names, rows):
    """The width below which ids and times would have to break."""
    return sum(_widths(names, rows, COLUMN_MIN)) + 2 * len(names) - 2


def _widths(names, rows, most=10_000):
    """Each column as broad as its broadest cell; those that may wrap, no broader than `most`."""
    found = []
    for name in names:
        broadest = max(len(name), *(_broadest(_format_value(name, row.get(name))) for row in rows))
        found.append(broadest if _stays_whole(name) else min(broadest, most))
    return found


def _stays_whole(name):
    return name in ("id", "superseded_by") or name.endswith("_id") or name in TIMES


def _grid(groups, rows, width, colour):
    """A line with the columns of each group for every row; what stands below is indented."""
    shapes: list[tuple] = []
    for names in groups:
        indent = "  " if shapes else ""
        widths = _widths(names, rows)
        _squeeze_columns(names, widths, width - len(indent))
        shapes.append((indent, names, widths))
    heads = [
        (indent, [name.replace("_", " ") for name in names], widths)
        for indent, names, widths in shapes
    ]
    lines = [
        paint_text(indent + _aligned(cells, widths, False), "1", colour)
        for indent, cells, widths in heads
    ]
    for row in rows:
        for indent, names, widths in shapes:
            cells = [
                wrap_text("", _format_value(name, row.get(name)), size)
                for name, size in zip(names, widths, strict=True)
            ]
            for at in range(max(map(len, cells), default=0)):
                parts = [cell[at] if at < len(cell) else "" for cell in cells]
                lines.append(indent + _aligned(parts, widths, colour))
    return lines


def _aligned(cells, widths, colour):
    return "  ".join(
        _padded(cell, size, colour) for cell, size in zip(cells, widths, strict=True)
    ).rstrip()


def _padded(text, size, colour):
    return (paint_text(text, COLOURS[text], colour) if text in COLOURS else text) + " " * (
        size - measure_width(text)
    )


def _squeeze_columns(names, widths, width):
    """Make the broadest columns narrower until the table fits; ids and times stay whole, to be copied."""
    free = [at for at, name in enumerate(names) if not _stays_whole(name)]
    while free and (over := sum(widths) + 2 * len(widths) - 2 - width) > 0:
        broadest = max(free, key=lambda at: widths[at])
        if widths[broadest] <= COLUMN_MIN:
            return
        second = max((widths[at] for at in free if at != broadest), default=COLUMN_MIN)
        widths[broadest] = max(COLUMN_MIN, second - 1, widths[broadest] - over)


def _tail(result):
    count = len(result["records"])
    if not count:
        return "Nothing found."
    more = f"; more with --limit (this is the limit of {count})" if result.get("more") else ""
    return f"\n{count} row{'s' if count != 1 else ''}{more}"


def _broadest(text):
    return max(map(measure_width, text.split("\n")))


def wrap_text(head, text, width, indent=None):
    """`head` and the text, broken at blanks to fit; the lines after the first are indented below the head."""
    indent = measure_width(head) if indent is None else indent
    room = max(width - indent, 16)
    lines = []
    for paragraph in text.split("\n"):
        line: list[str] = []
        used = 0
        for word in paragraph.split(" "):
            for cut, piece in enumerate(_split_word(word, room)):
                size = measure_width(piece)
                if line and (cut or used + 1 + size > room):
                    lines.append(" ".join(line))
                    line, used = [], 0
                used += size + (1 if line else 0)
                line.append(piece)
        lines.append(" ".join(line))
    return [(head if at == 0 else " " * indent) + line for at, line in enumerate(lines)]


def _split_word(word, room):
    """A word, cut where it is longer than a whole line."""
    if measure_width(word) <= room:
        return [word]
    room = room if word.isascii() else room // 2
    return [word[at : at + room] for at in range(0, len(word), room)]


def write_output(stream, output, changed=True) -> None:
    """Print UTF-8 whatever the locale. A closed pipe is not an error; a full disk is one."""
    if stream is None or not output:
        return
    try:
        stream.buffer.write(output.encode("utf-8", "backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), stream.fileno()
        )  # or Python complains once more at exit
    except OSError as error:
        if stream is sys.stdout:
            from ..errors import Unavailable

            raise Unavailable(
                "output_failed",
                "The command was carried out, but its answer could not be printed."
                if changed
                else "The answer could not be printed.",
                str(error.strerror),
                "Do not repeat it; ask for the record instead (`W9`, `W10 --id @last`)."
                if changed
                else "Send it elsewhere, or make room there.",
            ) from None
