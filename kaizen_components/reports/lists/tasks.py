"""R1 without --id: all tasks, how many of each status, how many were opened and done when, what blocks what."""

import json
from datetime import date, timedelta
from typing import Any

from ...limits import TASK_STATUS
from ..charts.chart import draw_lines
from ..engine.document import (
    Own,
    Ref,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_dollars,
    format_duration,
    section,
    table,
)
from ..engine.filters import build_condition, describe_filters
from ..engine.zone import compute_elapsed_ms
from ..ledger.task_story import sum_costs

DAYS_MAX = 31  # a longer time is shown by weeks
WEEKS_MAX = 53
NOT_TEST = "seq NOT IN (SELECT seq FROM log WHERE test = 1)"  # few, by an index; the tasks themselves are many
BY_STATUS = "SELECT status, count(*) AS number FROM task_state WHERE {asked} GROUP BY status"
NEWEST = """
SELECT id, at, actor, title, status, priority, scope, changed_at FROM task_current WHERE {asked}
ORDER BY seq DESC LIMIT ?"""
# By the minute, which is the same in every timezone; days are the reader's.
OPENED = """
SELECT substr(at, 1, 16) AS minute, count(*) AS number FROM task WHERE {asked} GROUP BY minute ORDER BY minute"""
# Only what no later revision took back: as many as are done.
DONE = """
SELECT substr(at, 1, 16) AS minute, count(*) AS number FROM task_revision d
WHERE status = 'done' AND test = 0 AND {asked}
  AND NOT EXISTS (SELECT 1 FROM task_revision r
                  WHERE r.task_id = d.task_id AND r.rev > d.rev AND r.status <> 'done' AND r.test = 0)
  AND coalesce((SELECT p.status FROM task_revision p
                WHERE p.task_id = d.task_id AND p.rev < d.rev AND p.status IS NOT NULL AND p.test = 0
                ORDER BY p.rev DESC LIMIT 1), 'open') <> 'done'
GROUP BY minute ORDER BY minute"""
# The + makes it begin with what is not closed, by its index; without it, every task is read in order.
BLOCKED = """
SELECT t.id, t.title, t.status, l.task_id AS blocker_id,
       (SELECT title FROM task_current WHERE id = l.task_id) AS blocker_title,
       (SELECT status FROM task_current WHERE id = l.task_id) AS blocker_status
FROM (SELECT seq, id, title, status FROM task_current
      WHERE seq IN (SELECT seq FROM task_state WHERE status IN ('open', 'active', 'blocked')
                    AND (open_blockers > 0 OR status = 'blocked')) AND {asked}
      ORDER BY +seq DESC LIMIT ?) t
LEFT JOIN task_link_current l ON l.target_id = t.id AND l.kind = 'blocks' AND l.test = 0
     AND (SELECT status FROM task_current WHERE id = l.task_id) NOT IN ('done', 'canceled')
ORDER BY t.seq DESC, l.seq"""
PROOFS = """
SELECT task_id, sum(outcome = 'passed') AS passed, sum(outcome IN ('failed', 'timeout')) AS failed FROM proof
WHERE task_id IN (SELECT value FROM json_each(?)) AND test = 0 GROUP BY task_id"""


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    asked, values = build_condition(db, "task", {**options, "scope": None})
    if options["scope"]:  # what it is now, which the first record of a task does not know
        asked, values = (
            f"{asked} AND seq IN (SELECT seq FROM task_state WHERE scope = ?)",
            [*values, options["scope"]],
        )
    said = describe_filters(options, zone)
    every = f"seq IN (SELECT seq FROM task WHERE {asked})" if said else NOT_TEST
    counted = {
        row["status"]: row["number"] for row in db.rows(BY_STATUS.format(asked=every), values)
    }
    return {
        "narrowed": said,
        "statuses": {status: counted.get(status, 0) for status in TASK_STATUS},
        "throughput": _throughput(db, zone, asked, values, said),
        "blocked": db.rows(BLOCKED.format(asked=asked), (*values, options["limit"])),
        "tasks": _tasks(db, asked, values, options["limit"]),
    }


