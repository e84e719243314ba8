"""The rows of a ledger as they are, whatever was done to them: for those who verify it."""

from collections.abc import Iterator
from typing import Any

from ...store.connection import Connection
from ..kinds import KINDS

PAGE = 2_000
SEQ_MIN, SEQ_MAX = -(2**63), 2**63 - 1
ENTRY = {"seq": "INTEGER", "idx": "INTEGER", "test": "INTEGER"} | dict.fromkeys(
    ("origin", "at", "actor", "command", "kind", "record_id", "content_hash", "leaf"), "TEXT"
)
FRONTIER = {"origin": "TEXT", "local": "INTEGER", "size": "INTEGER", "peaks": "TEXT"}
# Texts are read as bytes: libsql cannot hand over text that is not UTF-8, and a changed byte may make it so.
READ_AS = {
    "TEXT": "CASE typeof({0}) WHEN 'text' THEN CAST({0} AS BLOB) WHEN 'null' THEN NULL ELSE 'wrong type' END",
    "INTEGER": "CASE typeof({0}) WHEN 'integer' THEN {0} WHEN 'null' THEN NULL ELSE 'wrong type' END",
    "REAL": "CASE typeof({0}) WHEN 'real' THEN {0} WHEN 'null' THEN NULL ELSE 'wrong type' END",
}


class InvalidValue(str):
    """A stored value that is of another type or no text, as it can be shown. It fits no hash."""


class RawLedger:
    def __init__(self, connection: Connection):
        self.connection = connection
        self.tables: dict[
            str, dict[str, str]
        ] = {}  # kind -> column -> type; a file of an older schema has fewer
        for kind in KINDS:
            columns = connection.tuples(f"SELECT name, type FROM pragma_table_info('{kind}')")
            if columns:
                self.tables[kind] = {name: sort for name, sort in columns if name != "seq"}

    def pages(self) -> Iterator[list[dict[str, Any]]]:
        """The log in the order of seq."""
        first = SEQ_MIN
        while page := list(
            self._read("log", ENTRY, f"WHERE seq >= ? ORDER BY seq LIMIT {PAGE}", (first,))
        ):
            yield page
            if page[-1]["seq"] == SEQ_MAX:
                return
            first = page[-1]["seq"] + 1

    def entry(self, condition: str, *values: Any) -> dict[str, Any] | None:
        """The first entry of the log of which this is true."""
        chosen = f"WHERE {condition} ORDER BY seq LIMIT 1"
        return next(self._read("log", ENTRY, chosen, [strip_nul(value) for value in values]), None)

    def find_record_at(self, origin: str, index: int) -> tuple[str | None, str | None]:
        """(kind, id) of the record that this entry is about."""
        entry = self.entry("origin = ? AND idx = ?", origin, index)
        return (entry["kind"], entry["record_id"]) if entry else (None, None)

    def frontiers(self) -> Iterator[dict[str, Any]]:
        return self._read("frontier", FRONTIER, "ORDER BY origin")

    def rows(
        self, kind: str, low: int, high: int, limit: int = PAGE * 2
    ) -> dict[int, dict[str, Any]]:
        """seq -> the record as its canonical JSON has it."""
        chosen = f"WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT {limit}"
        found = self._read(kind, {"seq": "INTEGER", **self.tables[kind]}, chosen, (low, high))
        return {
            row.pop("seq"): {name: value for name, value in row.items() if value is not None}
            for row in found
        }

    def find_first_record(self, low: int, high: int = SEQ_MAX) -> tuple[str | None, str | None]:
        """(kind, id) of the first record between these places."""
        found = [
            (at, kind, row)
            for kind in self.tables
            for at, row in self.rows(kind, low, high, 1).items()
        ]
        if not found:
            return None, None
        _, kind, row = min(found, key=lambda one: one[0])
        return kind, row.get("id")

    def _read(self, table, columns, chosen, values=()) -> Iterator[dict[str, Any]]:
        """Rows with what cannot be right as `Wrong`."""
        wanted = ", ".join(READ_AS[sort].format(name) for name, sort in columns.items())
        for row in self.connection.tuples(f"SELECT {wanted} FROM {table} {chosen}", values):
            yield dict(zip(columns, map(_value, row), strict=True))


def _value(raw):
    """A value as READ_AS gives it: bytes are text, and text says that the type is wrong."""
    if type(raw) is bytes:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return InvalidValue(raw.decode("utf-8", "backslashreplace"))
    if type(raw) is str or (type(raw) is float and raw - raw != 0):
        return InvalidValue(raw)
    return raw


def strip_nul(value: Any) -> Any:
    """A value to ask the store for, which takes no NUL."""
    return value if type(value) is int else str(value).replace("\0", "")
