"""Access to one project's database: read connections, and write transactions inside the gate."""

import os

from ..errors import Integrity, KaizenError, NotFound, Refused, Unavailable
from .connection import APPLICATION_ID, Connection
from .gate import Gate, read_timeout_s
from .place import Place

SCHEMA_VERSION = 19  # the number of the newest file in migrations/
SHORT_WAIT_S = 0.2
PAGE_BYTES = 2048  # a small write touches a dozen pages; SQLite's 4096 would double the flush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Store:
    """One project's data. `notes` are messages for the user, such as "Created the database …"."""

    def __init__(self, root: str) -> None:
        self.place = Place(root)
        self.notes: list[str] = []
        self._reader: Connection | None = None
        self._writer: Connection | None = None
        self._reader_file: tuple[int, int] | None = None
        self._writer_file: tuple[int, int] | None = None
        # Every write holds this lock.
        self.gate = Gate(self.place.lock, keep_open=True, make_folder=self._make_folders)
        self._folders: list[str] = []  # the folders that this store made
        self._was_empty = False  # was there an empty database file before the first write?
        self.is_new = False  # is this the first write of the project?

    def exists(self) -> bool:
        """Return whether there is a database; an empty file is not one yet."""
        path = self.place.database
        try:
            return os.stat(path).st_size > 0 or not os.path.isfile(path)
        except PermissionError:
            raise Unavailable(
                "folder_closed",
                "Permission denied: cannot read the data folder AI/db.",
                f"Below {_show_folder(self.place.root)}, this user has no right to search it.",
                "Make AI and AI/db readable and searchable for this user (`chmod u+rx`).",
            ) from None
        except OSError:
            return False

    def require(self) -> None:
        """Raise if there is no database file."""
        if not self.exists():
            raise self.missing_database_error()
        if not os.path.isfile(self.place.database):
            what, step = "AI/db/kaizen.db is not a file.", "Move it away, then run `K1`."
            raise Unavailable(
                "not_a_file", what, "Another program put a folder or a special file there.", step
            )

    def missing_database_error(self) -> NotFound:
        """Return the error for a missing root, a lost database, or one not created yet."""
        if not os.path.isdir(self.place.root):
            return self._missing_root_error()
        how = "is empty" if os.path.exists(self.place.database) else "does not exist"
        file = self.place.relative(self.place.database)
        why = f"Below {_show_folder(self.place.root)}, {file} {how}"
        if self.is_lost():
            return NotFound(
                "no_database",
                "The database is missing.",
                f"{why}, but its checkpoints are in AI/db/manifests.",
                "Restore a backup from AI/db/backups (`K11` says more); `K1` makes a new one.",
            )
        return NotFound(
            "no_database",
            "There is no database here yet.",
            f"{why}.",
            "`K1` creates it; so does the first write.",
        )

    def is_lost(self) -> bool:
        """Return whether checkpoints exist without their database."""
        return not self.exists() and os.path.exists(self.place.anchors)

    def _missing_root_error(self) -> NotFound:
        return NotFound(
            "no_root",
            f"There is no folder {_show_folder(self.place.root)}.",
            "Kaizen keeps its records in the folder of a project.",
            "Set KAIZEN_REPO_ROOT to the project's folder.",
        )

    def open_read_only(self, in_gate: bool = False) -> Connection:
        """Open a read-only connection on a database of any schema; the caller closes it."""
        self.require()
        connection = Connection(
            self.place.database,
            read_only=True,
            busy_timeout_s=min(self.gate.wait_s(), 5.0),
            in_gate=in_gate,
        )

        def require_version(connection: Connection) -> None:
            # Check the version first: counting the tables takes longer, as it parses the schema.
            if connection.value("PRAGMA user_version") == 0 and connection.value(
                "SELECT count(*) FROM sqlite_master"
            ):
                raise Integrity(
                    "schema_version_lost",
                    "The database has tables, but its schema version is 0.",
                    "Another program changed its user_version.",
                    "Replace the database with a backup from AI/db/backups.",
                )

        return _check(connection, _require_ours, require_version)

    def require_not_newer(self) -> None:
        """Refuse the database of a newer engine before a proof runs: it could not be recorded."""
        _check(self.open_read_only(), _require_not_newer).close()

    def open_file(self, path: str) -> Connection:
        """Open a read-only connection on another file, such as a backup; the caller closes it."""
        name = os.path.basename(path) or path
        if not os.path.isfile(path):
            step = "Name a database file, such as a backup."
            raise NotFound(
                "file_not_found",
                f"{name!r} is not a file.",
                "Only a database file can be read.",
                step,
            )
        try:
            timeout_s = min(read_timeout_s(), 5.0)
            connection = Connection(os.path.abspath(path), read_only=True, busy_timeout_s=timeout_s)
            return _check(connection, _require_ours, _require_not_newer)
        except Integrity as error:
            raise Integrity(
                error.code,
                f"{name!r} is not a database, or it is damaged.",
                error.why,
                "Name another file; the database of this project was not read.",
            ) from None

    def reader(self) -> Connection:
        """Return a read-only connection on this engine's schema; it stays open until `close`."""
        if self._reader is not None and self._reader_file != self._identify_file():
            self._reader.close()  # the file was replaced
            self._reader = None
        if self._reader is None:

            def require_schema_version(connection: Connection) -> None:
                if connection.value("PRAGMA user_version") == 0:
                    raise self.missing_database_error()

            self._reader = _check(self.open_read_only(), require_schema_version, require_schema)
            self._reader_file = self._identify_file()
        return self._reader

    def _identify_file(self) -> "tuple[int, int] | None":
        """Return the device and inode of the file, to notice that it was replaced."""
        try:
            stat = os.stat(self.place.database)
        except OSError:
            return None
        return stat.st_dev, stat.st_ino

    def begin_write_transaction(self) -> "WriteTransaction":
        """Return one transaction for `with`; it commits unless an exception is raised inside."""
        return WriteTransaction(self)

    def open_writer(self) -> Connection:
        """Return the write connection, made and migrated on first use. Call it inside the gate."""
        if self._writer is not None and self._writer_file != self._identify_file():
            self.close_writer()  # the file was replaced
        if self._writer is not None:
            return self._writer
        self.is_new = not self.exists()
        if self.is_new:
            self._was_empty = os.path.exists(self.place.database)
            self._make_folders()
        else:  # check read-only first: a connection that may write changes the file
            _check(self.open_read_only(in_gate=True), _require_not_newer).close()
        connection = Connection(self.place.database, busy_timeout_s=SHORT_WAIT_S)
        try:
            if connection.value("PRAGMA journal_mode") != "wal":
                # SQLite applies this to an empty file only.
                connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                connection.rows("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            version = connection.value("PRAGMA user_version")
            if version < SCHEMA_VERSION:
                from .migrate import migrate

                migrate(self, connection, version)
        except BaseException:
            connection.close()
            raise
        if self.is_new:
            self.notes.append(f"Created the database {self.place.relative(self.place.database)}.")
        self._writer, self._writer_file = connection, self._identify_file()
        return connection

    def remove_new_database(self) -> None:
        """Remove the new database and folders of a first write that failed.

        Call it inside the gate. This removes the lock file; a waiting process makes a new one.
        """
        self.close_writer()
        database = os.path.realpath(self.place.database)  # of a link, remove the target
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(database + ending):
                os.unlink(database + ending)
        if self._was_empty:
            os.close(os.open(database, os.O_CREAT | os.O_WRONLY, 0o644))
        try:
            db = self.place.folder
            for folder in [path for path in self._folders if os.path.dirname(path) == db]:
                os.rmdir(folder)
                self._folders.remove(folder)
            os.unlink(self.place.lock)
            for folder in reversed(self._folders):
                os.rmdir(folder)
        except OSError:  # a folder is not empty, or Windows keeps an open file
            pass
        self._folders = []
        self.notes = [note for note in self.notes if not note.startswith("Created the database")]
        self.is_new = False

    def _make_folders(self) -> None:
        try:
            self.place.make_folders(self._folders)
        except (FileNotFoundError, NotADirectoryError):
            # If the root exists, another process is removing its folders after a failed first
            # write: the gate tries again.
            if not os.path.isdir(self.place.root):
                raise self._missing_root_error() from None
        except OSError as error:
            raise Unavailable(
                "folder_not_writable",
                "The data folder AI/db cannot be created.",
                f"{error.strerror} below {_show_folder(self.place.root)}.",
                "Make the folder writable, or set KAIZEN_REPO_ROOT to a project that is.",
            ) from None

    def limit_wait(self, patience_s: float | None) -> None:
        """Limit how long a call waits for other writers; None restores the usual wait."""
        self.gate.wait_max_s = patience_s

    def release_writers(self) -> None:
        """Close the reader if it locks out writers. Call this after each answer."""
        if self._reader is not None and self._reader.blocks_writers:
            self._reader.close()
            self._reader = None

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._writer is not None and self.exists():
            with self.gate:
                self.close_writer()
        self.close_writer()
        self.gate.close()

    def close_writer(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()


class WriteTransaction:
    """One write transaction inside the gate. `on_commit` runs after COMMIT, still in the gate."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.keep_open = False  # a cold command closes its connection inside the gate
        self.on_commit: Callable[[], object] | None = None

    def __enter__(self) -> Connection:
        self.store.gate.__enter__()
        try:
            self._connection = self.store.open_writer()
            self._connection.begin_write(self.store.gate.wait_s())
        except BaseException:  # also an exception from a signal: leave nothing open
            self.keep_open = False
            try:
                if self.store.is_new:
                    self.store.remove_new_database()
            finally:
                self._leave()
            raise
        return self._connection

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is not None:
                self._roll_back()
                return
            try:
                self._connection.commit()
            except KaizenError:  # nothing else: a signal may raise after COMMIT has succeeded
                self._roll_back()
                raise
            if self.on_commit is not None:
                self.on_commit()
        except BaseException:
            self._connection.roll_back()
            self.keep_open = False
            raise
        finally:
            self._leave()

    def _roll_back(self) -> None:
        self._connection.roll_back()
        if self.store.is_new:
            self.store.remove_new_database()

    def _leave(self) -> None:
        self.store.is_new = False  # keep the database, even after an interrupt just after COMMIT
        try:
            if not self.keep_open:
                self.store.close_writer()
        finally:
            self.store.gate.__exit__()


def _check(connection: Connection, *checks: "Callable[[Connection], None]") -> Connection:
    """Run the checks and return the connection; close it if one of them raises."""
    try:
        for check in checks:
            check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_ours(connection: Connection) -> None:
    """Refuse a file with the tables of another program. An empty file is allowed."""
    if connection.value("PRAGMA application_id") != APPLICATION_ID and connection.value(
        "SELECT count(*) FROM sqlite_master"
    ):
        raise Refused(
            "not_kaizen",
            "This is not a Kaizen database.",
            "The file has tables, but not Kaizen's application_id. Nothing was changed.",
            "If the file is AI/db/kaizen.db, move it away, then run `K1`.",
        )


def _require_not_newer(connection: Connection) -> None:
    require_not_newer(connection.value("PRAGMA user_version"))


def require_not_newer(version: int) -> None:
    """Refuse the schema of a newer engine."""
    if version > SCHEMA_VERSION:
        raise Refused(
            "database_is_newer",
            f"This database has schema {version}; this engine knows up to {SCHEMA_VERSION}.",
            "A newer engine made it; an older one would misread it, so nothing was changed.",
            "Update the engine (`git pull`, then `bash setup/setup.sh`).",
        )


def require_schema(connection: Connection) -> None:
    """Refuse a schema that is newer or older than this engine's."""
    version = connection.value("PRAGMA user_version")
    require_not_newer(version)
    if version < SCHEMA_VERSION:
        from .migrate import require_listed_version

        require_listed_version(connection)
        raise Refused(
            "database_is_older",
            f"This database has schema {version}; this engine needs {SCHEMA_VERSION}.",
            "A command that only reads does not change the file.",
            "Run `K1`: it makes a backup and migrates.",
        )


def _show_folder(path: str) -> str:
    """Return the name of a folder for a message, without the private path above it."""
    return os.path.basename(path) or path
