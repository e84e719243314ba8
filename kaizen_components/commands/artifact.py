"""Artifacts, files by their hash: A1 to A5."""

from ..errors import Usage
from ..records.files import artifact
from ..records.search.listing import inspect_record, list_records


def add(
    write, store, *, path, title=None, summary=None, task_id=None, about=None, allow_external=False
):
    """Record a file or a folder by its hash.

    Example: kaizen A1 --path kaizen.py --title "The launcher"
    """
    facts = artifact.measure_artifact(
        store.place, path, allow_external
    )  # before the lock: a large file takes its time
    return write(lambda tx: artifact.add_artifact(tx, facts, title, summary, task_id, about))


def hash_(store, *, path, allow_external=False):
    """Show the hash of a file or a folder without recording anything.

    Example: kaizen A2 --path kaizen.py
    """
    facts = artifact.measure_artifact(store.place, path, allow_external)
    return {name: value for name, value in facts.items() if value is not None}


def inspect(db, *, id):
    """Show one artifact with what it belongs to and its place in the log.

    Example: kaizen A3 --id @last
    """
    record = db.find("artifact", id)
    return inspect_record(db, "artifact", record, **artifact.find_related(db, record))


def list_(
    db, store, *, query=None, task_id=None, path=None, actor=None, since=None, until=None, limit=50
):
    """List artifacts, the newest first; --path also finds what is below a folder.

    Example: kaizen A4 --limit 10
    """
    filters = artifact.build_filters(db, store.place, task_id, path, actor, since, until)
    return list_records(db, "artifact", artifact.COLUMNS, limit, filters, query)


def verify(db, store, *, id=None, path=None, all=False):
    """Hash an artifact again, or the newest of every path, and compare; a mismatch exits 7.

    Example: kaizen A5 --id @last
    """
    if (id is None) is not all or (all and path is not None):
        raise Usage(
            "id_or_all",
            "A5 artifact-verify needs either --id or --all.",
            "--path goes with --id: it says where an artifact from outside the project is now.",
            "Name one artifact with --id, or check every path with --all.",
        )
    if not all:
        return artifact.verify_artifact(db, store.place, id, path)
    from ..reports.engine.progress import Progress

    with Progress() as progress:
        return artifact.verify_newest(db, store.place, progress.step)
