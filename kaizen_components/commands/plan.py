"""Plans of a task: W3, W4, W14."""

from ..records.ledger import revision
from ..records.ledger.transaction import make_receipt


def create(tx, *, task_id, title, summary, body=None, status="draft"):
    """Record a plan for a task.

    Example: kaizen W3 --task-id @last --title "Three steps" --summary "Outline, rewrite, proof-read."
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


def revise(tx, *, id, status=None, title=None, summary=None, body=None, note=None):
    """Revise a plan, or move it on; the history keeps every version.

    Example: kaizen W4 --id @last --status active --note "Agreed in review."
    """
    plan = tx.find("plan", id)
    changes = {"status": status, "title": title, "summary": summary, "body": body, "note": note}
    row = revision.add_revision(tx, "plan", plan, changes)
    return make_receipt(
        "plan_revision", row, plan_id=plan["id"], rev=row["rev"], title=title or plan["title"],
        plan_status=status or plan["status"],
    )  # fmt: skip


def inspect(db, *, id):
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
