"""What a report consists of before it becomes HTML or Markdown: headings, blocks, and cells that say what they are.

A report is laid out once, as plain dicts made by the functions here; `page.py` and `markdown.py` draw them.
"""

from collections.abc import Callable
from typing import Any

from .drawing import MARKS_MEAN, draw_waterfall, format_money, format_ms

CELL_CHARS_MAX = 300
PROSE_CHARS_MAX = 4_000
LISTING_CHARS_MAX = 40_000
LISTING_LINES_MAX = 400
DEPTH_SHOWN_MAX = 8
Block = dict[str, Any]


class Ref(str):
    """The id of a record: a link wherever the same report shows that record."""


class Own(Ref):
    """The id of the record that a row or an entry is about: where links to it lead."""


class Code(str):
    """A command or a hash."""


class Tone(str):
    """A word that is good, bad or a warning, and says so without its colour too."""

    tone: str

    def __new__(cls, text: str, tone: str) -> "Tone":
        made = super().__new__(cls, text)
        made.tone = tone
        return made


GOOD = (
    "done", "passed", "completed", "VERIFIED_ACCEPTABLE", "ok", "happened", "fresh", "witnessed", "accepted", "pass",
)  # fmt: skip
BAD = (
    "failed", "timeout", "error", "VERIFICATION_FAILED", "STRUCTURAL_REWORK_RECOMMENDED", "critical", "rejected",
    "exhausted", "stuck", "malformed", "check", "regression", "weak", "reject",
)  # fmt: skip
WARN = (
    "blocked", "partial", "ACCEPTABLE_WITH_CONCERNS", "NEEDS_HUMAN_DECISION", "stale", "waived", "overdue", "high",
    "aborted", "flaky", "ambiguous", "missing",
)  # fmt: skip


def add_tone(text: str | None) -> str | None:
    """A status, a verdict or a priority, with its tone."""
    tones = (("good", GOOD), ("bad", BAD), ("warn", WARN))
    tone = next((tone for tone, words in tones if text in words), None)
    return Tone(text, tone) if text and tone else text


def document(title: str, lead: list[str], sections: list[Block]) -> dict[str, Any]:
    """The whole: `lead` are its first sentences, which a terminal shows too."""
    return {
        "title": title,
        "lead": [text for text in lead if text],
        "sections": [section for section in sections if section["blocks"]],
    }


def section(heading: str, *blocks: Block | None) -> Block:
    """Blocks under a heading; one without blocks is left out."""
    return {"heading": heading, "blocks": [block for block in blocks if block]}


def paragraph(text: str) -> Block:
    return {"block": "paragraph", "text": text}


def points(items: list[Any], more: int = 0) -> Block | None:
    """Return a list of cells, or of lists of cells for one line. `more` items are not shown."""
    cells = [_cells(item) for item in [*items, *([f"{more:,} more."] if more else [])]]
    return {"block": "points", "items": cells} if items else None


def facts(*rows: Block | None) -> Block:
    """Numbers side by side; made by `fact`."""
    return {"block": "facts", "rows": [row for row in rows if row]}


def fact(
    label: str, value: Any, before: Any = None, better: str | None = None, show: Any = None
) -> Block:
    """One number, and what it was in the period before. `better` is higher or lower, where one of them is."""
    show = show or format_count
    changed = None if before is None or value is None else value - before
    tone = None
    if changed and better:
        tone = "good" if (changed > 0) == (better == "higher") else "bad"
    return {
        "label": label,
        "value": show(value),
        "before": None if before is None else show(before),
        "direction": None
        if changed is None
        else "up"
        if changed > 0
        else "down"
        if changed < 0
        else "same",
        "tone": tone,
    }


def table(
    caption: str, columns: dict[str, str], rows: list[list[Any]], more: int = 0
) -> Block | None:
    """`columns` maps a heading to "number", "whole" (never broken) or "". `more` rows exist that are not shown."""
    if not rows:
        return None
    return {
        "block": "table",
        "caption": caption,
        "columns": columns,
        "rows": [_cells(row) for row in rows],
        "more": more,
    }