def _tasks(db, asked, values, limit):
    found = db.rows(NEWEST.format(asked=asked), (*values, limit))
    ids = [row["id"] for row in found]
    spent = sum_costs(db, ids, 0)
    proofs = {row["task_id"]: row for row in db.rows(PROOFS, (json.dumps(ids),))}
    return [
        {
            **row,
            "age_ms": compute_elapsed_ms(row["at"], db.at),
            "proofs_passed": proofs.get(row["id"], {}).get("passed", 0),
            "proofs_failed": proofs.get(row["id"], {}).get("failed", 0),
            "cost_usd": spent.get(row["id"], {}).get("cost_usd"),
        }
        for row in found
    ]


def _throughput(db, zone, asked, values, said):
    """How many were opened and are done, per day or per week, from the first to the last that has any."""
    theirs, named = (
        (f"task_id IN (SELECT id FROM task WHERE {asked})", values) if said else ("1", [])
    )
    opened = _per_day(db.rows(OPENED.format(asked=asked), values), zone)
    done = _per_day(db.rows(DONE.format(asked=theirs), named), zone)
    days = sorted({*opened, *done})
    if not days:
        return {"per": "day", "periods": [], "opened": [], "done": []}
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    per, label = ("day", date.isoformat) if (last - first).days < DAYS_MAX else ("week", _week)
    every = [label(first + timedelta(days=number)) for number in range((last - first).days + 1)]
    periods = list(dict.fromkeys(every))[-WEEKS_MAX:]
    return {
        "per": per,
        "periods": periods,
        "opened": _summed(opened, periods, label),
        "done": _summed(done, periods, label),
    }


def _per_day(rows, zone):
    days: dict[str, int] = {}
    for row in rows:
        day = zone.day(row["minute"] + ":00Z")
        days[day] = days.get(day, 0) + row["number"]
    return days


def _week(day):
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def _summed(days, periods, label):
    found = dict.fromkeys(periods, 0)
    for day, number in days.items():
        period = label(date.fromisoformat(day))
        if period in found:
            found[period] += number
    return list(found.values())


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    total = sum(found["statuses"].values())
    if not total:
        lead = [
            "No task fits."
            if found["narrowed"]
            else "No task yet. `kaizen W1 --title … --summary …` starts one."
        ]
        return document("Tasks", [text for text in (*lead, found["narrowed"]) if text], [])
    closed = found["statuses"]["done"] + found["statuses"]["canceled"]
    lead = [
        f"{format_count(total)} task{'' if total == 1 else 's'}: {format_count(found['statuses']['done'])} done, "
        f"{format_count(total - closed)} to do.",
        found["narrowed"],
    ]
    numbers = facts(*(fact(status, number) for status, number in found["statuses"].items()))
    return document(
        "Tasks", [text for text in lead if text],
        [
            section("In numbers", numbers, _chart(found["throughput"])),
            section("Blocked", _blocked(found["blocked"])),
            section("Newest", _newest(found["tasks"], zone, total)),
        ],
    )  # fmt: skip


def _chart(flow):
    opened, done = sum(flow["opened"]), sum(flow["done"])
    says = f"{format_count(opened)} opened and {format_count(done)} done from {flow['periods'][0]} to {flow['periods'][-1]}."
    return draw_lines(
        f"Opened and done per {flow['per']}", flow["per"], "tasks", flow["periods"],
        {"opened": flow["opened"], "done": flow["done"]}, says,
    )  # fmt: skip


def _blocked(rows):
    columns = {
        "Task": "",
        "Title": "",
        "Status": "",
        "Waits for": "",
        "Blocker": "",
        "Its status": "",
    }
    cells = [
        [
            Ref(row["id"]), clip_text(row["title"]), add_tone(row["status"]),
            Ref(row["blocker_id"]) if row["blocker_id"] else "nothing that is recorded",
            clip_text(row["blocker_title"]), add_tone(row["blocker_status"]),
        ]
        for row in rows
    ]  # fmt: skip
    return table("Tasks that wait for others", columns, cells)


def _newest(rows, zone, total):
    columns = {
        "Task": "", "Title": "", "Status": "", "Priority": "", "Age": "number", "Last change": "whole",
        "Proofs passed": "number", "failed": "number", "Cost": "number",
    }  # fmt: skip
    cells = [
        [
            Own(row["id"]), clip_text(row["title"]), add_tone(row["status"]), add_tone(row["priority"]),
            format_duration(row["age_ms"]), zone.show(row["changed_at"]), row["proofs_passed"], row["proofs_failed"],
            format_dollars(row["cost_usd"]),
        ]
        for row in rows
    ]  # fmt: skip
    return table("Tasks, the newest first", columns, cells, total - len(rows))
