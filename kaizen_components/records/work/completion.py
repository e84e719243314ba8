"""The definition of done: commands with a witnessed proof that they pass on the current tree."""

from ...errors import Refused
from ..ledger.canonical import encode_canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row, Writer

# The newest proof on this tree decides. PROOF_OF finds the newest on any tree, to report it as
# stale.
PROOF_ON = """
SELECT id, outcome FROM proof
WHERE tier = 'witnessed' AND command = ? AND tree_hash = ? AND test <= ? ORDER BY seq DESC LIMIT 1"""
PROOF_OF = """
SELECT id, outcome, tree_after FROM proof
WHERE tier = 'witnessed' AND command = ? AND test <= ? ORDER BY seq DESC LIMIT 1"""


# The unblocked tasks that an actor or a session of its host holds now. Leave out a task of another
# session, but only if the host reported the start of both sessions. Otherwise both ids may belong
# to one session.
CLAIMED = """
SELECT t.id, t.title, t.done_when, t.test FROM task_state s JOIN task_current t ON t.seq = s.seq
WHERE s.holder IN (?, ?) AND s.lease_until > ? AND s.status IN ('open', 'active')
  AND NOT EXISTS (SELECT 1 FROM digest own JOIN digest d ON d.session <> own.session
                  WHERE own.session = ? AND d.session = (
                  SELECT e.session FROM lease e WHERE e.task_id = s.task_id ORDER BY e.seq DESC LIMIT 1))
ORDER BY s.rank, s.seq LIMIT 20"""
OBJECTIONS = """
SELECT id FROM verification_current WHERE task_id = ? AND blocking AND superseded_by IS NULL ORDER BY seq LIMIT 3"""


def list_claimed_tasks(db: "Reader", session: str) -> "list[Row]":
    """Return the tasks that the actor or this session holds, the most urgent first."""
    return db.rows(CLAIMED, (db.actor, session, db.at, session))


def list_open_points(db: "Reader", task: "Row", tree_hash: str | None) -> "list[Row]":
    """Return the commands without a passing proof on this tree, with state and newest proof."""
    import json

    points = []
    for command in json.loads(task["done_when"] or "[]"):
        current = db.one(PROOF_ON, (command, tree_hash, task["test"]))
        if current and current["outcome"] == "passed":
            continue
        newest, state = current, "failed"
        if not current:
            newest, state = db.one(PROOF_OF, (command, task["test"])), "missing"
            if newest:
                state = "changes the tree" if newest["tree_after"] else "stale"
        points.append({"command": command, "state": state, "proof_id": newest and newest["id"]})
    return points


EXPLANATIONS = {
    "missing": "never witnessed",
    "failed": "it failed on this tree",
    "stale": "the tree has changed since",
    "changes the tree": "it changed the tree itself; let git ignore what it writes, or run it again",
}


def find_objections(tx: "Writer", task: "Row") -> str | None:
    """Return a warning if verdicts against a closed task are not superseded, or None."""
    ids = ", ".join(row["id"] for row in tx.rows(OBJECTIONS, (task["id"],)))
    step = f"`Q9 --task-id {task['id']}` shows it."
    return f"Closed although {ids} still objects; {step}" if ids else None


def open_points_error(task: "Row", points: "list[Row]") -> Refused:
    states = "; ".join(f"`{point['command']}`: {EXPLANATIONS[point['state']]}" for point in points)
    error = Refused(
        "not_done",
        f"{task['id']} is not done: {len(points)} of its conditions {'is' if len(points) == 1 else 'are'} open.",
        states + ".",
        f"Run `Q1 --task-id {task['id']} --run -- {points[0]['command']}`"
        + (" and the others" if len(points) > 1 else "")
        + ", then close it; or --waive REASON, which every report will show.",
    )
    error.findings = points
    return error


def waive_points(tx: "Writer", task: "Row", points: "list[Row]", reason: str | None) -> "Row":
    """Record a waiver: this task was closed without the proofs of these points."""
    values = {
        "gate": "done",
        "subject_id": task["id"],
        "task_id": task["id"],
        "reason": reason,
        "missing": encode_canonical(points),
    }
    return tx.add("waiver", values, of=(task,))
