"""Render results for people: tables for lists, cards for records, sentences for errors. Hot path.

The source is the dict that `--json` prints. Colour only on a terminal and never with NO_COLOR.
Control characters in stored text are printed as escapes.
"""

from __future__ import annotations

import os
import sys

from ..records.ledger.canonical import encode_compact, escape_invisible, measure_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TextIO

    from ..errors import KaizenError
    from ..index import Command
    from ..parameters import Row

WIDTH_DEFAULT = 100
WIDTH_MIN = 40
COLUMN_MIN = 16
ERROR_INDENT = len("error: ")
LABELS = {"records": "", "log": "place in the log"}
CARDS = ("rules",)  # rows of prose, which read badly in a column
TIMES = ("at", "changed_at", "since", "until", "lease_until", "deadline", "retrieved_at")
TIME_MARKS = {ord(mark): "" for mark in "-:."}  # an id holds its time without them
SHORT = {"hash": 12, "content_hash": 12, "leaf": 12, "root": 16}
QUIET = ("status", "count", "more")
STATES_BY_COLOUR = {
    "31": "fail failed critical",
    "32": "done ok completed",
    "33": "blocked warn partial high",
    "36": "active",
    "90": "canceled",
}
COLOURS = {state: code for code, states in STATES_BY_COLOUR.items() for state in states.split()}


def render_result(result: Row, command: Command) -> str:
    """Return the result of a command, or of a batch, as text that ends in a newline."""
    rows = result["records"] if command.name == "db-batch" else []
    # A reading command in a batch returns more than one table row can show.
    long_rows = [row for row in rows if "text" in row or "document" in row]
    if not long_rows and not any(is_nested(value) for row in rows for value in row.values()):
        return render_answer(result)
    _, colour = measure_terminal()
    parts = [
        paint_text(f"line {row['line']}", "1", colour) + "\n" + render_answer({**row, "line": None})
        for row in rows
    ]
    rest = {name: value for name, value in result.items() if name not in ("records", *QUIET)}
    return "\n".join([*parts, render_answer(rest)] if rest else parts)


def render_answer(result: Row) -> str:
    """Return one answer: a card of its plain values, then its tables."""
    if "document" in result:  # print it unchanged
        return result["document"]
    if "text" in result:  # people see only this text; the other values are for programs
        return clean_text(result["text"]) + "\n"
    width, colour = measure_terminal()
    lines = []
    plain_values = {
        name: value for name, value in result.items() if name not in QUIET and not is_nested(value)
    }
    if plain_values:
        lines += render_card(plain_values, width, colour)
    for name, value in result.items():
        label = LABELS.get(name, name).replace("_", " ")
        heading = ["", paint_text(label, "1", colour)]
        if isinstance(value, dict):
            card: Row = {}
            for key, part in value.items():
                nested = part.items() if isinstance(part, dict) else ()
                card |= {f"{key} {name}": item for name, item in nested} if nested else {key: part}
            lines += heading + render_card(card, width, colour, indent=2)
        elif value and is_nested(value):
            lines += heading if label else [""] * bool(lines)
            lines += (render_cards if name in CARDS else render_table)(value, width, colour)
    empty_lists = [
        LABELS.get(name, name).replace("_", " ")
        for name, value in result.items()
        if value == [] and name != "records"
    ]
    if empty_lists:
        lines += ["", *wrap_text("none: ", ", ".join(empty_lists), width)]
    if "records" in result:
        count = len(result["records"])
        hint = f"; more with --limit (this is the limit of {count})" if result.get("more") else ""
        plural = "s" if count != 1 else ""
        lines.append(f"\n{count} row{plural}{hint}" if count else "Nothing found.")
    return "\n".join(lines) + "\n"


def render_notes(messages: Iterable[str]) -> str:
    return "".join(f"note: {clean_text(message)}\n" for message in messages)


def render_error(error: KaizenError) -> str:
    """Return what, why and what next, each on its own line."""
    width, colour = measure_terminal(sys.stderr)
    lines = wrap_text(paint_text("error: ", "31;1", colour), error.what, width, ERROR_INDENT)
    if error.why:
        lines += wrap_text("  why: ", error.why, width, ERROR_INDENT)
    if error.next:
        lines += wrap_text(paint_text(" next: ", "36", colour), error.next, width, ERROR_INDENT)
    ids = [str(row.get("id", "")) for row in error.findings]
    if len(ids) > 1 or any(id not in error.what for id in ids):
        lines += ["", *render_table(error.findings, width, colour)]
    return "\n".join(lines) + "\n"


