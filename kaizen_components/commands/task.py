"""Tasks: W1, W2, W9 to W13, R1."""

from __future__ import annotations

from ..errors import Usage
from ..records.ledger import revision
from ..records.ledger.canonical import encode_canonical
from ..records.ledger.transaction import make_receipt
from ..records.work import completion, lease, link
from ..records.work.command_line import normalize_command_line
from ..records.work.task import describe_task, list_ready_tasks, list_tasks, load_related_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..parameters import Output, Reader, ReadNow, Row, Store, WriteLater, Writer


def start(
    tx: Writer,
    *,
    title: str,
    summary: str,
    body: str | None = None,
    scope: str = "project",
    priority: str = "normal",
    parent: str | None = None,
    depends_on: Sequence[str] = (),
    done_when: Sequence[str] = (),
) -> Row:
    """Start a task: what is to be done, and how to check it.

    Example: kaizen W1 --title "README polish" --summary "Make it a strong entry point."
        --done-when "pytest -q"
    """
    parent_task = tx.find("task", parent) if parent else None
    blockers = {row["id"]: row for row in (tx.find("task", ref) for ref in depends_on)}
    commands = [normalize_command_line("--done-when", line) for line in done_when]
    values = {
        "title": title,
        "summary": summary,
        "body": body,
        "scope": scope,
        "priority": priority,
        "status": "open",
        "done_when": encode_canonical(commands) if commands else None,
    }
    task = tx.add("task", values)
    if parent_task:
        link.add_link(tx, task, "parent", parent_task)
    for blocker in blockers.values():
        link.add_link(tx, blocker, "blocks", task)
    return make_receipt("task", task, title=title, task_status="open", priority=priority)


def update(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    id: str,
    status: str | None = None,
    title: str | None = None,
    summary: str | None = None,
    body: str | None = None,
    scope: str | None = None,
    priority: str | None = None,
    note: str | None = None,
    token: int | None = None,
    waive: str | None = None,
) -> Row:
    """Change a task, or note what happened to it; the history keeps every version, and `done`
    needs its proofs.

    Example: kaizen W2 --id @last --status active --note "Started with the install section."
    """
    if waive and status != "done":
        raise Usage(
            "waive_without_done",
            "--waive needs --status done.",
            "A waiver replaces the proofs that closing a task needs.",
            "Add --status done, or omit --waive.",
        )
    changes = {
        "status": status,
        "title": title,
        "summary": summary,
        "body": body,
        "scope": scope,
        "priority": priority,
        "note": note,
    }
    tree = None
    if status == "done":  # resolve @last and read the tree before the transaction
        task = look().find("task", id)
        id = task["id"]
        if task["done_when"]:
            from ..records.files.working_tree import read_working_tree

            tree = read_working_tree(store.place.root, store.place.tree_cache).sha256
    return write(lambda tx: revise_task(tx, id, changes, token, tree, waive))


def revise_task(
    tx: Writer, id: str, changes: Row, token: int | None, tree: str | None, waive: str | None
) -> Row:
    """Add a revision to the task; `done` needs its proofs or a waiver, and ends the lease."""
    status = changes["status"]
    task = tx.find("task", id)
    waiver = hint = None
    lease.require_holder(tx, task, token, changes_status=status is not None)
    if status == "done":
        points = completion.list_open_points(tx, task, tree) if task["done_when"] else []
        if points and not waive:
            raise completion.open_points_error(task, points)
        waiver = completion.waive_points(tx, task, points, waive) if points else None
    row = revision.add_revision(tx, "task", task, changes)
    if status in lease.CLOSED:
        lease.end_lease(tx, task)
    if status == "done":
        hint = completion.find_objections(tx, task)
    return make_receipt(
        "task_revision",
        row,
        task_id=task["id"],
        rev=row["rev"],
        title=changes["title"] or task["title"],
        task_status=status or task["status"],
        waiver_id=waiver and waiver["id"],
        hint=hint,
    )


def list_(
    db: Reader,
    *,
    query: str | None = None,
    status: str | None = None,
    actor: str | None = None,
    scope: str | None = None,
    priority: str | None = None,
    holder: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 50,
) -> Row:
    """List tasks, the newest first, by status, actor, scope, priority, holder or age; or by words,
    the best first.

    Example: kaizen W9 --status open --since 7d
    """
    return list_tasks(db, limit, status, actor, scope, priority, holder, since, until, query)


def inspect(db: Reader, *, id: str) -> Row:
    """Show everything about one task: revisions, plans, proofs, verdicts, traces, links, its place
    in the log.

    Example: kaizen W10 --id @last
    """
    task = db.find("task", id)
    return {
        "id": task["id"],
        "kind": "task",
        "record": describe_task(db, task),
        "revisions": revision.list_revisions(db, "task", task),
        "links": link.list_links(db, task),
        **load_related_records(db, task),
        "log": db.log_position(task),
    }


def link_(tx: Writer, *, id: str, kind: str, target_id: str, remove: bool = False) -> Row:
    """Link two tasks, or remove a link: --id blocks, is part of, was discovered from or relates to
    --target-id.

    Example: kaizen W11 --id @last --kind relates-to --target-id @last~1
    """
    task, target = tx.find("task", id), tx.find("task", target_id)
    if remove:
        return make_receipt(
            "task_link", link.remove_link(tx, task, kind, target), link=kind, removed=True
        )
    row, already_exists = link.add_link(tx, task, kind, target)
    if already_exists:
        return {"id": row["id"], "kind": "task_link", "link": kind, "existed": True}
    return make_receipt("task_link", row, link=kind, task_id=task["id"], target_id=target["id"])


def ready(db: Reader, *, scope: str | None = None, limit: int = 20, test: bool = False) -> Row:
    """List what can be started now: open, not blocked, not claimed; the most urgent first.

    Example: kaizen W12 --limit 5
    """
    tasks = list_ready_tasks(db, scope, limit + 1, test)
    return {"records": tasks[:limit], "count": min(len(tasks), limit), "more": len(tasks) > limit}


def claim(
    tx: Writer,
    *,
    id: str,
    action: str = "take",
    ttl_s: int = 1800,
    token: int | None = None,
    note: str | None = None,
) -> Row:
    """Take, renew, release or break the lease on a task; of many who try at once, only one
    succeeds.

    Example: kaizen W13 --id @last --ttl-s 3600
    """
    task = tx.find("task", id)
    row = lease.change_lease(tx, task, action, ttl_s, token, note)
    return make_receipt(
        "lease",
        row,
        task_id=task["id"],
        title=task["title"],
        action=action,
        token=row["token"],
        until=row.get("until"),
    )


def report(
    output: Output,
    *,
    id: str | None = None,
    scope: str | None = None,
    since: str | None = None,
    until: str | None = None,
    query: str | None = None,
    limit: int = 100,
) -> Row:
    """Report one task (--id) as a story, from its first words to its proofs, verdicts, traces and
    cost; or all tasks.

    Example: kaizen R1 --id @last
    """
    from ..reports.ledger import task_story
    from ..reports.lists import tasks

    filters = {"scope": scope, "since": since, "until": until, "query": query}
    if id and any(filters.values()):
        raise Usage(
            "not_with_id",
            "--id cannot be combined with --scope, --since, --until or --query.",
            "--id reports one task; the others choose among all tasks.",
            "Omit those options, or omit --id.",
        )
    options = {"id": id, "limit": limit} if id else {**filters, "limit": limit}
    story = task_story if id else tasks
    return output.publish(story.gather, story.layout, **options)
