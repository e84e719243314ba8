"""Count the tasks of a period and of the previous one: opened, done, reopened, lead time, open.

The queries group rows by the hour, in UTC. `BarIndex` assigns each hour to a day or month in the
reader's timezone. Every table is read once.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from .calendar import Period

if TYPE_CHECKING:
    from ...parameters import Reader, Row

CLOSED = ("done", "canceled")
PARTS = ("now", "before")  # "between": after the compared part of the period before
HOUR_CHARS, MINUTE = 13, slice(14, 16)  # of a time as records write it
LEAD_CLASSES = ("< 1 h", "1-4 h", "4-24 h", "1-3 d", "3-7 d", "1-2 w", "2-4 w", "> 4 w")

# The status before a change comes from the earlier revisions, so that later changes do not alter a
# past period. An index finds it fast, because most tasks have one change and are done once.
CHANGES = """
WITH limits (since, until, before_since, before_until, minute) AS (VALUES (?, ?, ?, ?, ?)),
change AS MATERIALIZED (
    SELECT r.task_id, r.at, r.rev, r.status,
           CASE r.rev WHEN 2 THEN 'open' ELSE coalesce(
               (SELECT p.status FROM task_revision p
                WHERE p.task_id = r.task_id AND p.rev < r.rev AND p.status IS NOT NULL
                  AND p.test = 0
                ORDER BY p.rev DESC LIMIT 1), 'open') END AS was,
           CASE WHEN r.at >= since THEN 'now' WHEN r.at < before_until THEN 'before'
                ELSE 'between' END AS part,
           CASE WHEN r.at >= since THEN substr(r.at, 1, 13) || (substr(r.at, 15, 2) >= minute) END
               AS key
    FROM limits CROSS JOIN task_revision r
    WHERE r.status IS NOT NULL AND r.test = 0 AND r.at >= before_since AND r.at < until
      AND {condition}
),
closing AS MATERIALIZED (
    SELECT c.part, c.key, round((julianday(c.at) - julianday(t.at)) * 86400000) AS ms
    FROM limits CROSS JOIN change c CROSS JOIN task t ON t.id = c.task_id
    WHERE c.status = 'done' AND c.was <> 'done' AND c.part <> 'between'
      AND NOT EXISTS (SELECT 1 FROM task_revision n
                      WHERE n.task_id = c.task_id AND n.rev > c.rev AND n.status = 'done'
                        AND n.test = 0
                        AND n.at < CASE c.part WHEN 'now' THEN until ELSE before_until END
                        AND EXISTS (SELECT 1 FROM task_revision b  -- or it only repeats the status
                                    WHERE b.task_id = c.task_id AND b.rev > c.rev AND b.rev < n.rev
                                      AND b.status <> 'done' AND b.test = 0))
),
ranked AS (
    SELECT part, ms, row_number() OVER (PARTITION BY part ORDER BY ms) AS place,
           count(*) OVER (PARTITION BY part) AS number
    FROM closing
),
again AS (
    SELECT part, task_id FROM change
    WHERE part <> 'between' AND was IN ('done', 'canceled') AND status NOT IN ('done', 'canceled')
    UNION
    SELECT CASE WHEN v.at >= since THEN 'now' ELSE 'before' END, v.task_id
    FROM limits CROSS JOIN verification v
    WHERE v.conclusion IN ('VERIFICATION_FAILED', 'STRUCTURAL_REWORK_RECOMMENDED') AND v.test = 0
      AND v.at >= before_since AND v.at < until AND (v.at < before_until OR v.at >= since)
      AND {condition}
      AND (SELECT r.status FROM task_revision r
           WHERE r.task_id = v.task_id AND r.status IS NOT NULL AND r.test = 0 AND r.seq < v.seq
           ORDER BY r.rev DESC LIMIT 1) = 'done'
)
SELECT 'step' AS what, part, key,
       sum(was IN ('done', 'canceled') AND status NOT IN ('done', 'canceled')) AS a,
       sum(status = 'canceled' AND was <> 'canceled') AS b,
       sum((status = 'done') - (was = 'done')) AS c,
       sum((status = 'canceled') - (was = 'canceled')) AS d