def measure_terminal(stream: TextIO | None = None) -> tuple[int, bool]:
    """Return (width, may use colour) of the stream; the default is stdout."""
    stream = stream or sys.stdout
    try:
        is_tty = stream is not None and stream.isatty()
    except ValueError:
        is_tty = False
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and len(columns) < 5 else 0
    if not width and is_tty:
        try:
            width = os.get_terminal_size(stream.fileno()).columns
        except OSError:
            pass
    colour = is_tty and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return max(width or WIDTH_DEFAULT, WIDTH_MIN), colour


def paint_text(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def clean_text(text: str) -> str:
    return text if text.isprintable() else escape_invisible(text).expandtabs(4)


def is_nested(value: Any) -> bool:
    """Return whether the value is a table (a list of dicts) or a card (a dict)."""
    if isinstance(value, list):
        return not value or isinstance(value[0], dict)
    return isinstance(value, dict)


def format_value(name: str, value: Any) -> str:
    """Return the value as clean text; short hashes and times are enough for people."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(format_value("", item) for item in value)
    if isinstance(value, dict) and not name:  # a record within a row: one line
        return "  ".join(filter(None, (format_value(key, part) for key, part in value.items())))
    if isinstance(value, dict):  # deeper than a card shows
        value = encode_compact(value)
    text = clean_text(f"{value:.6g}" if isinstance(value, float) else str(value)).rstrip("\n")
    if name in TIMES and len(text) == 24:  # 2026-11-16T03:15:55.123Z
        return text[:10] + " " + text[11:19] + "Z"
    return text[: SHORT[name]] + "…" if name in SHORT and len(text) > SHORT[name] else text


def render_card(card: Row, width: int, colour: bool, indent: int = 0) -> list[str]:
    """Return `name  value` lines; omit empty values, wrap long ones under themselves."""
    texts = {name.replace("_", " "): format_value(name, value) for name, value in card.items()}
    texts = {name: text for name, text in texts.items() if text}
    label = max((len(name) for name in texts), default=0)
    lines = []
    for name, text in texts.items():
        head = " " * indent + paint_text(name.ljust(label), "90", colour) + "  "
        if text in COLOURS:
            lines.append(head + paint_text(text, COLOURS[text], colour))
        else:
            lines += wrap_text(head, text, width, indent + label + 2)
    return lines


def render_cards(rows: list[Row], width: int, colour: bool) -> list[str]:
    return [line for row in rows for line in (*render_card(row, width, colour, indent=2), "")][:-1]


def render_table(rows: list[Row], width: int, colour: bool) -> list[str]:
    """Return aligned columns; in a narrow terminal two lines per row, or a card for each row.

    Columns that are empty in every row are left out.
    """
    cells = []
    for row in rows:
        cells.append(dict(row))
        for name, value in row.items():
            if name == "sha256" and value:
                cells[-1][name] = value[:12] + "…"
            elif isinstance(value, list) and not is_nested(value):
                cells[-1][name] = ", ".join(format_value("", item) for item in value)
    rows = cells
    every = dict.fromkeys(name for row in rows for name in row if not isinstance(row[name], dict))
    columns = {name: [format_value(name, row.get(name)) for row in rows] for name in every}
    columns = {name: texts for name, texts in columns.items() if {*texts} - {"", "no"}}
    caption: list[str] = []
    if measure_least(columns) > width:  # omit times that the ids contain already
        ids = [row.get("id", "") for row in rows]
        for name in [name for name in TIMES if name in columns]:
            stamps = [str(row.get(name)).translate(TIME_MARKS) for row in rows]
            if all(stamp in id for stamp, id in zip(stamps, ids, strict=True)):
                del columns[name]
    if measure_least(columns) > width and len(rows) > 1:
        same = [name for name in columns if name != "title" and len({*columns[name]}) == 1]
        facts = [f"{name.replace('_', ' ')} {columns.pop(name)[0]}" for name in same]
        caption = wrap_text("", f"In every row: {', '.join(facts)}.", width) if same else []
    # Move the broadest columns to a second line until the first one fits.
    first, second = dict(columns), set[str]()
    widths = measure_columns(columns)
    free = [name for name in columns if not stays_whole(name)]
    while free and len(first) > 1 and measure_least(first) > width:
        name = [*first][-1] if second else max(free, key=widths.__getitem__)
        del first[name]
        second.add(name)
    below = {name: columns[name] for name in columns if name in second}
    fits = measure_least(first) <= width and measure_least(below) <= width - 2
    has_breaks = any("\n" in text for texts in columns.values() for text in texts)
    if not fits or (below and has_breaks):
        cards = [{name: row.get(name) for name in columns} for row in rows]
        return caption + render_cards(cards, width, colour)
    return caption + draw_grid([first, below] if below else [first], width, colour)


def stays_whole(name: str) -> bool:
    """Return whether a column never wraps: ids and times must be easy to copy."""
    return name in ("id", "superseded_by") or name.endswith("_id") or name in TIMES


def measure_columns(columns: dict[str, list[str]], most: int = 10_000) -> dict[str, int]:
    """Return the width of each column's broadest cell; at most `most` if the column may wrap."""
    widths = {}
    for name, texts in columns.items():
        broadest = max(
            len(name), *(measure_width(line) for text in texts for line in text.split("\n"))
        )
        widths[name] = broadest if stays_whole(name) else min(broadest, most)
    return widths


def measure_least(columns: dict[str, list[str]]) -> int:
    """Return the width below which ids and times would have to break."""
    return sum(measure_columns(columns, COLUMN_MIN).values()) + 2 * len(columns) - 2


def draw_grid(groups: list[dict[str, list[str]]], width: int, colour: bool) -> list[str]:
    """Return the lines of every row: one line per group of columns, all but the first indented."""
    heads: list[str] = []
    blocks: list[tuple[str, dict[str, list[str]], list[int]]] = []
    for columns in groups:
        indent = "  " if blocks else ""
        widths = measure_columns(columns)
        squeeze_columns(widths, width - len(indent))
        names = [name.replace("_", " ") for name in columns]
        head = align_cells(names, list(widths.values()), False)
        heads.append(paint_text(indent + head, "1", colour))
        blocks.append((indent, columns, list(widths.values())))
    lines = heads
    for at in range(len(next(iter(groups[0].values()), []))):
        for indent, columns, sizes in blocks:
            cells = [
                wrap_text("", texts[at], size)
                for texts, size in zip(columns.values(), sizes, strict=True)
            ]
            for line in range(max(map(len, cells), default=0)):
                parts = [cell[line] if line < len(cell) else "" for cell in cells]
                lines.append(indent + align_cells(parts, sizes, colour))
    return lines


def align_cells(cells: list[str], sizes: list[int], colour: bool) -> str:
    parts = []
    for cell, size in zip(cells, sizes, strict=True):
        text = paint_text(cell, COLOURS[cell], colour) if cell in COLOURS else cell
        parts.append(text + " " * (size - measure_width(cell)))
    return "  ".join(parts).rstrip()


def squeeze_columns(widths: dict[str, int], width: int) -> None:
    """Make the broadest columns narrower until the table fits."""
    free = [name for name in widths if not stays_whole(name)]
    while free and (over := sum(widths.values()) + 2 * len(widths) - 2 - width) > 0:
        broadest = max(free, key=widths.__getitem__)
        if widths[broadest] <= COLUMN_MIN:
            return
        second = max((widths[name] for name in free if name != broadest), default=COLUMN_MIN)
        widths[broadest] = max(COLUMN_MIN, second - 1, widths[broadest] - over)


def wrap_text(head: str, text: str, width: int, indent: int | None = None) -> list[str]:
    """Return `head` and the text, wrapped at spaces; later lines are indented below the text."""
    indent = measure_width(head) if indent is None else indent
    room = max(width - indent, 16)
    lines = []
    for paragraph in text.split("\n"):
        line: list[str] = []
        used_width = 0
        for word in paragraph.split(" "):
            pieces = [word]
            if measure_width(word) > room:  # cut a word that is longer than a whole line
                step = room if word.isascii() else room // 2
                pieces = [word[at : at + step] for at in range(0, len(word), step)]
            for cut, piece in enumerate(pieces):
                size = measure_width(piece)
                if line and (cut or used_width + 1 + size > room):
                    lines.append(" ".join(line))
                    line, used_width = [], 0
                used_width += size + (1 if line else 0)
                line.append(piece)
        lines.append(" ".join(line))
    return [(head if at == 0 else " " * indent) + line for at, line in enumerate(lines)]


def write_output(stream: Any, output: str, has_changed: bool = True) -> None:
    """Print UTF-8 in any locale. A closed pipe is not an error; a full disk is one."""
    if stream is None or not output:
        return
    try:
        stream.buffer.write(output.encode("utf-8", "backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        # Otherwise Python reports the closed pipe again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:
        if stream is not sys.stdout:
            return
        from ..errors import Unavailable

        what = "The answer could not be printed."
        next_step = "Redirect the output elsewhere, or free some space."
        if has_changed:
            what = "The command succeeded, but its answer could not be printed."
            next_step = "Do not repeat the command; look up the record (`W9`, `W10 --id @last`)."
        raise Unavailable("output_failed", what, str(error.strerror), next_step) from None
