"""Revisions: a change is a new row that holds only what it changes."""

from ...errors import Usage
from ..search import full_text

REVISIONS = "SELECT * FROM {kind}_revision WHERE {kind}_id = ? ORDER BY rev"


def add_revision(tx, kind, record, changes):
    """Add the next revision of `record`; `changes` has None for whatever stays as it is."""
    if not any(value is not None for value in changes.values()):
        raise Usage(
            "nothing_to_change",
            f"Nothing to change in {record['id']}.",
            "A revision needs at least one of " + ", ".join("--" + name for name in changes) + ".",
            "Add what should change, or a --note.",
        )
    values = {f"{kind}_id": record["id"], "rev": record["rev"] + 1, **changes}
    row = tx.add(f"{kind}_revision", values, of=(record,))
    if any(changes.get(name) is not None for name in full_text.list_text_columns(kind)):
        tx.index(kind, record["seq"], {**record, **row}, before=record)
    return row


def list_revisions(db, kind, record):
    """All revisions of a record, each with only what it changed."""
    found = db.rows(REVISIONS.format(kind=kind), (record["id"],))
    hidden = ("seq", "test", f"{kind}_id")
    return [
        {name: value for name, value in row.items() if value is not None and name not in hidden}
        for row in found
    ]
