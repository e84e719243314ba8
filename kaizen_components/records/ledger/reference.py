"""Tell the kind of a record from its id, and find the records that evidence refers to."""

from __future__ import annotations

from ...errors import NotFound
from ..kinds import KINDS
from ..secrets.excerpt import make_excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...parameters import Row, Writer

BY_PREFIX = {kind.prefix: kind.name for kind in KINDS.values()}
STAMP_DIGITS = 8  # of the date in an id; the letter T follows


def unknown_id_error(kind: str, ref: str) -> NotFound:
    """Return the error for an id that no record of this kind has."""
    noun, prefix = kind.replace("_", " "), KINDS[kind].prefix
    other = parse_kind(ref)
    why = f"No {noun} id starts with it; they look like {prefix}_20261116T031555123Z_0f1e2d3c4b."
    if other and other != kind:
        why = f"That is the id of a {other.replace('_', ' ')}; a {noun} id starts with {prefix}_."
    step = f"@last is the newest {noun} of this actor."
    if KINDS[kind].lists:
        step = f"`{KINDS[kind].lists}` lists them; {step}"
    return NotFound("unknown_id", f"There is no {noun} {make_excerpt(ref)!r}.", why, step)


def parse_kind(text: str) -> str | None:
    """Return the kind of an id such as `task_20261116T…`, or None for any other text."""
    prefix, _, rest = text.partition("_")
    stamp = rest[:STAMP_DIGITS]
    has_stamp = (
        len(stamp) == STAMP_DIGITS
        and stamp.isascii()
        and stamp.isdigit()
        and rest[STAMP_DIGITS:][:1] == "T"
    )
    return BY_PREFIX.get(prefix) if has_stamp and not any(map(str.isspace, text)) else None


def resolve_evidence(
    tx: Writer, evidence: Iterable[str], existing: Iterable[str] = ()
) -> tuple[list[str], list[Row]]:
    """Return `existing` and new `evidence` as one list, and the records among them.

    New evidence that looks like an id must be the id of a record. For an id in `existing` this is
    not required: K7 may have removed its record.
    """
    items = [tx.resolve(kind, item) if (kind := parse_kind(item)) else item for item in evidence]
    items = list(dict.fromkeys([*existing, *items]))
    records = [
        tx.one(f"SELECT id, test FROM {kind} WHERE id = ?", (item,))
        for item in items
        if (kind := parse_kind(item))
    ]
    return items, [record for record in records if record]
