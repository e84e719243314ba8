"""What stands out in a period, and what to look at next: found by rules, each with the id and the command to go on."""

from typing import Any

from ...records.work.command_line import join_words
from ..engine.document import clip_text, format_dollars
from .calendar import Period
from .flow import OF_TASK, OF_TASK_OR_OWN, fetch_scoped_rows

POINTS_MAX = 7
TEXT_CHARS_MAX = 120

FLAKIEST = """
SELECT command, sum(runs) AS runs, sum(passed) AS passed, sum(passed > 0 AND passed < runs) AS mixed
FROM (SELECT command, tree_hash, count(*) AS runs, sum(outcome = 'passed') AS passed FROM proof
      WHERE test = 0 AND tier = 'witnessed' AND command IS NOT NULL AND at >= ? AND at < ? AND {asked}
      GROUP BY command, tree_hash)
GROUP BY command HAVING sum(runs) >= 2 AND sum(passed) < sum(runs)
ORDER BY sum(passed > 0 AND passed < runs) > 0 DESC, 1.0 * sum(passed) / sum(runs), sum(runs) DESC, command LIMIT ?"""
DEAREST = """
SELECT task_id, trace_id, cost_usd, tokens, spans,
       (SELECT c.title FROM task_current c WHERE c.id = s.task_id) AS title
FROM (SELECT task_id, CASE WHEN task_id IS NULL THEN trace_id END AS trace_id, round(sum(cost_usd), 6) AS cost_usd,
             sum(tokens_in + tokens_out) AS tokens, count(*) AS spans
      FROM span WHERE test = 0 AND at >= ? AND at < ? AND {asked} GROUP BY 1, 2
      HAVING sum(cost_usd) > 0 OR sum(tokens_in + tokens_out) > 0
      ORDER BY 3 DESC, 4 DESC, 1, 2 LIMIT ?) AS s
ORDER BY cost_usd DESC, tokens DESC, task_id, trace_id"""
WAIVED = """
SELECT id, at, actor, gate, subject_id, task_id, reason FROM waiver
WHERE test = 0 AND at >= ? AND at < ? AND {asked} ORDER BY seq DESC LIMIT ?"""
PROMOTED = """
SELECT id, at, actor, title, came_from, kind FROM (
    SELECT seq, id, at, actor, title, gotcha_id AS came_from, 'learning' AS kind, scope FROM learning
    WHERE test = 0 AND gotcha_id IS NOT NULL
    UNION ALL
    SELECT seq, id, at, actor, title, learning_id, 'learned', scope FROM learned
    WHERE test = 0 AND learning_id IS NOT NULL)
WHERE at >= ? AND at < ? AND {asked} ORDER BY seq DESC LIMIT ?"""

OBJECTION = """
SELECT id, conclusion, task_id, summary, count(*) OVER () AS number FROM verification_current
WHERE test = 0 AND conclusion IN ('VERIFICATION_FAILED', 'STRUCTURAL_REWORK_RECOMMENDED', 'NEEDS_HUMAN_DECISION')
  AND superseded_by IS NULL AND {asked}
  AND NOT EXISTS (SELECT 1 FROM task t JOIN task_state s ON s.seq = t.seq
                  WHERE t.id = task_id AND s.status = 'canceled')
ORDER BY CASE severity WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 WHEN 'low' THEN 4
         WHEN 'info' THEN 5 ELSE 3 END, seq DESC LIMIT 1"""
BLOCKED = """
SELECT b.*, (SELECT c.title FROM task_current c WHERE c.id = b.id) AS title FROM (
    SELECT task_id AS id, count(*) OVER () AS number,
           coalesce((SELECT max(r.at) FROM task_revision r WHERE r.task_id = s.task_id AND r.status = 'blocked'),
                    changed_at) AS since
    FROM task_state s WHERE status = 'blocked' AND (SELECT t.test FROM task t WHERE t.seq = s.seq) = 0 AND {asked}
    ORDER BY since, seq LIMIT 1) AS b"""
STALE_CLAIM = """
SELECT b.*, (SELECT c.title FROM task_current c WHERE c.id = b.id) AS title FROM (
    SELECT task_id AS id, holder, lease_until, count(*) OVER () AS number FROM task_state s
    WHERE holder IS NOT NULL AND lease_until <= ? AND status NOT IN ('done', 'canceled')
      AND (SELECT t.test FROM task t WHERE t.seq = s.seq) = 0 AND {asked}
    ORDER BY lease_until, seq LIMIT 1) AS b"""
OVERDUE = """
SELECT p.id, p.irl_id, p.deadline, p.summary, count(*) OVER () AS number
FROM irl_prediction_current p JOIN irl i ON i.id = p.irl_id
WHERE p.test = 0 AND p.outcome IS NULL AND p.deadline <= ? AND {asked} ORDER BY p.deadline, p.seq LIMIT 1"""
UNPROMOTED = """
SELECT id, title, at, count(*) OVER () AS number FROM gotcha_current
WHERE test = 0 AND status = 'active' AND evidence IS NOT NULL AND {asked} ORDER BY seq LIMIT 1"""


