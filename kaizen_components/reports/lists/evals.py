"""R5: eval cases and how their runs ended: what fails, what is flaky, what was never run, and where it is going."""

from typing import Any

from ...limits import EVAL_OUTCOME
from ..charts.chart import draw_bars, draw_lines
from ..engine.document import (
    Own,
    Tone,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_percent,
    paragraph,
    section,
    table,
)
from ..engine.filters import build_condition, describe_filters
from ..periods.time_series import QUARTER, sum_by_period

FLAKY_FLIPS = 2  # one change is a repair or a break; two are neither
CASES = "SELECT seq, id, at, title, category, scope FROM eval_case WHERE {asked}"
# The runs of a case as one word, a letter each: 500,000 runs in 1 s, where window functions took 5 s. `at` is that of
# the row with max(seq); the + keeps the planner from reading runs case by case, which is random access.
RUNS = """
SELECT case_id, group_concat(substr(outcome, 1, 1), '' ORDER BY seq) AS outcomes,
       group_concat(score, ' ' ORDER BY seq) AS scores, max(seq) AS last, at
FROM eval_run {where} GROUP BY +case_id"""
OVER_TIME = f"""
SELECT {QUARTER} AS at, sum(outcome <> 'skipped') AS decided, sum(outcome = 'passed') AS passed
FROM eval_run {{where}} GROUP BY 1 HAVING decided ORDER BY 1"""


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    """--since and --until are about runs, the other words about cases."""
    chosen = {name: options[name] for name in ("scope", "query")}
    asked, of_cases = build_condition(db, "eval_case", chosen, category=options["category"])
    ran, values = build_condition(
        db, "eval_run", {name: options[name] for name in ("since", "until")}
    )
    if any(chosen.values()) or options["category"]:
        ran += f" AND case_id IN (SELECT id FROM eval_case WHERE {asked})"
        values += of_cases
    runs = {row["case_id"]: row for row in db.rows(RUNS.format(where="WHERE " + ran), values)}
    cases = [
        _case(row, runs.get(row["id"])) for row in db.rows(CASES.format(asked=asked), of_cases)
    ]
    limit = options["limit"]
    return {
        "narrowed": " ".join(
            filter(None, [_of_category(options), describe_filters(options, zone)])
        ),
        "categories": _by_category(cases),
        "cases": _told(sorted((case for case in cases if case["runs"]), key=_worst_first)[:limit]),
        "never_run": _told(
            sorted((case for case in cases if not case["runs"]), key=_worst_first)[:limit]
        ),
        "over_time": sum_by_period(
            db.rows(OVER_TIME.format(where="WHERE " + ran), values), zone, "day"
        ),
    }


def _of_category(options):
    return f"Only category {options['category']}." if options["category"] else ""


def _case(row, runs):
    """A case with what its runs say. A skipped run decides nothing; an error is no pass."""
    word = runs["outcomes"] if runs else ""
    decided = word.replace("s", "").replace("e", "f")
    scores = [float(score) for score in (runs["scores"] or "").split()] if runs else []
    flips = decided.count("pf") + decided.count("fp")
    return {
        **row,
        "runs": len(word),
        "decided": len(decided),
        **{name: word.count(name[0]) for name in EVAL_OUTCOME},
        "pass_rate": _rate(decided.count("p"), len(decided)),
        "pass_trend": _trend([letter == "p" for letter in decided]),
        "mean_score": round(sum(scores) / len(scores), 4) if scores else None,
        "score_trend": _trend(scores),
        "flips": flips,
        "flaky": flips >= FLAKY_FLIPS,
        "last_outcome": next((name for name in EVAL_OUTCOME if name[0] == word[-1:]), None),
        "last_at": runs and runs["at"],
    }


def _rate(passed, decided):
    return round(passed / decided, 4) if decided else None


def _trend(values):
    """What records/quality/score.py calls one: the mean of the newest third less that of the oldest; none below 3."""
    third = len(values) // 3
    return round((sum(values[-third:]) - sum(values[:third])) / third, 4) if third else None


def _fails(case):
    return case["last_outcome"] in ("failed", "error")


def _worst_first(case):
    return not _fails(case), -case["flips"], case["pass_rate"] or 0, -case["seq"]


def _told(cases):
    return [{name: value for name, value in case.items() if name != "seq"} for case in cases]


