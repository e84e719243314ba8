"""Learnings, what a gotcha taught: L1, L4 to L6 and R3."""

from ..records.lessons import lesson, lineage


def add(
    write, store, *, title, summary, body=None, evidence=(), paths=(), task_id=None, scope="project"
):
    """Record what was learned, with what shows it.

    Example: kaizen L1 --title "Close readers first" --summary "A long write needs no open readers." --body "It waits."
        --evidence "WAL stayed at 4 MB"
    """
    texts = {"title": title, "summary": summary, "body": body, "scope": scope}
    return lesson.add_lesson(write, store, "learning", texts, task_id, evidence, paths)


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
    """List learnings, the newest first.

    Example: kaizen L4 --status active
    """
    return lesson.list_lessons(
        db,
        "learning",
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
    """Find learnings by their words.

    Example: kaizen L5 --query checkpoint
    """
    return lesson.list_lessons(
        db, "learning", limit, query, columns=lesson.QUERY_COLUMNS, status=status, scope=scope
    )


def inspect(db, store, *, id):
    """Show one learning with its revisions, its lineage and its place in the log.

    Example: kaizen L6 --id @last
    """
    return lineage.inspect_lesson(db, store, "learning", id)


def report(
    output,
    *,
    scope=None,
    since=None,
    until=None,
    query=None,
    limit=50,
):
    """Report the lessons with their lineage, what backs them, and which are stale by the files of the working tree.

    Example: kaizen R3
    """
    from ..reports.lists import lesson_page, lessons

    return output.publish(
        lambda db, zone, options: lessons.gather(db, zone, options, output.store.place.root),
        lesson_page.layout,
        scope=scope,
        since=since,
        until=until,
        query=query,
        limit=limit,
    )
