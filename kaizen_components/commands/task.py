"""Tasks: W1, W2, W9 to W13, R1."""

from ..errors import Usage
from ..records.ledger import revision
from ..records.ledger.canonical import encode_canonical
from ..records.ledger.transaction import make_receipt
from ..records.work import completion, lease, link
from ..records.work.command_line import normalize_command_line
from ..records.work.task import describe_task, list_tasks, load_related_records, ready_tasks


def start(
    tx,
    *,
    title,
    summary,
    body=None,
    scope="project",
    priority="normal",
    parent=None,
    depends_on=(),
    done_when=(),
):
    """Start a task: what is to be done, and how we will know.

    Example: kaizen W1 --title "README polish" --summary "Make it a strong entry point." --done-when "pytest -q"
    """
    above = tx.find("task", parent) if parent else None
    before = {row["id"]: row for row in (tx.find("task", ref) for ref in depends_on)}
    task = tx.add(
        "task",
        {
            "title": title, "summary": summary, "body": body, "scope": scope, "priority": priority, "status": "open",
            "done_when": encode_canonical([normalize_command_line("--done-when", line) for line in done_when]) if done_when else None,
        },
    )  # fmt: skip
    if above:
        link.add_link(tx, task, "parent", above)
    for blocker in before.values():
        link.add_link(tx, blocker, "blocks", task)
    return make_receipt("task", task, title=title, task_status="open", priority=priority)


def update(
    write,
    look,
    store,
    *,
    id,
    status=None,
    title=None,
    summary=None,
    body=None,
    scope=None,
    priority=None,
    note=None,
    token=None,
    waive=None,
):
    """Change a task, or note what happened to it; the history keeps every version, and `done` needs its proofs.

    Example: kaizen W2 --id @last --status active --note "Started with the install section."
    """
    if waive and status != "done":
        raise Usage(
            "waive_without_done",
            "--waive belongs to --status done.",
            "",
            "Leave it out, or close the task.",
        )
    changes = {
        "status": status, "title": title, "summary": summary, "body": body, "scope": scope, "priority": priority,
        "note": note,
    }  # fmt: skip
    tree = None
    if status == "done":
        task = look().find("task", id)
        id, tree = (
            task["id"],
            _tree_for(task, store),
        )  # @last is who is last now, not after the tree was read
    return write(lambda tx: _update(tx, id, changes, token, tree, waive))


def _tree_for(task, store):
    """The hash of the working tree if this task needs one to be closed; before the transaction, as it takes a while."""
    if not task["done_when"]:
        return None
    from ..records.files.working_tree import read_working_tree

    return read_working_tree(store.place.root, store.place.tree_cache).sha256


def _update(tx, id, changes, token, tree, waive):
    task, status = tx.find("task", id), changes["status"]
    lease.require_holder(tx, task, token, changes_status=status is not None)
    points = (
        completion.list_open_points(tx, task, tree)
        if status == "done" and task["done_when"]
        else []
    )
    if points and not waive:
        raise completion.open_points_error(task, points)
    waiver = completion.waive_points(tx, task, points, waive) if points else None
    row = revision.add_revision(tx, "task", task, changes)
    if status in lease.CLOSED:
        lease.end_lease(tx, task)
    return make_receipt(
        "task_revision", row, task_id=task["id"], rev=row["rev"], title=changes["title"] or task["title"],
        task_status=status or task["status"], waiver_id=waiver and waiver["id"],
        hint=completion.find_objections(tx, task) if status == "done" else None,
    )  # fmt: skip


def list_(
    db,
    *,
    query=None,
    status=None,
    actor=None,
    scope=None,
    priority=None,
    holder=None,
    since=None,
    until=None,
    limit=50,
):
    """List tasks, the newest first, by status, actor, scope, priority, holder or age; or by words, the best first.

    Example: kaizen W9 --status open --since 7d
    """
    return list_tasks(db, limit, status, actor, scope, priority, holder, since, until, query)


def inspect(db, *, id):
    """Show everything about one task: revisions, plans, proofs, verdicts, traces, links, its place in the log.

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


def link_(tx, *, id, kind, target_id, remove=False):
    """Link two tasks, or remove a link: --id blocks, is part of, was discovered from or relates to --target-id.

    Example: kaizen W11 --id @last --kind relates-to --target-id @last~1
    """
    task, target = tx.find("task", id), tx.find("task", target_id)
    if remove:
        return make_receipt(
            "task_link", link.remove_link(tx, task, kind, target), link=kind, removed=True
        )
    row, existed = link.add_link(tx, task, kind, target)
    if existed:
        return {"id": row["id"], "kind": "task_link", "link": kind, "existed": True}
    return make_receipt("task_link", row, link=kind, task_id=task["id"], target_id=target["id"])


def ready(db, *, scope=None, limit=20, test=False):
    """List what can be started now: open, not blocked, not claimed; the most urgent first.

    Example: kaizen W12 --limit 5
    """
    found = ready_tasks(db, scope, limit + 1, test)
    return {"records": found[:limit], "count": min(len(found), limit), "more": len(found) > limit}


def claim(tx, *, id, action="take", ttl_s=1800, token=None, note=None):
    """Take, renew, release or break the lease on a task; of many who try at once, one wins.

    Example: kaizen W13 --id @last --ttl-s 3600
    """
    task = tx.find("task", id)
    row = lease.change_lease(tx, task, action, ttl_s, token, note)
    return make_receipt(
        "lease", row, task_id=task["id"], title=task["title"], action=action, token=row["token"],
        until=row.get("until"),
    )  # fmt: skip


def report(
    output,
    *,
    id=None,
    scope=None,
    since=None,
    until=None,
    query=None,
    limit=100,
):
    """Report one task (--id) as a story, from its first words to its proofs, verdicts, traces and cost; or all tasks.

    Example: kaizen R1 --id @last
    """
    from ..reports.ledger import task_story
    from ..reports.lists import tasks

    wanted = {"scope": scope, "since": since, "until": until, "query": query}
    if id and any(wanted.values()):
        raise Usage(
            "not_with_id", "--scope, --since, --until and --query choose among all tasks.", "--id has chosen one.",
            "Leave them out, or leave --id out.",
        )  # fmt: skip
    asked = {"id": id, "limit": limit} if id else {**wanted, "limit": limit}
    how = task_story if id else tasks
    return output.publish(how.gather, how.layout, **asked)
