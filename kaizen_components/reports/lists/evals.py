"""Report the eval cases (R5): which fail, which are flaky, which were never run."""

from __future__ import annotations

from ...limits import EVAL_OUTCOME
from ..charts.chart import draw_bars, draw_lines
from ..engine.document import (
    LinkTarget,
    Tone,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_percent,
    format_quantity,
    paragraph,
    record_table,
    section,
)
from ..engine.filters import build_condition, describe_filters
from ..periods.time_series import QUARTER, sum_by_period

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...parameters import Reader, Row
    from ..engine.zone import Zone

FLAKY_FLIPS = 2  # one change of outcome is a repair or a regression; two make a case flaky
CASES = "SELECT seq, id, at, title, category, scope FROM eval_case WHERE {condition}"
# The outcomes of a case are joined into one string with a letter per run: 500,000 runs take 1 s;
# window functions took 5 s. SQLite takes `at` from the row with max(seq). The + keeps the planner
# from reading the runs case by case, which is random access.
RUNS = """
SELECT case_id, group_concat(substr(outcome, 1, 1), '' ORDER BY seq) AS outcomes,
       group_concat(score, ' ' ORDER BY seq) AS scores, max(seq) AS last, at
FROM eval_run {where} GROUP BY +case_id"""
OVER_TIME = f"""
SELECT {QUARTER} AS at, sum(outcome <> 'skipped') AS decided, sum(outcome = 'passed') AS passed
FROM eval_run {{where}} GROUP BY 1 HAVING decided ORDER BY 1"""


def gather(db: Reader, zone: Zone, options: Row) -> Row:
    """Return the cases with their runs. --since and --until filter the runs, others the cases."""
    case_filters = {name: options[name] for name in ("scope", "query")}
    category = options["category"]
    condition, case_values = build_condition(db, "eval_case", case_filters, category=category)
    run_filters = {name: options[name] for name in ("since", "until")}
    run_condition, values = build_condition(db, "eval_run", run_filters)
    if any(case_filters.values()) or category:
        run_condition += f" AND case_id IN (SELECT id FROM eval_case WHERE {condition})"
        values += case_values
    where = "WHERE " + run_condition
    runs = {row["case_id"]: row for row in db.rows(RUNS.format(where=where), values)}
    rows = db.rows(CASES.format(condition=condition), case_values)
    cases = [_summarize_case(row, runs.get(row["id"])) for row in rows]
    cases.sort(
        key=lambda case: (
            not _is_failing(case),
            -case["flips"],
            case["pass_rate"] or 0,
            -case["seq"],
        )
    )
    for case in cases:
        del case["seq"]
    limit = options["limit"]
    categories = []
    for name in sorted({case["category"] for case in cases}):
        members = [case for case in cases if case["category"] == name]
        fields = ("runs", "decided", *EVAL_OUTCOME, "flaky")
        sums = {field: sum(case[field] for case in members) for field in fields}
        categories.append(
            {
                "category": name,
                "cases": len(members),
                **sums,
                "never_run": sum(not case["runs"] for case in members),
                "failing": sum(map(_is_failing, members)),
                "pass_rate": _compute_rate(sums["passed"], sums["decided"]),
            }
        )
    filters = [f"Only category {category}." if category else "", describe_filters(options, zone)]
    return {
        "narrowed": " ".join(filter(None, filters)),
        "categories": categories,
        "cases": [case for case in cases if case["runs"]][:limit],
        "never_run": [case for case in cases if not case["runs"]][:limit],
        "over_time": sum_by_period(db.rows(OVER_TIME.format(where=where), values), zone, "day"),
    }


def _summarize_case(row: Row, runs: Row | None) -> Row:
    """Return a case with its figures. Skipped runs are not rated; an error counts as a failure."""
    outcomes = runs["outcomes"] if runs else ""
    decided = outcomes.replace("s", "").replace("e", "f")
    scores = [float(score) for score in (runs["scores"] or "").split()] if runs else []
    flips = decided.count("pf") + decided.count("fp")
    return {
        **row,
        "runs": len(outcomes),
        "decided": len(decided),
        **{name: outcomes.count(name[0]) for name in EVAL_OUTCOME},
        "pass_rate": _compute_rate(decided.count("p"), len(decided)),
        "pass_trend": _compute_trend([letter == "p" for letter in decided]),
        "mean_score": round(sum(scores) / len(scores), 4) if scores else None,
        "score_trend": _compute_trend(scores),
        "flips": flips,
        "flaky": flips >= FLAKY_FLIPS,
        "last_outcome": next((name for name in EVAL_OUTCOME if name[0] == outcomes[-1:]), None),
        "last_at": runs and runs["at"],
    }


def _compute_rate(passed: int, decided: int) -> float | None:
    """Return the share of decided runs that passed; None without a decided run."""
    return round(passed / decided, 4) if decided else None


def _compute_trend(values: Sequence[float]) -> float | None:
    """Return the mean of the newest third minus the mean of the oldest, as in quality/score.py."""
    third = len(values) // 3
    return round((sum(values[-third:]) - sum(values[:third])) / third, 4) if third else None


