"""Queries about tasks."""

from ...limits import PRIORITY
from ..search import listing as lists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row

# Without INDEXED BY the planner sorts all open tasks, which takes a second for a million tasks.
READY = """
WITH chosen AS (
    SELECT * FROM (
        SELECT s.rank, s.seq, 0 AS abandoned
        FROM task_state s INDEXED BY task_state_ready JOIN task t ON t.seq = s.seq
        WHERE s.status = 'open' AND s.open_blockers = 0 AND (s.lease_until IS NULL OR s.lease_until <= ?)
          AND (? IS NULL OR s.scope = ?) AND t.test <= ?
        ORDER BY s.rank, s.seq LIMIT ?)
    UNION ALL
    SELECT * FROM (
        SELECT s.rank, s.seq, 1 AS abandoned
        FROM task_state s INDEXED BY task_state_abandoned JOIN task t ON t.seq = s.seq
        WHERE s.status = 'active' AND s.open_blockers = 0 AND s.token IS NOT NULL
          AND (s.lease_until IS NULL OR s.lease_until <= ?)
          AND (? IS NULL OR s.scope = ?) AND t.test <= ?
        ORDER BY s.rank, s.seq LIMIT ?)
)
SELECT t.id, t.priority, t.scope, t.at AS since, t.title, c.abandoned
FROM chosen c JOIN task_current t ON t.seq = c.seq
ORDER BY c.rank, c.seq LIMIT ?"""

PLANS = "SELECT id, at, rev, status, title FROM plan_current WHERE task_id = ? ORDER BY seq"
PACKETS = """
SELECT id, at, kind, outcome, recipient, title, summary, body, payload FROM packet_current
WHERE task_id = ? ORDER BY seq"""
RESULTS = """
SELECT r.packet_id, r.at, r.actor, r.outcome, r.summary, r.body, r.payload
FROM packet p JOIN packet_result r ON r.packet_id = p.id WHERE p.task_id = ? ORDER BY r.seq"""
PROOFS = """
SELECT id, at, actor, tier, outcome, command, exit_code, duration_ms, title FROM proof WHERE task_id = ? ORDER BY seq"""
VERIFICATIONS = """
SELECT id, at, actor, conclusion, severity, scope, superseded_by, summary FROM verification_current
WHERE task_id = ? ORDER BY seq"""
WAIVERS = "SELECT id, at, actor, reason FROM waiver WHERE task_id = ? ORDER BY seq"
ARTIFACTS = "SELECT id, at, kind, path, name, sha256, bytes, title FROM artifact WHERE task_id = ? ORDER BY seq"
SPANS = """
SELECT trace_id, count(*) AS spans, min(started_at) AS started_at, sum(tokens_in) AS tokens_in,
       sum(tokens_out) AS tokens_out, sum(cost_usd) AS cost_usd
FROM span WHERE task_id = ? GROUP BY trace_id ORDER BY min(seq)"""
LESSONS = """
SELECT 'gotcha' AS kind, id, at, title FROM gotcha WHERE task_id = ?
UNION ALL SELECT 'learning', id, at, title FROM learning WHERE task_id = ?
UNION ALL SELECT 'learned', id, at, title FROM learned WHERE task_id = ? ORDER BY 3"""
LEASES = "SELECT at, actor, action, token, until, note FROM lease WHERE task_id = ? ORDER BY seq"

COLUMNS = "id, status, priority, scope, actor, at, holder, lease_until, test, title"
LIST = """
SELECT t.id, t.status, t.priority, t.scope, t.actor, t.at, t.holder, t.lease_until, t.test, t.title
FROM task_state s JOIN task_current t ON t.seq = s.seq
{where} ORDER BY {driver}.seq DESC LIMIT ?"""


def list_tasks(
    db: "Reader",
    limit: int,
    status: str | None,
    actor: str | None,
    scope: str | None,
    priority: str | None,
    holder: str | None,
    since: str | None,
    until: str | None,
    query: str | None = None,
) -> "Row":
    """List tasks that pass the filters, the newest first, or the best for a query."""
    if query:
        columns: Row = {
            "status = ?": status,
            "actor = ?": actor,
            "scope = ?": scope,
            "priority = ?": priority,
            "holder = ?": holder,
            "lease_until > ?": db.at if holder else None,
            "at >= ?": since,
            "at < ?": until,
        }
        best = lists.list_records(db, "task", COLUMNS, limit, columns, query)
        return {**best, "records": [_hide_ended_lease(row, db.at) for row in best["records"]]}
    filters: Row = {
        "s.status = ?": status,
        "t.actor = ?": actor,
        "s.scope = ?" if scope == "project" else "s.scope <> 'project' AND s.scope = ?": scope,
        "s.rank = ?": priority and PRIORITY.index(priority),
        "s.holder = ?": holder,
        "t.at >= ?": since,
        "t.at < ?": until,
    }
    if holder is not None:
        filters["s.lease_until > ?"] = db.at
    active_filters = {sql: value for sql, value in filters.items() if value is not None}
    where = "WHERE " + " AND ".join(active_filters) if active_filters else ""
    driver = "t" if actor else "s"  # the table whose index finds the rows in order
    rows = db.rows(LIST.format(where=where, driver=driver), (*active_filters.values(), limit + 1))
    records = [_hide_ended_lease(row, db.at) for row in rows[:limit]]
    return {"records": records, "count": len(records), "more": len(rows) > limit}


def list_ready_tasks(db: "Reader", scope: str | None, limit: int, with_tests: bool) -> "list[Row]":
    """Return the tasks that can be claimed now, the most urgent first."""
    filters = (db.at, scope, scope, int(with_tests), limit)
    rows = db.rows(READY, (*filters, *filters, limit))
    return [{**row, "abandoned": bool(row["abandoned"])} for row in rows]


def load_related_records(db: "Reader", task: "Row") -> "dict[str, list[Row]]":
    """Return the plans, packets, proofs and other records of a task."""
    queries = {
        "plans": PLANS,
        "packets": PACKETS,
        "packet_results": RESULTS,
        "proofs": PROOFS,
        "verifications": VERIFICATIONS,
        "waivers": WAIVERS,
        "traces": SPANS,
        "lessons": LESSONS,
        "artifacts": ARTIFACTS,
        "leases": LEASES,
    }
    return {name: db.rows(sql, (task["id"],) * sql.count("?")) for name, sql in queries.items()}


def _hide_ended_lease(row: "Row", at: str) -> "Row":
    """Set the holder to None if the lease has ended."""
    row["holder"] = row["holder"] if (row.pop("lease_until") or "") > at else None
    row["test"] = bool(row["test"])
    return row


def describe_task(db: "Reader", task: "Row") -> "Row":
    """Return a task for W10, with `done_when` as a list and the lease only while it is live."""
    live = (task["lease_until"] or "") > db.at
    return {
        **{name: value for name, value in task.items() if name not in ("seq", "id")},
        "test": bool(task["test"]),
        "done_when": lists.read_json_list(db, task["done_when"]),
        "holder": task["holder"] if live else None,
        "lease_until": task["lease_until"] if live else None,
    }
