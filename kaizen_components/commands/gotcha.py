"""Record and find gotchas, the pitfalls that sessions met: G1 to G5."""

from __future__ import annotations

from ..records.lessons import lesson, lineage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..parameters import Reader, Row, Store, WriteLater


def add(
    write: WriteLater,
    store: Store,
    *,
    title: str,
    summary: str,
    body: str,
    evidence: Sequence[str] = (),
    paths: Sequence[str] = (),
    task_id: str | None = None,
    scope: str = "project",
) -> Row:
    """Record a pitfall so that the next session avoids it.

    Example: kaizen G1 --title "WAL grows" --summary "A reader pins the checkpoint." --body
        "Close readers first."
        --evidence "WAL of 3 GB on 2026-11-02"
    """
    texts = {"title": title, "summary": summary, "body": body, "scope": scope}
    return lesson.add_lesson(write, store, "gotcha", texts, task_id, evidence, paths)


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


def query(
    db: Reader, *, query: str, status: str | None = None, scope: str | None = None, limit: int = 20
) -> Row:
    """Find gotchas by their words.

    Example: kaizen G3 --query checkpoint
    """
    return lesson.list_lessons(
        db, "gotcha", limit, query, columns=lesson.QUERY_COLUMNS, status=status, scope=scope
    )


def inspect(db: Reader, store: Store, *, id: str) -> Row:
    """Show one gotcha with its revisions, its lineage and its place in the log.

    Example: kaizen G4 --id @last
    """
    return lineage.inspect_lesson(db, store, "gotcha", id)


def update(
    write: WriteLater,
    store: Store,
    *,
    id: str,
    status: str | None = None,
    title: str | None = None,
    summary: str | None = None,
    body: str | None = None,
    evidence: Sequence[str] = (),
    paths: Sequence[str] = (),
    note: str | None = None,
) -> Row:
    """Revise a gotcha or change its status; the history keeps every version.

    Example: kaizen G5 --id @last --status resolved --note "Readers are closed by the engine now."
    """
    texts = {"title": title, "summary": summary, "body": body}
    return lesson.update_gotcha(write, store, id, status, texts, evidence, paths, note)
