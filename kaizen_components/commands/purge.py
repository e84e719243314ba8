"""Removing test records: K7."""

from ..records.kinds import KINDS
from ..records.ledger.canonical import encode_canonical
from ..records.ledger.transaction import make_receipt

TEST_ENTRIES = "SELECT seq, kind, record_id FROM log WHERE test = 1 ORDER BY seq"


def test(write, look, *, dry_run=False):
    """Remove the records made with --test and what refers to them; the log keeps their entries and says so.

    Example: kaizen K7 --dry-run
    """
    if not dry_run:
        return write(_purged)
    found = _named(_left(look()))
    return {"records": found, "count": len(found), "would_remove": len(found)}


def _left(db):
    return [
        row for row in db.rows(TEST_ENTRIES)
        if row["kind"] in KINDS and db.value(f"SELECT 1 FROM {row['kind']} WHERE seq = ?", (row["seq"],))
    ]  # fmt: skip


def _named(rows):
    return [{"id": row["record_id"], "kind": row["kind"]} for row in rows]


def _purged(tx):
    left = _left(tx)
    found = _named(left)
    if not found:
        return {"records": found, "count": 0, "removed": 0}
    tx.connection.execute("PRAGMA defer_foreign_keys = ON")
    indexed = _indexed(tx, left)
    for row in left:
        tx.connection.execute(f"DELETE FROM {row['kind']} WHERE seq = ?", (row["seq"],))
    for (kind, seq), before in indexed.items():
        tx.index(kind, seq, _present(tx, kind, seq), before=before)
    done = tx.add(
        "purge", {"test": 0, "records": encode_canonical([row["record_id"] for row in left])}
    )
    return make_receipt("purge", done, removed=len(found), records=found)


def _indexed(tx, rows):
    """(kind, seq) -> the record as search knows it, for what is removed and for what a removed revision changed."""
    found = {}
    for row in rows:
        kind, seq = row["kind"], row["seq"]
        if kind.endswith("_revision"):
            kind = kind.removesuffix("_revision")
            seq = tx.value(
                f"SELECT p.seq FROM {kind} p JOIN {kind}_revision r ON r.{kind}_id = p.id WHERE r.seq = ?",
                (seq,),
            )
        if KINDS[kind].number:
            found[kind, seq] = _present(tx, kind, seq)
    return found


def _present(tx, kind, seq):
    return tx.one(f"SELECT * FROM {KINDS[kind].view} WHERE seq = ?", (seq,))
