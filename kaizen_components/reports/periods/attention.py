"""Find what stands out in a period, and what to look at next with which command."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...records.work.command_line import join_words
from ..engine.document import clip_text, format_dollars, format_quantity
from .calendar import Period
from .flow import OF_TASK, OF_TASK_OR_OWN, fetch_scoped_rows

if TYPE_CHECKING:
    from ...parameters import Reader, Row
    from ..engine.zone import Zone

POINTS_MAX = 7
TEXT_CHARS_MAX = 120

FLAKIEST = """
SELECT command, sum(runs) AS runs, sum(passed) AS passed, sum(passed > 0 AND passed < runs) AS mixed
FROM (SELECT command, tree_hash, count(*) AS runs, sum(outcome = 'passed') AS passed FROM proof
      WHERE test = 0 AND tier = 'witnessed' AND command IS NOT NULL
        AND at >= ? AND at < ? AND {condition}
      GROUP BY command, tree_hash)
GROUP BY command HAVING sum(runs) >= 2 AND sum(passed) < sum(runs)
ORDER BY sum(passed > 0 AND passed < runs) > 0 DESC, 1.0 * sum(passed) / sum(runs), sum(runs) DESC,
         command LIMIT ?"""
MOST_EXPENSIVE = """
SELECT task_id, trace_id, cost_usd, tokens, spans,
       (SELECT c.title FROM task_current c WHERE c.id = s.task_id) AS title
FROM (SELECT task_id, CASE WHEN task_id IS NULL THEN trace_id END AS trace_id,
             round(sum(cost_usd), 6) AS cost_usd,
             sum(tokens_in + tokens_out) AS tokens, count(*) AS spans
      FROM span WHERE test = 0 AND at >= ? AND at < ? AND {condition} GROUP BY 1, 2
      HAVING sum(cost_usd) > 0 OR sum(tokens_in + tokens_out) > 0
      ORDER BY 3 DESC, 4 DESC, 1, 2 LIMIT ?) AS s
ORDER BY cost_usd DESC, tokens DESC, task_id, trace_id"""
WAIVED = """
SELECT id, at, actor, gate, subject_id, task_id, reason FROM waiver
WHERE test = 0 AND at >= ? AND at < ? AND {condition} ORDER BY seq DESC LIMIT ?"""
PROMOTED = """
SELECT id, at, actor, title, came_from, kind FROM (
    SELECT seq, id, at, actor, title, gotcha_id AS came_from, 'learning' AS kind, scope
    FROM learning
    WHERE test = 0 AND gotcha_id IS NOT NULL
    UNION ALL
    SELECT seq, id, at, actor, title, learning_id, 'learned', scope FROM learned
    WHERE test = 0 AND learning_id IS NOT NULL)
WHERE at >= ? AND at < ? AND {condition} ORDER BY seq DESC LIMIT ?"""

OBJECTION = """
SELECT id, conclusion, task_id, summary, count(*) OVER () AS number FROM verification_current
WHERE test = 0 AND conclusion IN (
    'VERIFICATION_FAILED', 'STRUCTURAL_REWORK_RECOMMENDED', 'NEEDS_HUMAN_DECISION')
  AND superseded_by IS NULL AND {condition}
  AND NOT EXISTS (SELECT 1 FROM task t JOIN task_state s ON s.seq = t.seq
                  WHERE t.id = task_id AND s.status = 'canceled')
ORDER BY CASE severity WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2
         WHEN 'low' THEN 4
         WHEN 'info' THEN 5 ELSE 3 END, seq DESC LIMIT 1"""
BLOCKED = """
SELECT b.*, (SELECT c.title FROM task_current c WHERE c.id = b.id) AS title FROM (
    SELECT task_id AS id, count(*) OVER () AS number,
           coalesce((SELECT max(r.at) FROM task_revision r
                     WHERE r.task_id = s.task_id AND r.status = 'blocked'), changed_at) AS since
    FROM task_state s
    WHERE status = 'blocked' AND (SELECT t.test FROM task t WHERE t.seq = s.seq) = 0 AND {condition}
    ORDER BY since, seq LIMIT 1) AS b"""
STALE_CLAIM = """
SELECT b.*, (SELECT c.title FROM task_current c WHERE c.id = b.id) AS title FROM (
    SELECT task_id AS id, holder, lease_until, count(*) OVER () AS number FROM task_state s
    WHERE holder IS NOT NULL AND lease_until <= ? AND status NOT IN ('done', 'canceled')
      AND (SELECT t.test FROM task t WHERE t.seq = s.seq) = 0 AND {condition}
    ORDER BY lease_until, seq LIMIT 1) AS b"""
OVERDUE = """
SELECT p.id, p.irl_id, p.deadline, p.summary, count(*) OVER () AS number
FROM irl_prediction_current p JOIN irl i ON i.id = p.irl_id
WHERE p.test = 0 AND p.outcome IS NULL AND p.deadline <= ? AND {condition}
ORDER BY p.deadline, p.seq LIMIT 1"""
UNPROMOTED = """
SELECT id, title, at, count(*) OVER () AS number FROM gotcha_current
WHERE test = 0 AND status = 'active' AND evidence IS NOT NULL AND {condition} ORDER BY seq LIMIT 1"""


LISTS = {
    "flakiest": (FLAKIEST, OF_TASK),
    "dearest": (MOST_EXPENSIVE, OF_TASK),
    "waivers": (WAIVED, OF_TASK),
    "promoted": (PROMOTED, "scope = ?"),
}


def list_highlights(
    db: Reader, period: Period, scope: str | None, limit: int
) -> dict[str, list[Row]]:
    """Return the lists of a period: flaky commands, most expensive tasks, waivers, promotions."""
    limits = (period.since, period.until)
    return {
        name: fetch_scoped_rows(db, sql, limits, scope, condition, limit)
        for name, (sql, condition) in LISTS.items()
    }


def list_next_points(
    db: Reader, zone: Zone, period: Period, scope: str | None, data: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return up to POINTS_MAX points to look at, the most urgent first, each with a command."""
    return list(islice(_find_points(db, zone, period, scope, data), POINTS_MAX))


