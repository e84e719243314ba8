"""The database file: K1, K3, K5, K6."""

import os

from ..errors import Busy, Conflict, Unavailable, Usage
from ..records.ledger import batch as batches
from ..records.ledger import health
from ..records.ledger import manifest as manifests
from ..records.search import full_text
from ..store.migrate import copy_database
from . import ledger


def check(store, *, integrity=False, reindex=False):
    """Create the database if there is none, migrate it if it is old, and check it.

    Example: kaizen K1 --integrity
    """
    existed = store.exists()
    if store.is_lost():
        store.notes.append(
            "The checkpoints in AI/db/manifests are of another database, which is gone: a backup of it could be put "
            "here as long as this one is empty."
        )
    with store.begin_write_transaction() as connection:
        indexed = full_text.rebuild_index(connection) if reindex else None
    answer = {
        "database": store.place.relative(store.place.database),
        "created": not existed,
        **health.summarize_log(store.reader()),
        **({"indexed": indexed} if reindex else {}),
    }
    if integrity:
        answer["integrity"] = health.require_integrity(store.reader())
    return answer


def backup(store, *, out=None):
    """Make a consistent, verified copy with a manifest, while others go on writing.

    Example: kaizen K3
    """
    if out == "-":
        raise Usage(
            "bad_value", "--out must be the path of a file.", "A backup is a file and its manifest."
        )
    if out and not _is_utf8(out):
        raise Usage(
            "bad_value",
            "--out is not valid UTF-8.",
            "SQLite names files in UTF-8.",
            "Choose another name.",
        )
    reader = store.reader()
    path = (
        os.path.abspath(out)
        if out
        else manifests.make_dated_path(store.place.backups, "kaizen", "db")
    )
    missing = _missing(os.path.dirname(path))
    try:
        facts = _copied(store, reader, path)
    except BaseException:
        for folder in missing:
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)
        raise
    return {
        "backup": out or store.place.relative(path),
        "manifest": (out or store.place.relative(path)) + ".json",
        "verified": True,
        **facts,
    }  # fmt: skip


def _copied(store, reader, path):
    """What is in the copy, once it is there and verified."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise Unavailable(
            "cannot_write", "The backup folder cannot be made.", str(error.strerror)
        ) from None
    part = f"{path}.{os.getpid()}.part"  # until it is verified, it must not be taken for a good one
    if os.path.lexists(path):
        raise Conflict(
            "file_exists",
            f"{os.path.basename(path)} exists already.",
            "",
            "Choose another --out.",
        )
    copy_database(
        reader, part
    )  # a snapshot: the copy is of one moment, and nobody has to wait for it
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


def _is_utf8(path):
    try:
        return bool(os.path.abspath(path).encode())
    except UnicodeEncodeError:
        return False


def _missing(folder):
    """The folders that would have to be made for this one, the innermost first."""
    found = []
    while not os.path.lexists(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def batch(tx, call, store, *, file="-"):
    """Run many commands from JSONL in one transaction; `$N.id` names the result of line N.

    Example: echo '{"command": "W1", "args": {"title": "A", "summary": "The first."}}' | kaizen K5
    """
    results = batches.run_batch(file, call)
    if store.is_new and not tx.changed():  # nothing but reads, which make no database
        store.remove_new_database()
        raise store.missing_database_error()
    return {"records": results, "count": len(results)}


def manifest(store, *, out=None):
    """Write down row counts, the schema's hash, the log's size and root, and the file's hash; --out - only shows them.

    Example: kaizen K6
    """
    store.require()
    path = out or manifests.make_dated_path(store.place.manifests, "manifest", "json")
    with (
        store.begin_write_transaction() as connection
    ):  # inside the gate nobody writes, so the file's hash fits its rows
        connection.execute("COMMIT")
        busy = connection.tuples("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
        connection.execute("BEGIN IMMEDIATE")
        if busy:
            raise Busy(
                "busy",
                "Somebody reads an older state of the database.",
                "The file alone is not complete.",
                "Try again.",
            )
        facts = manifests.describe_database(connection, store.place.database)
    if out == "-":
        return facts
    manifests.save_manifest(path, facts)
    return {"manifest": out or store.place.relative(path), **facts}
