"""Draw traces as waterfalls: as text 80 to 100 columns wide, or on an HTML page."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Any

from ...records.ledger import health
from ...records.ledger.canonical import encode_canonical, measure_width
from ..engine import drawing
from ..engine.document import format_quantity
from ..engine.drawing import cut_line, format_money, format_ms
from ..engine.page import render_template

if TYPE_CHECKING:
    from ...parameters import Reader

WIDTH_MIN, WIDTH_MAX = 80, 100
ROWS_MAX = 200  # spans drawn as text
STEPS_MAX = 30  # steps of a critical path listed as text
NAME_MAX = 30
KIND, TIME, TOKENS, COST, STATUS = 5, 8, 9, 8, 6  # widths in columns
DEPTH_MAX = 8  # deeper spans are not indented further

LEGEND = "█ on the critical path   ▒ not on it   ◆ no duration   tokens: in/out"
PATH_EXPLANATION = (
    "The chain of spans that determined when the trace ended. Each share is a part of the wall "
    "time; it excludes child spans that are on the path themselves."
)


def render_page(db: Reader, report: dict[str, Any], format: str) -> str:
    """Return the content of a report file: HTML, text or JSON."""
    if format == "html":
        return render_template(
            "waterfall.html",
            report=report,
            drawings=[drawing.draw_waterfall(trace) for trace in report["traces"]],
            log=health.summarize_log(db.connection),
            at=db.at,
            path_explanation=PATH_EXPLANATION,
            marks_explanation=drawing.MARKS_EXPLANATION,
            duration=format_ms,
            money=format_money,
        )
    return (draw_text(report, WIDTH_MAX) if format == "text" else encode_canonical(report)) + "\n"


def draw_text(report: dict[str, Any], width: int | None = None) -> str:
    """Return the whole report as text; by default as wide as the terminal."""
    if width is None:
        columns = shutil.get_terminal_size((WIDTH_MAX, 24)).columns
        width = min(max(columns, WIDTH_MIN), WIDTH_MAX)
    lines: list[str] = []
    rows_left = ROWS_MAX
    for index, trace in enumerate(report["traces"]):
        if rows_left <= 0:
            omitted = len(report["traces"]) - index
            lines += [f"{omitted:,} more traces are not drawn; --format html draws them.", ""]
            break
        lines += [*_draw_trace(trace, width, rows_left), ""]
        rows_left -= len(trace["spans"])
    total = report["total"]
    lines.append(
        f"{'kind':<6}{'spans':>9}{'self time':>12}{'tokens in':>16}{'tokens out':>16}{'cost':>14}"
    )
    for row in [*report["kinds"], {"kind": "all", **total}]:
        tokens = f"{row['tokens_in']:>16,}{row['tokens_out']:>16,}"
        times = f"{row['kind']:<6}{row['count']:>9,}{format_ms(row['self_ms']):>12}"
        lines.append(f"{times}{tokens}{format_money(row['cost_usd']):>14}".rstrip())
    if len(report["traces"]) > 1:
        spans = format_quantity(total["count"], "span")
        wall = format_ms(total["wall_ms"])
        lines += ["", f"{total['traces']:,} traces with {spans}; {wall} with at least one running."]
    return "\n".join(lines)


def _draw_trace(trace: dict[str, Any], width: int, rows_max: int) -> list[str]:
    """Return the lines of one trace: a summary, a bar for each span, and the critical path."""
    spans, wall_ms = trace["spans"][:rows_max], trace["wall_ms"]
    name_max = NAME_MAX if width > 90 else NAME_MAX - 10
    name_width = max(4, min(max(measure_width(_format_name(span)) for span in spans), name_max))
    columns: list[tuple[str, int, list[str]]] = [
        ("time", TIME, [format_ms(span["duration_ms"]) for span in spans])
    ]
    if trace["tokens_in"] or trace["tokens_out"]:
        columns.append(("tokens", TOKENS, [_format_tokens(span) for span in spans]))
    if trace["cost_usd"]:
        columns.append(("cost", COST, [format_money(span["cost_usd"]) for span in spans]))
    bar_width = width - name_width - KIND - STATUS - 5 - sum(size + 1 for _, size, _ in columns)
    head = f"{format_quantity(trace['count'], 'span')} in {format_ms(wall_ms)}"
    head += f" from {trace['started_at'].replace('T', ' ')}"
    head += f", {trace['tokens_in']:,} tokens in, {trace['tokens_out']:,} out"
    head += f", {format_money(trace['cost_usd'])}" if trace["cost_usd"] else ""
    lines = ["Trace " + _replace_unprintable(trace["trace_id"]), *textwrap.wrap(head, width), ""]
    axis = f"|0 ms{format_ms(wall_ms):>{bar_width - 4}}|"
    headings = [_pad_line(name, size, right=True) for name, size, _ in columns]
    names = [_pad_line("name", name_width), _pad_line("kind", KIND)]
    lines.append(" ".join([*names, axis, *headings, "status"]))
    for index, span in enumerate(spans):
        bar = f"|{_draw_bar(span, wall_ms, bar_width)}|"
        numbers = [_pad_line(texts[index], size, right=True) for _, size, texts in columns]
        names = [_pad_line(_format_name(span), name_width), _pad_line(span["kind"], KIND)]
        lines.append(" ".join([*names, bar, *numbers, span["status"]]))
    omitted = len(trace["spans"]) - len(spans)
    lines += [f"{omitted:,} more spans are not drawn; --format html draws them."] if omitted else []
    lines += [LEGEND, "", "Critical path", *textwrap.wrap(PATH_EXPLANATION, width)]
    steps = trace["critical_path"]
    for step in steps[:STEPS_MAX]:
        share = "" if step["share"] is None else f"{step['share']:.1%}"
        time = format_ms(step["ms"])
        line = f"{share:>7} {time:>{TIME}}  {step['kind']:<{KIND}}  {_format_name(step)}"
        lines.append(_pad_line(line, width).rstrip())
    omitted = len(steps) - STEPS_MAX
    return lines + (
        [f"{omitted:,} more spans are on the critical path; --format json lists them."]
        if omitted > 0
        else []
    )


def _format_name(span: dict[str, Any]) -> str:
    """Return the printable name of a span, indented by its depth."""
    return "  " * min(span["depth"], DEPTH_MAX) + _replace_unprintable(span["name"])


def _draw_bar(span: dict[str, Any], wall_ms: int, width: int) -> str:
    """Return the bar of a span on a line of `width` columns; a diamond if it has no duration."""
    left = min(span["offset_ms"] * width // wall_ms if wall_ms else 0, width - 1)
    if not span["duration_ms"]:
        return " " * left + "◆" + " " * (width - left - 1)
    right = max(-(-span["end_ms"] * width // wall_ms), left + 1)
    return " " * left + ("█" if span["critical"] else "▒") * (right - left) + " " * (width - right)


def _format_tokens(span: dict[str, Any]) -> str:
    """Return tokens in and out in short, such as 1.2k/300; "" if there are none."""
    numbers = (span["tokens_in"], span["tokens_out"])
    texts = []
    for number in numbers if any(numbers) else ():
        units = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
        size, unit = next((row for row in units if number >= row[0]), (1, ""))
        is_short = unit and number < 10 * size
        texts.append(f"{number / size:.1f}{unit}" if is_short else f"{number // size}{unit}")
    return "/".join(texts)


def _replace_unprintable(name: str) -> str:
    """Replace characters that a terminal would obey or that break a line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


def _pad_line(line: str, width: int, right: bool = False) -> str:
    """Return the line in exactly `width` columns: padded, or cut with an ellipsis."""
    line = cut_line(line, width)
    space = " " * (width - measure_width(line))
    return space + line if right else line + space