def highlights(
    db, period: Period, scope: str | None, limit: int
) -> dict[str, list[dict[str, Any]]]:
    """The lists of a period: flakiest commands, dearest tasks or traces, waivers, promoted lessons."""
    found = {}
    for name, sql, condition in (
        ("flakiest", FLAKIEST, OF_TASK),
        ("dearest", DEAREST, OF_TASK),
        ("waivers", WAIVED, OF_TASK),
        ("promoted", PROMOTED, "scope = ?"),
    ):
        found[name] = fetch_scoped_rows(
            db, sql, (period.since, period.until), scope, condition, limit
        )
    return found


def next_points(
    db, zone, period: Period, scope: str | None, found: dict[str, Any]
) -> list[dict[str, Any]]:
    """At most seven: what is open now, the most pressing first, and then what stood out in the period."""
    by_rule = [
        (_objection, fetch_scoped_rows(db, OBJECTION, (), scope, OF_TASK_OR_OWN)),
        (_blocked, fetch_scoped_rows(db, BLOCKED, (), scope, "scope = ?")),
        (_claim, fetch_scoped_rows(db, STALE_CLAIM, (db.at,), scope, "scope = ?")),
        (_overdue, fetch_scoped_rows(db, OVERDUE, (db.at,), scope, "i.scope = ?")),
        (
            _waiver,
            [{**row, "number": found["numbers"]["now"]["waivers"]} for row in found["waivers"]],
        ),
        (_flaky, [{**row, "since": period.since} for row in found["flakiest"]]),
        (_dear, found["dearest"]),
        (_unpromoted, fetch_scoped_rows(db, UNPROMOTED, (), scope, "scope = ?")),
    ]
    return [point(zone, rows[0]) for point, rows in by_rule if rows][:POINTS_MAX]


def _point(tone, what, id, text, *words, number=1):
    """One point: `words` are the command to go on with; the others of its sort are only counted."""
    more = f" {number - 1:,} more like it." if number > 1 else ""
    return {
        "tone": tone,
        "what": what,
        "id": id,
        "text": text + more,
        "command": join_words(["kaizen", *words]),
    }


def _short(text):
    return (clip_text(text, TEXT_CHARS_MAX) or "").rstrip(".")


def _objection(zone, row):
    words = ["Q9", "--task-id", row["task_id"]] if row["task_id"] else ["Q7", "--id", row["id"]]
    text = f"{row['conclusion']}: {_short(row['summary'])}."
    return _point("bad", "Open objection", row["id"], text, *words, number=row["number"])


def _blocked(zone, row):
    text = f"{_short(row['title'])}; since {zone.show(row['since'])}."
    return _point(
        "warn",
        "Blocked the longest",
        row["id"],
        text,
        "W10",
        "--id",
        row["id"],
        number=row["number"],
    )


def _claim(zone, row):
    text = f"{_short(row['title'])}; {_short(row['holder'])} held it until {zone.show(row['lease_until'])}."
    return _point(
        "warn",
        "Claim that ran out",
        row["id"],
        text,
        "W10",
        "--id",
        row["id"],
        number=row["number"],
    )


def _overdue(zone, row):
    text = f"{_short(row['summary'])}; was due {zone.show(row['deadline'])}."
    words = ["I5", "--id", row["irl_id"]]
    return _point(
        "warn", "Prediction without an outcome", row["id"], text, *words, number=row["number"]
    )


def _waiver(zone, row):
    words = ["W10" if row["gate"] == "done" else "L6", "--id", row["subject_id"]]
    return _point(
        "warn", "Waived", row["id"], f"{_short(row['reason'])}.", *words, number=row["number"]
    )


def _flaky(zone, row):
    trees = f"{row['mixed']:,} unchanged tree{'' if row['mixed'] == 1 else 's'}"
    how = f"{row['passed']:,} of {row['runs']:,} runs passed" + (
        f", both ways on {trees}." if row["mixed"] else "."
    )
    what = "Flaky command" if row["mixed"] else "Command that fails"
    return _point(
        "warn", what, None, f"{_short(row['command'])}: {how}", "R4", "--since", row["since"]
    )


def _dear(zone, row):
    words = ["--task-id", row["task_id"]] if row["task_id"] else ["--trace-id", row["trace_id"]]
    text = f"{_short(row['title'] or row['trace_id'])}: {format_dollars(row['cost_usd'])}, {row['tokens']:,} tokens."
    return _point(None, "Most expensive", row["task_id"], text, "T3", *words)


def _unpromoted(zone, row):
    text = f"{_short(row['title'])}; recorded {zone.show(row['at'])} with evidence, and no learning yet."
    return _point(
        None, "Gotcha to promote", row["id"], text, "L2", "--id", row["id"], number=row["number"]
    )
