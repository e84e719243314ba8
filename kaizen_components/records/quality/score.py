"""Scores: a number with a name, given to a record, a trace or a task."""

from __future__ import annotations

from ..kinds import SEARCHABLE
from ..ledger.transaction import make_receipt
from ..search import full_text
from .span import find_trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row, Writer

ROWS = """
SELECT id, at, name, value, unit, source, actor, about_id, trace_id, task_id, test, summary
FROM score {where} ORDER BY seq DESC LIMIT ?"""

# Aggregates of all matching scores by name and unit. Each deviation from the mean is divided by the
# largest one before squaring, because the square of a large score would be infinite.
AGGREGATES = """
WITH matching AS MATERIALIZED (SELECT seq, name, unit, value FROM score {where}),
     total AS (
    SELECT name, unit, count(*) AS n, avg(value) AS mean, min(value) AS least, max(value) AS most,
           max(seq) AS newest,
           nullif(max(max(value) - avg(value), avg(value) - min(value)), 0) AS reach
    FROM matching GROUP BY name, unit
),
     placed AS (
    SELECT m.seq, m.value, t.*,
           row_number() OVER (PARTITION BY m.name, m.unit ORDER BY m.value) AS place,
           row_number() OVER (PARTITION BY m.name, m.unit ORDER BY m.seq) AS age
    FROM matching m JOIN total t ON t.name = m.name AND t.unit IS m.unit
)
SELECT name, unit, n AS count, mean, least AS min, most AS max,
       avg(CASE WHEN place IN ((n + 1) / 2, (n + 2) / 2) THEN value END) AS median,
       CASE WHEN n > 1 THEN coalesce(
           reach * sqrt(sum((value - mean) / reach * ((value - mean) / reach)) / (n - 1)), 0)
       END AS deviation,
       max(CASE WHEN seq = newest THEN value END) AS last,
       avg(CASE WHEN age > n - n / 3 THEN value END)
           - avg(CASE WHEN age <= n / 3 THEN value END) AS trend
FROM placed GROUP BY name, unit ORDER BY max(newest) DESC"""

MEANING = {
    "deviation": "standard deviation of a sample",
    "trend": "mean of the newest third minus mean of the oldest third; empty below 3 scores",
}


def add_score(
    tx: Writer, about_ref: str | None, trace_ref: str | None, task_ref: str | None, values: Row
) -> Row:
    """Record a score about a record, a trace or a task."""
    about = tx.find_any(SEARCHABLE, about_ref)[1] if about_ref else None
    first = find_trace(tx, trace_ref) if trace_ref else None
    task = tx.find("task", task_ref) if task_ref else None
    ids = {
        "about_id": about and about["id"],
        "trace_id": first and first["trace_id"],
        "task_id": task and task["id"],
    }
    linked_records = [record for record in (about, first, task) if record]
    row = tx.add("score", {**values, **ids}, of=linked_records)
    shown_names = ("name", "value", "unit", "source", "about_id", "trace_id", "task_id")
    return make_receipt("score", row, **{name: row[name] for name in shown_names if name in row})


def query_scores(db: Reader, limit: int, words: str | None, with_tests: bool, filters: Row) -> Row:
    """Return the newest matching scores, and aggregates of all matching scores."""
    active_filters = {sql: value for sql, value in filters.items() if value is not None}
    if not with_tests:
        active_filters["test <= ?"] = 0
    conditions, values = list(active_filters), tuple(active_filters.values())
    if words:
        sql, more = full_text.build_condition(db, words, "score")
        conditions, values = [*conditions, sql], (*values, *more)
    where = "WHERE " + " AND ".join(conditions) if conditions else ""
    rows = db.rows(ROWS.format(where=where), (*values, limit + 1))
    records = [{**row, "test": bool(row["test"])} for row in rows[:limit]]
    aggregates = [
        # Round to twelve digits; the rest is rounding error of the sums.
        {
            name: float(f"{value:.12g}") if type(value) is float else value
            for name, value in group.items()
        }
        for group in db.rows(AGGREGATES.format(where=where), values)
    ]
    return {
        "matching": sum(group["count"] for group in aggregates),
        "meaning": MEANING,
        "aggregates": aggregates,
        "records": records,
        "count": len(records),
        "more": len(rows) > limit,
    }


def build_filters(
    db: Reader,
    name: str | None,
    about_ref: str | None,
    trace_ref: str | None,
    task_ref: str | None,
    source: str | None,
    since: str | None,
    until: str | None,
) -> Row:
    """Return the conditions of a query, with every reference resolved."""
    return {
        "name = ?": name,
        "about_id = ?": about_ref and db.find_any(SEARCHABLE, about_ref)[1]["id"],
        "trace_id = ?": trace_ref and find_trace(db, trace_ref)["trace_id"],
        "task_id = ?": task_ref and db.resolve("task", task_ref),
        "source = ?": source,
        "at >= ?": since,
        "at < ?": until,
    }
