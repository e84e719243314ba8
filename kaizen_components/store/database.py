"""The door to one project's database: read connections, and write transactions behind the gate."""

import os

from ..errors import Integrity, KaizenError, NotFound, Refused, Unavailable
from .connection import APPLICATION_ID, Connection
from .gate import Gate, read_timeout_s
from .place import Place

SCHEMA_VERSION = 19  # the number of the newest file in migrations/
SHORT_WAIT_S = 0.2
PAGE_BYTES = 2048  # a small write touches a little of a dozen pages: half of SQLite's own 4096 is half to flush


class Store:
    """One project's data. `notes` collects what a person should be told, such as a database made just now."""

    def __init__(self, root: str):
        self.place = Place(root)
        self.notes: list[str] = []
        self._reader: Connection | None = None
        self._writer: Connection | None = None
        self._reader_of: tuple[int, int] | None = None
        self._writer_of: tuple[int, int] | None = None
        self.gate = Gate(
            self.place.lock, stays=True, make_folder=self._make_folders
        )  # around every write
        self._folders: list[str] = []  # which this store has made
        self._found_empty = False  # was there a file without anything in it?
        self.is_new = False  # is this the first write of the project?

    def exists(self) -> bool:
        """An empty file is no database yet."""
        try:
            return os.stat(self.place.database).st_size > 0 or not os.path.isfile(
                self.place.database
            )
        except PermissionError:
            raise Unavailable(
                "folder_closed",
                "The data folder AI/db may not be looked into.",
                f"Below {_shown(self.place.root)}, this user has no right to search it.",
                "Make AI and AI/db readable and searchable for this user (`chmod u+rx`).",
            ) from None
        except OSError:
            return False

    def require(self) -> None:
        if not self.exists():
            raise self.missing_database_error()
        if not os.path.isfile(self.place.database):
            raise Unavailable(
                "not_a_file", "AI/db/kaizen.db is not a file.", "", "Move it away, then run `K1`."
            )

    def missing_database_error(self) -> NotFound:
        if not os.path.isdir(self.place.root):
            return self._no_root()
        how = "is empty" if os.path.exists(self.place.database) else "does not exist"
        why = f"Below {_shown(self.place.root)}, {self.place.relative(self.place.database)} {how}"
        if self.is_lost():
            return NotFound(
                "no_database",
                "The database is gone.",
                f"{why}, but the checkpoints of one are in AI/db/manifests.",
                "Put a backup from AI/db/backups in its place (`K11` says more); `K1` begins anew.",
            )
        return NotFound(
            "no_database",
            "There is no database here yet.",
            f"{why}.",
            "`K1` creates it; the first write does, too.",
        )

    def is_lost(self) -> bool:
        """No database, where checkpoints tell of one."""
        return not self.exists() and os.path.exists(self.place.anchors)

    def _no_root(self):
        return NotFound(
            "no_root",
            f"There is no folder {_shown(self.place.root)}.",
            "",
            "Set KAIZEN_REPO_ROOT to the project's folder.",
        )

    def look(self, in_gate: bool = False) -> Connection:
        """A read-only connection on a database of whatever schema; the caller closes it."""
        self.require()
        connection = Connection(
            self.place.database,
            read_only=True,
            busy_timeout_s=min(self.gate.wait_s(), 5.0),
            in_gate=in_gate,
        )
        return _checked(connection, _require_ours, _require_version)

    def require_not_newer(self) -> None:
        """Asked before a command is run that cannot be taken back: a newer engine's database would refuse its proof."""
        _checked(self.look(), _require_not_newer).close()

    def open_file(self, path: str) -> Connection:
        """A read-only connection on another file, such as a backup; the caller closes it."""
        shown = os.path.basename(path) or path
        if not os.path.isfile(path):
            raise NotFound(
                "file_not_found",
                f"{shown!r} is not a file.",
                "",
                "Name a database file, such as a backup.",
            )
        try:
            connection = Connection(
                os.path.abspath(path), read_only=True, busy_timeout_s=min(read_timeout_s(), 5.0)
            )
            return _checked(connection, _require_ours, _require_not_newer)
        except Integrity as error:
            raise Integrity(
                error.code,
                f"{shown!r} is no database, or it is damaged.",
                error.why,
                "Name another file; the database of this project was not looked at.",
            ) from None

    def reader(self) -> Connection:
        """A read-only connection on a database of this engine's schema; it stays open until `close`."""
        if self._reader is not None and self._reader_of != self._identity():
            self._reader.close()  # the file was replaced
            self._reader = None
        if self._reader is None:
            self._reader = _checked(self.look(), self._require_made, _require_schema)
            self._reader_of = self._identity()
        return self._reader

    def _require_made(self, connection):
        if connection.value("PRAGMA user_version") == 0:
            raise self.missing_database_error()

    def _identity(self):
        """Which file this is, so that one put in its place is noticed."""
        try:
            found = os.stat(self.place.database)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def begin_write_transaction(self) -> "WriteTransaction":
        """`with store.writing() as connection:` is one transaction; it commits unless an exception leaves it."""
        return WriteTransaction(self)

    def open_writer(self) -> Connection:
        """The write connection, made, migrated and set up on first use. Only ever called inside the gate."""
        if self._writer is not None and self._writer_of != self._identity():
            self._close_writer()  # the file was replaced
        if self._writer is None:
            self.is_new = not self.exists()
            if self.is_new:
                self._found_empty = os.path.exists(self.place.database)
                self._make_folders()
            else:  # look first: a connection that may write changes the file by opening it
                _checked(self.look(in_gate=True), _require_not_newer).close()
            self._writer = self._prepared(
                Connection(self.place.database, busy_timeout_s=SHORT_WAIT_S)
            )
            self._writer_of = self._identity()
        return self._writer

    def _prepared(self, connection):
        try:
            if connection.value("PRAGMA journal_mode") != "wal":
                connection.execute(
                    f"PRAGMA page_size = {PAGE_BYTES}"
                )  # a file that has something keeps its own
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
        return connection

    def remove_new_database(self) -> None:
        """Take back a database that was made for a first write which then failed, and the folders that it made. Only
        ever called inside the gate; once its file is gone, whoever waited makes another and may go in."""
        self._close_writer()
        database = os.path.realpath(
            self.place.database
        )  # a link stays, and what was made behind it goes
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(database + ending):
                os.unlink(database + ending)
        if self._found_empty:
            os.close(os.open(database, os.O_CREAT | os.O_WRONLY, 0o644))
        try:
            inner = [
                folder for folder in self._folders if os.path.dirname(folder) == self.place.folder
            ]
            outer = [folder for folder in self._folders if folder not in inner]
            for folder in inner:
                os.rmdir(folder)
            os.unlink(self.place.lock)
            for folder in reversed(outer):
                os.rmdir(folder)
        except (
            OSError
        ):  # somebody has put something there, or it is Windows, which keeps a file that is open
            pass
        self._folders = []
        self.notes = [note for note in self.notes if not note.startswith("Created the database")]
        self.is_new = False

    def _make_folders(self):
        try:
            self.place.make_folders(self._folders)
        except (FileNotFoundError, NotADirectoryError):
            # With a root outside of the gate only: somebody's refused write takes them back just now.
            if not os.path.isdir(self.place.root):
                raise self._no_root() from None
        except OSError as error:
            raise Unavailable(
                "folder_not_writable",
                "The data folder AI/db cannot be created.",
                f"{error.strerror} below {_shown(self.place.root)}.",
                "Make the folder writable, or point KAIZEN_REPO_ROOT at a project that is.",
            ) from None

    def limit_wait(self, patience_s: float | None) -> None:
        """Wait no longer than this for others, until told None: what is to be done is not worth more."""
        self.gate.wait_max_s = patience_s

    def release_writers(self) -> None:
        """After an answer: a reader that could only read by keeping writers out does not stay."""
        if self._reader is not None and self._reader.blocks_writers:
            self._reader.close()
            self._reader = None

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._writer is not None and self.exists():
            with self.gate:
                self._close_writer()
        self._close_writer()
        self.gate.close()

    def _close_writer(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()


class WriteTransaction:
    """One write transaction inside the gate. `on_commit` runs after COMMIT while the gate is still held."""

    def __init__(self, store: Store):
        self.store = store
        self.keep_open = False  # a long-lived process keeps its connection; a cold command closes inside the gate
        self.on_commit: object = None  # a callable; typing it would load collections.abc

    def __enter__(self) -> Connection:
        self.store.gate.__enter__()
        try:
            self._connection = self.store.open_writer()
            self._connection.begin_write(self.store.gate.wait_s())
        except BaseException:
            self._break_off()
            raise
        return self._connection

    def _break_off(self):
        """Whatever ended it, also a signal between two lines: no transaction stays open, and no connection either."""
        self.keep_open = False
        try:
            if self.store.is_new:
                self.store.remove_new_database()
        finally:
            self._leave()

    def __exit__(self, kind, error, trace):
        try:
            if kind is None:
                self._commit()
            else:
                self._take_back()
        except BaseException:
            self._connection.roll_back()
            self.keep_open = False
            raise
        finally:
            self._leave()

    def _commit(self):
        try:
            self._connection.commit()
        except KaizenError:  # nothing else: a signal may come after COMMIT is done
            self._take_back()
            self.keep_open = False
            raise
        if callable(self.on_commit):
            self.on_commit()

    def _take_back(self):
        self._connection.roll_back()
        if self.store.is_new:
            self.store.remove_new_database()

    def _leave(self):
        self.store.is_new = (
            False  # also after an interrupt right behind COMMIT: what is there now stays
        )
        try:
            if not self.keep_open:
                self.store._close_writer()
        finally:
            self.store.gate.__exit__()


def _checked(connection, *checks):
    """The connection if it passes; closed if not."""
    try:
        for check in checks:
            check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_ours(connection):
    """A file with tables that we did not make is somebody else's; an empty one may become ours."""
    if connection.value("PRAGMA application_id") != APPLICATION_ID and connection.value(
        "SELECT count(*) FROM sqlite_master"
    ):
        raise Refused(
            "not_kaizen",
            "This is not a Kaizen database.",
            "The file has tables, but not our mark; nothing was touched.",
            "If it is AI/db/kaizen.db: move it away, then run `K1`.",
        )


def _require_version(connection):
    """A file that says that it is empty and is not would be taken for one that is yet to be made."""
    if connection.value("PRAGMA user_version") == 0 and connection.value(
        "SELECT count(*) FROM sqlite_master"
    ):
        raise Integrity(
            "schema_version_lost",
            "The database has tables, but says that it has no schema yet.",
            "Its user_version is 0: something other than Kaizen changed it.",
            "Put a backup from AI/db/backups in its place.",
        )


def _require_not_newer(connection):
    require_not_newer(connection.value("PRAGMA user_version"))


def require_not_newer(version):
    if version > SCHEMA_VERSION:
        raise Refused(
            "database_is_newer",
            f"This database has schema {version}; this engine knows up to {SCHEMA_VERSION}.",
            "A newer engine made it; an older one would misread it, so nothing was touched.",
            "Update the engine (`git pull`, then `bash setup/setup.sh`).",
        )


def _require_schema(connection):
    _require_not_newer(connection)
    version = connection.value("PRAGMA user_version")
    if version < SCHEMA_VERSION:
        from .migrate import require_listed_version

        require_listed_version(connection)
        raise Refused(
            "database_is_older",
            f"This database has schema {version}; this engine needs {SCHEMA_VERSION}.",
            "A command that only reads does not change the file.",
            "Run `K1`: it makes a backup and migrates.",
        )


def _shown(path):
    """A folder for a message: its name, not where it lies on this machine."""
    return os.path.basename(path) or path
