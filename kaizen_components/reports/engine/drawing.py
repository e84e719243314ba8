"""Compute where each bar, label and tick of a waterfall drawing is, in SVG units."""

from __future__ import annotations

from typing import Any

from ...records.ledger.canonical import measure_width

WIDTH, LEFT, RIGHT = 960, 300, 870  # the bars are between LEFT and RIGHT
ROW, TOP = 22, 30
INDENT, LETTER = 12, 7.5  # per level of depth; width of a wide letter at 12 px
DEPTH_MAX = 10
ROWS_MAX = 1_000
TICKS_MAX = 8
STEPS_MAX = 10  # of the critical path, in the caption
MARKS_EXPLANATION = (
    "▸ and a stronger colour: on the critical path. ✗: ended with an error. ◆: no duration."
)


def draw_waterfall(trace: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of a trace's first ROWS_MAX spans, the ticks above them, and a caption."""
    wall_ms = max(trace["wall_ms"], 1)
    spans = trace["spans"][:ROWS_MAX]

    def compute_x(ms: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * ms / wall_ms, 1)

    rows = []
    for number, span in enumerate(spans):
        left, right = compute_x(span["offset_ms"]), compute_x(span["end_ms"])
        indent = INDENT * min(span["depth"], DEPTH_MAX)
        time = format_ms(span["duration_ms"])
        kind = f"{span['name']}: {span['kind']}, {span['status']}"
        rows.append(
            {
                "span": span,
                "y": TOP + ROW * number,
                "label_x": indent + 16,
                "label": cut_line(span["name"], int((LEFT - indent - 24) / LETTER)),
                "x": left,
                "width": round(max(right - left, 1.5), 1),  # a short span stays visible
                "time": time,
                "tooltip": f"{kind}, from {format_ms(span['offset_ms'])} on, {time}",
            }
        )
    steps = trace["critical_path"][:STEPS_MAX]
    path = ", ".join(f"{step['name']} {format_ms(step['ms'])}" for step in steps)
    count = f"{trace['count']:,} span{'' if trace['count'] == 1 else 's'}"
    return {
        "width": WIDTH,
        "height": TOP + ROW * len(spans) + 8,
        "top": TOP,
        "left": LEFT,
        "right": RIGHT,
        "ticks": [{"x": compute_x(at), "label": format_ms(at)} for at in choose_ticks(wall_ms)],
        "rows": rows,
        "left_out": len(trace["spans"]) - len(spans),
        "caption": f"{count} over {format_ms(trace['wall_ms'])}. On the critical path: {path}.",
    }


def cut_line(line: str, width: int) -> str:
    """Return the line, shortened to `width` columns with an ellipsis if it is wider."""
    if measure_width(line) <= width:
        return line
    while measure_width(line) > width - 1:
        line = line[:-1]
    return line + "…"


def choose_ticks(wall_ms: int) -> list[int]:
    """Return at most TICKS_MAX times from 0 on; the step is 1, 2 or 5 times a power of ten."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if wall_ms // step < TICKS_MAX:
                return list(range(0, wall_ms + 1, step))
        size *= 10


def format_ms(ms: int) -> str:
    """Format a time in at most eight characters: ms below 1 s, s below 28 h, then h or d."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 100_000_000:
        return f"{ms / 1000:,.{2 if ms < 10_000 else 1 if ms < 1_000_000 else 0}f} s"
    hours = ms // 3_600_000
    return f"{hours:,} h" if hours < 10_000 else f"{hours // 24:,} d"


def format_money(usd: float) -> str:
    """Format dollars in at most eight characters; zero as "", below $10 with four decimals."""
    if usd < 0.0001:
        return "<$0.0001" if usd else ""
    if usd < 1_000_000:
        return f"${usd:,.{4 if usd < 10 else 2 if usd < 1_000 else 0}f}"
    return f"${usd / 1e6:,.0f}M"
