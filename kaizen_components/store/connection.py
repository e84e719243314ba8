"""One libSQL connection; no module outside `store` sees libsql or its exceptions.

Habits of libsql 0.1.11, each covered by a test: errors are bare ValueErrors; text is cut at NUL;
integers from 2**31 are bound as floats, so that a search by a large rowid reads everything and one
from 2**53 finds another number; missing parameters become NULL and extra ones are ignored; a
connection's `executescript` stops at an error without raising, a cursor's raises; binding a text
raises two exceptions inside; text that is not UTF-8 and a closed connection raise PanicException,
which no `except Exception` catches.
"""

import os
import time

from ..errors import Busy, DiskError, KaizenError, Unavailable, explain_missing_package
from .gate import share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..parameters import Row

os.environ.setdefault("RUST_BACKTRACE", "0")  # we report a panic inside libsql ourselves


# SQLite's own file access. The one that libsql 0.1.11 installs reports read errors as success, and a
# single EIO on the WAL destroyed the database (docs/adr/0009-plain-vfs.md).
VFS = "win32" if os.name == "nt" else "unix"
APPLICATION_ID = 0x4B41495A  # "KAIZ": tells our databases from others
SPELLED_CHARS_MAX = 2_000
LATER_MAX = 16  # statements
BEGIN = "BEGIN IMMEDIATE"


def driver_connect() -> "Callable[..., Any]":
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

        def connect(target: str, timeout: float = 5.0, **options: object) -> "Any":
            raw = connect_without_timeout(target, **options)
            raw.execute(f"PRAGMA busy_timeout = {int(timeout * 1000)}")
            return raw

    return connect


