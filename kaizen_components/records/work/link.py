"""Links between tasks. `blocks`, `parent` and `discovered-from` never form a circle; a task has one parent."""

from ...errors import Conflict, NotFound, Refused

REACHES = """
WITH RECURSIVE reach (id) AS (
    SELECT ?
    UNION
    SELECT l.target_id FROM reach JOIN task_link_current l ON l.task_id = reach.id AND l.kind = ?
)
SELECT 1 FROM reach WHERE id = ?"""
STEPS = """
WITH RECURSIVE step (id, via) AS (
    SELECT ?, NULL
    UNION
    SELECT l.target_id, l.task_id FROM step JOIN task_link_current l ON l.task_id = step.id AND l.kind = ?
)
SELECT id, via FROM step"""
EXISTING = "SELECT * FROM task_link_current WHERE task_id = ? AND kind = ? AND target_id = ?"
PARENT = "SELECT target_id FROM task_link_current WHERE task_id = ? AND kind = 'parent'"
AROUND = """
SELECT l.kind, 'out' AS direction, l.target_id AS task_id, t.status, t.title
FROM task_link_current l JOIN task_current t ON t.id = l.target_id WHERE l.task_id = ?
UNION ALL
SELECT l.kind, 'in', l.task_id, t.status, t.title
FROM task_link_current l JOIN task_current t ON t.id = l.task_id WHERE l.target_id = ?
ORDER BY 1, 2, 3"""

SENTENCES = {
    ("blocks", "out"): "blocks",
    ("blocks", "in"): "is blocked by",
    ("parent", "out"): "is part of",
    ("parent", "in"): "has the part",
    ("discovered-from", "out"): "was discovered from",
    ("discovered-from", "in"): "led to",
    ("relates-to", "out"): "relates to",
    ("relates-to", "in"): "relates to",
}


def add_link(tx, task, kind, target):
    """Link two tasks; returns (row, whether it was there already)."""
    if task["id"] == target["id"]:
        raise Refused(
            "link_to_itself",
            f"{task['id']} cannot be linked to itself.",
            "",
            "Name two different tasks.",
        )
    existing = _existing(tx, task, kind, target)
    if existing:
        return existing, True
    if kind != "relates-to" and tx.value(REACHES, (target["id"], kind, task["id"])):
        raise Refused(
            "cycle",
            f"That {kind} link would close a circle.",
            f"There are {kind} links {' -> '.join(_path(tx, target['id'], kind, task['id']))}.",
            "Remove one of them first (`W11 --remove`), or use relates-to.",
        )
    if kind == "parent" and (parent := tx.value(PARENT, (task["id"],))):
        raise Conflict(
            "has_parent", f"{task['id']} is already part of {parent}.", "A task has one parent.",
            "Remove that link first: `W11 --remove`.",
        )  # fmt: skip
    return _record(tx, task, kind, target, "added"), False


def remove_link(tx, task, kind, target):
    existing = _existing(tx, task, kind, target)
    if not existing:
        raise NotFound(
            "no_such_link",
            f"{task['id']} has no {kind} link to {target['id']}.",
            "",
            "`W10` shows the links of a task.",
        )
    if existing["task_id"] != task["id"]:
        task, target = target, task
    return _record(tx, task, kind, target, "removed")


def _existing(tx, task, kind, target):
    """The link, if it is there; of two tasks that relate, it does not matter which was named first."""
    found = tx.one(EXISTING, (task["id"], kind, target["id"]))
    return (
        found
        or (kind == "relates-to" and tx.one(EXISTING, (target["id"], kind, task["id"])))
        or None
    )


def _path(tx, start, kind, end):
    """The ids from one task to another that it leads to."""
    came: dict[str, str] = {}
    for row in tx.rows(STEPS, (start, kind)):  # the nearest first
        came.setdefault(row["id"], row["via"])
    path = [end]
    while path[0] != start:
        path.insert(0, came[path[0]])
    return path


def list_links(db, task):
    """The links of a task as a person reads them."""
    return [
        {"link": SENTENCES[row["kind"], row["direction"]], **row}
        for row in db.rows(AROUND, (task["id"], task["id"]))
    ]


def _record(tx, task, kind, target, state):
    values = {"task_id": task["id"], "kind": kind, "target_id": target["id"], "state": state}
    return tx.add("task_link", values, of=(task, target))
