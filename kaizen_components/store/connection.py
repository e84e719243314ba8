"""One libSQL connection with its habits hidden; nobody outside `store` sees libsql or its exceptions.

Habits found by trying (libsql 0.1.11), each covered by a test: errors are bare ValueErrors; text is cut at NUL;
integers from 2**31 are bound as floats, so that a search by a large rowid reads everything and one from 2**53 finds
another number; missing parameters become NULL and extra ones are ignored; a connection's `executescript` stops at an
error without raising, a cursor's raises; to bind a text raises two exceptions inside; text that is not UTF-8 and a
closed connection raise PanicException, which no `except Exception` catches.
"""

import os
import time

from ..errors import (
    Busy,
    Conflict,
    DiskError,
    Integrity,
    KaizenError,
    NotFound,
    Unavailable,
    explain_missing_package,
)
from .gate import share

os.environ.setdefault(
    "RUST_BACKTRACE", "0"
)  # a panic inside libsql is reported by us, in our words


# SQLite's own file access. The one that libsql 0.1.11 installs reports read errors as success, and a single EIO on the
# WAL destroyed the database (docs/adr/0009-plain-vfs.md).
VFS = "win32" if os.name == "nt" else "unix"
APPLICATION_ID = 0x4B41495A  # "KAIZ": tells our databases from others
SPELLED_CHARS_MAX = 2_000
LATER_MAX = 16  # statements
BEGIN = "BEGIN IMMEDIATE"

RESTORE = (
    "Run `K11` to see what is wrong. To put a backup from AI/db/backups in place, move kaizen.db, kaizen.db-wal and "
    "kaizen.db-shm away together first."
)


def driver_connect():
    """Return the `connect` of the driver that is installed."""
    try:
        from libsql import connect
    except ImportError:
        try:
            from libsql_experimental import connect as connect_without_timeout  # its former name
        except ImportError:
            raise explain_missing_package(
                "libsql_missing",
                "The database driver is not installed.",
                "Python could not import libsql.",
            ) from None

        def connect(target, timeout=5.0, **options):
            raw = connect_without_timeout(target, **options)
            raw.execute(f"PRAGMA busy_timeout = {int(timeout * 1000)}")
            return raw

    return connect