class Connection:
    def __init__(
        self, path: str, read_only: bool = False, busy_timeout_s: float = 1.0, in_gate: bool = False
    ) -> None:
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
            has_wal = os.path.exists(path + "-wal") and os.path.getsize(path + "-wal")
            if has_wal or not os.path.exists(path):
                raise
            # A reader needs a -shm file, which a full disk or a read-only folder does not allow.
            # Without a -wal the file alone is complete while we keep writers out of the gate.
            self.close()
            self._lock = -1 if in_gate else share(os.path.realpath(path) + ".lock", busy_timeout_s)
            self._connect(path, "&mode=ro&immutable=1", busy_timeout_s)

    def _connect(self, path: str, options: str, busy_timeout_s: float) -> None:
        target = path if path == ":memory:" else f"{_make_uri(path)}?vfs={VFS}{options}"
        connect = driver_connect()
        stderr = _silence_stderr()
        try:
            self._raw = connect(target, timeout=busy_timeout_s, isolation_level=None)
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                what, why = "The database cannot be opened.", "The driver failed inside."
                raise Unavailable("cannot_open", what, why, "") from None
            raise self._explain(error) from None
        finally:
            _restore_stderr(stderr)
        self._open = True

    @property
    def blocks_writers(self) -> bool:
        return self._lock >= 0

    def execute(self, sql: str, params: "Sequence[Any]" = ()) -> "Any":
        """Run one statement; return libsql's cursor."""
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
        if large:  # spell them out, since they cannot be bound
            pieces, bound, text = sql.split("?"), [], ""
            for piece, value in zip(pieces, params, strict=False):
                is_large = type(value) is int and not -(2**31) <= value < 2**31
                bound += [] if is_large else [value]
                text += piece + (str(value) if is_large else "?")
            sql, params = text + pieces[-1], bound
        try:
            return self._raw.execute(sql, tuple(params))  # the former driver takes no list
        except BaseException as error:
            raise self._explain(error) from None

    def insert(self, table: str, row: "Mapping[str, Any]") -> None:
        """Add a row before the next statement or commit."""
        literals: list[Any] = []
        for value in row.values():
            # As format_literal, without a call for each text.
            if type(value) is str and len(value) <= SPELLED_CHARS_MAX:
                literals.append("'" + value.replace("'", "''") + "'")
            else:
                literals.append(format_literal(value))
        if None in literals:
            marks = "?" + ", ?" * (len(row) - 1)
            sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
            self.execute(sql, [*row.values()])
        else:
            self.later(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(literals)})")

    def later(self, sql: str) -> None:
        """Run a statement with the next one or the commit.

        One driver call for each statement, with bound values, made a whole write a tenth slower.
        """
        assert "\0" not in sql, "text with NUL reached the store"
        self._later.append(sql)
        if len(self._later) == LATER_MAX:
            self.flush()

    def flush(self, last: "str | None" = None) -> None:
        """Run the waiting statements and then `last`."""
        assert self._open, "the connection is closed"
        script = ";".join([*self._later, last] if last else self._later)
        self._later.clear()
        while script:
            try:
                self._raw.cursor().executescript(script)
                return
            except BaseException as error:
                ours = self._explain(error)
                is_begun = not script.startswith(BEGIN) or self._raw.in_transaction
                if is_begun or not isinstance(ours, Busy) or time.monotonic() > self._wait_until:
                    raise ours from None

    def commit(self) -> None:
        self.flush("COMMIT")

    def rows(self, sql: str, params: "Sequence[Any]" = ()) -> "list[Row]":
        """Return all rows as dicts, in the order of the SELECT's columns."""
        cursor = self.execute(sql, params)
        values = self._fetch(cursor)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in values]

    def tuples(self, sql: str, params: "Sequence[Any]" = ()) -> "list[tuple[Any, ...]]":
        """Return all rows as tuples, to read them by the thousand."""
        return self._fetch(self.execute(sql, params))

    def _fetch(self, cursor: "Any") -> "list[tuple[Any, ...]]":
        # Text that is not UTF-8 makes libsql panic and write to stderr.
        stderr = _silence_stderr()
        try:
            return cursor.fetchall()
        except BaseException as error:
            raise self._explain(error) from None
        finally:
            _restore_stderr(stderr)

    def _explain(self, error: BaseException) -> BaseException:
        """Return our own error for one of libsql's.

        SQLite reports a refused read (EIO) as damage. Only a second look at the file, by a new
        connection, tells them apart.
        """
        from .driver_error import translate_error

        ours = translate_error(error)
        is_damage = (
            isinstance(error, ValueError) and getattr(ours, "code", "") == "corrupt_database"
        )
        if not is_damage or self._path is None:
            return ours
        try:
            raw = driver_connect()(
                f"{_make_uri(self._path)}?vfs={VFS}&mode=ro", isolation_level=None
            )
            is_intact = raw.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
        except BaseException:
            is_intact = False
        if not is_intact:
            return ours
        return DiskError(
            "disk_error",
            "The disk refused a read; nothing was recorded.",
            "SQLite could not read a page of the database, but the file is intact.",
            "Check the disk, then run the same command again.",
        )

    def one(self, sql: str, params: "Sequence[Any]" = ()) -> "Row | None":
        rows = self.rows(sql, params)
        return rows[0] if rows else None

    def value(self, sql: str, params: "Sequence[Any]" = ()) -> "Any":
        """Return the first column of the first row, or None."""
        try:
            row = self.execute(sql, params).fetchone()
        except BaseException as error:
            raise self._explain(error) from None
        return row[0] if row else None

    def begin(self) -> None:
        """Begin to read one snapshot.

        Roll back a transaction that an exception from a signal left open.
        """
        assert self._open, "the connection is closed"
        if self._raw.in_transaction:
            self.roll_back()
        self.execute("BEGIN")

    def begin_write(self, wait_s: float) -> None:
        """Begin a write with its first statement, which waits for other programs.

        It waits in short tries: libsql holds the GIL meanwhile, which would delay Ctrl-C.
        """
        assert self._open, "the connection is closed"
        if self._raw.in_transaction:
            self.roll_back()
        self._later[:] = [BEGIN]
        self._wait_until = time.monotonic() + wait_s

    def read_data_version(self) -> int:
        """Return a number that changes when another connection commits.

        It is read before a write begins; the frontier refuses a later change (`Write.finish`).
        """
        assert self._open, "the connection is closed"
        try:
            return self._raw.execute("PRAGMA data_version").fetchone()[0]
        except BaseException as error:
            raise self._explain(error) from None

    def roll_back(self) -> None:
        """End a transaction and ignore errors: a full disk has already ended it."""
        self._later.clear()
        if not self._open:
            return
        try:
            self.execute("ROLLBACK")
        except KaizenError:
            pass

    def close(self) -> None:
        if self._open:
            self._open = False
            try:
                self._raw.close()
            except BaseException as error:
                raise self._explain(error) from None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def format_literal(value: object) -> "str | None":
    """Format a value as SQL, or return None for one that has to be bound.

    SQLite parses floats inexactly, and copies the rest of a script for each statement.
    """
    if type(value) is str:
        return "'" + value.replace("'", "''") + "'" if len(value) <= SPELLED_CHARS_MAX else None
    if type(value) is int:
        assert -(2**63) <= value < 2**63, "an integer out of range reached the store"
        return str(value)
    return "NULL" if value is None else None


def _restore_stderr(stderr: int) -> None:
    if stderr >= 0:
        os.dup2(stderr, 2)
        os.close(stderr)


_nowhere = -1


def _silence_stderr() -> int:
    """Redirect stderr to nothing in a few microseconds; return where it pointed, or -1.

    libsql holds the GIL meanwhile, so no other thread loses a message.
    """
    global _nowhere
    try:
        stderr = os.dup(2)
    except OSError:
        return -1
    if _nowhere < 0:
        _nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(_nowhere, 2)
    return stderr


def _make_uri(path: str) -> str:
    """Return `path` as a URI without options."""
    try:
        path.encode()
    except UnicodeError:  # percent-encoded, it would work by accident, and fail elsewhere
        what, step = "The path of the project is not UTF-8.", "Move it, or set KAIZEN_REPO_ROOT."
        raise Unavailable("path_not_utf8", what, "", step) from None
    return ("file://" if path.startswith("/") else "file:") + "".join(
        c if c.isalnum() or c in "/._-~" else "".join(f"%{byte:02X}" for byte in c.encode())
        for c in path
    )
