"""The numbers of a period and of the one before it: tasks, verdicts, proofs, lessons, tokens and cost.

Every statement reads its table once. It begins with the moments that matter (`limits`), and gives what belongs to the
period by a key, the first characters of the time, which `Fold` sorts into days or months of the reader's timezone.
"""

from bisect import bisect_right
from math import fsum
from typing import Any

from . import calibration
from .calendar import Period

PASSING = ("VERIFIED_ACCEPTABLE", "ACCEPTABLE_WITH_CONCERNS")
NOT_A_VERDICT = "PROOF_RECORDED"
CLOSED = ("done", "canceled")
PARTS = ("now", "before")
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
LEAD_CLASSES = {
    "< 1 h": HOUR_MS, "1-4 h": 4 * HOUR_MS, "4-24 h": DAY_MS, "1-3 d": 3 * DAY_MS, "3-7 d": 7 * DAY_MS,
    "1-2 w": 14 * DAY_MS, "2-4 w": 28 * DAY_MS, "> 4 w": None,
}  # fmt: skip

# What a task was before a change is looked up, not taken from what it is now: a past period stays what it was.
CHANGES = """
WITH limits (since, until, before_since, before_until, chars) AS (VALUES (?, ?, ?, ?, ?)),
change AS MATERIALIZED (
    SELECT r.task_id, r.at, r.status, t.at AS began,
           coalesce((SELECT p.status FROM task_revision p
                     WHERE p.task_id = r.task_id AND p.rev < r.rev AND p.status IS NOT NULL AND p.test = 0
                     ORDER BY p.rev DESC LIMIT 1), 'open') AS was,
           CASE WHEN r.at >= since THEN 'now' WHEN r.at < before_until THEN 'before' ELSE 'between' END AS part
    FROM limits CROSS JOIN task_revision r JOIN task t ON t.id = r.task_id
    WHERE r.status IS NOT NULL AND r.test = 0 AND r.at >= before_since AND r.at < until AND {asked}
),
closing AS MATERIALIZED (
    SELECT task_id, part, max(at) AS at, began FROM change
    WHERE status = 'done' AND was <> 'done' AND part <> 'between' GROUP BY task_id, part
),
lead AS (
    SELECT part, round((julianday(at) - julianday(began)) * 86400000) AS ms FROM closing
),
ranked AS (
    SELECT part, ms, row_number() OVER (PARTITION BY part ORDER BY ms) AS place, count(*) OVER (PARTITION BY part) AS number
    FROM lead
),
again AS (
    SELECT part, task_id FROM change
    WHERE part <> 'between' AND was IN ('done', 'canceled') AND status NOT IN ('done', 'canceled')
    UNION
    SELECT CASE WHEN v.at >= since THEN 'now' ELSE 'before' END, v.task_id
    FROM limits CROSS JOIN verification v
    WHERE v.conclusion IN ('VERIFICATION_FAILED', 'STRUCTURAL_REWORK_RECOMMENDED') AND v.test = 0
      AND v.at >= before_since AND v.at < until AND (v.at < before_until OR v.at >= since) AND {asked}
      AND (SELECT r.status FROM task_revision r
           WHERE r.task_id = v.task_id AND r.status IS NOT NULL AND r.test = 0 AND r.seq < v.seq
           ORDER BY r.rev DESC LIMIT 1) = 'done'
)
SELECT 'step' AS what, part, CASE WHEN part = 'now' THEN substr(at, 1, chars) END AS key, was, status, count(*) AS number
FROM change, limits GROUP BY 2, 3, 4, 5
UNION ALL
SELECT 'done', part, CASE WHEN part = 'now' THEN substr(at, 1, chars) END, NULL, NULL, count(*)
FROM closing, limits GROUP BY 2, 3
UNION ALL
SELECT 'lead', part, NULL, max(CASE WHEN place = (number + 1) / 2 THEN ms END),
       max(CASE WHEN place = (number * 85 + 99) / 100 THEN ms END), count(*)
FROM ranked GROUP BY 2
UNION ALL
SELECT 'lead class', part, NULL,
       CASE WHEN ms < 3600000 THEN 0 WHEN ms < 14400000 THEN 1 WHEN ms < 86400000 THEN 2 WHEN ms < 259200000 THEN 3
            WHEN ms < 604800000 THEN 4 WHEN ms < 1209600000 THEN 5 WHEN ms < 2419200000 THEN 6 ELSE 7 END,
       NULL, count(*)
FROM lead WHERE part = 'now' GROUP BY 2, 4
UNION ALL
SELECT 'rework', part, NULL, NULL, NULL, count(*) FROM again GROUP BY 2"""

START = """
SELECT coalesce(status, 'open') AS status, count(*) AS number FROM (
    SELECT status, max(rev) FROM task_revision
    WHERE test = 0 AND status IS NOT NULL AND at < ? AND {asked} GROUP BY task_id
) GROUP BY 1"""
