"""Artifacts, files by their hash: A1 to A5."""

from __future__ import annotations

from ..errors import Usage
from ..records.files import artifact
from ..records.search.listing import inspect_record, list_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, Row, Store, WriteLater


def add(
    write: WriteLater,
    store: Store,
    *,
    path: str,
    title: str | None = None,
    summary: str | None = None,
    task_id: str | None = None,
    about: str | None = None,
    allow_external: bool = False,
) -> Row:
    """Record a file or a folder by its hash.

    Example: kaizen A1 --path kaizen.py --title "The launcher"
    """
    facts = artifact.measure_artifact(
        store.place, path, allow_external
    )  # hash a large file before taking the lock
    return write(lambda tx: artifact.add_artifact(tx, facts, title, summary, task_id, about))


def hash_(store: Store, *, path: str, allow_external: bool = False) -> Row:
    """Show the hash of a file or a folder without recording anything.

    Example: kaizen A2 --path kaizen.py
    """
    facts = artifact.measure_artifact(store.place, path, allow_external)
    return {name: value for name, value in facts.items() if value is not None}


def inspect(db: Reader, *, id: str) -> Row:
    """Show one artifact with what it belongs to and its place in the log.

    Example: kaizen A3 --id @last
    """
    record = db.find("artifact", id)
    return inspect_record(db, "artifact", record, **artifact.find_related(db, record))


def list_(
    db: Reader,
    store: Store,
    *,
    query: str | None = None,
    task_id: str | None = None,
    path: str | None = None,
    actor: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 50,
) -> Row:
    """List artifacts, the newest first; --path also finds what is below a folder.

    Example: kaizen A4 --limit 10
    """
    filters = artifact.build_filters(db, store.place, task_id, path, actor, since, until)
    return list_records(db, "artifact", artifact.COLUMNS, limit, filters, query)


def verify(
    db: Reader, store: Store, *, id: str | None = None, path: str | None = None, all: bool = False
) -> Row:
    """Hash an artifact again, or the newest of every path, and compare; a mismatch exits 7.

    Example: kaizen A5 --id @last
    """
    if (id is None) is not all or (all and path is not None):
        raise Usage(
            "id_or_all",
            "A5 artifact-verify needs either --id or --all.",
            "With --id, --path gives the present place of an artifact outside the project.",
            "Name one artifact with --id, or check every path with --all.",
        )
    if id is not None:
        return artifact.verify_artifact(db, store.place, id, path)
    from ..reports.engine.progress import Progress

    with Progress() as progress:
        return artifact.verify_newest(db, store.place, progress.step)