FROM change GROUP BY 2, 3
UNION ALL
SELECT 'done', part, key, count(*), 0, 0, 0 FROM closing GROUP BY 2, 3
UNION ALL
SELECT 'lead', part, NULL, max(CASE WHEN place = (number + 1) / 2 THEN ms END),
       max(CASE WHEN place = (number * 85 + 99) / 100 THEN ms END), count(*), 0
FROM ranked GROUP BY 2
UNION ALL
SELECT 'lead class', part, NULL,
       CASE WHEN ms < 3600000 THEN 0 WHEN ms < 14400000 THEN 1 WHEN ms < 86400000 THEN 2
            WHEN ms < 259200000 THEN 3 WHEN ms < 604800000 THEN 4 WHEN ms < 1209600000 THEN 5
            WHEN ms < 2419200000 THEN 6 ELSE 7 END,
       count(*), 0, 0
FROM closing WHERE part = 'now' GROUP BY 2, 4
UNION ALL
SELECT 'rework', part, NULL, count(*), 0, 0, 0 FROM again GROUP BY 2"""
STARTED = """
SELECT CASE WHEN at >= ? THEN substr(at, 1, 13) || (substr(at, 15, 2) >= ?)
            WHEN at >= ? THEN 'between' WHEN at >= ? THEN 'before' ELSE 'earlier' END AS key,
       count(*) AS number
