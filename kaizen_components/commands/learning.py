"""Learnings, what a gotcha taught: L1, L4 to L6 and R3."""

from __future__ import annotations

from ..records.lessons import lesson, lineage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..parameters import Output, Reader, Row, Store, WriteLater


def add(
    write: WriteLater,
    store: Store,
    *,
    title: str,
    summary: str,
    body: str | None = None,
    evidence: Sequence[str] = (),
    paths: Sequence[str] = (),
    task_id: str | None = None,
    scope: str = "project",
) -> Row:
    """Record what was learned, with its evidence.

    Example: kaizen L1 --title "Close readers first" --summary "A long write needs no open
        readers." --body "It waits."
        --evidence "WAL stayed at 4 MB"
    """
    texts = {"title": title, "summary": summary, "body": body, "scope": scope}
    return lesson.add_lesson(write, store, "learning", texts, task_id, evidence, paths)


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


def query(
    db: Reader, *, query: str, status: str | None = None, scope: str | None = None, limit: int = 20
) -> Row:
    """Find learnings by their words.

    Example: kaizen L5 --query checkpoint
    """
    return lesson.list_lessons(
        db, "learning", limit, query, columns=lesson.QUERY_COLUMNS, status=status, scope=scope
    )


def inspect(db: Reader, store: Store, *, id: str) -> Row:
    """Show one learning with its revisions, its lineage and its place in the log.

    Example: kaizen L6 --id @last
    """
    return lineage.inspect_lesson(db, store, "learning", id)


def report(
    output: Output,
    *,
    scope: str | None = None,
    since: str | None = None,
    until: str | None = None,
    query: str | None = None,
    limit: int = 50,
) -> Row:
    """Report the lessons with their lineage, what backs them, and which are stale because their
    files changed.

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
