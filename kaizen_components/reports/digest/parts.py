"""The parts of a session's digest, in the order of their importance: work, what stands in its way, proofs, lessons."""

from typing import Any

from ...limits import SEVERITY
from ...records.ids import format_time
from ...records.kinds import KINDS
from ...records.quality.verification import BLOCKING
from ...records.search.listing import read_json_list as listed
from ...records.work.command_line import join_words
from ...records.work.completion import PROOF_OF
from ...records.work.task import ready_tasks
from ..lists.context import match_lessons
from .budget import Item, Part, make_item, make_part

GATHERED = 20  # items of a part; the others are counted as `more`
LOOKED = 2_000  # newest rows that a question without an index looks at: 2 ms
VERDICTS_LOOKED = 500  # of each conclusion; each row asks for what superseded it
PROOFS_LOOKED = 300
FRESH_MS = 7 * 86_400_000
TEXT_CHARS = 1_000  # of a stored text, however long: what is shown is cut further
LESSONS_COMPARED = 1_000  # newest of each kind, with the files touched lately
PATHS_NAMED = 2
QUERY_CHARS = 80
DONE_WHEN_SHOWN = 3

TASK = "t.id, t.status, t.priority, t.title, t.done_when, t.lease_until, s.seq, s.rank"
HELD = f"""
SELECT {TASK} FROM task_state s JOIN task_current t ON t.seq = s.seq
WHERE s.holder = ? AND s.status NOT IN ('done', 'canceled') AND t.test = 0 AND (? IS NULL OR s.scope = ?)
ORDER BY s.rank, s.seq LIMIT ?"""
UNCLAIMED = f"""
SELECT {TASK} FROM (
    SELECT seq, rank, scope FROM task_state WHERE status = 'active' AND token IS NULL ORDER BY seq DESC LIMIT ?) s
JOIN task_current t ON t.seq = s.seq
WHERE t.actor = ? AND t.test = 0 AND (? IS NULL OR s.scope = ?) ORDER BY s.rank, s.seq LIMIT ?"""
OBJECTIONS = f"""
SELECT v.seq, v.id, v.at, v.actor, v.conclusion, v.severity, substr(v.summary, 1, {TEXT_CHARS}) AS summary, v.task_id
FROM verification_current v
WHERE v.seq IN (SELECT seq FROM verification WHERE conclusion = ? ORDER BY seq DESC LIMIT ?)
  AND v.superseded_by IS NULL AND v.test = 0 AND (? IS NULL OR v.scope = ?)
  AND NOT EXISTS (SELECT 1 FROM task t JOIN task_state s ON s.seq = t.seq
                  WHERE t.id = v.task_id AND s.status = 'canceled')
ORDER BY v.seq DESC LIMIT ?"""
BLOCKERS = """
SELECT b.id, b.status, b.priority, b.title, b.holder, b.lease_until, count(*) AS waiting
FROM (SELECT task_id, open_blockers, scope FROM task_state WHERE status = 'open' ORDER BY seq DESC LIMIT ?) w
JOIN task_link_current l ON l.target_id = w.task_id AND l.kind = 'blocks'
JOIN task_current b ON b.id = l.task_id
WHERE w.open_blockers > 0 AND l.test = 0 AND b.status NOT IN ('done', 'canceled') AND (? IS NULL OR w.scope = ?)
GROUP BY b.seq ORDER BY count(*) DESC, b.seq LIMIT ?"""
STUCK = """
SELECT t.id, t.status, t.priority, t.title, t.holder, t.lease_until,
       (SELECT r.note FROM task_revision r WHERE r.task_id = t.id AND r.note IS NOT NULL
        ORDER BY r.rev DESC LIMIT 1) AS note
FROM task_state s JOIN task_current t ON t.seq = s.seq
WHERE s.status = 'blocked' AND t.test = 0 AND (? IS NULL OR s.scope = ?) ORDER BY s.seq DESC LIMIT ?"""
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
  AND p.outcome_id IS NULL AND p.test = 0 AND (? IS NULL OR r.scope = ?) ORDER BY p.deadline, p.seq LIMIT ?"""


def collect_parts(db, scope: str | None, query: str | None, paths: list[str]) -> list[Part]:
    return [
        _mine(db, scope),
        _ready(db, scope),
        _objections(db, scope),
        _blockers(db, scope),
        _proofs(db, scope),
        _lessons(db, scope, query, paths),
        _predictions(db, scope),
    ]


def _mine(db, scope):
    held = db.rows(HELD, (db.actor, scope, scope, GATHERED + 1))
    found = [*held, *db.rows(UNCLAIMED, (LOOKED, db.actor, scope, scope, GATHERED + 1))]
    items = [
        make_item(row["id"], _mine_says(db, row), f"kaizen W10 --id {row['id']}") for row in found
    ]
    return _part("my tasks", "My tasks", items, join_words(["kaizen", "W9", "--holder", db.actor]))


def _mine_says(db, row):
    """Its state, and whether each command of its definition of done was ever witnessed; on which tree, W2 will see."""
    until = row["lease_until"]
    lease = (
        "not claimed"
        if not until
        else f"mine until {format_clock(until)}"
        if until > db.at
        else "lease ended"
    )
    commands = listed(db, row["done_when"])
    conditions = [f"{command}: {_witnessed(db, command)}" for command in commands[:DONE_WHEN_SHOWN]]
    left = len(commands) - len(conditions)
    done = "; ".join([*conditions, *([f"{left} more"] if left else [])])
    return f"{row['title']} ({row['priority']}, {row['status']}, {lease})" + (
        f" Done when {done}" if done else ""
    )


def _witnessed(db, command):
    found = db.one(PROOF_OF, (command, 0))
    return f"last {found['outcome']}" if found else "never witnessed"


def _ready(db, scope):
    items = [
        make_item(
            row["id"],
            f"{row['title']} ({row['priority']}{', its holder left it' if row['abandoned'] else ''})",
            f"kaizen W10 --id {row['id']}",
        )
        for row in ready_tasks(db, scope, GATHERED + 1, False)
    ]
    return _part(
        "ready work", "Ready to start, taken by `kaizen W13 --id ID`", items, _scoped("W12", scope)
    )


def _objections(db, scope):
    asked = (VERDICTS_LOOKED, scope, scope, GATHERED + 1)
    found = [row for conclusion in BLOCKING for row in db.rows(OBJECTIONS, (conclusion, *asked))]
    found.sort(key=lambda row: ((*SEVERITY, None).index(row["severity"]), -row["seq"]))
    items = [
        make_item(
            row["id"],
            f"{_spoken(row['conclusion'])}{', ' + row['severity'] if row['severity'] else ''}: {row['summary']}"
            f" ({row['actor']}, {format_clock(row['at'])})",
            f"kaizen Q7 --id {row['id']}",
        )
        for row in found
    ]
    return _part("verdicts that block", "Verdicts that still block", items, _scoped("Q9", scope))


def _spoken(conclusion):
    return conclusion.lower().replace("_", " ")


def _blockers(db, scope):
    """First what others wait for, then what is blocked by something else; with the last note, which may say by what."""
    waited_for = db.rows(BLOCKERS, (LOOKED, scope, scope, GATHERED + 1))
    stuck = {row["id"]: row for row in db.rows(STUCK, (scope, scope, GATHERED + 1))}
    found = {row["id"]: {**row, **stuck.get(row["id"], {})} for row in waited_for}
    items = [
        make_item(id, _blocker_says(db, row), f"kaizen W10 --id {id}")
        for id, row in {**stuck, **found}.items()
    ]
    items.sort(key=lambda one: one["id"] not in found)
    return _part(
        "blockers", "Tasks that block or are blocked", items, _scoped("W9 --status blocked", scope)
    )


def _blocker_says(db, row):
    holder = row["holder"] if (row["lease_until"] or "") > db.at else None
    who = f", {'mine' if holder == db.actor else 'held by ' + holder}" if holder else ""
    waiting = row.get("waiting", 0)
    others = (
        ": another task waits for it"
        if waiting == 1
        else f": {waiting:,} tasks wait for it"
        if waiting
        else ""
    )
    note = f". {row['note']}" if row.get("note") else ""
    return f"{row['title']} ({row['priority']}, {row['status']}{who}){others}{note}"


def _proofs(db, scope):
    """The newest of each command: what fails now, then what passed within a week."""
    newest: dict[str, dict[str, Any]] = {}
    for row in db.rows(PROOFS, (PROOFS_LOOKED, scope, scope)):
        newest.setdefault(row["command"] or row["title"], row)
    failing = [row for row in newest.values() if row["outcome"] in ("failed", "timeout")]
    week = format_time(max(db.at_ms - FRESH_MS, 0))
    passing = [row for row in newest.values() if row["outcome"] == "passed" and row["at"] >= week]
    items = [
        make_item(
            row["id"],
            f"{_outcome(row)}: {row['command'] or row['title']}",
            f"kaizen Q7 --id {row['id']}",
        )
        for row in [*failing, *passing]
    ]
    return _part("proofs", "Failures and fresh proofs", items, "kaizen R4 --format md --out -")


def _outcome(row):
    code = (
        f" with exit {row['exit_code']}"
        if row["outcome"] == "failed" and row["exit_code"] is not None
        else ""
    )
    return f"{row['outcome']}{code}, {row['tier']} {format_clock(row['at'])}"


def _lessons(db, scope, query, paths):
    found, more = match_lessons(db, query, paths, scope, GATHERED, LESSONS_COMPARED)
    items = [made for made in (_lesson(db, *one) for one in found) if made]
    if query:
        heading, words = (
            "Lessons for the query",
            ["--query", query if len(query) <= QUERY_CHARS else "WORDS"],
        )
    elif paths:
        heading, words = (
            "Lessons for files touched lately",
            [f"--path={path}" for path in paths[:PATHS_NAMED]],
        )
    else:
        heading, words = "Newest proven lessons", []
    return make_part("lessons", heading, items, join_words(["kaizen", "L10", *words]), more)


def _lesson(db, kind, id, why) -> Item | None:
    row = db.one(
        f"SELECT title, substr(summary, 1, {TEXT_CHARS}) AS summary, evidence FROM {kind}_current WHERE id = ? AND test = 0",
        (id,),
    )
    if row is None:
        return None
    fits = f" ({why[0].partition(' fits ')[0]})" if why and " fits " in why[0] else ""
    unproven = ", unproven" if kind == "learning" and row["evidence"] is None else ""
    return make_item(
        id,
        f"{kind}{unproven}{fits}: {row['title']}. {row['summary']}",
        f"kaizen {KINDS[kind].shows} --id {id}",
    )


def _predictions(db, scope):
    items = []
    for row in db.rows(PREDICTIONS, (LOOKED, scope, scope, GATHERED + 1)):
        due = "was due" if row["deadline"] <= db.at else "due"
        says = f"{row['probability'] * 100:.0f} % by {row['actor']}, {due} {format_clock(row['deadline'])}: {row['summary']}"
        items.append(make_item(row["id"], says, f"kaizen I4 --prediction-id {row['id']}"))
    return _part("predictions", "Predictions without an outcome", items, "kaizen I5")


def _part(name, heading, items, rest):
    return make_part(name, heading, items[:GATHERED], rest, len(items) > GATHERED)


def _scoped(command, scope):
    return join_words(["kaizen", *command.split(), *(["--scope", scope] if scope else [])])


def format_clock(at: str) -> str:
    """2026-11-16 03:15Z: UTC, whoever reads it."""
    return f"{at[:10]} {at[11:16]}Z"
