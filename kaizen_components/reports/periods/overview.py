"""Lay out the reports on a period (R8, R9, R10): numbers, next points, charts and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..charts import calibration
from ..charts.chart import Show, draw_areas, draw_bars, draw_lines
from ..engine.document import (
    Block,
    Code,
    LinkTarget,
    Ref,
    Tone,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_dollars,
    format_duration,
    format_percent,
    format_quantity,
    paragraph,
    points,
    section,
    table,
)

if TYPE_CHECKING:
    from ..engine.zone import Zone

COUNTING_RULES = (
    "Opened: tasks started. Done: tasks that became done, once each. Reopened: changes from "
    "done or canceled back to open, active or blocked.",
    "Lead time: from the start of a task to the last time it became done in the period. Half of "
    "the tasks took at most the median; 85 % took at most the 85th percentile.",
    "Rework: tasks that were reopened, or whose verdict after they were done was failed or rework, "
    "as a share of the tasks done.",
    "Verification pass rate: VERIFIED_ACCEPTABLE and ACCEPTABLE_WITH_CONCERNS among all "
    "verdicts except PROOF_RECORDED.",
    "Flaky: a witnessed command that passed and failed on the same tree. The table lists these "
    "first, then other commands that failed, with at least two runs each.",
    "Tokens and cost are the sums over spans, on the day they were recorded. A span, a proof or a "
    "waiver has the scope of its task.",
    "Brier score: the mean squared error of predictions closed in the period; 0 is perfect.",
    "Test records do not count.",
)
VERDICTS = {
    "acceptable": ("VERIFIED_ACCEPTABLE",),
    "with concerns": ("ACCEPTABLE_WITH_CONCERNS",),
    "needs a human": ("NEEDS_HUMAN_DECISION",),
    "rework or failed": ("STRUCTURAL_REWORK_RECOMMENDED", "VERIFICATION_FAILED"),
}
# Label, name in `numbers`, which direction is better, format.
FACTS: list[tuple[str, str, str | None, Show]] = [
    ("Tasks opened", "opened", None, format_count),
    ("Tasks done", "done", "higher", format_count),
    ("Reopened", "reopened", "lower", format_count),
    ("Canceled", "canceled", None, format_count),
    ("Open at the end", "open_at_end", "lower", format_count),
    ("Lead time, median", "lead_median_ms", "lower", format_duration),
    ("Lead time, 85th percentile", "lead_85_ms", "lower", format_duration),
    ("Rework", "rework_rate", "lower", format_percent),
    ("Verdicts", "verdicts", None, format_count),
    ("Verification pass rate", "pass_rate", "higher", format_percent),
    ("Proofs witnessed", "proofs_witnessed", "higher", format_count),
    ("Proofs only reported", "proofs_reported", None, format_count),
    ("Gotchas recorded", "gotchas", None, format_count),
    ("Lessons promoted", "promoted", "higher", format_count),
    ("Waivers", "waivers", "lower", format_count),
    ("Tokens", "tokens", None, format_count),
    ("Cost", "cost_usd", None, format_dollars),
    ("Predictions closed", "predictions", None, format_count),
    ("Brier score", "brier", "lower", format_count),
]


def layout(data: dict[str, Any], zone: Zone) -> dict[str, Any]:
    """Return the report of a period; only a hint if nothing is recorded."""
    name = data["period"]["name"]
    title = name[0].upper() + name[1:]
    if not data["newest"]:
        return document(title, ["Nothing is recorded here yet. `kaizen W1` starts a task."], [])
    now, before = data["numbers"]["now"], data["numbers"]["before"]
    numbers = [
        fact(label, now.get(name), before.get(name), better, show)
        for label, name, better, show in FACTS
    ]
    closed = format_quantity(now["predictions"], "prediction")
    caption = (
        f"{closed} closed, Brier score {format_count(now['brier'])}. "
        "On the dashed line, things happen as often as predicted."
    )
    sections = [
        section("In numbers", facts(*numbers)),
        section("What to look at next", *_list_points(data, zone)),
        section("Flow", *_draw_flow(data)),
        section("Verification", *_list_verification(data)),
        section("Cost", *_list_costs(data)),
        section("Lessons and waivers", *_list_decisions(data, zone)),
        section("Predictions", calibration.build_block(data["calibration"], caption)),
        section("How it is counted", points(list(COUNTING_RULES))),
    ]
    return document(title, _write_lead(data, zone), sections)


def _write_lead(data: dict[str, Any], zone: Zone) -> list[str]:
    """Return the first sentences: a summary, the days covered, and the meaning of "before"."""
    period, before, now = data["period"], data["before"], data["numbers"]["now"]
    if any(value for name, value in now.items() if name != "open_at_end"):
        opened = f"{format_quantity(now['opened'], 'task')} opened"
        sums = (
            f"{format_count(now['done'])} done, {format_count(now['open_at_end'])} open at the end"
        )
        parts = [f"{opened}, {sums}"]
        if now["verdicts"]:
            parts.append(_describe_pass_rate(now))
        if now["tokens"] or now["cost_usd"]:
            tokens = format_quantity(now["tokens"], "token")
            parts.append(f"{format_dollars(now['cost_usd'])} and {tokens} spent")
        lead = ["; ".join(parts) + "."]
    else:
        nothing = f"Nothing that is counted here happened in {period['name']}"
        lead = [f"{nothing}. `kaizen R2` shows what was recorded."]
    part = ""
    if before["same_part"]:
        days = f"{period['days_so_far']} of {period['days']} days"
        lead.append(f"So far: {days}, up to {zone.format_time(data['newest'])}.")
        part = f", the same part of it, up to {zone.format_time(before['until'])}"
    lead.append(f"Before means {before['name']}{part}.")
    return lead + ([f"Only scope {data['scope']}."] if data["scope"] else [])


def _describe_pass_rate(now: dict[str, Any]) -> str:
    """Return the pass rate in words, such as: 50.0 % of 4 verdicts acceptable."""
    verdicts = format_quantity(now["verdicts"], "verdict")
    return f"{format_percent(now['pass_rate'])} of {verdicts} acceptable"


def _list_points(data: dict[str, Any], zone: Zone) -> list[Block | None]:
    """Return what to look at next, each point with the command that shows more."""
    if not data["next"]:
        nothing = "no objection, nothing blocked, no expired claim, nothing overdue or waived"
        return [paragraph(f"Nothing needs attention: {nothing}.")]
    items = []
    for point in data["next"]:
        what = Tone(point["what"], point["tone"]) if point["tone"] else point["what"]
        id = [Ref(point["id"])] if point["id"] else []
        items.append([what, "–", point["text"], *id, "→", Code(point["command"])])
    as_of = f"As of {zone.format_time(data['newest'])}, each with the next command."
    return [paragraph(as_of), points(items)]


def _label_axis(data: dict[str, Any]) -> str:
    """Return the name of the time axis: day, month, "7 days from" or "30 days from"."""
    step: str = data["period"]["step"]
    return step if step in ("day", "month") else f"{step} from"


def _draw_flow(data: dict[str, Any]) -> list[Block | None]:
    """Return charts of throughput, cumulative flow and lead time.

    The cumulative flow subtracts the lowest number of done and of canceled tasks. Otherwise the
    open tasks would be too thin to see.
    """
    now, bars, start = data["numbers"]["now"], data["bars"], data["at_start"]
    axis, labels = _label_axis(data), data["labels"]
    names = ("opened", "done", "reopened")
    caption = ", ".join(f"{format_count(now[name])} {name}" for name in names) + "."
    series = {name: bars[name] for name in names}
    throughput = draw_lines("Throughput", axis, "tasks", labels, series, caption)
    series, lowest = {}, {}
    for name in ("done", "canceled"):
        values = bars[f"{name}_standing"]
        lowest[name] = min([start[name], *values])
        series[name] = [value - lowest[name] for value in values]
    series["open"] = bars["open_standing"]
    caption = (
        f"Open tasks: {format_count(start['open'])} at the start, "
        f"{format_count(series['open'][-1])} at the end. "
        f"The areas begin at {format_count(lowest['done'])} done and "
        f"{format_count(lowest['canceled'])} canceled tasks, their lowest numbers in the period."
    )
    flow = draw_areas("Cumulative flow", axis, "tasks", labels, series, caption)
    median, high = (format_duration(now.get(name)) for name in ("lead_median_ms", "lead_85_ms"))
    lead = draw_bars(
        "Lead time of the tasks done",
        "lead time",
        "tasks",
        list(data["lead_classes"]),
        {"tasks": list(data["lead_classes"].values())},
        f"Median {median}, 85th percentile {high}.",
    )
    return [throughput, flow, lead]


def _list_verification(data: dict[str, Any]) -> list[Block | None]:
    """Return a chart of the verdicts, and tables of the proofs and of flaky commands."""
    labels = data["labels"]
    empty = [0] * len(labels)
    series = {}
    for name, conclusions in VERDICTS.items():
        bars = [data["verdicts"].get(conclusion, empty) for conclusion in conclusions]
        series[name] = [sum(values) for values in zip(*bars, strict=True)]
    verdicts = draw_bars(
        "Verification outcomes",
        _label_axis(data),
        "verdicts",
        labels,
        series,
        f"{_describe_pass_rate(data['numbers']['now'])}.",
        tones={"acceptable": "good", "with concerns": "warn", "rework or failed": "bad"},
    )
    outcomes = ("passed", "failed", "timeout", "unknown")
    columns = {"Tier": ""} | {name.capitalize(): "number" for name in outcomes}
    rows = [
        [add_tone(tier), *(counts.get(outcome, 0) for outcome in outcomes)]
        for tier, counts in sorted(data["proofs"].items(), reverse=True)
    ]
    proofs = table("Proofs by tier", columns, rows)
    numbers = ("Runs", "Passed", "Pass rate", "Trees with both")
    rows = [
        [
            Code(clip_text(row["command"], 200)),
            row["runs"],
            row["passed"],
            format_percent(row["passed"] / row["runs"]),
            row["mixed"],
        ]
        for row in data["flakiest"]
    ]
    columns = {"Command": ""} | dict.fromkeys(numbers, "number")
    return [verdicts, proofs, table("The flakiest commands", columns, rows)]


def _list_costs(data: dict[str, Any]) -> list[Block | None]:
    """Return a chart of the cost (of tokens if there is no cost), and the most expensive tasks."""
    now, bars, step = data["numbers"]["now"], data["bars"], data["period"]["step"]
    caption = f"{format_dollars(now['cost_usd'])} and {format_count(now['tokens'])} tokens."
    show: Show = format_count
    what, name, unit = "Tokens", "tokens", "tokens"
    if now["cost_usd"]:
        what, name, unit, show = "Cost", "cost_usd", "US dollars", format_dollars
    chart = draw_bars(
        f"{what} per {step}",
        _label_axis(data),
        unit,
        data["labels"],
        {what.lower(): bars[name]},
        caption,
        show,
    )
    columns = {"Task or trace": "", "What": ""}
    columns |= dict.fromkeys(("Cost", "Tokens", "Spans"), "number")
    rows = [
        [
            LinkTarget(row["task_id"]) if row["task_id"] else Code(clip_text(row["trace_id"], 60)),
            clip_text(row["title"]),
            format_dollars(row["cost_usd"]),
            row["tokens"],
            row["spans"],
        ]
        for row in data["dearest"]
    ]
    return [chart, table("The most expensive", columns, rows)]


def _list_decisions(data: dict[str, Any], zone: Zone) -> list[Block | None]:
    """Return tables of the promoted lessons and of the waivers."""
    now = data["numbers"]["now"]
    columns = {"Lesson": "", "When": "whole", "Became": "", "What": "", "From": "", "By": ""}
    rows = [
        [
            LinkTarget(row["id"]),
            zone.format_time(row["at"]),
            row["kind"],
            clip_text(row["title"]),
            Ref(row["came_from"]),
            row["actor"],
        ]
        for row in data["promoted"]
    ]
    omitted_count = now["promoted"] - len(rows)
    promotion_table = table("Lessons promoted, the newest first", columns, rows, omitted_count)
    columns = {"Waiver": "", "When": "whole", "Gate": "", "Of": "", "Reason": "", "By": ""}
    rows = [
        [
            LinkTarget(row["id"]),
            zone.format_time(row["at"]),
            row["gate"],
            Ref(row["subject_id"]),
            clip_text(row["reason"]),
            row["actor"],
        ]
        for row in data["waivers"]
    ]
    omitted_count = now["waivers"] - len(rows)
    return [promotion_table, table("Waivers, the newest first", columns, rows, omitted_count)]
