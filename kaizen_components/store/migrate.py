"""Numbered migrations: forward only, one transaction each, with a backup before the first."""

from __future__ import annotations

import hashlib
import os
import time

from .. import __version__
from ..errors import Conflict, Integrity, KaizenError, Unavailable
from .connection import APPLICATION_ID, Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .database import Store

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
LISTED_VERSION = "SELECT max(version) FROM migration"
# Error codes of a statement if the schema is not the one that its version number says.
STATEMENT_ERRORS = ("store_error", "schema_damaged", "constraint", "unknown_reference")


def list_migrations() -> list[tuple[int, str]]:
    """Return (version, file name) of every migration, in order."""
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".sql"))
    return [(int(name.split("_")[0]), name) for name in names]


def migrate(store: Store, connection: Connection, version: int) -> None:
    """Migrate the file from `version` to the newest schema, inside the gate, outside a transaction.

    A new file gets all migrations in one transaction, so that readers never see a partial schema.
    """
    pending = [(number, name) for number, name in list_migrations() if number > version]
    if version == 0:
        _apply(connection, pending)
        return
    if problem := find_version_problem(connection):
        raise _migration_error(pending[0][0], "it does not match its schema version.", problem)
    os.makedirs(store.place.backups, exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = f"before-migration-{version}-{stamp}-{os.getpid()}.db"
    backup = os.path.join(store.place.backups, name)
    copy_database(connection, backup)
    notes = [f"Backed up the database to {store.place.relative(backup)} before migrating."]
    for number, name in pending:
        try:
            _apply(connection, [(number, name)])
        except KaizenError as error:
            # Nothing was changed, so delete the backup. Keep it after a disk error, which may
            # come after COMMIT.
            if notes and error.code != "disk_error":
                os.unlink(backup)
            raise
        store.notes += [*notes, f"Migrated the database to schema {number} ({name})."]
        notes = []


def find_version_problem(connection: Connection) -> str | None:
    """Return a sentence if the schema version is not the last one in the table `migration`."""
    version = connection.value("PRAGMA user_version")
    listed_version = connection.value(LISTED_VERSION)
    if version == listed_version:
        return None
    return f"The schema version is {version}, but the table migration lists {listed_version}."


def require_listed_version(connection: Connection) -> None:
    """Refuse an older schema version that the table `migration` does not list."""
    if problem := find_version_problem(connection):
        raise Integrity(
            "schema_version_changed",
            "The database does not match its schema version.",
            f"{problem} Another program changed the tables or the version number.",
            "Replace the database with a backup from AI/db/backups.",
        )


def _apply(connection: Connection, migrations: list[tuple[int, str]]) -> None:
    """Run these migrations in one transaction and record them in the table `migration`."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number, name in migrations:
            text = read_migration(name)
            for statement in split_statements(text):
                connection.execute(statement)
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            values = (number, name, hash_migration(text), now, __version__)
            connection.execute("INSERT INTO migration VALUES (?, ?, ?, ?, ?)", values)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException as error:
        connection.roll_back()
        if isinstance(error, KaizenError) and error.code in STATEMENT_ERRORS:
            what = error.what.replace("The database", "it")
            raise _migration_error(migrations[-1][0], what, error.why) from None
        raise


def _migration_error(number: int, what: str, why: str) -> Integrity:
    return Integrity(
        "migration_failed",
        f"The database cannot be migrated to schema {number}: {what}",
        why,
        "Nothing was changed. Run `K8`, and compare the file with a backup under AI/db/backups.",
    )


def read_migration(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def hash_migration(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def split_statements(text: str) -> Iterator[str]:
    """Yield the statements of a migration file. libsql's `executescript` would hide errors.

    A statement ends with a line that ends in `;`; a trigger ends with the line `END;`.
    """
    lines: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("--") or not line.strip():
            continue
        lines.append(line)
        is_trigger = lines[0].startswith("CREATE TRIGGER")
        assert is_trigger or ";" not in line.rstrip(";"), (
            f"libsql would run only the part before the first ; in: {line}"
        )
        if line == "END;" if is_trigger else line.endswith(";"):
            yield "\n".join(lines)
            lines = []
    assert not lines, f"unfinished statement: {lines[0]}"


def copy_database(connection: Connection, path: str) -> None:
    """Make a consistent, compact copy of the database as one file, flushed to the disk."""
    if os.path.exists(path):
        raise Conflict(
            "file_exists",
            f"{os.path.basename(path)} already exists.",
            "An existing file is never overwritten.",
            "Choose another --out.",
        )
    try:
        connection.execute("VACUUM INTO ?", (path,))
        descriptor = os.open(path, os.O_RDWR)  # Windows flushes only a writable file
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException as error:
        if os.path.exists(path):
            os.unlink(path)
        if isinstance(error, KaizenError) and error.code in ("cannot_open", "read_only"):
            folder = os.path.basename(os.path.dirname(path)) or os.sep
            why = f"Its folder, {folder}, cannot be written."
            raise Unavailable(
                "cannot_write",
                f"{os.path.basename(path)} cannot be written.",
                why,
                "Choose another --out.",
            ) from None
        raise
