"""The parts of a digest, the most important first: tasks, verdicts, blockers, proofs, lessons."""

from __future__ import annotations

from ...limits import SEVERITY
from ...records.ids import format_time
from ...records.kinds import KINDS
from ...records.quality.verification import BLOCKING
from ...records.search.listing import read_json_list
from ...records.work.command_line import join_words
from ...records.work.completion import PROOF_OF
from ...records.work.task import list_ready_tasks
from ..lists.context import match_lessons
from .budget import make_item, make_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...parameters import Reader, Row
    from .budget import Item, Part

ITEMS_MAX = 20  # items of a part; a note says whether there are more
ROWS_READ = 2_000  # newest rows read by a query without an index, in 2 ms
VERDICTS_READ = 500  # of each conclusion; each row looks up what superseded it
PROOFS_READ = 300
RECENT_MS = 7 * 86_400_000
TEXT_CHARS = 1_000  # read of a stored text; its line in the digest is shorter
LESSONS_COMPARED = 1_000  # newest lessons of each kind, compared with the recent files
PATHS_NAMED = 2
QUERY_CHARS = 80
DONE_WHEN_SHOWN = 3

TASK = "t.id, t.status, t.priority, t.title, t.done_when, t.lease_until, s.seq, s.rank"
HELD = f"""
SELECT {TASK} FROM task_state s JOIN task_current t ON t.seq = s.seq
WHERE s.holder = ? AND s.status NOT IN ('done', 'canceled') AND t.test = 0
  AND (? IS NULL OR s.scope = ?)
ORDER BY s.rank, s.seq LIMIT ?"""
UNCLAIMED = f"""
SELECT {TASK} FROM (
    SELECT seq, rank, scope FROM task_state
    WHERE status = 'active' AND token IS NULL ORDER BY seq DESC LIMIT ?) s
JOIN task_current t ON t.seq = s.seq
WHERE t.actor = ? AND t.test = 0 AND (? IS NULL OR s.scope = ?) ORDER BY s.rank, s.seq LIMIT ?"""
OBJECTIONS = f"""
SELECT v.seq, v.id, v.at, v.actor, v.conclusion, v.severity,
       substr(v.summary, 1, {TEXT_CHARS}) AS summary, v.task_id
FROM verification_current v
WHERE v.seq IN (SELECT seq FROM verification WHERE conclusion = ? ORDER BY seq DESC LIMIT ?)
  AND v.superseded_by IS NULL AND v.test = 0 AND (? IS NULL OR v.scope = ?)
  AND NOT EXISTS (SELECT 1 FROM task t JOIN task_state s ON s.seq = t.seq
                  WHERE t.id = v.task_id AND s.status = 'canceled')
ORDER BY v.seq DESC LIMIT ?"""
BLOCKERS = """
SELECT b.id, b.status, b.priority, b.title, b.holder, b.lease_until, count(*) AS waiting
FROM (SELECT task_id, open_blockers, scope FROM task_state
      WHERE status = 'open' ORDER BY seq DESC LIMIT ?) w
JOIN task_link_current l ON l.target_id = w.task_id AND l.kind = 'blocks'
JOIN task_current b ON b.id = l.task_id
WHERE w.open_blockers > 0 AND l.test = 0 AND b.status NOT IN ('done', 'canceled')
  AND (? IS NULL OR w.scope = ?)
GROUP BY b.seq ORDER BY count(*) DESC, b.seq LIMIT ?"""
STUCK = """
SELECT t.id, t.status, t.priority, t.title, t.holder, t.lease_until,
       (SELECT r.note FROM task_revision r WHERE r.task_id = t.id AND r.note IS NOT NULL
        ORDER BY r.rev DESC LIMIT 1) AS note
FROM task_state s JOIN task_current t ON t.seq = s.seq
WHERE s.status = 'blocked' AND t.test = 0 AND (? IS NULL OR s.scope = ?)
ORDER BY s.seq DESC LIMIT ?"""
PROOFS = """
SELECT p.id, p.at, p.tier, p.outcome, p.command, p.title, p.exit_code
FROM (SELECT * FROM proof WHERE test = 0 ORDER BY seq DESC LIMIT ?) p
WHERE ? IS NULL OR EXISTS (SELECT 1 FROM task t JOIN task_state s ON s.seq = t.seq
                           WHERE t.id = p.task_id AND s.scope = ?)
ORDER BY p.seq DESC"""
PREDICTIONS = """
SELECT p.id, p.actor, p.probability, p.deadline, p.summary
FROM irl_prediction_current p JOIN irl r ON r.id = p.irl_id
WHERE p.seq IN (SELECT seq FROM irl_prediction ORDER BY seq DESC LIMIT ?)
  AND p.outcome_id IS NULL AND p.test = 0 AND (? IS NULL OR r.scope = ?)
ORDER BY p.deadline, p.seq LIMIT ?"""