class Connection:
    def __init__(
        self, path: str, read_only: bool = False, busy_timeout_s: float = 1.0, in_gate: bool = False
    ):
        self._open = False
        self._path: str | None = None if path == ":memory:" else path
        self._lock = -1
        self._later: list[str] = []
        self._wait_until = 0.0
        if not read_only:
            self._connect(path, "", busy_timeout_s)
            return
        try:
            self._connect(path, "&mode=ro", busy_timeout_s)
            self.value("PRAGMA user_version")
        except Unavailable:
            if not os.path.exists(path) or (
                os.path.exists(path + "-wal") and os.path.getsize(path + "-wal")
            ):
                raise
            # A reader needs a -shm file, which a full disk or a folder of somebody else's does not allow. Without a
            # -wal the file alone is complete, and stays so while we keep writers out of the gate.
            self.close()
            self._lock = -1 if in_gate else share(os.path.realpath(path) + ".lock", busy_timeout_s)
            self._connect(path, "&mode=ro&immutable=1", busy_timeout_s)

    def _connect(self, path, options, busy_timeout_s):
        target = path if path == ":memory:" else f"{_uri(path)}?vfs={VFS}{options}"
        connect = driver_connect()
        stderr = _silenced()
        try:
            self._raw = connect(target, timeout=busy_timeout_s, isolation_level=None)
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                raise Unavailable(
                    "cannot_open", "The database cannot be opened.", "The driver failed inside.", ""
                ) from None
            raise self._explain(error) from None
        finally:
            _restore(stderr)
        self._open = True

    @property
    def blocks_writers(self) -> bool:
        return self._lock >= 0

    def execute(self, sql, params=()):
        """Run one statement; returns libsql's cursor."""
        assert self._open, "the connection is closed"
        if self._later:
            self.flush()
        assert sql.count("?") == len(params), f"{len(params)} parameters for: {sql}"
        large = False
        for value in params:
            if type(value) is str:
                assert "\0" not in value, "text with NUL reached the store"
            elif type(value) is int and not -(2**31) <= value < 2**31:
                assert -(2**63) <= value < 2**63, "an integer out of range reached the store"
                large = True
        if large:
            sql, params = _with_large_integers(sql, params)
        try:
            return self._raw.execute(sql, tuple(params))  # the former driver takes no list
        except BaseException as error:
            raise self._explain(error) from None

    def insert(self, table, row):
        """Add a row, at the latest before the next statement that is executed or committed."""
        spelled = []
        for value in row.values():
            if (
                type(value) is str and len(value) <= SPELLED_CHARS_MAX
            ):  # `literal`, without a call for each: most are
                spelled.append("'" + value.replace("'", "''") + "'")
            else:
                spelled.append(format_literal(value))
        if None in spelled:
            self.execute(
                f"INSERT INTO {table} ({', '.join(row)}) VALUES (?{', ?' * (len(row) - 1)})",
                [*row.values()],
            )
        else:
            self.later(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(spelled)})")

    def later(self, sql):
        """A statement that waits for the next one that is executed or committed: a call of the driver for each, and
        values that are bound, made a whole write a tenth slower."""
        assert "\0" not in sql, "text with NUL reached the store"
        self._later.append(sql)
        if len(self._later) == LATER_MAX:
            self.flush()

    def flush(self, last=None):
        """Run what waits, and after it `last`."""
        assert self._open, "the connection is closed"
        script = ";".join([*self._later, last] if last else self._later)
        self._later.clear()
        while script:
            try:
                self._raw.cursor().executescript(script)
                return
            except BaseException as error:
                ours = self._explain(error)
                not_begun = (
                    script.startswith(BEGIN)
                    and isinstance(ours, Busy)
                    and not self._raw.in_transaction
                )
                if not not_begun or time.monotonic() > self._wait_until:
                    raise ours from None

    def commit(self):
        self.flush("COMMIT")

    def rows(self, sql, params=()):
        """All rows as dicts, in the order of the SELECT's columns."""
        cursor = self.execute(sql, params)
        found = self._fetch(cursor)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in found]

    def tuples(self, sql, params=()):
        """All rows as plain tuples: for what is read by the thousand."""
        return self._fetch(self.execute(sql, params))

    def _fetch(self, cursor):
        """Return all rows. Text that is not UTF-8 makes libsql panic and write to stderr, which we silence."""
        stderr = _silenced()
        try:
            return cursor.fetchall()
        except BaseException as error:
            raise self._explain(error) from None
        finally:
            _restore(stderr)

    def _explain(self, error):
        """Return our own error for one of libsql's.

        SQLite reports a refused read (EIO) as damage. Only a second look at the file tells them apart.
        """
        ours = translate_error(error)
        damaged = isinstance(error, ValueError) and getattr(ours, "code", "") == "corrupt_database"
        if damaged and _is_intact(self._path):
            return DiskError(
                "disk_error",
                "The disk refused a read; nothing was recorded.",
                "SQLite could not read a page of the database, but the file is intact.",
                "Check the disk, then run the same command again.",
            )
        return ours

    def one(self, sql, params=()):
        found = self.rows(sql, params)
        return found[0] if found else None

    def value(self, sql, params=()):
        """The first column of the first row, or None."""
        try:
            found = self.execute(sql, params).fetchone()
        except BaseException as error:
            raise self._explain(error) from None
        return found[0] if found else None

    def begin(self):
        """Begin to read one moment. A transaction that is still open was left by an exception from a signal, at a place
        where nobody could clean up; it is rolled back."""
        assert self._open, "the connection is closed"
        if self._raw.in_transaction:
            self.roll_back()
        self.execute("BEGIN")

    def begin_write(self, wait_s):
        """The same for a write. It begins with its first statement, and that waits for other programs: in short tries,
        because libsql holds the GIL while it waits, and Ctrl-C would have to wait with it."""
        assert self._open, "the connection is closed"
        if self._raw.in_transaction:
            self.roll_back()
        self._later[:] = [BEGIN]
        self._wait_until = time.monotonic() + wait_s

    def read_data_version(self):
        """Changes when another connection commits. Asked before a write begins: what has changed by then is refused by
        the frontier (`Write.finish`)."""
        assert self._open, "the connection is closed"
        try:
            return self._raw.execute("PRAGMA data_version").fetchone()[0]
        except BaseException as error:
            raise self._explain(error) from None

    def roll_back(self):
        """End a transaction without hiding the error that made us: on a full disk SQLite has already done it."""
        self._later.clear()
        if not self._open:
            return
        try:
            self.execute("ROLLBACK")
        except KaizenError:
            pass

    def close(self):
        if self._open:
            self._open = False
            try:
                self._raw.close()
            except BaseException as error:
                raise self._explain(error) from None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _is_intact(path):
    """Return whether SQLite finds no damage in the file, by a connection of its own."""
    if path is None:
        return False
    try:
        raw = driver_connect()(f"{_uri(path)}?vfs={VFS}&mode=ro", isolation_level=None)
        return raw.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except BaseException:
        return False


