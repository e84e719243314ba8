"""Lessons that are proven: L7 to L10."""

from __future__ import annotations

from ..records.lessons import lesson, lineage
from ..reports.lists.context import find_lessons

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..parameters import Reader, Row, Store


def list_(
    db: Reader,
    *,
    query: str | None = None,
    status: str | None = None,
    scope: str | None = None,
    task_id: str | None = None,
    actor: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 50,
) -> Row:
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


def query(
    db: Reader, *, query: str, status: str | None = None, scope: str | None = None, limit: int = 20
) -> Row:
    """Find proven lessons by their words.

    Example: kaizen L8 --query checkpoint
    """
    return lesson.list_lessons(
        db, "learned", limit, query, columns=lesson.QUERY_COLUMNS, status=status, scope=scope
    )


def inspect(db: Reader, store: Store, *, id: str) -> Row:
    """Show one proven lesson with its revisions, its lineage and its place in the log.

    Example: kaizen L9 --id @last
    """
    return lineage.inspect_lesson(db, store, "learned", id)


def context(
    db: Reader,
    store: Store,
    *,
    query: str | None = None,
    path: Sequence[str] = (),
    scope: str | None = None,
    limit: int = 10,
) -> Row:
    """Show the lessons for a query or for the files you work on, with their whole lineage; stale
    ones are marked.

    Example: kaizen L10 --query checkpoint
    """
    return find_lessons(db, store.place.root, query, path, scope, limit)
