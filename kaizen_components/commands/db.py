"""Create, check, back up and describe the database file: K1, K3, K5, K6."""

from __future__ import annotations

import os

from ..errors import Busy, Conflict, Unavailable, Usage
from ..records.ledger import batch as batches
from ..records.ledger import health
from ..records.ledger import manifest as manifests
from ..records.search import full_text
from ..store.migrate import copy_database
from . import ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..parameters import Row, Store, Writer
    from ..store.connection import Connection


def check(store: Store, *, integrity: bool = False, reindex: bool = False) -> Row:
    """Create the database if there is none, migrate it if it is old, and check it.

    Example: kaizen K1 --integrity
    """
    already_exists = store.exists()
    if store.is_lost():
        store.notes.append(
            "The checkpoints in AI/db/manifests belong to another database, which is gone. "
            "Restore a backup of it while this database is still empty."
        )
    with store.begin_write_transaction() as connection:
        indexed_count = full_text.rebuild_index(connection) if reindex else None
    answer = {
        "database": store.place.relative(store.place.database),
        "created": not already_exists,
        **health.summarize_log(store.reader()),
        **({"indexed": indexed_count} if reindex else {}),
    }
    if integrity:
        answer["integrity"] = health.require_integrity(store.reader())
    return answer


def backup(store: Store, *, out: str | None = None) -> Row:
    """Make a consistent, verified copy with a manifest; others can go on writing.

    Example: kaizen K3
    """
    if out == "-":
        what, why = (
            "--out must be the path of a file.",
            "A backup is a file with a manifest beside it.",
        )
        raise Usage("bad_value", what, why, "Give it a path, or omit it.")
    try:
        path = os.path.abspath(out) if out else ""
        path.encode()
    except UnicodeEncodeError:
        raise Usage(
            "bad_value",
            "--out is not valid UTF-8.",
            "SQLite names files in UTF-8.",
            "Choose another name.",
        ) from None
    reader = store.reader()
    path = path or manifests.make_dated_path(store.place.backups, "kaizen", "db")
    new_folders = []  # folders that the backup creates, the innermost first
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        new_folders.append(folder)
        folder = os.path.dirname(folder)
    try:
        facts = write_verified_copy(store, reader, path)
    except BaseException:
        for folder in new_folders:
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)
        raise
    short_path = out or store.place.relative(path)
    return {"backup": short_path, "manifest": short_path + ".json", "verified": True, **facts}


def write_verified_copy(store: Store, reader: Connection, path: str) -> Row:
    """Copy the database to `path` with a manifest; return the facts about the copy."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        what = f"Cannot create the folder {os.path.basename(os.path.dirname(path))!r}."
        next_step = "Check its permissions, or choose another --out."
        raise Unavailable("cannot_write", what, f"{error.strerror}.", next_step) from None
    if os.path.lexists(path):
        name = os.path.basename(path)
        why = "A backup never overwrites a file."
        raise Conflict("file_exists", f"{name} already exists.", why, "Choose another --out.")
    part = f"{path}.{os.getpid()}.part"  # an unverified copy must not look like a backup
    copy_database(reader, part)  # a snapshot: no writer has to wait
    try:
        ledger.verify(store, file=part)
        copy = store.open_file(part)
        try:
            facts = manifests.describe_database(copy, part, os.path.basename(path))
        finally:
            copy.close()
        manifests.save_manifest(path + ".json", facts)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
    return facts


def batch(tx: Writer, call: Callable[..., Any], store: Store, *, file: str = "-") -> Row:
    """Run many commands from JSONL in one transaction; `$N.id` names the result of line N.

    Example: echo '{"command": "W1", "args": {"title": "A", "summary": "The first."}}' | kaizen K5
    """
    results = batches.run_batch(file, call)
    if store.is_new and not tx.has_changes():  # a batch that only reads must not create a database
        store.remove_new_database()
        raise store.missing_database_error()
    return {"records": results, "count": len(results)}


def manifest(store: Store, *, out: str | None = None) -> Row:
    """Write the row counts, the schema's hash, the log's size and root, and the file's hash to a
    manifest; --out - only prints them.

    Example: kaizen K6
    """
    store.require()
    path = out or manifests.make_dated_path(store.place.manifests, "manifest", "json")
    # Inside the gate no other process writes, so the file's hash fits its rows.
    with store.begin_write_transaction() as connection:
        connection.execute("COMMIT")
        busy = connection.tuples("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
        connection.execute("BEGIN IMMEDIATE")
        if busy:
            raise Busy(
                "busy",
                "Another process still reads an older state of the database.",
                "Until that process ends, the database file alone is incomplete.",
                "Try again in a moment.",
            )
        facts = manifests.describe_database(connection, store.place.database)
    if out == "-":
        return facts
    manifests.save_manifest(path, facts)
    return {"manifest": out or store.place.relative(path), **facts}