def collect_parts(
    db: Reader, scope: str | None, query: str | None, paths: Sequence[str]
) -> list[Part]:
    """Return the parts, the most important first; a part may be empty."""
    ready = []
    for row in list_ready_tasks(db, scope, ITEMS_MAX + 1, False):
        note = ", its holder left it" if row["abandoned"] else ""
        text = f"{row['title']} ({row['priority']}{note})"
        ready.append(make_item(row["id"], text, f"kaizen W10 --id {row['id']}"))
    ready_heading = "Ready to start; claim one with `kaizen W13 --id ID`"
    predictions = []
    for row in db.rows(PREDICTIONS, (ROWS_READ, scope, scope, ITEMS_MAX + 1)):
        due = f"{'was due' if row['deadline'] <= db.at else 'due'} {format_clock(row['deadline'])}"
        text = f"{row['probability'] * 100:.0f} % by {row['actor']}, {due}: {row['summary']}"
        command = f"kaizen I4 --prediction-id {row['id']}"
        predictions.append(make_item(row["id"], text, command))
    return [
        _list_my_tasks(db, scope),
        _make_part("ready work", ready_heading, ready, _add_scope("W12", scope)),
        _list_objections(db, scope),
        _list_blockers(db, scope),
        _list_proofs(db, scope),
        _list_lessons(db, scope, query, paths),
        _make_part("predictions", "Predictions without an outcome", predictions, "kaizen I5"),
    ]


def _list_my_tasks(db: Reader, scope: str | None) -> Part:
    """List the actor's tasks with the newest proof of each done_when command, on any tree."""
    rows = db.rows(HELD, (db.actor, scope, scope, ITEMS_MAX + 1))
    rows += db.rows(UNCLAIMED, (ROWS_READ, db.actor, scope, scope, ITEMS_MAX + 1))
    items = []
    for row in rows:
        lease = "not claimed"
        if until := row["lease_until"]:
            lease = f"mine until {format_clock(until)}" if until > db.at else "lease ended"
        commands = read_json_list(db, row["done_when"])
        conditions = []
        for command in commands[:DONE_WHEN_SHOWN]:
            proof = db.one(PROOF_OF, (command, 0))
            state = f"last {proof['outcome']}" if proof else "never witnessed"
            conditions.append(f"{command}: {state}")
        if len(commands) > DONE_WHEN_SHOWN:
            conditions.append(f"{len(commands) - DONE_WHEN_SHOWN} more")
        done_when = f" Done when {'; '.join(conditions)}" if conditions else ""
        text = f"{row['title']} ({row['priority']}, {row['status']}, {lease}){done_when}"
        items.append(make_item(row["id"], text, f"kaizen W10 --id {row['id']}"))
    command = join_words(["kaizen", "W9", "--holder", db.actor])
    return _make_part("my tasks", "My tasks", items, command)


def _list_objections(db: Reader, scope: str | None) -> Part:
    """List the verdicts that still block a task, the most severe first."""
    values = (VERDICTS_READ, scope, scope, ITEMS_MAX + 1)
    rows = [row for conclusion in BLOCKING for row in db.rows(OBJECTIONS, (conclusion, *values))]
    rows.sort(key=lambda row: ((*SEVERITY, None).index(row["severity"]), -row["seq"]))
    items = []
    for row in rows:
        conclusion = row["conclusion"].lower().replace("_", " ")
        severity = f", {row['severity']}" if row["severity"] else ""
        author = f"({row['actor']}, {format_clock(row['at'])})"
        text = f"{conclusion}{severity}: {row['summary']} {author}"
        items.append(make_item(row["id"], text, f"kaizen Q7 --id {row['id']}"))
    command = _add_scope("Q9", scope)
    return _make_part("verdicts that block", "Verdicts that still block", items, command)


