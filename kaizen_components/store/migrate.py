"""Numbered migrations, forward only: each in one transaction, with a backup of the file before the first."""

import os
import time
from collections.abc import Iterator

from .. import __version__
from ..errors import Conflict, Integrity, KaizenError, Unavailable
from .connection import APPLICATION_ID, Connection

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
LISTED = "SELECT max(version) FROM migration"
NOT_WHAT_IT_SAYS = (
    "store_error",
    "schema_damaged",
    "constraint",
    "unknown_reference",
)  # how a statement of ours fails


def list_migrations() -> list[tuple[int, str]]:
    """(version, file name) of every migration, in order."""
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".sql"))
    return [(int(name.split("_")[0]), name) for name in names]


def migrate(store, connection: Connection, version: int) -> None:
    """Bring the file from `version` to the newest schema. Called inside the gate, outside a transaction.

    A new file gets all of them in one transaction, so that nobody ever sees half a database.
    """
    pending = [(number, name) for number, name in list_migrations() if number > version]
    if version == 0:
        _apply(connection, pending)
        return
    if problem := find_version_problem(connection):
        raise _failed(pending[0][0], "it is not what its schema version says.", problem)
    backup = _backup(store, connection, version)
    copied = [f"Backed up the database to {store.place.relative(backup)} before migrating."]
    for number, name in pending:
        try:
            _apply(connection, [(number, name)])
        except KaizenError as error:
            # Nothing was changed, and each try makes a copy. Only of a disk that failed in COMMIT is that not known.
            if copied and error.code != "disk_error":
                os.unlink(backup)
            raise
        store.notes += [*copied, f"Migrated the database to schema {number} ({name})."]
        copied = []


def find_version_problem(connection: Connection) -> str | None:
    """A sentence if the schema version is not the newest that the file's own table `migration` lists."""
    version, listed = connection.value("PRAGMA user_version"), connection.value(LISTED)
    return (
        None
        if version == listed
        else f"The schema version is {version}, but the table migration lists {listed}."
    )


def require_listed_version(connection: Connection) -> None:
    """Asked where a version is older than ours: to be told to migrate would not help."""
    if problem := find_version_problem(connection):
        raise Integrity(
            "schema_version_changed",
            "The database is not what its schema version says.",
            f"{problem} Something other than Kaizen changed one of them.",
            "Put a backup from AI/db/backups in its place.",
        )


def _apply(connection, migrations):
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number, name in migrations:
            _run(connection, number, name)
        connection.execute("COMMIT")
    except BaseException as error:
        connection.roll_back()
        if isinstance(error, KaizenError) and error.code in NOT_WHAT_IT_SAYS:
            raise _failed(
                migrations[-1][0], error.what.replace("The database", "it"), error.why
            ) from None
        raise


def _failed(number, what, why):
    return Integrity(
        "migration_failed",
        f"The database cannot be migrated to schema {number}: {what}",
        why,
        "Nothing was changed. Run `K8`, and compare the file with a backup under AI/db/backups.",
    )


def _run(connection, number, name):
    text = read_migration(name)
    for statement in split_statements(text):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO migration VALUES (?, ?, ?, ?, ?)",
        (
            number,
            name,
            hash_migration(text),
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            __version__,
        ),
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {number}")


def read_migration(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def hash_migration(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def split_statements(text: str) -> Iterator[str]:
    """The statements of a migration file. libsql runs one at a time, and its connection's script call hides errors.

    A statement ends with a line that ends in `;`; a trigger ends with the line `END;`.
    """
    lines: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("--") or not line.strip():
            continue
        lines.append(line)
        trigger = lines[0].startswith("CREATE TRIGGER")
        assert trigger or ";" not in line.rstrip(";"), (
            f"libsql would run only what stands before the first ; in: {line}"
        )
        if line == "END;" if trigger else line.endswith(";"):
            yield "\n".join(lines)
            lines = []
    assert not lines, f"unfinished statement: {lines[0]}"


def _backup(store, connection, version):
    os.makedirs(store.place.backups, exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = os.path.join(store.place.backups, f"before-migration-{version}-{stamp}-{os.getpid()}.db")
    copy_database(connection, path)
    return path


def copy_database(connection: Connection, path: str) -> None:
    """A consistent, compact copy of the database as one file, flushed to the disk."""
    if os.path.exists(path):
        raise Conflict(
            "file_exists",
            f"{os.path.basename(path)} is there already.",
            "",
            "Choose another --out.",
        )
    try:
        connection.execute("VACUUM INTO ?", (path,))
        descriptor = os.open(path, os.O_RDWR)  # Windows flushes only what may be written
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException as error:
        if os.path.exists(path):
            os.unlink(path)
        if isinstance(error, KaizenError) and error.code in ("cannot_open", "read_only"):
            why = f"Its folder, {os.path.basename(os.path.dirname(path)) or os.sep}, cannot be written."
            raise Unavailable(
                "cannot_write", "The copy cannot be made.", why, "Choose another --out."
            ) from None
        raise