def format_literal(value):
    """A value as SQL spells it, or None for one that has to be bound: SQLite reads floats less exactly than it keeps
    them, and copies what is left of a script for each statement."""
    kind = type(value)
    if kind is str:
        return "'" + value.replace("'", "''") + "'" if len(value) <= SPELLED_CHARS_MAX else None
    if kind is int:
        assert -(2**63) <= value < 2**63, "an integer out of range reached the store"
        return str(value)
    return "NULL" if value is None else None


def _with_large_integers(sql, params):
    """The statement with its large integers spelled out, since they cannot be bound."""
    pieces, left, text = sql.split("?"), [], ""
    for piece, value in zip(pieces, params, strict=False):
        spelled = type(value) is int and not -(2**31) <= value < 2**31
        left += [] if spelled else [value]
        text += piece + (str(value) if spelled else "?")
    return text + pieces[-1], left


def _restore(stderr):
    if stderr >= 0:
        os.dup2(stderr, 2)
        os.close(stderr)


_nowhere = -1


def _silenced():
    """Point stderr at nothing; returns where it pointed, or -1 if it is closed anyway. libsql holds the GIL
    meanwhile, so no other thread's words are lost. It costs a few microseconds."""
    global _nowhere
    try:
        stderr = os.dup(2)
    except OSError:
        return -1
    if _nowhere < 0:
        _nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(_nowhere, 2)
    return stderr


def _uri(path):
    """Return `path` as a URI without options."""
    try:
        path.encode()
    except UnicodeError as error:  # percent-encoded, it would work by accident, and fail elsewhere
        raise translate_error(error) from None
    return ("file://" if path.startswith("/") else "file:") + "".join(
        c if c.isalnum() or c in "/._-~" else "".join(f"%{byte:02X}" for byte in c.encode())
        for c in path
    )


def translate_error(error):
    """Our own error for one of libsql's, or for a disk that refuses; anything else comes back as it is."""
    if isinstance(error, KaizenError):
        return error
    if type(error).__name__ == "PanicException":
        return Integrity(
            "corrupt_database",
            "The database could not be read.",
            "A stored text is not valid UTF-8, or the driver failed inside.",
            RESTORE,
        )
    if isinstance(error, UnicodeError):
        return Unavailable(
            "path_not_utf8",
            "The path of the project is not UTF-8.",
            "",
            "Move it, or set KAIZEN_REPO_ROOT.",
        )
    if not isinstance(error, ValueError):
        return error
    text = str(error)
    if text.startswith("Failed to connect"):  # it names the whole path, which is nobody's business
        code = text.rstrip("`").rpartition(" ")[2]
        text = (
            f"SQLite could not open the file, with code {code}; unable to open"
            if code != "10"
            else "disk I/O error"
        )
    for marks, kind, code, what, next_step in _MEANINGS:
        if any(mark in text for mark in marks):
            return kind(code, what, text, next_step)
    return KaizenError(
        "store_error", "The database refused a statement.", text, "Please report this as a bug."
    )


_MEANINGS = (
    (("is locked", "is busy"), Busy, "busy", "The database is locked by another program.",
     "Close the program that has kaizen.db open, then try again."),
    (("no such table", "no such column", "no such index", "no such view"), Integrity, "schema_damaged",
     "The database lacks something that its schema version promises.", RESTORE),
    (("not a database", "malformed", "file is encrypted", "unsupported file format", "vtable constructor failed",
      "unrecognized option", "invalid fts5 file format"), Integrity, "corrupt_database",
     "The database file is damaged.", RESTORE),
    (("disk is full",), Unavailable, "disk_full", "The disk is full; nothing was written.",
     "Free some space, then run the same command again."),
    (("disk I/O error",), DiskError, "disk_error", "The disk refused a read or a write; nothing was recorded.",
     "Check free space, quotas and the disk, then run the same command again."),
    (("readonly database", "read-only"), Unavailable, "read_only", "The database cannot be written.",
     "Make AI/db/kaizen.db and its folder writable."),
    (("unable to open", "Unable to open"), Unavailable, "cannot_open", "The database file cannot be opened.",
     "Run `K11` to see why."),
    (("FOREIGN KEY constraint",), NotFound, "unknown_reference", "A record named here does not exist.",
     "Check the ids you gave."),
    (("NOT NULL constraint failed: frontier.size",), Busy, "log_moved",
     "Another program changed the database past the write lock, while this write waited for it.", "Try again."),
    (("constraint failed", "is append-only"), Conflict, "constraint", "The database refused the record.",
     "Correct the value that the reason names."),
)  # fmt: skip
