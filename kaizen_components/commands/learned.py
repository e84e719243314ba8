"""Lessons that are proven: L7 to L10."""

from ..records.lessons import lesson, lineage
from ..reports.lists.context import find_lessons


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
    """List proven lessons, the newest first.

    Example: kaizen L7 --status active
    """
    return lesson.list_lessons(
        db,
        "learned",
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
    """Find proven lessons by their words.

    Example: kaizen L8 --query checkpoint
    """
    return lesson.list_lessons(
        db, "learned", limit, query, columns=lesson.QUERY_COLUMNS, status=status, scope=scope
    )


def inspect(db, store, *, id):
    """Show one proven lesson with its revisions, its lineage and its place in the log.

    Example: kaizen L9 --id @last
    """
    return lineage.inspect_lesson(db, store, "learned", id)


def context(db, store, *, query=None, path=(), scope=None, limit=10):
    """Show the lessons for a query or for the files you work on, with their whole lineage; stale ones are marked.

    Example: kaizen L10 --query checkpoint
    """
    return find_lessons(db, store.place.root, query, path, scope, limit)
