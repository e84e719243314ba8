"""The parts of a report: document, sections, blocks and typed cells.

Each function here builds the part that it is named after, as a plain dict. `page.py` renders the
parts as HTML, `markdown.py` as Markdown. A builder of a block returns None if the block would be
empty, and `section` drops it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from .drawing import MARKS_EXPLANATION, draw_waterfall, format_money, format_ms

CELL_CHARS_MAX = 300
PROSE_CHARS_MAX = 4_000
LISTING_CHARS_MAX = 40_000
LISTING_LINES_MAX = 400
DEPTH_SHOWN_MAX = 8
Block = dict[str, Any]


class Ref(str):
    """The id of a record. It becomes a link if the report has a LinkTarget with this id."""


class LinkTarget(Ref):
    """The id of the record that a row or an entry shows. Links to the record lead here."""


class Code(str):
    """A command or a hash."""


class Tone(str):
    """A word coloured as good, bad or warn. It must be clear without the colour too."""

    tone: str

    def __new__(cls, text: str, tone: str) -> Tone:
        word = super().__new__(cls, text)
        word.tone = tone
        return word


WORDS = {
    "good": """done passed completed VERIFIED_ACCEPTABLE ok happened fresh witnessed accepted
        pass""",
    "bad": """failed timeout error VERIFICATION_FAILED STRUCTURAL_REWORK_RECOMMENDED critical
        rejected exhausted stuck malformed check regression weak reject""",
    "warn": """blocked partial ACCEPTABLE_WITH_CONCERNS NEEDS_HUMAN_DECISION stale waived overdue
        high aborted flaky ambiguous missing""",
}
TONES = {word: tone for tone, words in WORDS.items() for word in words.split()}


def add_tone(text: str | None) -> str | None:
    """Return the text as a Tone if it is a word in TONES, such as a status or a verdict."""
    return Tone(text, TONES[text]) if text in TONES else text


def document(title: str, lead: list[str], sections: list[Block]) -> dict[str, Any]:
    """Return a whole report. `lead` has its first sentences, which a terminal prints too."""
    return {
        "title": title,
        "lead": [text for text in lead if text],
        "sections": [section for section in sections if section["blocks"]],
    }


def section(heading: str, *blocks: Block | None) -> Block:
    """Return blocks under a heading; `document` drops a section without blocks."""
    return {"heading": heading, "blocks": [block for block in blocks if block]}


def paragraph(text: str) -> Block:
    """Return one paragraph of Kaizen's own text, with commands between backticks."""
    return {"block": "paragraph", "text": text}


def points(items: list[Any], more: int = 0) -> Block | None:
    """Return a bullet list. An item is a cell or a list of cells; `more` counts omitted items."""
    cells = [*items, *([f"{more:,} more."] if more else [])]
    rows = [item if isinstance(item, list) else [item] for item in cells]
    return {"block": "points", "items": rows} if items else None


def facts(*rows: Block | None) -> Block:
    """Return numbers side by side, each made by `fact`."""
    return {"block": "facts", "rows": [row for row in rows if row]}


def fact(
    label: str,
    value: Any,
    before: Any = None,
    better: str | None = None,
    show: Callable[[Any], str | None] | None = None,
) -> Block:
    """Return one number and its previous value; `better` is "higher", "lower" or None."""
    show = show or format_count
    change = None if before is None or value is None else value - before
    tone = direction = None
    if change is not None:
        direction = "up" if change > 0 else "down" if change < 0 else "same"
    if change and better:
        tone = "good" if (change > 0) == (better == "higher") else "bad"
    return {
        "label": label,
        "value": show(value),
        "before": None if before is None else show(before),
        "direction": direction,
        "tone": tone,
    }


def table(
    caption: str, columns: dict[str, str], rows: list[list[Any]], more: int = 0
) -> Block | None:
    """Return a table; `more` counts omitted rows.

    `columns` maps each heading to a kind: "number", "whole" (never wrapped) or "".
    """
    block = {"block": "table", "caption": caption, "columns": columns, "rows": rows, "more": more}
    return block if rows else None


