"""Report all tasks (R1 without --id): by status, over time, and which are blocked."""

from __future__ import annotations

import json
from datetime import date, timedelta

from ...limits import TASK_STATUS
from ..charts.chart import draw_lines
from ..engine.document import (
    LinkTarget,
    Ref,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_dollars,
    format_duration,
    format_quantity,
    record_table,
    section,
)
from ..engine.filters import build_condition, describe_filters
from ..engine.zone import compute_elapsed_ms
from ..ledger.task_story import sum_costs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row
    from ..engine.zone import Zone

DAYS_MAX = 31  # a longer period is counted by weeks
WEEKS_MAX = 53
# Test entries are few and have an index; the tasks are many.
NOT_TEST = "seq NOT IN (SELECT seq FROM log WHERE test = 1)"
BY_STATUS = "SELECT status, count(*) AS number FROM task_state WHERE {condition} GROUP BY status"
NEWEST = """
SELECT id, at, actor, title, status, priority, scope, changed_at
FROM task_current WHERE {condition} ORDER BY seq DESC LIMIT ?"""
# Counted by minute, since days depend on the timezone of the reader.
OPENED = """
SELECT substr(at, 1, 16) AS minute, count(*) AS number FROM task
WHERE {condition} GROUP BY minute ORDER BY minute"""
# Count a revision to `done` unless a later one reopened the task, so that the sum equals the tasks
# that are done now.
DONE = """
SELECT substr(at, 1, 16) AS minute, count(*) AS number FROM task_revision d
WHERE status = 'done' AND test = 0 AND {condition}
  AND NOT EXISTS (SELECT 1 FROM task_revision r
                  WHERE r.task_id = d.task_id AND r.rev > d.rev AND r.status <> 'done'
                    AND r.test = 0)
  AND coalesce((SELECT p.status FROM task_revision p
                WHERE p.task_id = d.task_id AND p.rev < d.rev AND p.status IS NOT NULL
                  AND p.test = 0 ORDER BY p.rev DESC LIMIT 1), 'open') <> 'done'
GROUP BY minute ORDER BY minute"""
# The + makes SQLite start with the index of open tasks; without it, SQLite reads every task.
BLOCKED = """
SELECT t.id, t.title, t.status, l.task_id AS blocker_id,
       (SELECT title FROM task_current WHERE id = l.task_id) AS blocker_title,
       (SELECT status FROM task_current WHERE id = l.task_id) AS blocker_status
FROM (SELECT seq, id, title, status FROM task_current
      WHERE seq IN (SELECT seq FROM task_state WHERE status IN ('open', 'active', 'blocked')
                    AND (open_blockers > 0 OR status = 'blocked')) AND {condition}
      ORDER BY +seq DESC LIMIT ?) t
LEFT JOIN task_link_current l ON l.target_id = t.id AND l.kind = 'blocks' AND l.test = 0
     AND (SELECT status FROM task_current WHERE id = l.task_id) NOT IN ('done', 'canceled')
ORDER BY t.seq DESC, l.seq"""
PROOFS = """
SELECT task_id, sum(outcome = 'passed') AS passed, sum(outcome IN ('failed', 'timeout')) AS failed
FROM proof WHERE task_id IN (SELECT value FROM json_each(?)) AND test = 0 GROUP BY task_id"""


def gather(db: Reader, zone: Zone, options: Row) -> Row:
    """Return the newest tasks with age, proofs and cost, the blocked tasks, and the counts."""
    condition, values = build_condition(db, "task", {**options, "scope": None})
    if options["scope"]:  # the current scope, which a revision may have changed
        condition += " AND seq IN (SELECT seq FROM task_state WHERE scope = ?)"
        values = [*values, options["scope"]]
    filters = describe_filters(options, zone)
    status_condition = f"seq IN (SELECT seq FROM task WHERE {condition})" if filters else NOT_TEST
    rows = db.rows(BY_STATUS.format(condition=status_condition), values)
    numbers = {row["status"]: row["number"] for row in rows}
    tasks = db.rows(NEWEST.format(condition=condition), (*values, options["limit"]))
    ids = [row["id"] for row in tasks]
    costs = sum_costs(db, ids, 0)
    proofs = {row["task_id"]: row for row in db.rows(PROOFS, (json.dumps(ids),))}
    for task in tasks:
        task |= {
            "age_ms": compute_elapsed_ms(task["at"], db.at),
            "proofs_passed": proofs.get(task["id"], {}).get("passed", 0),
            "proofs_failed": proofs.get(task["id"], {}).get("failed", 0),
            "cost_usd": costs.get(task["id"], {}).get("cost_usd"),
        }
    done_condition, done_values = "1", []
    if filters:
        done_condition = f"task_id IN (SELECT id FROM task WHERE {condition})"
        done_values = values
    return {
        "narrowed": filters,
        "statuses": {status: numbers.get(status, 0) for status in TASK_STATUS},
        "throughput": _count_by_period(
            zone,
            opened=db.rows(OPENED.format(condition=condition), values),
            done=db.rows(DONE.format(condition=done_condition), done_values),
        ),
        "blocked": db.rows(BLOCKED.format(condition=condition), (*values, options["limit"])),
        "tasks": tasks,
    }


