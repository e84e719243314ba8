"""What R8, R9 and R10 say, in the order in which a lead reads it: numbers, what to do, and then the pictures."""

from typing import Any

from ..charts import calibration
from ..charts.chart import draw_areas, draw_bars, draw_lines
from ..engine.document import (  # fmt: skip
    Code,
    Own,
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
    paragraph,
    points,
    section,
    table,
)

COUNTED = (
    "Opened: tasks started. Done: tasks that became done, once each. Reopened: changes from done or canceled back to "
    "open, active or blocked.",
    "Lead time: from the start of a task to the last time it became done in the period. Half of the tasks took no "
    "longer than the median, 85 of 100 no longer than the 85th percentile.",
    "Rework: tasks reopened, or judged failed or to be reworked after they were done, as a share of the tasks done.",
    "Verification pass rate: VERIFIED_ACCEPTABLE and ACCEPTABLE_WITH_CONCERNS among all verdicts but PROOF_RECORDED.",
    "Flaky: a witnessed command that passed and failed on the same tree; after those, commands that fail, of at least "
    "two runs.",
    "Tokens and cost are those of spans, on the day they were recorded. A span, a proof or a waiver has the scope of "
    "its task.",
    "Brier score: the mean squared error of predictions closed in the period; 0 is perfect. Test records do not count.",
)


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    name = found["period"]["name"]
    title = name[0].upper() + name[1:]
    if not found["newest"]:
        return document(title, ["Nothing is recorded here yet. `kaizen W1` starts a task."], [])
    sections = [
        section("In numbers", _numbers(found["numbers"])),
        section("What to look at next", *_next(found, zone)),
        section("Flow", _throughput(found), _flow(found), _lead(found)),
        section("Verification", _verdicts(found), _proofs(found), _flakiest(found)),
        section("Cost", _cost(found), _dearest(found)),
        section("Lessons and waivers", _promoted(found, zone), _waivers(found, zone)),
        section("Predictions", _calibration(found)),
        section("How it is counted", points(list(COUNTED))),
    ]
    return document(title, [_summary(found, zone), *_compared(found, zone)], sections)


def _summary(found, zone):
    period, now = found["period"], found["numbers"]["now"]
    if not any(value for name, value in now.items() if name != "open_at_end"):
        return f"Nothing that is counted here happened in {period['name']}; `kaizen R2` tells what was recorded."
    said = [
        f"{_of(now['opened'], 'task')} opened, {format_count(now['done'])} done, {format_count(now['open_at_end'])} open at the end"
    ]
    if now["verdicts"]:
        said.append(
            f"{format_percent(now['pass_rate'])} of {_of(now['verdicts'], 'verdict')} acceptable"
        )
    if now["tokens"] or now["cost_usd"]:
        said.append(f"{format_dollars(now['cost_usd'])} and {_of(now['tokens'], 'token')} spent")
    return "; ".join(said) + "."


def _compared(found, zone):
    """Which days these are, and which the column "before" means."""
    period, before, said = found["period"], found["before"], []
    if before["same_part"]:
        said.append(
            f"So far: {period['days_so_far']} of {period['days']} days, up to {zone.show(found['newest'])}."
        )
    part = (
        f", the same part of it, up to {zone.show(before['until'])}" if before["same_part"] else ""
    )
    said.append(f"Before means {before['name']}{part}.")
    return said + ([f"Only scope {found['scope']}."] if found["scope"] else [])


def _of(number, noun):
    return f"{format_count(number)} {noun}{'' if number == 1 else 's'}"


def _numbers(numbers):
    now, before = numbers["now"], numbers["before"]

    def row(label, name, better=None, show=None):
        return fact(label, now.get(name), before.get(name), better, show)

    return facts(
        row("Tasks opened", "opened"),
        row("Tasks done", "done", "higher"),
        row("Reopened", "reopened", "lower"),
        row("Canceled", "canceled"),
        row("Open at the end", "open_at_end", "lower"),
        row("Lead time, median", "lead_median_ms", "lower", format_duration),
        row("Lead time, 85th percentile", "lead_85_ms", "lower", format_duration),
        row("Rework", "rework_rate", "lower", format_percent),
        row("Verdicts", "verdicts"),
        row("Verification pass rate", "pass_rate", "higher", format_percent),
        row("Proofs witnessed", "proofs_witnessed", "higher"),
        row("Proofs only reported", "proofs_reported"),
        row("Gotchas recorded", "gotchas"),
        row("Lessons promoted", "promoted", "higher"),
        row("Waivers", "waivers", "lower"),
        row("Tokens", "tokens"),
        row("Cost", "cost_usd", None, format_dollars),
        row("Predictions closed", "predictions"),
        row("Brier score", "brier", "lower"),
    )


def _next(found, zone):
    if not found["next"]:
        return [
            paragraph(
                "Nothing: no objection, nothing blocked, no claim that ran out, nothing overdue or waived."
            )
        ]
    items = [
        [
            Tone(point["what"], point["tone"]) if point["tone"] else point["what"], "–", point["text"],
            *([Ref(point["id"])] if point["id"] else []), "→", Code(point["command"]),
        ]
        for point in found["next"]
    ]  # fmt: skip
    return [
        paragraph(f"As of {zone.show(found['newest'])}; each with the command that leads on."),
        points(items),
    ]


def _axis(found):
    return {"day": "day", "month": "month"}.get(
        found["period"]["step"], f"{found['period']['step']} from"
    )


def _throughput(found):
    now, series = (
        found["numbers"]["now"],
        {name: found["bars"][name] for name in ("opened", "done", "reopened")},
    )
    says = f"{format_count(now['opened'])} opened, {format_count(now['done'])} done, {format_count(now['reopened'])} reopened."
    return draw_lines("Throughput", _axis(found), "tasks", found["labels"], series, says)