def record_table(
    caption: str,
    records: list[dict[str, Any]],
    columns: dict[str, tuple[str, str | Callable[[dict[str, Any]], Any]]],
    more: int = 0,
) -> Block | None:
    """Return a table of records; `columns` maps headings to (kind, field name or function)."""
    rows = [
        [record[cell] if isinstance(cell, str) else cell(record) for _, cell in columns.values()]
        for record in records
    ]
    return table(caption, {heading: kind for heading, (kind, _) in columns.items()}, rows, more)


def story(entries: list[dict[str, Any]], label: str = "") -> Block | None:
    """Return events in order. An entry has `at` (text), `what` (a cell) and optionally `by`, `refs`
    (ids) and `text`."""
    complete_entries = [{"by": None, "refs": [], "text": None, **entry} for entry in entries]
    return {"block": "story", "label": label, "entries": complete_entries} if entries else None


def waterfall(title: str, trace: dict[str, Any]) -> Block:
    """Return a drawing and a table of the spans that `trace.analyze_trace` returns."""
    columns = dict.fromkeys(("Span", "Kind", "Status", "Critical path"), "")
    columns |= {"From": "number", "Time": "number"}
    rows = [
        [
            "· " * min(span["depth"], DEPTH_SHOWN_MAX) + clip_text(span["name"]),
            span["kind"],
            add_tone(span["status"]),
            "yes" if span["critical"] else "",
            format_ms(span["offset_ms"]),
            format_ms(span["duration_ms"]),
        ]
        for span in trace["spans"]
    ]
    drawing = draw_waterfall(trace)
    return {
        "block": "waterfall",
        "title": title,
        "caption": drawing["caption"],
        "explanation": MARKS_EXPLANATION,
        "drawing": drawing,
        "data": table(title, columns, rows, trace["count"] - len(rows)),
    }


def prose(label: str, text: str | None, whole: str = "") -> Block | None:
    """Return a text with its line breaks. If the text is cut, `whole` says how to see all of it."""
    if not text:
        return None
    omitted = len(text) - PROSE_CHARS_MAX
    note = f"{omitted:,} more characters: {whole}" if omitted > 0 else ""
    return {"block": "prose", "label": label, "text": text[:PROSE_CHARS_MAX], "note": note}


def listing(label: str, text: str | None, whole: str = "") -> Block | None:
    """Return code or a diff as lines. If the text is cut, `whole` says how to see all of it."""
    if not text:
        return None
    lines = text[:LISTING_CHARS_MAX].rstrip("\n").split("\n")[:LISTING_LINES_MAX]
    omitted = text.rstrip("\n").count("\n") + 1 - len(lines)
    is_cut = omitted or len(text) > LISTING_CHARS_MAX
    note = f"{omitted:,} more lines: {whole}" if is_cut else ""
    return {"block": "listing", "label": label, "lines": lines, "note": note}


@overload
def clip_text(text: str, chars_max: int = ...) -> str: ...
@overload
def clip_text(text: str | None, chars_max: int = ...) -> str | None: ...
def clip_text(text: str | None, chars_max: int = CELL_CHARS_MAX) -> str | None:
    """Return the text as one line for a cell, cut at `chars_max` characters."""
    if text is None:
        return None
    line = " ".join(text[: chars_max * 4].split())
    return (
        line
        if len(line) <= chars_max and len(text) <= chars_max * 4
        else line[: chars_max - 1].rstrip() + "…"
    )


def format_count(value: Any) -> str:
    """Format 1234 as 1,234 and other numbers with four digits; None as a dash."""
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def format_quantity(number: int, noun: str) -> str:
    """Return a number and its noun: 1 span, 2 spans, 3 entries."""
    plural = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{format_count(number)} {noun if number == 1 else plural}"


def format_percent(value: float | None) -> str:
    """Format a share: 0.25 as 25.0 %, None as a dash."""
    return "–" if value is None else f"{value * 100:.1f} %"


def format_duration(ms: float | None) -> str:
    """Format a duration in minutes, hours or days; below two minutes, as `format_ms` does."""
    if ms is None:
        return "–"
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if ms >= 2 * size:
            return f"{ms / size:.1f} {unit}"
    return format_ms(round(ms))


def format_dollars(usd: float | None) -> str:
    """Format dollars as `format_money` does; zero as $0, None as a dash."""
    return "–" if usd is None else format_money(usd) or "$0"
