"""The geometry of a waterfall drawing: the place of each bar, label and tick, in SVG units."""

from __future__ import annotations

from typing import Any

from ...records.ledger.canonical import measure_width

WIDTH, LEFT, RIGHT = 960, 300, 870  # the bars are between LEFT and RIGHT
ROW, TOP = 22, 30
INDENT, LETTER = 12, 7.5  # of the label, in units; a broad letter at 12 px
DEPTH_MAX = 10
ROWS_MAX = 1_000
TICKS_MAX = 8
STEPS_SAID = 10  # of the critical path
MARKS_MEAN = (
    "▸ and a stronger colour: on the critical path. ✗: ended with an error. ◆: no duration."
)


def draw_waterfall(trace: dict[str, Any]) -> dict[str, Any]:
    """Place the first ROWS_MAX spans of a trace as rows, and the ticks above them."""
    wall_ms = max(trace["wall_ms"], 1)
    spans = trace["spans"][:ROWS_MAX]

    def place(ms: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * ms / wall_ms, 1)

    rows = []
    for number, span in enumerate(spans):
        left, right = place(span["offset_ms"]), place(span["end_ms"])
        indent, time = INDENT * min(span["depth"], DEPTH_MAX), format_ms(span["duration_ms"])
        kind = f"{span['name']}: {span['kind']}, {span['status']}"
        rows.append(
            {
                "span": span,
                "y": TOP + ROW * number,
                "label_x": indent + 16,
                "label": cut_line(span["name"], int((LEFT - indent - 24) / LETTER)),
                "x": left,
                "width": round(max(right - left, 1.5), 1),  # a short one can still be seen
                "time": time,
                "says": f"{kind}, from {format_ms(span['offset_ms'])} on, {time}",
            }
        )
    steps = trace["critical_path"][:STEPS_SAID]
    path = ", ".join(f"{step['name']} {format_ms(step['ms'])}" for step in steps)
    count = f"{trace['count']:,} span{'' if trace['count'] == 1 else 's'}"
    return {
        "width": WIDTH,
        "height": TOP + ROW * len(spans) + 8,
        "top": TOP,
        "left": LEFT,
        "right": RIGHT,
        "ticks": [{"x": place(at), "label": format_ms(at)} for at in choose_ticks(wall_ms)],
        "rows": rows,
        "left_out": len(trace["spans"]) - len(spans),
        "says": f"{count} over {format_ms(trace['wall_ms'])}. On the critical path: {path}.",
    }


def cut_line(line: str, most: int) -> str:
    """Return the line, or its beginning and an ellipsis if it is wider than `most` columns."""
    if measure_width(line) <= most:
        return line
    while measure_width(line) > most - 1:
        line = line[:-1]
    return line + "…"


def choose_ticks(wall_ms: int) -> list[int]:
    """Return at most TICKS_MAX round times from 0 on, 1, 2 or 5 times a power of ten apart."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if wall_ms // step < TICKS_MAX:
                return list(range(0, wall_ms + 1, step))
        size *= 10


def format_ms(ms: int) -> str:
    """Format a time in at most eight characters: in ms below a second, in s below 28 hours."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 100_000_000:
        return f"{ms / 1000:,.{2 if ms < 10_000 else 1 if ms < 1_000_000 else 0}f} s"
    hours = ms // 3_600_000
    return f"{hours:,} h" if hours < 10_000 else f"{hours // 24:,} d"


def format_money(usd: float) -> str:
    """Format dollars in at most eight characters; small amounts to a hundredth of a cent."""
    if usd < 0.0001:
        return "<$0.0001" if usd else ""
    if usd < 1_000_000:
        return f"${usd:,.{4 if usd < 10 else 2 if usd < 1_000 else 0}f}"
    return f"${usd / 1e6:,.0f}M"
