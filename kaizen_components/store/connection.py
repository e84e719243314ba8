"""One libSQL connection; no module outside `store` sees libsql or its exceptions.

Quirks of libsql 0.1.11, each covered by a test:

- Errors are bare ValueErrors. Text is cut at NUL.
- Integers from 2**31 are bound as floats: a search by a large rowid reads the whole table, and one
  from 2**53 finds another number.
- Missing parameters become NULL; extra ones are ignored.
- A connection's `executescript` stops at an error without raising; that of a cursor raises.
- Text that is not UTF-8 and a closed connection raise PanicException, which no `except Exception`
  catches.
"""

import os
import time

from ..errors import Busy, DiskError, KaizenError, Unavailable, explain_missing_package
from .gate import lock_out_writers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..parameters import Row

os.environ.setdefault("RUST_BACKTRACE", "0")  # we report a panic inside libsql ourselves


# SQLite's own file access layer. The layer that libsql 0.1.11 installs reports read errors as
# success: a single EIO on the WAL destroyed the database (docs/adr/0009-plain-vfs.md).
VFS = "win32" if os.name == "nt" else "unix"
APPLICATION_ID = 0x4B41495A  # "KAIZ" marks the databases of Kaizen
LITERAL_CHARS_MAX = 2_000  # longer texts are bound parameters
QUEUE_MAX = 16  # statements
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
    """An open database. Rows are dicts or tuples; errors are ours."""

    def __init__(
        self, path: str, read_only: bool = False, busy_timeout_s: float = 1.0, in_gate: bool = False
    ) -> None:
        self._open = False
        self._path: str | None = None if path == ":memory:" else path
        self._lock = -1
        self._queue: list[str] = []
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
            # On a full disk or in a read-only folder a reader cannot make its -shm file. The file
            # alone is complete if it has no -wal, as long as we keep writers out of the gate.
            self.close()
            self._lock = (
                -1
                if in_gate
                else lock_out_writers(os.path.realpath(path) + ".lock", busy_timeout_s)
            )
            self._connect(path, "&mode=ro&immutable=1", busy_timeout_s)

    def _connect(self, path: str, options: str, busy_timeout_s: float) -> None:
        target = path if path == ":memory:" else f"{_make_uri(path)}?vfs={VFS}{options}"
        connect = driver_connect()
        stderr = _silence_stderr()
        try:
            self._raw = connect(target, timeout=busy_timeout_s, isolation_level=None)
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                what, why = (
                    "The database cannot be opened.",
                    "The driver failed with an internal error.",
                )
                raise Unavailable(
                    "cannot_open", what, why, "Run `K11` to see what is wrong."
                ) from None
            raise self._translate_error(error) from None
        finally:
            _restore_stderr(stderr)
        self._open = True

    @property
    def blocks_writers(self) -> bool:
        return self._lock >= 0

    def execute(self, sql: str, params: "Sequence[Any]" = ()) -> "Any":
        """Run one statement; return libsql's cursor."""
        assert self._open, "the connection is closed"
        if self._queue:
            self.flush()
        assert sql.count("?") == len(params), f"{len(params)} parameters for: {sql}"
        has_large = False
        for value in params:
            if type(value) is str:
                assert "\0" not in value, "text with NUL reached the store"
            elif type(value) is int and not -(2**31) <= value < 2**31:
                assert -(2**63) <= value < 2**63, "an integer out of range reached the store"
                has_large = True
        if has_large:  # write large integers as literals, because libsql would bind them as floats
            pieces, bound, text = sql.split("?"), [], ""
            for piece, value in zip(pieces, params, strict=False):
                is_large = type(value) is int and not -(2**31) <= value < 2**31
                bound += [] if is_large else [value]
                text += piece + (str(value) if is_large else "?")
            sql, params = text + pieces[-1], bound
        try:
            return self._raw.execute(sql, tuple(params))  # libsql_experimental takes no list
        except BaseException as error:
            raise self._translate_error(error) from None

    def insert(self, table: str, row: "Mapping[str, Any]") -> None:
        """Queue a new row; it is stored before the next statement or commit."""
        literals: list[Any] = []
        for value in row.values():
            # Same result as format_literal, but without a function call for each short text.
            if type(value) is str and len(value) <= LITERAL_CHARS_MAX:
                literals.append("'" + value.replace("'", "''") + "'")
            else:
                literals.append(format_literal(value))
        if None in literals:
            marks = "?" + ", ?" * (len(row) - 1)
            sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
            self.execute(sql, [*row.values()])
        else:
            self.queue(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(literals)})")

    def queue(self, sql: str) -> None:
        """Queue a statement. It runs with the next `execute`, or at the commit.

        With one driver call for each statement, a write took a tenth longer.
        """
        assert "\0" not in sql, "text with NUL reached the store"
        self._queue.append(sql)
        if len(self._queue) == QUEUE_MAX:
            self.flush()

    def flush(self, last: "str | None" = None) -> None:
        """Run the queued statements and then `last`."""
        assert self._open, "the connection is closed"
        script = ";".join([*self._queue, last] if last else self._queue)
        self._queue.clear()
        while script:
            try:
                self._raw.cursor().executescript(script)
                return
            except BaseException as error:
                ours = self._translate_error(error)
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
        """Return all rows as tuples, which is faster than `rows` for thousands of rows."""
        return self._fetch(self.execute(sql, params))

    def _fetch(self, cursor: "Any") -> "list[tuple[Any, ...]]":
        # Text that is not UTF-8 makes libsql panic and write to stderr.
        stderr = _silence_stderr()
        try:
            return cursor.fetchall()
        except BaseException as error:
            raise self._translate_error(error) from None
        finally:
            _restore_stderr(stderr)

    def _translate_error(self, error: BaseException) -> BaseException:
        """Return our error for an error of libsql.

        SQLite reports a failed read (EIO) as damage. A check on a new connection tells them apart.
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
        """Return the first row as a dict, or None."""
        rows = self.rows(sql, params)
        return rows[0] if rows else None

    def value(self, sql: str, params: "Sequence[Any]" = ()) -> "Any":
        """Return the first column of the first row, or None."""
        try:
            row = self.execute(sql, params).fetchone()
        except BaseException as error:
            raise self._translate_error(error) from None
        return row[0] if row else None

    def begin(self) -> None:
        """Begin a transaction that reads one snapshot.

        Roll back a transaction that an exception from a signal left open.
        """
        assert self._open, "the connection is closed"
        if self._raw.in_transaction:
            self.roll_back()
        self.execute("BEGIN")

    def begin_write(self, wait_s: float) -> None:
        """Queue a BEGIN. It runs with the first statement, which waits for other programs.

        The wait is a loop of short tries: libsql holds the GIL in each, which delays Ctrl-C.
        """
        assert self._open, "the connection is closed"
        if self._raw.in_transaction:
            self.roll_back()
        self._queue[:] = [BEGIN]
        self._wait_until = time.monotonic() + wait_s

    def read_data_version(self) -> int:
        """Return a number that changes when another connection commits.

        Read it before a write begins. `RecordWriter.finish` detects a commit after that.
        """
        assert self._open, "the connection is closed"
        try:
            return self._raw.execute("PRAGMA data_version").fetchone()[0]
        except BaseException as error:
            raise self._translate_error(error) from None

    def roll_back(self) -> None:
        """Roll back and ignore errors: after a full disk, SQLite has already rolled back."""
        self._queue.clear()
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
                raise self._translate_error(error) from None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def format_literal(value: object) -> "str | None":
    """Format a value as SQL, or return None if it must be a bound parameter.

    Floats must, because SQLite parses them inexactly. Long texts must, because SQLite copies the
    rest of a script for each statement.
    """
    if type(value) is str:
        return "'" + value.replace("'", "''") + "'" if len(value) <= LITERAL_CHARS_MAX else None
    if type(value) is int:
        assert -(2**63) <= value < 2**63, "an integer out of range reached the store"
        return str(value)
    return "NULL" if value is None else None


def _restore_stderr(stderr: int) -> None:
    if stderr >= 0:
        os.dup2(stderr, 2)
        os.close(stderr)


_devnull = -1


def _silence_stderr() -> int:
    """Redirect stderr to /dev/null; return a copy of the old descriptor, or -1.

    Until it is restored libsql holds the GIL, so no other thread loses a message.
    """
    global _devnull
    try:
        stderr = os.dup(2)
    except OSError:
        return -1
    if _devnull < 0:
        _devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(_devnull, 2)
    return stderr


def _make_uri(path: str) -> str:
    """Return `path` as a URI without options."""
    try:
        path.encode()
    except UnicodeError:  # percent-encoding it would work on this system and fail on others
        what, step = (
            "The path of the project is not UTF-8.",
            "Move the project, or set KAIZEN_REPO_ROOT.",
        )
        raise Unavailable("path_not_utf8", what, "SQLite cannot open a file there.", step) from None
    return ("file://" if path.startswith("/") else "file:") + "".join(
        c if c.isalnum() or c in "/._-~" else "".join(f"%{byte:02X}" for byte in c.encode())
        for c in path
    )
