"""Links between tasks. Only `relates-to` may form a cycle, and a task has one parent at most."""

from ...errors import Conflict, NotFound, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row, Writer

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


def add_link(tx: "Writer", task: "Row", kind: str, target: "Row") -> "tuple[Row, bool]":
    """Link two tasks; return the row and whether the link existed already."""
    if task["id"] == target["id"]:
        what = f"{task['id']} cannot be linked to itself."
        raise Refused(
            "link_to_itself", what, "A link connects two tasks.", "Name two different tasks."
        )
    existing = _find_link(tx, task, kind, target)
    if existing:
        return existing, True
    if kind != "relates-to" and tx.value(REACHES, (target["id"], kind, task["id"])):
        sources: dict[str, str] = {}
        for row in tx.rows(STEPS, (target["id"], kind)):  # the nearest first
            sources.setdefault(row["id"], row["via"])
        path = [task["id"]]
        while path[0] != target["id"]:
            path.insert(0, sources[path[0]])
        raise Refused(
            "cycle",
            f"This {kind} link would create a cycle.",
            f"These {kind} links already exist: {' -> '.join(path)}.",
            "Remove one of these links first (`W11 --remove`), or use relates-to.",
        )
    if kind == "parent" and (parent := tx.value(PARENT, (task["id"],))):
        what = f"{task['id']} is already part of {parent}."
        step = "Remove that link first: `W11 --remove`."
        raise Conflict("has_parent", what, "A task has one parent.", step)
    return _record_link(tx, task, kind, target, "added"), False


def remove_link(tx: "Writer", task: "Row", kind: str, target: "Row") -> "Row":
    """Record that a link is removed; raise NotFound if it does not exist."""
    existing = _find_link(tx, task, kind, target)
    if not existing:
        what = f"{task['id']} has no {kind} link to {target['id']}."
        raise NotFound(
            "no_such_link",
            what,
            "Only an existing link can be removed.",
            "`W10` shows the links of a task.",
        )
    if existing["task_id"] != task["id"]:
        task, target = target, task
    return _record_link(tx, task, kind, target, "removed")


def _find_link(tx: "Writer", task: "Row", kind: str, target: "Row") -> "Row | None":
    """Return the link or None. Find a `relates-to` link in both directions."""
    row = tx.one(EXISTING, (task["id"], kind, target["id"]))
    if row or kind != "relates-to":
        return row
    return tx.one(EXISTING, (target["id"], kind, task["id"]))


def list_links(db: "Reader", task: "Row") -> "list[Row]":
    """Return the links of a task, each with a phrase such as "is blocked by"."""
    return [
        {"link": SENTENCES[row["kind"], row["direction"]], **row}
        for row in db.rows(AROUND, (task["id"], task["id"]))
    ]


def _record_link(tx: "Writer", task: "Row", kind: str, target: "Row", state: str) -> "Row":
    values = {"task_id": task["id"], "kind": kind, "target_id": target["id"], "state": state}
    return tx.add("task_link", values, of=(task, target))
