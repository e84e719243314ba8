"""Plans of a task: W3, W4, W14."""

from __future__ import annotations

from ..records.ledger import revision
from ..records.ledger.transaction import make_receipt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, Row, Writer


def create(
    tx: Writer,
    *,
    task_id: str,
    title: str,
    summary: str,
    body: str | None = None,
    status: str = "draft",
) -> Row:
    """Record a plan for a task.

    Example: kaizen W3 --task-id @last --title "Three steps" --summary "Outline, rewrite,
        proof-read."
    """
    task = tx.find("task", task_id)
    values = {
        "task_id": task["id"],
        "title": title,
        "summary": summary,
        "body": body,
        "status": status,
    }
    return make_receipt(
        "plan",
        tx.add("plan", values, of=(task,)),
        task_id=task["id"],
        title=title,
        plan_status=status,
    )


def revise(
    tx: Writer,
    *,
    id: str,
    status: str | None = None,
    title: str | None = None,
    summary: str | None = None,
    body: str | None = None,
    note: str | None = None,
) -> Row:
    """Revise a plan or change its status; the history keeps every version.

    Example: kaizen W4 --id @last --status active --note "Agreed in review."
    """
    plan = tx.find("plan", id)
    changes = {"status": status, "title": title, "summary": summary, "body": body, "note": note}
    row = revision.add_revision(tx, "plan", plan, changes)
    return make_receipt(
        "plan_revision",
        row,
        plan_id=plan["id"],
        rev=row["rev"],
        title=title or plan["title"],
        plan_status=status or plan["status"],
    )


def inspect(db: Reader, *, id: str) -> Row:
    """Show one plan with its revisions and its place in the log.

    Example: kaizen W14 --id @last
    """
    plan = db.find("plan", id)
    return {
        "id": plan["id"],
        "kind": "plan",
        "record": {
            name: value for name, value in plan.items() if name not in ("seq", "id", "test")
        },
        "revisions": revision.list_revisions(db, "plan", plan),
        "log": db.log_position(plan),
    }