FROM (SELECT at, id AS task_id FROM task WHERE test = 0 AND at < ?) WHERE {condition} GROUP BY 1"""
CLOSED_BEFORE = """
SELECT sum(status = 'done') AS done, sum(status = 'canceled') AS canceled FROM (
    SELECT status, max(rev) FROM task_revision
    WHERE test = 0 AND status IS NOT NULL AND at < ? AND {condition} GROUP BY +task_id
)"""

# A record of a task has the scope of the task.
OF_TASK = "task_id IN (SELECT task_id FROM task_state WHERE scope = ?)"
OF_TASK_OR_OWN = f"({OF_TASK} OR (task_id IS NULL AND scope = ?))"


def fetch_scoped_rows(
    db: Reader, sql: str, before: tuple[Any, ...], scope: str | None, condition: str, *after: Any
) -> list[Row]:
    """Return the rows of a query; with `scope`, only those that match `condition`.

    `before` and `after` are the values of the query before and after those of the condition.
    """
    values = [scope] * condition.count("?") if scope else []
    query = sql.format(condition=condition if scope else "1")
    return db.rows(query, (*before, *values * sql.count("{condition}"), *after))


class BarIndex:
    """Finds the bar of a period that a time belongs to.

    Times are given as keys: the UTC hour, and 1 if the minute is at or after that at which local
    days begin, else 0. Local days begin at minute 00 in most zones, 30 or 15 in some.
    """

    def __init__(self, period: Period) -> None:
        limits = period.list_bar_starts()
        self.minute = max(limit[MINUTE] for limit in limits)
        self.limits = [self.make_key(limit) for limit in limits]

    def make_key(self, at: str) -> str:
        """Return the key of a time, as the queries compute it."""
        return at[:HOUR_CHARS] + str(int(at[MINUTE] >= self.minute))

    def find_bar(self, key: str) -> int:
        """Return the index of the bar that contains the key."""
        return bisect_right(self.limits, key) - 1

    def make_zeros(self) -> list[Any]:
        """Return a zero for each bar."""
        return [0] * len(self.limits)


class TaskFlow:
    """The task numbers of a period and of the previous period.

    `parts` has the numbers, `bars` the series for charts, `at_start` the sums at the beginning.
    """

    def __init__(self, db: Reader, period: Period, scope: str | None) -> None:
        self.index = BarIndex(period)
        names = ("opened", "done", "reopened", "canceled")
        self.bars: dict[str, list[int]] = {name: self.index.make_zeros() for name in names}
        self.parts: dict[str, dict[str, Any]] = {
            part: dict.fromkeys((*names, "rework"), 0) for part in PARTS
        }
        self.lead_classes = dict.fromkeys(LEAD_CLASSES, 0)
        self._changes = {name: self.index.make_zeros() for name in CLOSED}
        self._changes_before = {part: dict.fromkeys(CLOSED, 0) for part in ("before", "between")}
        limits = (
            period.since, self.index.minute, period.before_until, period.before_since, period.until
        )  # fmt: skip
        opened_counts = dict.fromkeys(("earlier", "before", "between"), 0)
        for row in fetch_scoped_rows(db, STARTED, limits, scope, OF_TASK):
            if row["key"] in opened_counts:
                opened_counts[row["key"]] = row["number"]
            else:
                self.bars["opened"][self.index.find_bar(row["key"])] += row["number"]
        self.parts["now"]["opened"] = sum(self.bars["opened"])
        self.parts["before"]["opened"] = opened_counts["before"]
        limits = (
            period.since, period.until, period.before_since, period.before_until, self.index.minute
        )  # fmt: skip
        for row in fetch_scoped_rows(db, CHANGES, limits, scope, OF_TASK):
            self._add_row(row)
        # Add up the changes to get the open, done and canceled tasks after each bar.
        sums = fetch_scoped_rows(db, CLOSED_BEFORE, (period.before_since,), scope, OF_TASK)[0]
        sums = {name: (sums[name] or 0) + self._changes_before["before"][name] for name in CLOSED}
        tasks = opened_counts["earlier"] + opened_counts["before"]
        self.parts["before"]["open_at_end"] = tasks - sum(sums.values())
        sums = {name: sums[name] + self._changes_before["between"][name] for name in CLOSED}
        tasks += opened_counts["between"]
        self.at_start = {**sums, "open": tasks - sum(sums.values())}
        self.bars.update({f"{name}_standing": [] for name in ("open", *CLOSED)})
        for index, number in enumerate(self.bars["opened"]):
            tasks += number
            for name in CLOSED:
                sums[name] += self._changes[name][index]
                self.bars[f"{name}_standing"].append(sums[name])
            self.bars["open_standing"].append(tasks - sum(sums.values()))
        self.parts["now"]["open_at_end"] = tasks - sum(sums.values())
        for part in self.parts.values():
            part["rework_rate"] = round(part["rework"] / part["done"], 4) if part["done"] else None

    def _add_row(self, row: Row) -> None:
        """Add one row of CHANGES to the numbers and bars.

        The columns a to d of a "step" are reopened, canceled and the changes of the numbers of done
        and of canceled tasks. Other rows use only the first one to three columns.
        """
        part = row["part"]
        numbers = self.parts.get(part, {})
        bar = self.index.find_bar(row["key"]) if part == "now" and row["key"] else 0
        match row["what"]:
            case "step":
                if part == "now":
                    self.bars["reopened"][bar] += row["a"]
                    self.bars["canceled"][bar] += row["b"]
                    self._changes["done"][bar] += row["c"]
                    self._changes["canceled"][bar] += row["d"]
                else:
                    self._changes_before[part] = {"done": row["c"], "canceled": row["d"]}
                if part != "between":
                    numbers["reopened"] += row["a"]
                    numbers["canceled"] += row["b"]
            case "done":
                numbers["done"] += row["a"]
                if part == "now":
                    self.bars["done"][bar] += row["a"]
            case "lead":
                numbers.update(lead_median_ms=row["a"], lead_85_ms=row["b"])
            case "lead class":
                self.lead_classes[LEAD_CLASSES[row["a"]]] = row["b"]
            case "rework":
                numbers["rework"] = row["a"]