def record_table(
    caption: str,
    records: list[dict[str, Any]],
    columns: dict[str, tuple[str, str | Callable[[dict[str, Any]], Any]]],
    more: int = 0,
) -> Block | None:
    """Return a table of records; a column has a kind as in `table` and a field or a function."""
    rows = [
        [record[cell] if isinstance(cell, str) else cell(record) for _, cell in columns.values()]
        for record in records
    ]
    return table(caption, {heading: kind for heading, (kind, _) in columns.items()}, rows, more)


def story(entries: list[dict[str, Any]], label: str = "") -> Block | None:
    """What happened, in order: `at` (as shown), `what` (a cell), `by`, `refs` (ids), `text` (prose, optional)."""
    filled = [{"by": None, "refs": [], "text": None, **entry} for entry in entries]
    return {"block": "story", "label": label, "entries": filled} if entries else None


def waterfall(title: str, trace: dict[str, Any]) -> Block:
    """A drawing of the spans of a trace, as `trace.analysed` gives it, and the same as a table."""
    columns = {
        "Span": "",
        "Kind": "",
        "Status": "",
        "Critical path": "",
        "From": "number",
        "Time": "number",
    }
    rows = [
        [
            "· " * min(span["depth"], DEPTH_SHOWN_MAX) + (clip_text(span["name"]) or ""), span["kind"],
            add_tone(span["status"]), "yes" if span["critical"] else "", format_ms(span["offset_ms"]),
            format_ms(span["duration_ms"]),
        ]
        for span in trace["spans"]
    ]  # fmt: skip
    drawing = draw_waterfall(trace)
    return {
        "block": "waterfall", "title": title, "says": drawing["says"], "means": MARKS_MEAN, "drawing": drawing,
        "data": table(title, columns, rows, trace["count"] - len(rows)),
    }  # fmt: skip


def prose(label: str, text: str | None, whole: str = "") -> Block | None:
    """A text with its line breaks; a long one is cut, and `whole` names the command that shows it all."""
    if not text:
        return None
    left = len(text) - PROSE_CHARS_MAX
    note = f"{left:,} more characters: {whole}" if left > 0 else ""
    return {"block": "prose", "label": label, "text": text[:PROSE_CHARS_MAX], "note": note}


def listing(label: str, text: str | None, whole: str = "") -> Block | None:
    """Code or a diff, line by line as it is; a long one is cut, and `whole` says where all of it is."""
    if not text:
        return None
    shown = text[:LISTING_CHARS_MAX].rstrip("\n").split("\n")[:LISTING_LINES_MAX]
    left = text.rstrip("\n").count("\n") + 1 - len(shown)
    cut = left or len(text) > LISTING_CHARS_MAX
    return {
        "block": "listing",
        "label": label,
        "lines": shown,
        "note": f"{left:,} more lines: {whole}" if cut else "",
    }


def clip_text(text: str | None, most: int = CELL_CHARS_MAX) -> str | None:
    """One line of it, for a cell."""
    if text is None:
        return None
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most and len(text) <= most * 4 else line[: most - 1].rstrip() + "…"


def format_count(value: Any) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def format_quantity(number: int, noun: str) -> str:
    """1 span, 2 spans."""
    return f"{format_count(number)} {noun}{'' if number == 1 else 's'}"


def format_percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.1f} %"


def format_duration(ms: float | None) -> str:
    """A duration of work: hours and days where `duration` would say thousands of seconds."""
    if ms is None:
        return "–"
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if ms >= 2 * size:
            return f"{ms / size:.1f} {unit}"
    return format_ms(round(ms))


def format_dollars(usd: float | None) -> str:
    return "–" if usd is None else format_money(usd) or "$0"


def _cells(row):
    return row if isinstance(row, list) else [row]