def _count_by_period(zone: Zone, **minutes: list[Row]) -> Row:
    """Return the numbers per day, or per week for long periods, from the first day to the last."""
    series: dict[str, dict[str, int]] = {}
    for name, rows in minutes.items():
        days = series[name] = {}
        for row in rows:
            day = zone.format_day(row["minute"] + ":00Z")
            days[day] = days.get(day, 0) + row["number"]
    active_days = sorted(set().union(*series.values()))
    if not active_days:
        return {"per": "day", "periods": [], "opened": [], "done": []}
    first, last = date.fromisoformat(active_days[0]), date.fromisoformat(active_days[-1])
    is_daily = (last - first).days < DAYS_MAX

    def format_period(day: date) -> str:
        year, week, _ = day.isocalendar()
        return day.isoformat() if is_daily else f"{year}-W{week:02d}"

    labels = [
        format_period(first + timedelta(days=number)) for number in range((last - first).days + 1)
    ]
    periods = list(dict.fromkeys(labels))[-WEEKS_MAX:]
    numbers = {}
    for name, days in series.items():
        sums = dict.fromkeys(periods, 0)
        for day, number in days.items():
            period = format_period(date.fromisoformat(day))
            if period in sums:
                sums[period] += number
        numbers[name] = list(sums.values())
    return {"per": "day" if is_daily else "week", "periods": periods, **numbers}


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the numbers, the throughput, the blocked tasks and the newest tasks."""
    statuses, flow = data["statuses"], data["throughput"]
    total = sum(statuses.values())
    if not total:
        hint = "No task yet. `kaizen W1 --title … --summary …` starts one."
        return document(
            "Tasks", ["No task matches." if data["narrowed"] else hint, data["narrowed"]], []
        )
    to_do = total - statuses["done"] - statuses["canceled"]
    lead = (
        f"{format_quantity(total, 'task')}: {format_count(statuses['done'])} done, "
        f"{format_count(to_do)} to do."
    )
    numbers = facts(*(fact(status, number) for status, number in statuses.items()))
    chart = draw_lines(
        f"Opened and done per {flow['per']}",
        flow["per"],
        "tasks",
        flow["periods"],
        {"opened": flow["opened"], "done": flow["done"]},
        f"{format_count(sum(flow['opened']))} opened and {format_count(sum(flow['done']))} done "
        f"from {flow['periods'][0]} to {flow['periods'][-1]}.",
    )
    blocked_table = _tabulate_blocked(data)
    task_table = record_table(
        "Tasks, the newest first",
        data["tasks"],
        {
            "Task": ("", lambda row: LinkTarget(row["id"])),
            "Title": ("", lambda row: clip_text(row["title"])),
            "Status": ("", lambda row: add_tone(row["status"])),
            "Priority": ("", lambda row: add_tone(row["priority"])),
            "Age": ("number", lambda row: format_duration(row["age_ms"])),
            "Last change": ("whole", lambda row: zone.format_time(row["changed_at"])),
            "Proofs passed": ("number", "proofs_passed"),
            "failed": ("number", "proofs_failed"),
            "Cost": ("number", lambda row: format_dollars(row["cost_usd"])),
        },
        total - len(data["tasks"]),
    )
    return document(
        "Tasks",
        [lead, data["narrowed"]],
        [
            section("In numbers", numbers, chart),
            section("Blocked", blocked_table),
            section("Newest", task_table),
        ],
    )


def _tabulate_blocked(data: Row) -> Row | None:
    """Return the table of blocked tasks."""
    return record_table(
        "Tasks that wait for others",
        data["blocked"],
        {
            "Task": ("", lambda row: Ref(row["id"])),
            "Title": ("", lambda row: clip_text(row["title"])),
            "Status": ("", lambda row: add_tone(row["status"])),
            "Waits for": (
                "",
                lambda row: (
                    Ref(row["blocker_id"]) if row["blocker_id"] else "nothing that is recorded"
                ),
            ),
            "Blocker": ("", lambda row: clip_text(row["blocker_title"])),
            "Its status": ("", lambda row: add_tone(row["blocker_status"])),
        },
    )
