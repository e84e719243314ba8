"""Read the rows of a ledger as they are stored, valid or not, to verify them."""

from collections.abc import Iterator, Sequence
from typing import Any

from ...store.connection import Connection
from ..kinds import KINDS

PAGE = 2_000
SEQ_MIN, SEQ_MAX = -(2**63), 2**63 - 1
ENTRY = {"seq": "INTEGER", "idx": "INTEGER", "test": "INTEGER"} | dict.fromkeys(
    ("origin", "at", "actor", "command", "kind", "record_id", "content_hash", "leaf"), "TEXT"
)
FRONTIER = {"origin": "TEXT", "local": "INTEGER", "size": "INTEGER", "peaks": "TEXT"}
# Read text as bytes: libsql cannot return text that is not UTF-8, as a changed byte may make it.
_CASE = "CASE typeof({{0}}) WHEN '{}' THEN {} WHEN 'null' THEN NULL ELSE 'wrong type' END"
READ_AS = {
    "TEXT": _CASE.format("text", "CAST({0} AS BLOB)"),
    "INTEGER": _CASE.format("integer", "{0}"),
    "REAL": _CASE.format("real", "{0}"),
}


class InvalidValue(str):
    """A stored value of a wrong type or not UTF-8, as printable text. It matches no hash."""


class RawLedger:
    """The rows of a database file, read without trusting their types."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        # kind -> column -> type; a file with an older schema has fewer kinds
        self.tables: dict[str, dict[str, str]] = {}
        for kind in KINDS:
            columns = connection.tuples(f"SELECT name, type FROM pragma_table_info('{kind}')")
            if columns:
                self.tables[kind] = {name: sort for name, sort in columns if name != "seq"}

    def read_pages(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the log in the order of seq."""
        first = SEQ_MIN
        clause = f"WHERE seq >= ? ORDER BY seq LIMIT {PAGE}"
        while page := list(self._read("log", ENTRY, clause, (first,))):
            yield page
            if page[-1]["seq"] == SEQ_MAX:
                return
            first = page[-1]["seq"] + 1

    def find_entry(self, condition: str, *values: Any) -> dict[str, Any] | None:
        """Return the first entry of the log that meets the condition."""
        clause = f"WHERE {condition} ORDER BY seq LIMIT 1"
        return next(self._read("log", ENTRY, clause, [strip_nul(value) for value in values]), None)

    def find_record_at(self, origin: str, index: int) -> tuple[str | None, str | None]:
        """Return (kind, id) of the record that this log entry names."""
        entry = self.find_entry("origin = ? AND idx = ?", origin, index)
        return (entry["kind"], entry["record_id"]) if entry else (None, None)

    def read_frontiers(self) -> Iterator[dict[str, Any]]:
        return self._read("frontier", FRONTIER, "ORDER BY origin")

    def read_rows(
        self, kind: str, low: int, high: int, limit: int = PAGE * 2
    ) -> dict[int, dict[str, Any]]:
        """Return seq -> the members of the record's canonical JSON."""
        clause = f"WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT {limit}"
        columns = {"seq": "INTEGER", **self.tables[kind]}
        return {
            row.pop("seq"): {name: value for name, value in row.items() if value is not None}
            for row in self._read(kind, columns, clause, (low, high))
        }

    def find_first_record(self, low: int, high: int = SEQ_MAX) -> tuple[str | None, str | None]:
        """Return (kind, id) of the first record with a seq from `low` to `high`."""
        records = [
            (at, kind, row.get("id"))
            for kind in self.tables
            for at, row in self.read_rows(kind, low, high, 1).items()
        ]
        return min(records, key=lambda record: record[0])[1:] if records else (None, None)

    def _read(
        self, table: str, columns: dict[str, str], clause: str, values: Sequence[Any] = ()
    ) -> Iterator[dict[str, Any]]:
        """Yield rows as dicts, with an InvalidValue in place of each invalid value."""
        select_list = ", ".join(READ_AS[sort].format(name) for name, sort in columns.items())
        for row in self.connection.tuples(f"SELECT {select_list} FROM {table} {clause}", values):
            yield dict(zip(columns, map(convert_value, row), strict=True))


def convert_value(raw: Any) -> Any:
    """Convert a value read with READ_AS, which returns text as bytes, a wrong type as text."""
    if type(raw) is bytes:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return InvalidValue(raw.decode("utf-8", "backslashreplace"))
    if type(raw) is str or (type(raw) is float and raw - raw != 0):
        return InvalidValue(raw)
    return raw


def strip_nul(value: Any) -> Any:
    """Return a value to search for, without NUL characters, which the store refuses."""
    return value if type(value) is int else str(value).replace("\0", "")