def _flow(found):
    """Done and canceled from their least on, or what is open would vanish beside all that was ever done."""
    start, series, base = found["at_start"], {}, {}
    for name in ("done", "canceled"):
        values = found["bars"][f"{name}_standing"]
        base[name] = min([start[name], *values])
        series[name] = [value - base[name] for value in values]
    series["open"] = found["bars"]["open_standing"]
    says = (
        f"Open went from {format_count(start['open'])} to {format_count(series['open'][-1])}. "
        f"Done and canceled are counted from {format_count(base['done'])} and {format_count(base['canceled'])} on."
    )
    return draw_areas("Cumulative flow", _axis(found), "tasks", found["labels"], series, says)


def _lead(found):
    now = found["numbers"]["now"]
    says = f"Median {format_duration(now.get('lead_median_ms'))}, 85th percentile {format_duration(now.get('lead_85_ms'))}."
    series = {"tasks": list(found["lead_classes"].values())}
    return draw_bars(
        "Lead time of the tasks done",
        "lead time",
        "tasks",
        list(found["lead_classes"]),
        series,
        says,
    )


def _verdicts(found):
    kinds = {
        "acceptable": ("VERIFIED_ACCEPTABLE",),
        "with concerns": ("ACCEPTABLE_WITH_CONCERNS",),
        "needs a human": ("NEEDS_HUMAN_DECISION",),
        "rework or failed": ("STRUCTURAL_REWORK_RECOMMENDED", "VERIFICATION_FAILED"),
    }
    empty = [0] * len(found["labels"])
    series = {
        name: [
            sum(values)
            for values in zip(
                *(found["verdicts"].get(kind, empty) for kind in members), strict=True
            )
        ]
        for name, members in kinds.items()
    }
    now = found["numbers"]["now"]
    says = f"{format_percent(now['pass_rate'])} of {_of(now['verdicts'], 'verdict')} acceptable."
    tones = {"acceptable": "good", "with concerns": "warn", "rework or failed": "bad"}
    return draw_bars(
        "Verification outcomes",
        _axis(found),
        "verdicts",
        found["labels"],
        series,
        says,
        tones=tones,
    )


def _proofs(found):
    columns = {
        "Tier": "",
        "Passed": "number",
        "Failed": "number",
        "Timeout": "number",
        "Unknown": "number",
    }
    rows = [
        [
            add_tone(tier),
            *(of.get(outcome, 0) for outcome in ("passed", "failed", "timeout", "unknown")),
        ]
        for tier, of in sorted(found["proofs"].items(), reverse=True)
    ]
    return table("Proofs by tier", columns, rows)


def _flakiest(found):
    columns = {
        "Command": "",
        "Runs": "number",
        "Passed": "number",
        "Pass rate": "number",
        "Trees with both": "number",
    }
    rows = [
        [
            Code(clip_text(row["command"], 200)), row["runs"], row["passed"], format_percent(row["passed"] / row["runs"]),
            row["mixed"],
        ]
        for row in found["flakiest"]
    ]  # fmt: skip
    return table("The flakiest commands", columns, rows)


def _cost(found):
    now, labels = found["numbers"]["now"], found["labels"]
    says = f"{format_dollars(now['cost_usd'])} and {format_count(now['tokens'])} tokens."
    step = found["period"]["step"]
    if now["cost_usd"]:
        return draw_bars(
            f"Cost per {step}",
            _axis(found),
            "US dollars",
            labels,
            {"cost": found["bars"]["cost_usd"]},
            says,
            format_dollars,
        )
    return draw_bars(
        f"Tokens per {step}",
        _axis(found),
        "tokens",
        labels,
        {"tokens": found["bars"]["tokens"]},
        says,
    )


def _dearest(found):
    columns = {
        "Task or trace": "",
        "What": "",
        "Cost": "number",
        "Tokens": "number",
        "Spans": "number",
    }
    rows = [
        [
            Own(row["task_id"]) if row["task_id"] else Code(clip_text(row["trace_id"], 60)), clip_text(row["title"]),
            format_dollars(row["cost_usd"]), row["tokens"], row["spans"],
        ]
        for row in found["dearest"]
    ]  # fmt: skip
    return table("The most expensive", columns, rows)


def _promoted(found, zone):
    columns = {"Lesson": "", "When": "whole", "Became": "", "What": "", "From": "", "By": ""}
    rows = [
        [
            Own(row["id"]),
            zone.show(row["at"]),
            row["kind"],
            clip_text(row["title"]),
            Ref(row["came_from"]),
            row["actor"],
        ]
        for row in found["promoted"]
    ]
    return table(
        "Lessons promoted, the newest first",
        columns,
        rows,
        found["numbers"]["now"]["promoted"] - len(rows),
    )


def _waivers(found, zone):
    columns = {"Waiver": "", "When": "whole", "Gate": "", "Of": "", "Reason": "", "By": ""}
    rows = [
        [
            Own(row["id"]),
            zone.show(row["at"]),
            row["gate"],
            Ref(row["subject_id"]),
            clip_text(row["reason"]),
            row["actor"],
        ]
        for row in found["waivers"]
    ]
    return table(
        "Waivers, the newest first", columns, rows, found["numbers"]["now"]["waivers"] - len(rows)
    )


def _calibration(found):
    rows, now = found["calibration"], found["numbers"]["now"]
    if not now["predictions"]:
        return None
    says = (
        f"{_of(now['predictions'], 'prediction')} closed, Brier score {format_count(now['brier'])}."
    )
    return calibration.build_block(
        rows, f"{says} On the dashed line, things happen as often as predicted."
    )
