"""The geometry of a waterfall drawing: where each bar, label and tick stands, in the units of the SVG."""

from typing import Any

from ...records.ledger.canonical import measure_width

WIDTH, LEFT, RIGHT = 960, 300, 870  # the bars stand between LEFT and RIGHT
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
    """One trace as rows and ticks. The table below the drawing has every span, the drawing the first ROWS_MAX."""
    wall = max(trace["wall_ms"], 1)
    spans = trace["spans"][:ROWS_MAX]
    return {
        "width": WIDTH,
        "height": TOP + ROW * len(spans) + 8,
        "top": TOP,
        "left": LEFT,
        "right": RIGHT,
        "ticks": [{"x": _x(at, wall), "label": format_ms(at)} for at in choose_ticks(wall)],
        "rows": [_row(at, span, wall) for at, span in enumerate(spans)],
        "left_out": len(trace["spans"]) - len(spans),
        "says": _says(trace),
    }


def _says(trace):
    """The drawing for those who cannot see it."""
    path = ", ".join(
        f"{step['name']} {format_ms(step['ms'])}" for step in trace["critical_path"][:STEPS_SAID]
    )
    spans = f"{trace['count']:,} span{'' if trace['count'] == 1 else 's'}"
    return f"{spans} over {format_ms(trace['wall_ms'])}. On the critical path: {path}."


def _row(at, span, wall):
    left, right = _x(span["offset_ms"], wall), _x(span["end_ms"], wall)
    indent, time = INDENT * min(span["depth"], DEPTH_MAX), format_ms(span["duration_ms"])
    return {
        "span": span,
        "y": TOP + ROW * at,
        "label_x": indent + 16,
        "label": cut_line(span["name"], int((LEFT - indent - 24) / LETTER)),
        "x": left,
        "width": round(max(right - left, 1.5), 1),  # still to be seen when it is short
        "time": time,
        "says": f"{span['name']}: {span['kind']}, {span['status']}, from {format_ms(span['offset_ms'])} on, {time}",
    }


def _x(ms, wall):
    return round(LEFT + (RIGHT - LEFT) * ms / wall, 1)


def cut_line(line: str, most: int) -> str:
    """The line, or its beginning and an ellipsis where it is broader."""
    if measure_width(line) <= most:
        return line
    while measure_width(line) > most - 1:
        line = line[:-1]
    return line + "…"


def choose_ticks(wall_ms: int) -> list[int]:
    """Round times from 0 on, a step of 1, 2 or 5 times a power of ten apart, at most TICKS_MAX of them."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if wall_ms // step < TICKS_MAX:
                return list(range(0, wall_ms + 1, step))
        size *= 10


def format_ms(ms: int) -> str:
    """In ms below a second, in s below 28 hours; eight characters at most."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 100_000_000:
        return f"{ms / 1000:,.{2 if ms < 10_000 else 1 if ms < 1_000_000 else 0}f} s"
    hours = ms // 3_600_000
    return f"{hours:,} h" if hours < 10_000 else f"{hours // 24:,} d"


def format_money(usd: float) -> str:
    """Small amounts to a hundredth of a cent; eight characters at most."""
    if usd < 0.0001:
        return "<$0.0001" if usd else ""
    if usd < 1_000_000:
        return f"${usd:,.{4 if usd < 10 else 2 if usd < 1_000 else 0}f}"
    return f"${usd / 1e6:,.0f}M"
