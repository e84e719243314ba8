"""Traces as waterfalls: a block of text 80 to 100 columns wide, or an HTML page with an inline drawing."""

import shutil
import textwrap
from typing import Any

from ...records.ledger import health
from ...records.ledger.canonical import encode_canonical, measure_width
from ..engine import drawing
from ..engine.drawing import cut_line, format_money, format_ms
from ..engine.page import render_template

WIDTH_MIN, WIDTH_MAX = 80, 100
ROWS_MAX = 200  # spans in the text of a report
STEPS_MAX = 30  # of a critical path in the text
NAME_MAX = 30
KIND, TIME, TOKENS, COST, STATUS = 5, 8, 9, 8, 6  # columns
DEPTH_MAX = 8  # levels that are indented further and further

LEGEND = "█ on the critical path   ▒ beside it   ◆ no duration   tokens: in/out"
PATH_MEANS = (
    "The chain that determined the end, from the span that ended last backwards; shares of the wall time, "
    "each span without those below it on the path."
)


def render_page(db, report: dict[str, Any], format: str) -> str:
    """What a file of the report holds."""
    if format == "html":
        drawings = [drawing.draw_waterfall(trace) for trace in report["traces"]]
        return render_template(
            "waterfall.html", report=report, drawings=drawings, log=health.summarize_log(db.connection), at=db.at,
            path_means=PATH_MEANS, marks_mean=drawing.MARKS_MEAN, duration=drawing.format_ms, money=drawing.format_money,
        )  # fmt: skip
    return (draw_text(report, WIDTH_MAX) if format == "text" else encode_canonical(report)) + "\n"


def draw_text(report: dict[str, Any], width: int | None = None) -> str:
    """The whole report as a block of lines; its drawing is never broader than the width."""
    width = width or min(
        max(shutil.get_terminal_size((WIDTH_MAX, 24)).columns, WIDTH_MIN), WIDTH_MAX
    )
    lines: list[str] = []
    rows_left = ROWS_MAX
    for at, trace in enumerate(report["traces"]):
        if rows_left <= 0:
            lines += [
                f"{len(report['traces']) - at:,} more traces are not drawn; --format html draws them.",
                "",
            ]
            break
        lines += [*_trace(trace, width, rows_left), ""]
        rows_left -= len(trace["spans"])
    lines += _kinds(report)
    return "\n".join([*lines, "", _in_all(report["total"])] if len(report["traces"]) > 1 else lines)


def _trace(trace, width, rows_max):
    spans, wall = trace["spans"][:rows_max], trace["wall_ms"]
    name = max(
        4,
        min(
            max(measure_width(_label(span)) for span in spans),
            NAME_MAX if width > 90 else NAME_MAX - 10,
        ),
    )
    numbers = {"time": (TIME, lambda span: format_ms(span["duration_ms"]))}
    if trace["tokens_in"] or trace["tokens_out"]:
        numbers["tokens"] = (TOKENS, _tokens)
    if trace["cost_usd"]:
        numbers["cost"] = (COST, lambda span: format_money(span["cost_usd"]))
    room = width - name - KIND - STATUS - 5 - sum(size + 1 for size, _ in numbers.values())
    heads = [_fit(head, size, right=True) for head, (size, _) in numbers.items()]
    lines = ["Trace " + _clean(trace["trace_id"]), *textwrap.wrap(_heading(trace), width), ""]
    lines.append(
        " ".join(
            [_fit("name", name), _fit("kind", KIND), f"|{_axis(wall, room)}|", *heads, "status"]
        )
    )
    for span in spans:
        shown = [_fit(value(span), size, right=True) for size, value in numbers.values()]
        bar = f"|{_bar(span, wall, room)}|"
        lines.append(
            " ".join(
                [_fit(_label(span), name), _fit(span["kind"], KIND), bar, *shown, span["status"]]
            )
        )
    left = len(trace["spans"]) - len(spans)
    lines += [f"{left:,} more spans are not drawn; --format html has them."] if left else []
    return [*lines, LEGEND, "", *_path(trace["critical_path"], width)]


def _heading(trace):
    tokens = f", {trace['tokens_in']:,} tokens in, {trace['tokens_out']:,} out"
    cost = f", {format_money(trace['cost_usd'])}" if trace["cost_usd"] else ""
    when = trace["started_at"].replace("T", " ")
    return f"{_spans(trace['count'])} in {format_ms(trace['wall_ms'])} from {when}{tokens}{cost}"


def _axis(wall, room):
    end = format_ms(wall)
    return "0 ms" + " " * (room - 4 - len(end)) + end


def _label(span):
    return "  " * min(span["depth"], DEPTH_MAX) + _clean(span["name"])


def _bar(span, wall, room):
    """Where the span lies on the line; a span without duration gets a mark, a short one at least one column."""
    left = min(span["offset_ms"] * room // wall if wall else 0, room - 1)
    if not span["duration_ms"]:
        return " " * left + "◆" + " " * (room - left - 1)
    right = max(-(-span["end_ms"] * room // wall), left + 1)
    return " " * left + ("█" if span["critical"] else "▒") * (right - left) + " " * (room - right)


def _path(steps, width):
    lines = ["Critical path", *textwrap.wrap(PATH_MEANS, width)]
    for step in steps[:STEPS_MAX]:
        share = "" if step["share"] is None else f"{step['share']:.1%}"
        name = "  " * min(step["depth"], DEPTH_MAX) + _clean(step["name"])
        lines.append(
            _fit(
                f"{share:>7} {format_ms(step['ms']):>{TIME}}  {step['kind']:<{KIND}}  {name}", width
            ).rstrip()
        )
    left = len(steps) - STEPS_MAX
    return [
        *lines,
        *([f"{left:,} more spans are on it; --format json has them."] if left > 0 else []),
    ]


def _kinds(report):
    """A table; its last line is the sum."""
    lines = [
        f"{'kind':<6}{'spans':>9}{'self time':>12}{'tokens in':>16}{'tokens out':>16}{'cost':>14}"
    ]
    for row in [*report["kinds"], {"kind": "all", **report["total"]}]:
        lines.append(
            f"{row['kind']:<6}{row['count']:>9,}{format_ms(row['self_ms']):>12}{row['tokens_in']:>16,}"
            f"{row['tokens_out']:>16,}{format_money(row['cost_usd']):>14}"
        )
    return [line.rstrip() for line in lines]


def _in_all(total):
    return (
        f"{total['traces']:,} traces with {_spans(total['count'])}; {format_ms(total['wall_ms'])} in which at least one "
        "was under way."
    )


def _spans(count):
    return f"{count:,} span{'' if count == 1 else 's'}"


def _tokens(span):
    both = (span["tokens_in"], span["tokens_out"])
    return "/".join(map(_count, both)) if any(both) else ""


def _count(number):
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 10 * size else f"{number // size}{unit}"
    return str(number)


def _clean(name):
    """Text that cannot steer a terminal or break a line."""
    return (
        name
        if name.isprintable()
        else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    )


def _fit(line, width, right=False):
    """Exactly so many columns: padded, or cut with an ellipsis."""
    line = cut_line(line, width)
    space = " " * (width - measure_width(line))
    return space + line if right else line + space
