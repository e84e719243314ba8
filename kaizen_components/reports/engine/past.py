"""The record as it was when its log had so many entries: a report made from it can be made again.

Rows are only ever added, so the past is what has no later `seq`. Temporary views of the same names
hide later rows from every statement on the connection. Kinds without later rows get no view.
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

# A report is recorded when it is made; what it says must not depend on whether it was made before.
# These commands record only their page.
MADE_BY = "(command GLOB 'R[0-9]*' OR command = 'P2' OR command = 'P8')"
LAST_OF_OTHERS = f"""
SELECT idx + 1 FROM log WHERE origin = ? AND NOT {MADE_BY} ORDER BY seq DESC LIMIT 1"""
# A seq is never below idx + 1.
SEQ_AT = "SELECT seq, at FROM log WHERE seq >= ? AND origin = ? AND idx = ? LIMIT 1"
MADE_AT = "SELECT max(at) FROM migration"
KINDS_AFTER = "SELECT DISTINCT kind FROM log WHERE seq > ?"
# By seq, which has the same order and needs no sorting.
LEAVES = "SELECT leaf FROM log WHERE seq > ? AND origin = ? AND idx >= ? AND idx < ? ORDER BY seq"
VIEWS = "SELECT name, sql FROM main.sqlite_master WHERE type = 'view' ORDER BY rowid"
STATES = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name GLOB '*_state'"
KINDS_OF_STATE = {"task", "task_revision", "task_link", "lease"}


class Moment:
    """Where the log ended at some time."""

    def __init__(self, origin: str, size: int, root: str, at: str) -> None:
        self.origin = origin
        self.size = size
        self.root = root
        self.at = at

    def describe(self) -> dict[str, Any]:
        return {
            "origin": self.origin,
            "entries": self.size,
            "root": self.root,
            "checkpoint": format_checkpoint(self.origin, self.size, self.root).strip(),
            "at": self.at,
        }


def find_newest_size(connection: Any) -> int:
    """Return how many entries the log has up to the newest that is not a report's own."""
    return connection.value(LAST_OF_OTHERS, (read_log_end(connection).origin,)) or 0


@contextmanager
def view_past(db: Reader, size: int | None) -> Iterator[tuple[Reader, Moment]]:
    """Yield (`db` as of the first `size` entries, that moment); None means `find_newest_size`."""
    connection, end = db.connection, read_log_end(db.connection)
    if size is None:
        size = find_newest_size(connection)
    if size > end.frontier.size:
        raise NotFound(
            "no_such_checkpoint",
            f"The log has {end.frontier.size:,} entries; there is no moment with {size:,}.",
            "",
            "Give --as-of a size that a report's footer or AI/db/manifests/checkpoints names.",
        )
    entry = connection.one(SEQ_AT, (size, end.origin, size - 1)) if size else None
    seq, at = (entry["seq"], entry["at"]) if entry else (0, connection.value(MADE_AT))
    moment = Moment(end.origin, size, _compute_root(connection, end, size), at)
    views = _hide_later_rows(connection, seq) if size < end.frontier.size else []
    try:
        at_ms = round(datetime.fromisoformat(at).timestamp() * 1000)
        yield RecordReader(connection, db.actor, at_ms), moment
    finally:
        for name in reversed(views):  # a view goes before the views it reads
            connection.execute(f"DROP VIEW temp.{name}")


def _hide_later_rows(connection: Any, seq: int) -> list[str]:
    """Create the views and return their names in the order of creation."""
    later = [row[0] for row in connection.tuples(KINDS_AFTER, (seq,))]
    definitions = {
        table: f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE seq <= {seq}"
        for table in ["log", *later]
    }
    for name, sql in connection.tuples(VIEWS):
        definitions[name] = sql.replace("CREATE VIEW", "CREATE TEMP VIEW", 1)
    if KINDS_OF_STATE.intersection(later):
        for (state,) in connection.tuples(STATES):  # a trigger derived it from all rows
            fold = state.removesuffix("_state") + "_fold"  # derives the same from the rows it sees
            definitions[state] = f"CREATE TEMP VIEW {state} AS SELECT * FROM {fold}"
    for sql in definitions.values():
        connection.execute(sql)
    return list(definitions)


def _compute_root(connection: Any, end: LogEnd, size: int) -> str:
    """Return the Merkle root of the first `size` leaves: from the peaks they share with the whole
    log, and the leaves after those."""
    if size == end.frontier.size:
        return end.frontier.root()
    peaks: list[str] = []
    covered, bit = 0, 1 << end.frontier.size.bit_length()
    while bit and (size & bit) == (end.frontier.size & bit):
        if size & bit:
            covered, peaks = covered + bit, [*peaks, end.frontier.peaks[len(peaks)]]
        bit >>= 1
    frontier = Frontier(covered, peaks)
    for (leaf,) in connection.tuples(LEAVES, (covered, end.origin, covered, size)):
        frontier.append(leaf)
    return frontier.root()
