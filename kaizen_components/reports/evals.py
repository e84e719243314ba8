"""R5: eval cases and how their runs ended: what fails, what is flaky, what was never run, and where it is going."""

from typing import Any

from .asked import narrowed, where
from .charts import bars, lines
from .document import Own, Tone, clipped, count, document, fact, facts, paragraph, percent, section, table, word
from .spread import QUARTER, spread

OUTCOMES = ("passed", "failed", "error", "skipped")
FLAKY_FLIPS = 2  # one change is a repair or a break; two are neither

# A skipped run decides nothing. A trend is what records/score.py calls one: the mean of the newest third less that of
# the oldest third, and none below 3.
PER_CASE = """
chosen AS MATERIALIZED (SELECT seq, id, at, title, category, scope FROM eval_case WHERE {asked}),
     ran AS MATERIALIZED (
    SELECT case_id, seq, outcome, score, CASE outcome WHEN 'skipped' THEN NULL ELSE outcome = 'passed' END AS passed
    FROM eval_run {where}
),
     decided AS (
    SELECT case_id, passed, passed <> lag(passed, 1, passed) OVER run AS flip,
           row_number() OVER run AS age, count(*) OVER (PARTITION BY case_id) AS n
    FROM ran WHERE passed IS NOT NULL WINDOW run AS (PARTITION BY case_id ORDER BY seq)
),
     scored AS (
    SELECT case_id, score, row_number() OVER (PARTITION BY case_id ORDER BY seq) AS age,
           count(*) OVER (PARTITION BY case_id) AS n
    FROM ran WHERE score IS NOT NULL
),
     counted AS (SELECT case_id, count(*) AS runs, max(seq) AS last FROM ran GROUP BY case_id),
     passing AS (
    SELECT case_id, count(*) AS decided, sum(passed) AS passed, sum(flip) AS flips,
           avg(CASE WHEN age > n - n / 3 THEN passed END) - avg(CASE WHEN age <= n / 3 THEN passed END) AS trend
    FROM decided GROUP BY case_id
),
     scoring AS (
    SELECT case_id, avg(score) AS mean,
           avg(CASE WHEN age > n - n / 3 THEN score END) - avg(CASE WHEN age <= n / 3 THEN score END) AS trend
    FROM scored GROUP BY case_id
),
     per_case AS (
    SELECT c.seq, c.id, c.at, c.title, c.category, c.scope, coalesce(r.runs, 0) AS runs, r.last,
           coalesce(p.decided, 0) AS decided, coalesce(p.passed, 0) AS passed, coalesce(p.flips, 0) AS flips,
           p.trend AS pass_trend, s.mean AS mean_score, s.trend AS score_trend
    FROM chosen c LEFT JOIN counted r ON r.case_id = c.id LEFT JOIN passing p ON p.case_id = c.id
                  LEFT JOIN scoring s ON s.case_id = c.id
)"""
CASES = f"""
WITH {PER_CASE}
SELECT p.id, p.title, p.category, p.scope, p.runs, p.decided, p.passed, p.flips, p.pass_trend, p.mean_score,
       p.score_trend, e.outcome AS last_outcome, e.at AS last_at
FROM per_case p JOIN eval_run e ON e.seq = p.last
ORDER BY e.outcome IN ('failed', 'error') DESC, p.flips DESC, p.passed * 1.0 / max(p.decided, 1), p.seq DESC LIMIT ?"""
NEVER = f"""
WITH {PER_CASE}
SELECT id, at, title, category, scope FROM per_case WHERE runs = 0 ORDER BY seq DESC LIMIT ?"""
CATEGORIES = f"""
WITH {PER_CASE}
SELECT category, count(*) AS cases, sum(runs) AS runs, sum(decided) AS decided, sum(passed) AS passed,
       sum(runs = 0) AS never_run, sum(flips >= {FLAKY_FLIPS}) AS flaky,
       sum(e.outcome IS 'failed' OR e.outcome IS 'error') AS failing
FROM per_case LEFT JOIN eval_run e ON e.seq = last GROUP BY category ORDER BY category"""
OUTCOMES_BY_CATEGORY = """
WITH ran AS (SELECT case_id, outcome, count(*) AS number FROM eval_run {where} GROUP BY case_id, outcome)
SELECT c.category, r.outcome, sum(r.number) AS number
FROM ran r JOIN (SELECT id, category FROM eval_case WHERE {asked}) c ON c.id = r.case_id
GROUP BY c.category, r.outcome"""
OVER_TIME = f"""
WITH ran AS (SELECT at, case_id, outcome FROM eval_run {{where}})
SELECT {QUARTER} AS at, count(*) AS decided, sum(outcome = 'passed') AS passed FROM ran
WHERE outcome <> 'skipped' AND case_id IN (SELECT id FROM eval_case WHERE {{asked}}) GROUP BY 1 ORDER BY 1"""


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    """--since and --until are about runs, the other words about cases."""
    chosen = {name: options[name] for name in ("scope", "query")}
    asked, of_cases = where(db, "eval_case", chosen, category=options["category"])
    ran, of_runs = where(db, "eval_run", {name: options[name] for name in ("since", "until")})
    limit = options["limit"]

    def found(sql, values, *more):
        return db.rows(sql.format(asked=asked, where="WHERE " + ran), (*values, *more))

    both, runs_first = [*of_cases, *of_runs], [*of_runs, *of_cases]
    categories = found(CATEGORIES, both)
    outcomes = {row["category"]: dict.fromkeys(OUTCOMES, 0) for row in categories}
    for row in found(OUTCOMES_BY_CATEGORY, runs_first):
        outcomes[row["category"]][row["outcome"]] = row["number"]
    return {
        "narrowed": " ".join(filter(None, [_of_category(options), narrowed(options, zone)])),
        "categories": [{**row, "pass_rate": _rate(row), **outcomes[row["category"]]} for row in categories],
        "cases": [_judged(row) for row in found(CASES, both, limit)],
        "never_run": found(NEVER, both, limit),
        "over_time": spread(found(OVER_TIME, runs_first), zone, "day"),
    }