def _list_blockers(db: Reader, scope: str | None) -> Part:
    """List the tasks that other tasks wait for, then the blocked tasks with their last note."""
    blockers = {
        row["id"]: row for row in db.rows(BLOCKERS, (ROWS_READ, scope, scope, ITEMS_MAX + 1))
    }
    blocked_tasks = {row["id"]: row for row in db.rows(STUCK, (scope, scope, ITEMS_MAX + 1))}
    rows = [{**row, **blocked_tasks.get(id, {})} for id, row in blockers.items()]
    rows += [row for id, row in blocked_tasks.items() if id not in blockers]
    items = []
    for row in rows:
        holder = row["holder"] if (row["lease_until"] or "") > db.at else None
        holder_note = f", {'mine' if holder == db.actor else 'held by ' + holder}" if holder else ""
        waiting = row.get("waiting", 0)
        others = "another task waits" if waiting == 1 else f"{waiting:,} tasks wait"
        wait = f": {others} for it" if waiting else ""
        note = f". {row['note']}" if row.get("note") else ""
        text = f"{row['title']} ({row['priority']}, {row['status']}{holder_note}){wait}{note}"
        items.append(make_item(row["id"], text, f"kaizen W10 --id {row['id']}"))
    command = _add_scope("W9 --status blocked", scope)
    return _make_part("blockers", "Tasks that block or are blocked", items, command)


def _list_proofs(db: Reader, scope: str | None) -> Part:
    """List the newest proof of each command: failures, then passes of the last week."""
    newest_proofs: dict[str, Row] = {}
    for row in db.rows(PROOFS, (PROOFS_READ, scope, scope)):
        newest_proofs.setdefault(row["command"] or row["title"], row)
    failures = [row for row in newest_proofs.values() if row["outcome"] in ("failed", "timeout")]
    week = format_time(max(db.at_ms - RECENT_MS, 0))
    passes = [
        row for row in newest_proofs.values() if row["outcome"] == "passed" and row["at"] >= week
    ]
    items = []
    for row in [*failures, *passes]:
        has_code = row["outcome"] == "failed" and row["exit_code"] is not None
        code = f" with exit {row['exit_code']}" if has_code else ""
        outcome = f"{row['outcome']}{code}, {row['tier']} {format_clock(row['at'])}"
        text = f"{outcome}: {row['command'] or row['title']}"
        items.append(make_item(row["id"], text, f"kaizen Q7 --id {row['id']}"))
    command = "kaizen R4 --format md --out -"
    return _make_part("proofs", "Failures and fresh proofs", items, command)


def _list_lessons(db: Reader, scope: str | None, query: str | None, paths: Sequence[str]) -> Part:
    """List lessons for the query or for recent files; without both, the newest proven lessons."""
    matches, has_more = match_lessons(db, query, paths, scope, ITEMS_MAX, LESSONS_COMPARED)
    items = []
    for kind, id, reasons in matches:
        sql = (
            f"SELECT title, substr(summary, 1, {TEXT_CHARS}) AS summary, evidence "
            f"FROM {kind}_current WHERE id = ? AND test = 0"
        )
        path, separator, _ = reasons[0].partition(" fits ") if reasons else ("", "", "")
        for row in db.rows(sql, (id,)):
            is_unproven = kind == "learning" and row["evidence"] is None
            label = f"{kind}, unproven" if is_unproven else kind
            label += f" ({path})" if separator else ""
            text = f"{label}: {row['title']}. {row['summary']}"
            items.append(make_item(id, text, f"kaizen {KINDS[kind].shows} --id {id}"))
    if query:
        heading = "Lessons for the query"
        words = ["--query", query if len(query) <= QUERY_CHARS else "WORDS"]
    elif paths:
        heading = "Lessons for files touched lately"
        words = [f"--path={path}" for path in paths[:PATHS_NAMED]]
    else:
        heading, words = "Newest proven lessons", []
    return make_part("lessons", heading, items, join_words(["kaizen", "L10", *words]), has_more)


def _make_part(name: str, heading: str, items: list[Item], rest: str) -> Part:
    """Return a part with the first ITEMS_MAX items; it notes whether there are more."""
    return make_part(name, heading, items[:ITEMS_MAX], rest, len(items) > ITEMS_MAX)


def _add_scope(command: str, scope: str | None) -> str:
    """Return the command line of `kaizen COMMAND`, with --scope if it is given."""
    return join_words(["kaizen", *command.split(), *(["--scope", scope] if scope else [])])


def format_clock(at: str) -> str:
    """Format a time in UTC: 2026-11-16 03:15Z."""
    return f"{at[:10]} {at[11:16]}Z"
