"""Gotchas, pitfalls that somebody met: G1 to G5."""

from ..records.lessons import lesson, lineage


def add(
    write, store, *, title, summary, body, evidence=(), paths=(), task_id=None, scope="project"
):
    """Record a pitfall so that the next session avoids it.

    Example: kaizen G1 --title "WAL grows" --summary "A reader pins the checkpoint." --body "Close readers first."
        --evidence "WAL of 3 GB on 2026-11-02"
    """
    texts = {"title": title, "summary": summary, "body": body, "scope": scope}
    return lesson.add_lesson(write, store, "gotcha", texts, task_id, evidence, paths)


def list_(
    db,
    *,
    query=None,
    status=None,
    scope=None,
    task_id=None,
    actor=None,
    since=None,
    until=None,
    limit=50,
):
    """List gotchas, the newest first.

    Example: kaizen G2 --status active
    """
    return lesson.list_lessons(
        db,
        "gotcha",
        limit,
        query,
        task_id,
        status=status,
        scope=scope,
        actor=actor,
        since=since,
        until=until,
    )


def query(db, *, query, status=None, scope=None, limit=20):
    """Find gotchas by their words.

    Example: kaizen G3 --query checkpoint
    """
    return lesson.list_lessons(
        db, "gotcha", limit, query, columns=lesson.QUERY_COLUMNS, status=status, scope=scope
    )


def inspect(db, store, *, id):
    """Show one gotcha with its revisions, its lineage and its place in the log.

    Example: kaizen G4 --id @last
    """
    return lineage.inspect_lesson(db, store, "gotcha", id)


def update(
    write,
    store,
    *,
    id,
    status=None,
    title=None,
    summary=None,
    body=None,
    evidence=(),
    paths=(),
    note=None,
):
    """Revise a gotcha, or say what became of it; the history keeps every version.

    Example: kaizen G5 --id @last --status resolved --note "Readers are closed by the engine now."
    """
    texts = {"title": title, "summary": summary, "body": body}
    return lesson.update_gotcha(write, store, id, status, texts, evidence, paths, note)