def _is_failing(case: Row) -> bool:
    """Return whether the last run of a case failed or ended with an error."""
    return case["last_outcome"] in ("failed", "error")


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the figures, the charts, the categories and the cases."""
    categories = data["categories"]
    names = ("cases", "runs", "decided", "passed", "never_run", "flaky", "failing")
    sums = {name: sum(row[name] for row in categories) for name in names}
    pass_rate = _compute_rate(sums["passed"], sums["decided"])
    number = format_quantity(sums["cases"], "eval case")
    if not sums["cases"]:
        hint = "`kaizen Q3 --title … --summary … --category behavior` records one."
        return document("Evals", [f"No eval case is recorded here. {hint}", data["narrowed"]], [])
    if sums["runs"]:
        lead = (
            f"{number} with {format_quantity(sums['runs'], 'run')}; {format_percent(pass_rate)} of "
            f"those not skipped passed. {format_count(sums['failing'])} failed when last run, "
            f"{format_count(sums['flaky'])} {'is' if sums['flaky'] == 1 else 'are'} flaky, "
            f"{format_count(sums['never_run'])} never ran."
        )
    else:
        lead = (
            f"{number}, none of them run yet. `kaizen Q4 --case-id … --outcome passed` records one."
        )
    numbers = facts(
        fact("Cases", sums["cases"]),
        fact("Runs", sums["runs"]),
        fact("Pass rate", pass_rate, show=format_percent),
        fact("Failing now", sums["failing"]),
        fact("Flaky", sums["flaky"]),
        fact("Never run", sums["never_run"]),
    )
    by_category = _tabulate_categories(categories)
    charts = _draw_charts(data["over_time"], categories)
    cases = _list_cases(data["cases"], zone, sums["cases"] - sums["never_run"])
    never_run = record_table(
        "Cases without a run",
        data["never_run"],
        {
            "Case": ("", lambda row: LinkTarget(row["id"])),
            "What": ("", lambda row: clip_text(row["title"])),
            "Category": ("", "category"),
            "Scope": ("", lambda row: clip_text(row["scope"], 60)),
            "Recorded": ("whole", lambda row: zone.format_time(row["at"])),
        },
        sums["never_run"] - len(data["never_run"]),
    )
    return document(
        "Evals",
        [lead, data["narrowed"]],
        [
            section("In numbers", numbers, *charts),
            section("By category", by_category),
            section("Cases, those that fail first", *cases),
            section("Never run", never_run),
        ],
    )


def _tabulate_categories(categories: list[Row]) -> Row | None:
    """Return the table of categories."""
    return record_table(
        "By category",
        categories,
        {
            "Category": ("", "category"),
            "Cases": ("number", "cases"),
            "Runs": ("number", "runs"),
            "Pass rate": ("number", lambda row: format_percent(row["pass_rate"])),
            "Failing now": ("number", "failing"),
            "Flaky": ("number", "flaky"),
            "Never run": ("number", "never_run"),
        },
    )


def _draw_charts(over_time: Row, categories: list[Row]) -> list[Row | None]:
    """Draw the pass rate over time and the outcomes by category."""
    periods = over_time["periods"]
    rates = [
        round(100 * row["passed"] / row["decided"], 1) if row["decided"] else None
        for row in periods
    ]
    known_rates = [rate for rate in rates if rate is not None]
    pass_rate = None
    if len(known_rates) > 1:
        first, last = format_count(known_rates[0]), format_count(known_rates[-1])
        pass_rate = draw_lines(
            "Pass rate over time",
            over_time["unit"],
            "percent passed",
            [row["label"] for row in periods],
            {"pass rate": rates},
            f"It began at {first} % and ended at {last} %. Skipped runs do not count.",
        )
    rows = [row for row in categories if row["runs"]]
    caption = "; ".join(
        f"{row['category']}: {format_count(row['runs'])} runs, "
        f"{format_percent(row['pass_rate'])} passed"
        for row in rows
    )
    outcomes = draw_bars(
        "Outcomes by category",
        "category",
        "runs",
        [row["category"] for row in rows],
        {name: [row[name] for row in rows] for name in EVAL_OUTCOME},
        caption + ".",
    )
    return [pass_rate, outcomes]


def _list_cases(cases: list[Row], zone: Zone, total: int) -> list[Row | None]:
    """Tabulate the cases below a paragraph that explains the columns."""
    if not cases:
        return []
    explanation = (
        "A trend is the mean of the newest third of the runs minus the mean of the oldest third. "
        "The trend of the pass rate is in percentage points. Fewer than three runs have no trend. "
        "A case is flaky when it changed between passing and failing at least twice. "
        "Skipped runs do not count."
    )

    def format_points(row: Row) -> str | None:
        return None if row["pass_trend"] is None else f"{row['pass_trend'] * 100:+.0f}"

    def format_score(row: Row) -> str | None:
        trend = "" if row["score_trend"] is None else f", {row['score_trend']:+.2f}"
        return None if row["mean_score"] is None else f"{row['mean_score']:.2f}{trend}"

    cases_table = record_table(
        "Cases: failing, then flaky, then by pass rate",
        cases,
        {
            "Case": ("", lambda row: LinkTarget(row["id"])),
            "What": ("", lambda row: clip_text(row["title"], 120)),
            "Category": ("", "category"),
            "Last run": ("", lambda row: add_tone(row["last_outcome"])),
            "When": ("whole", lambda row: zone.format_day(row["last_at"])),
            "Flaky": ("", lambda row: Tone("flaky", "warn") if row["flaky"] else None),
            "Runs": ("number", "runs"),
            "Pass rate": ("number", lambda row: format_percent(row["pass_rate"])),
            "Trend": ("number", format_points),
            "Score, trend": ("number", format_score),
        },
        total - len(cases),
    )
    return [paragraph(explanation), cases_table]