def _of_category(options):
    return f"Only category {options['category']}." if options["category"] else ""


def _rate(row):
    return round(row["passed"] / row["decided"], 4) if row["decided"] else None


def _judged(row):
    numbers = ("pass_trend", "mean_score", "score_trend")
    rounded = {name: None if row[name] is None else round(row[name], 4) for name in numbers}
    return {**row, **rounded, "pass_rate": _rate(row), "flaky": row["flips"] >= FLAKY_FLIPS}


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    categories = found["categories"]
    names = ("cases", "runs", "decided", "passed", "never_run", "flaky", "failing")
    sums = {name: sum(row[name] for row in categories) for name in names}
    if not sums["cases"]:
        lead = "No eval case is recorded here. `kaizen Q3 --title … --summary … --category behavior` records one."
        return document("Evals", [text for text in (lead, found["narrowed"]) if text], [])
    numbers = facts(
        fact("Cases", sums["cases"]), fact("Runs", sums["runs"]), fact("Pass rate", _rate(sums), show=percent),
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
        f"{_cases_of(sums['cases'])} with {count(sums['runs'])} run{'' if sums['runs'] == 1 else 's'}; "
        f"{percent(_rate(sums))} of those that were decided passed. {count(sums['failing'])} failed when last run, "
        f"{count(sums['flaky'])} {'is' if sums['flaky'] == 1 else 'are'} flaky, {count(sums['never_run'])} never ran."
    )


def _cases_of(number):
    return f"{count(number)} eval case{'' if number == 1 else 's'}"


def _over_time(over_time):
    periods = over_time["periods"]
    rates = [round(100 * row["passed"] / row["decided"], 1) if row["decided"] else None for row in periods]
    known = [rate for rate in rates if rate is not None]
    if len(known) < 2:
        return None
    says = f"From {count(known[0])} % to {count(known[-1])} % of the decided runs, by {over_time['unit']}."
    return lines(
        "Pass rate over time", over_time["unit"], "percent passed", [row["label"] for row in periods],
        {"pass rate": rates}, says,
    )  # fmt: skip


def _outcomes(categories):
    ran = [row for row in categories if row["runs"]]
    says = "; ".join(f"{row['category']}: {count(row['runs'])} runs, {percent(row['pass_rate'])} passed" for row in ran)
    series = {name: [row[name] for row in ran] for name in OUTCOMES}
    return bars("Outcomes by category", "category", "runs", [row["category"] for row in ran], series, says + ".")


def _categories(categories):
    columns = {
        "Category": "", "Cases": "number", "Runs": "number", "Pass rate": "number", "Failing now": "number",
        "Flaky": "number", "Never run": "number",
    }  # fmt: skip
    rows = [
        [
            row["category"], row["cases"], row["runs"], percent(row["pass_rate"]), row["failing"], row["flaky"],
            row["never_run"],
        ]
        for row in categories
    ]  # fmt: skip
    return table("By category", columns, rows)


def _cases(found, zone, sums):
    columns = {
        "Case": "", "What": "", "Category": "", "Last run": "", "When": "whole", "Flaky": "", "Runs": "number",
        "Pass rate": "number", "Trend": "number", "Score": "number", "Score trend": "number",
    }  # fmt: skip
    rows = [
        [
            Own(row["id"]), clipped(row["title"], 120), row["category"], word(row["last_outcome"]),
            zone.day(row["last_at"]), Tone("flaky", "warn") if row["flaky"] else None, row["runs"],
            percent(row["pass_rate"]), _points(row["pass_trend"]),
            None if row["mean_score"] is None else f"{row['mean_score']:.2f}", _signed(row["score_trend"]),
        ]
        for row in found["cases"]
    ]  # fmt: skip
    meaning = paragraph(
        "A trend is the newest third of the runs less the oldest third (of passing in percentage points); none below "
        "three. A case is flaky when it changed between passing and failing at least twice. Skipped runs do not count."
    )
    more = sums["cases"] - sums["never_run"] - len(rows)
    return (meaning, table("Cases: failing, then flaky, then by pass rate", columns, rows, more)) if rows else ()


def _points(trend):
    return None if trend is None else f"{trend * 100:+.0f}"


def _signed(trend):
    return None if trend is None else f"{trend:+.2f}"


def _never(found, zone, sums):
    columns = {"Case": "", "What": "", "Category": "", "Scope": "", "Recorded": "whole"}
    rows = [
        [
            Own(row["id"]), clipped(row["title"]), row["category"], clipped(row["scope"], 60), zone.show(row["at"])
        ]
        for row in found["never_run"]
    ]  # fmt: skip
    return table("Cases without a run", columns, rows, sums["never_run"] - len(rows))
