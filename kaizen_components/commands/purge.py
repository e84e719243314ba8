"""Remove test records: K7."""

from __future__ import annotations

from ..records.kinds import KINDS
from ..records.ledger.canonical import encode_canonical
from ..records.ledger.transaction import make_receipt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, ReadNow, Row, WriteLater, Writer


TEST_ENTRIES = "SELECT seq, kind, record_id FROM log WHERE test = 1 ORDER BY seq"


def test(write: WriteLater, look: ReadNow, *, dry_run: bool = False) -> Row:
    """Remove the records made with --test and what refers to them; the log keeps their entries and
    records the purge.

    Example: kaizen K7 --dry-run
    """
    if not dry_run:
        return write(purge_records)
    rows = [{"id": row["record_id"], "kind": row["kind"]} for row in list_test_entries(look())]
    return {"records": rows, "count": len(rows), "would_remove": len(rows)}


def list_test_entries(db: Reader) -> list[Row]:
    """Return the log entries of test records that still exist."""
    return [
        row
        for row in db.rows(TEST_ENTRIES)
        if row["kind"] in KINDS
        and db.value(f"SELECT 1 FROM {row['kind']} WHERE seq = ?", (row["seq"],))
    ]


def purge_records(tx: Writer) -> Row:
    """Delete all test records, update the search index and record the purge."""
    entries = list_test_entries(tx)
    rows = [{"id": row["record_id"], "kind": row["kind"]} for row in entries]
    if not rows:
        return {"records": rows, "count": 0, "removed": 0}
    tx.connection.execute("PRAGMA defer_foreign_keys = ON")
    old_rows = {}  # rows in the search index whose record loses a revision or is deleted
    for row in entries:
        kind, seq = row["kind"], row["seq"]
        if kind.endswith("_revision"):
            kind = kind.removesuffix("_revision")
            sql = f"SELECT p.seq FROM {kind} p JOIN {kind}_revision r ON r.{kind}_id = p.id"
            seq = tx.value(f"{sql} WHERE r.seq = ?", (seq,))
        if KINDS[kind].number:
            old_rows[kind, seq] = find_current(tx, kind, seq)
    for row in entries:
        tx.connection.execute(f"DELETE FROM {row['kind']} WHERE seq = ?", (row["seq"],))
    for (kind, seq), old_row in old_rows.items():
        tx.index(kind, seq, find_current(tx, kind, seq), before=old_row)
    ids = encode_canonical([row["record_id"] for row in entries])
    purge = tx.add("purge", {"test": 0, "records": ids})
    return make_receipt("purge", purge, removed=len(rows), records=rows)


def find_current(tx: Writer, kind: str, seq: int) -> Row | None:
    return tx.one(f"SELECT * FROM {KINDS[kind].view} WHERE seq = ?", (seq,))
