"""Revisions: each change of a record is a new row, with only the changed columns."""

from ...errors import Usage
from ..kinds import KINDS
from ..search import full_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row, Writer

REVISIONS = "SELECT * FROM {kind}_revision WHERE {kind}_id = ? ORDER BY rev"


def add_revision(tx: "Writer", kind: str, record: "Row", changes: "Row") -> "Row":
    """Add the next revision of `record`; a None in `changes` keeps the old value."""
    if not any(value is not None for value in changes.values()):
        raise Usage(
            "nothing_to_change",
            f"The revision of {record['id']} changes nothing.",
            "A revision needs at least one of " + ", ".join("--" + name for name in changes) + ".",
            "Give an option with a new value, or a --note.",
        )
    values = {f"{kind}_id": record["id"], "rev": record["rev"] + 1, **changes}
    row = tx.add(f"{kind}_revision", values, of=(record,))
    text_columns = (*full_text.TEXTS, *KINDS[kind].texts)
    if any(changes.get(name) is not None for name in text_columns):
        tx.index(kind, record["seq"], {**record, **row}, before=record)
    return row


def list_revisions(db: "Reader", kind: str, record: "Row") -> "list[Row]":
    """Return all revisions of a record, each with only the columns that it changed."""
    hidden = ("seq", "test", f"{kind}_id")
    return [
        {name: value for name, value in row.items() if value is not None and name not in hidden}
        for row in db.rows(REVISIONS.format(kind=kind), (record["id"],))
    ]
