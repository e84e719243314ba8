"""The definition of done: commands that must have been witnessed to pass on the very tree that is there now."""

from ...errors import Refused
from ..ledger.canonical import encode_canonical

# The newest proof on this tree decides; without one, the newest on any tree says what is stale.
PROOF_ON = """
SELECT id, outcome FROM proof
WHERE tier = 'witnessed' AND command = ? AND tree_hash = ? AND test <= ? ORDER BY seq DESC LIMIT 1"""
PROOF_OF = """
SELECT id, outcome, tree_after FROM proof
WHERE tier = 'witnessed' AND command = ? AND test <= ? ORDER BY seq DESC LIMIT 1"""


# What an actor or a session of its host works on now; a task that is said to be blocked may be left. One that another
# session took is that session's, if a host has told of the beginning of both: any other may be that one by a new id.
CLAIMED = """
SELECT t.id, t.title, t.done_when, t.test FROM task_state s JOIN task_current t ON t.seq = s.seq
WHERE s.holder IN (?, ?) AND s.lease_until > ? AND s.status IN ('open', 'active')
  AND NOT EXISTS (SELECT 1 FROM digest own JOIN digest d ON d.session <> own.session
                  WHERE own.session = ? AND d.session = (
                  SELECT e.session FROM lease e WHERE e.task_id = s.task_id ORDER BY e.seq DESC LIMIT 1))
ORDER BY s.rank, s.seq LIMIT 20"""
OBJECTIONS = """
SELECT id FROM verification_current WHERE task_id = ? AND blocking AND superseded_by IS NULL ORDER BY seq LIMIT 3"""


def list_claimed_tasks(db, session):
    return db.rows(CLAIMED, (db.actor, session, db.at, session))


def list_open_points(db, task, tree_hash):
    """What the definition of done still lacks: command, state (missing, failed, stale) and the proof that says so."""
    import json

    points = []
    for command in json.loads(task["done_when"] or "[]"):
        here = db.one(PROOF_ON, (command, tree_hash, task["test"]))
        ever = here or db.one(PROOF_OF, (command, task["test"]))
        if here and here["outcome"] == "passed":
            continue
        state = (
            "failed"
            if here
            else "missing"
            if not ever
            else "changes the tree"
            if ever["tree_after"]
            else "stale"
        )
        points.append({"command": command, "state": state, "proof_id": ever and ever["id"]})
    return points


EXPLAINED = {
    "missing": "never witnessed",
    "failed": "it failed on this tree",
    "stale": "the tree has changed since",
    "changes the tree": "it changed the tree itself; let git ignore what it writes, or run it again",
}


def find_objections(tx, task):
    """What a person who closes the task should know: verdicts against it that no later one has superseded."""
    ids = [row["id"] for row in tx.rows(OBJECTIONS, (task["id"],))]
    return (
        f"Closed although {', '.join(ids)} still objects; `Q9 --task-id {task['id']}` shows it."
        if ids
        else None
    )


def open_points_error(task, points):
    said = "; ".join(f"`{point['command']}`: {EXPLAINED[point['state']]}" for point in points)
    error = Refused(
        "not_done",
        f"{task['id']} is not done: {len(points)} of its conditions {'is' if len(points) == 1 else 'are'} open.",
        said + ".",
        f"Run `Q1 --task-id {task['id']} --run -- {points[0]['command']}`"
        + (" and the others" if len(points) > 1 else "")
        + ", then close it; or --waive REASON, which every report will show.",
    )
    error.findings = points
    return error


def waive_points(tx, task, points, reason):
    """The record that this task was closed without its proofs."""
    values = {
        "gate": "done", "subject_id": task["id"], "task_id": task["id"], "reason": reason, "missing": encode_canonical(points),
    }  # fmt: skip
    return tx.add("waiver", values, of=(task,))