def _by_category(cases):
    names = ("runs", "decided", *EVAL_OUTCOME, "flaky")
    found = {}
    for category in sorted({case["category"] for case in cases}):
        of = [case for case in cases if case["category"] == category]
        sums = {name: sum(case[name] for case in of) for name in names}
        more = {"never_run": sum(not case["runs"] for case in of), "failing": sum(map(_fails, of))}
        found[category] = {"category": category, "cases": len(of), **sums, **more}
    return [{**row, "pass_rate": _rate(row["passed"], row["decided"])} for row in found.values()]


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    categories = found["categories"]
    names = ("cases", "runs", "decided", "passed", "never_run", "flaky", "failing")
    sums = {name: sum(row[name] for row in categories) for name in names}
    sums["pass_rate"] = _rate(sums["passed"], sums["decided"])
    if not sums["cases"]:
        lead = "No eval case is recorded here. `kaizen Q3 --title … --summary … --category behavior` records one."
        return document("Evals", [text for text in (lead, found["narrowed"]) if text], [])
    numbers = facts(
        fact("Cases", sums["cases"]), fact("Runs", sums["runs"]), fact("Pass rate", sums["pass_rate"], show=format_percent),
        fact("Failing now", sums["failing"]), fact("Flaky", sums["flaky"]), fact("Never run", sums["never_run"]),
    )  # fmt: skip
    return document(
        "Evals", [text for text in (_lead(sums), found["narrowed"]) if text],
        [
            section("In numbers", numbers, _over_time(found["over_time"]), _outcomes(categories)),
            section("By category", _categories(categories)),
            section("Cases, those that fail first", *_cases(found, zone, sums)),
            section("Never run", _never(found, zone, sums)),
        ],
    )  # fmt: skip


def _lead(sums):
    if not sums["runs"]:
        return f"{_cases_of(sums['cases'])}, and no run of any. `kaizen Q4 --case-id … --outcome passed` records one."
    return (
        f"{_cases_of(sums['cases'])} with {format_count(sums['runs'])} run{'' if sums['runs'] == 1 else 's'}; "
        f"{format_percent(sums['pass_rate'])} of the decided ones passed. {format_count(sums['failing'])} failed when last run, "
        f"{format_count(sums['flaky'])} {'is' if sums['flaky'] == 1 else 'are'} flaky, {format_count(sums['never_run'])} never ran."
    )


def _cases_of(number):
    return f"{format_count(number)} eval case{'' if number == 1 else 's'}"


def _over_time(over_time):
    periods = over_time["periods"]
    rates = [
        round(100 * row["passed"] / row["decided"], 1) if row["decided"] else None
        for row in periods
    ]
    known = [rate for rate in rates if rate is not None]
    if len(known) < 2:
        return None
    says = f"From {format_count(known[0])} % to {format_count(known[-1])} % of the decided runs, by {over_time['unit']}."
    return draw_lines(
        "Pass rate over time", over_time["unit"], "percent passed", [row["label"] for row in periods],
        {"pass rate": rates}, says,
    )  # fmt: skip


def _outcomes(categories):
    ran = [row for row in categories if row["runs"]]
    says = "; ".join(
        f"{row['category']}: {format_count(row['runs'])} runs, {format_percent(row['pass_rate'])} passed"
        for row in ran
    )
    series = {name: [row[name] for row in ran] for name in EVAL_OUTCOME}
    return draw_bars(
        "Outcomes by category",
        "category",
        "runs",
        [row["category"] for row in ran],
        series,
        says + ".",
    )


def _categories(categories):
    columns = {
        "Category": "", "Cases": "number", "Runs": "number", "Pass rate": "number", "Failing now": "number",
        "Flaky": "number", "Never run": "number",
    }  # fmt: skip
    rows = [
        [
            row["category"], row["cases"], row["runs"], format_percent(row["pass_rate"]), row["failing"], row["flaky"],
            row["never_run"],
        ]
        for row in categories
    ]  # fmt: skip
    return table("By category", columns, rows)


def _cases(found, zone, sums):
    columns = {
        "Case": "", "What": "", "Category": "", "Last run": "", "When": "whole", "Flaky": "", "Runs": "number",
        "Pass rate": "number", "Trend": "number", "Score, trend": "number",
    }  # fmt: skip
    rows = [
        [
            Own(row["id"]), clip_text(row["title"], 120), row["category"], add_tone(row["last_outcome"]),
            zone.day(row["last_at"]), Tone("flaky", "warn") if row["flaky"] else None, row["runs"],
            format_percent(row["pass_rate"]), _points(row["pass_trend"]),
            _score(row),
        ]
        for row in found["cases"]
    ]  # fmt: skip
    meaning = paragraph(
        "A trend is the newest third of the runs less the oldest third (of passing in percentage points); none below "
        "three. A case is flaky when it changed between passing and failing at least twice. Skipped runs do not count."
    )
    more = sums["cases"] - sums["never_run"] - len(rows)
    return (
        (meaning, table("Cases: failing, then flaky, then by pass rate", columns, rows, more))
        if rows
        else ()
    )


def _points(trend):
    return None if trend is None else f"{trend * 100:+.0f}"


def _score(row):
    trend = "" if row["score_trend"] is None else f", {row['score_trend']:+.2f}"
    return None if row["mean_score"] is None else f"{row['mean_score']:.2f}{trend}"


def _never(found, zone, sums):
    columns = {"Case": "", "What": "", "Category": "", "Scope": "", "Recorded": "whole"}
    rows = [
        [
            Own(row["id"]), clip_text(row["title"]), row["category"], clip_text(row["scope"], 60), zone.show(row["at"])
        ]
        for row in found["never_run"]
    ]  # fmt: skip
    return table("Cases without a run", columns, rows, sums["never_run"] - len(rows))
