"""The record as it was when its log had so many entries: what a report is made from, so that it can be made again.

Rows are only ever added, so the past is what has no later `seq`. Temporary views of the same names hide the rest from
every statement on the connection, and only where there is a rest: kinds without later rows are read as they are.
"""

from contextlib import contextmanager
from typing import Any

from ...errors import NotFound
from ...records.ledger.anchor import format_checkpoint
from ...records.ledger.hashing import Frontier, read_log_end
from ...records.ledger.transaction import RecordReader

# A report is recorded when it is made; what it says must not depend on whether it was made before.
MADE_BY = "(command GLOB 'R[0-9]*' OR command = 'P2' OR command = 'P8')"  # these record nothing but their page
LAST_OF_OTHERS = f"""
SELECT idx + 1 FROM log WHERE origin = ? AND NOT {MADE_BY} ORDER BY seq DESC LIMIT 1"""
SEQ_AT = "SELECT seq, at FROM log WHERE seq >= ? AND origin = ? AND idx = ? LIMIT 1"  # a seq is never below idx + 1
MADE_AT = "SELECT max(at) FROM migration"
KINDS_AFTER = "SELECT DISTINCT kind FROM log WHERE seq > ?"
# By seq, which has the same order and needs no sorting.
LEAVES = "SELECT leaf FROM log WHERE seq > ? AND origin = ? AND idx >= ? AND idx < ? ORDER BY seq"
VIEWS = "SELECT name, sql FROM main.sqlite_master WHERE type = 'view' ORDER BY rowid"
STATES = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name GLOB '*_state'"


class Moment:
    """Where the log ended then."""

    def __init__(self, origin: str, size: int, root: str, at: str, seq: int):
        self.origin = origin
        self.size = size
        self.root = root
        self.at = at
        self.seq = seq

    def describe(self) -> dict[str, Any]:
        return {
            "origin": self.origin,
            "entries": self.size,
            "root": self.root,
            "checkpoint": format_checkpoint(self.origin, self.size, self.root).strip(),
            "at": self.at,
        }


def find_newest_size(connection) -> int:
    """How many entries the log has up to the newest that is not a report's own."""
    return connection.value(LAST_OF_OTHERS, (read_log_end(connection).origin,)) or 0


@contextmanager
def view_past(db, size: int | None):
    """(`db` as of that moment, the moment itself); without a size, the newest that is not a report's own."""
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
    found = connection.one(SEQ_AT, (size, end.origin, size - 1)) if size else None
    seq, at = (found["seq"], found["at"]) if found else (0, connection.value(MADE_AT))
    then = Moment(end.origin, size, _root_at(connection, end, size), at, seq)
    hidden = _hide(connection, seq) if size < end.frontier.size else []
    try:
        yield RecordReader(connection, db.actor, _ms(at)), then
    finally:
        for name in hidden:
            connection.execute(f"DROP VIEW temp.{name}")


def _hide(connection, seq):
    """Make the views; returns their names, in the order in which they can be dropped."""
    made = []
    later = [row[0] for row in connection.tuples(KINDS_AFTER, (seq,))]
    for table in ["log", *later]:
        connection.execute(
            f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE seq <= {seq}"
        )
        made.append(table)
    for name, sql in connection.tuples(VIEWS):
        connection.execute(sql.replace("CREATE VIEW", "CREATE TEMP VIEW", 1))
        made.append(name)
    for (state,) in connection.tuples(
        STATES
    ):  # derived by triggers, from all rows; its fold computes it from these
        if any(kind in later for kind in ("task", "task_revision", "task_link", "lease")):
            connection.execute(
                f"CREATE TEMP VIEW {state} AS SELECT * FROM {state.removesuffix('_state')}_fold"
            )
            made.append(state)
    return made[::-1]


def _root_at(connection, end, size):
    """The Merkle root of the first `size` leaves: from the peaks that the log still has, and the leaves after them."""
    if size == end.frontier.size:
        return end.frontier.root()
    peaks: list[str] = []
    covered, bit = 0, 1 << end.frontier.size.bit_length()
    while bit and (size & bit) == (end.frontier.size & bit):
        if size & bit:
            covered, peaks = covered + bit, [*peaks, end.frontier.peaks[len(peaks)]]
        bit >>= 1
    then = Frontier(covered, peaks)
    for (leaf,) in connection.tuples(LEAVES, (covered, end.origin, covered, size)):
        then.append(leaf)
    return then.root()


def _ms(at):
    from datetime import datetime

    return round(datetime.fromisoformat(at).timestamp() * 1000)
