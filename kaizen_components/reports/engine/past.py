"""Read the database as it was when its log had a given number of entries (--as-of).

Rows are never changed, so a past state consists of the rows up to some `seq`. For each table
with later rows, a temporary view of the same name hides them from all statements on the connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ...errors import NotFound
from ...records.ledger.anchor import format_checkpoint
from ...records.ledger.hashing import Frontier, LogEnd, read_log_end
from ...records.ledger.transaction import RecordReader

if TYPE_CHECKING:
    from ...parameters import Reader

# These commands add only their own report to the log. Their entries are skipped, so that making a
# report does not change the next one.
IS_REPORT = "(command GLOB 'R[0-9]*' OR command = 'P2' OR command = 'P8')"
SIZE_WITHOUT_REPORTS = f"""
SELECT idx + 1 FROM log WHERE origin = ? AND NOT {IS_REPORT} ORDER BY seq DESC LIMIT 1"""
# seq >= idx + 1 holds for every entry and lets SQLite use the primary key.
SEQ_AT = "SELECT seq, at FROM log WHERE seq >= ? AND origin = ? AND idx = ? LIMIT 1"
CREATED_AT = "SELECT max(at) FROM migration"
KINDS_AFTER = "SELECT DISTINCT kind FROM log WHERE seq > ?"
# seq has the same order as idx, and needs no sorting.
LEAVES = "SELECT leaf FROM log WHERE seq > ? AND origin = ? AND idx >= ? AND idx < ? ORDER BY seq"
VIEWS = "SELECT name, sql FROM main.sqlite_master WHERE type = 'view' ORDER BY rowid"
STATES = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name GLOB '*_state'"
KINDS_WITH_STATE = {"task", "task_revision", "task_link", "lease"}


class Moment:
    """A checkpoint of the log: its size, its root and the time of its last entry."""

    def __init__(self, origin: str, size: int, root: str, at: str) -> None:
        self.origin = origin
        self.size = size
        self.root = root
        self.at = at

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint as the answer of a command shows it."""
        return {
            "origin": self.origin,
            "entries": self.size,
            "root": self.root,
            "checkpoint": format_checkpoint(self.origin, self.size, self.root).strip(),
            "at": self.at,
        }


def find_size_without_reports(connection: Any) -> int:
    """Return the size of the log up to its newest entry that is not a report."""
    return connection.value(SIZE_WITHOUT_REPORTS, (read_log_end(connection).origin,)) or 0


@contextmanager
def view_past(db: Reader, size: int | None) -> Iterator[tuple[Reader, Moment]]:
    """Yield a reader that sees only the first `size` log entries, and the Moment of that state.

    Without `size`, the reader sees the entries up to `find_size_without_reports`.
    """
    connection, end = db.connection, read_log_end(db.connection)
    if size is None:
        size = find_size_without_reports(connection)
    if size > end.frontier.size:
        raise NotFound(
            "no_such_checkpoint",
            f"--as-of {size} is after the end of the log, which has {end.frontier.size} entries.",
            "A report can show only states that the log has reached.",
            "Use a size from the footer of a report or from AI/db/manifests/checkpoints.",
        )
    entry = connection.one(SEQ_AT, (size, end.origin, size - 1)) if size else None
    seq, at = (entry["seq"], entry["at"]) if entry else (0, connection.value(CREATED_AT))
    moment = Moment(end.origin, size, _compute_root(connection, end, size), at)
    views = _hide_later_rows(connection, seq) if size < end.frontier.size else []
    try:
        at_ms = round(datetime.fromisoformat(at).timestamp() * 1000)
        yield RecordReader(connection, db.actor, at_ms), moment
    finally:
        for name in reversed(views):  # drop a view before the views that it reads
            connection.execute(f"DROP VIEW temp.{name}")


def _hide_later_rows(connection: Any, seq: int) -> list[str]:
    """Create temporary views without rows after `seq`; return their names in order of creation."""
    later_kinds = [row[0] for row in connection.tuples(KINDS_AFTER, (seq,))]
    definitions = {
        table: f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE seq <= {seq}"
        for table in ["log", *later_kinds]
    }
    for name, sql in connection.tuples(VIEWS):
        definitions[name] = sql.replace("CREATE VIEW", "CREATE TEMP VIEW", 1)
    if KINDS_WITH_STATE.intersection(later_kinds):
        # Triggers fill a state table from all rows; the fold view reads only the visible rows.
        for (state,) in connection.tuples(STATES):
            fold = state.removesuffix("_state") + "_fold"
            definitions[state] = f"CREATE TEMP VIEW {state} AS SELECT * FROM {fold}"
    for sql in definitions.values():
        connection.execute(sql)
    return list(definitions)


def _compute_root(connection: Any, end: LogEnd, size: int) -> str:
    """Return the Merkle root of the first `size` leaves.

    Start with the peaks that the whole log shares, and read only the leaves after them.
    """
    if size == end.frontier.size:
        return end.frontier.root()
    peaks: list[str] = []
    covered_count = 0  # leaves below the shared peaks
    bit = 1 << end.frontier.size.bit_length()
    while bit and (size & bit) == (end.frontier.size & bit):
        if size & bit:
            peaks.append(end.frontier.peaks[len(peaks)])
            covered_count += bit
        bit >>= 1
    frontier = Frontier(covered_count, peaks)
    for (leaf,) in connection.tuples(LEAVES, (covered_count, end.origin, covered_count, size)):
        frontier.append(leaf)
    return frontier.root()