def _find_points(
    db: Reader, zone: Zone, period: Period, scope: str | None, data: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the points, the most urgent first: open problems, then what stood out in the period."""
    for row in fetch_scoped_rows(db, OBJECTION, (), scope, OF_TASK_OR_OWN):
        text = f"{row['conclusion']}: {_shorten(row['summary'])}."
        words = ["Q9", "--task-id", row["task_id"]] if row["task_id"] else ["Q7", "--id", row["id"]]
        yield _make_point("bad", "Open objection", row, text, *words)
    for row in fetch_scoped_rows(db, BLOCKED, (), scope, "scope = ?"):
        text = f"{_shorten(row['title'])}; since {zone.format_time(row['since'])}."
        yield _make_point("warn", "Longest blocked", row, text, "W10", "--id", row["id"])
    for row in fetch_scoped_rows(db, STALE_CLAIM, (db.at,), scope, "scope = ?"):
        until = (
            f"{_shorten(row['holder'])} had claimed it until {zone.format_time(row['lease_until'])}"
        )
        text = f"{_shorten(row['title'])}; {until}."
        yield _make_point("warn", "Expired claim", row, text, "W10", "--id", row["id"])
    for row in fetch_scoped_rows(db, OVERDUE, (db.at,), scope, "i.scope = ?"):
        text = f"{_shorten(row['summary'])}; was due {zone.format_time(row['deadline'])}."
        yield _make_point(
            "warn", "Prediction without an outcome", row, text, "I5", "--id", row["irl_id"]
        )
    for row in data["waivers"][:1]:
        words = ["W10" if row["gate"] == "done" else "L6", "--id", row["subject_id"]]
        waiver = {**row, "number": data["numbers"]["now"]["waivers"]}
        yield _make_point("warn", "Waiver", waiver, f"{_shorten(row['reason'])}.", *words)
    for row in data["flakiest"][:1]:
        runs = f"{row['passed']:,} of {row['runs']:,} runs passed"
        trees = format_quantity(row["mixed"], "unchanged tree")
        text = f"{runs}, with both outcomes on {trees}." if row["mixed"] else f"{runs}."
        what = "Flaky command" if row["mixed"] else "Failing command"
        text = f"{_shorten(row['command'])}: {text}"
        yield _make_point("warn", what, {}, text, "R4", "--since", period.since)
    for row in data["dearest"][:1]:
        kind = "task_id" if row["task_id"] else "trace_id"
        cost = f"{format_dollars(row['cost_usd'])}, {row['tokens']:,} tokens"
        text = f"{_shorten(row['title'] or row['trace_id'])}: {cost}."
        words = ["T3", "--" + kind.replace("_", "-"), row[kind]]
        yield _make_point(None, "Most expensive", {"id": row["task_id"]}, text, *words)
    for row in fetch_scoped_rows(db, UNPROMOTED, (), scope, "scope = ?"):
        note = f"recorded {zone.format_time(row['at'])} with evidence, not a learning yet"
        text = f"{_shorten(row['title'])}; {note}."
        yield _make_point(None, "Gotcha to promote", row, text, "L2", "--id", row["id"])


def _make_point(tone: str | None, what: str, row: Row, text: str, *words: str) -> dict[str, Any]:
    """Return a point to look at; `words` are the arguments of its next command.

    Further rows of the same kind are only counted.
    """
    number = row.get("number", 1)
    return {
        "tone": tone,
        "what": what,
        "id": row.get("id"),
        "text": text + (f" {number - 1:,} more like it." if number > 1 else ""),
        "command": join_words(["kaizen", *words]),
    }


def _shorten(text: str | None) -> str:
    """Return at most TEXT_CHARS_MAX characters, without a final full stop."""
    return (clip_text(text, TEXT_CHARS_MAX) or "").rstrip(".")
