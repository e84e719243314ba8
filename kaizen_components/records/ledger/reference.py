"""What a record refers to: texts that are ids, and records of any kind."""

from ...errors import NotFound
from ..kinds import KINDS
from ..secrets.excerpt import make_excerpt

BY_PREFIX = {kind.prefix: kind.name for kind in KINDS.values()}
STAMP_DIGITS = 8  # the date, which a T follows


def unknown_id_error(kind, ref):
    """The error for a reference that finds nothing of this kind."""
    noun, other = kind.replace("_", " "), parse_kind(ref)
    why = f"No id of this kind starts with it; they look like {KINDS[kind].prefix}_20261116T031555123Z_0f1e2d3c4b."
    if other and other != kind:
        why = f"That is the id of a {other.replace('_', ' ')}; here they begin with {KINDS[kind].prefix}_."
    lists = f"`{KINDS[kind].lists}` shows what there is; " if KINDS[kind].lists else ""
    step = f"{lists}@last is the newest {noun} of this actor."
    return NotFound(
        "unknown_id", f"There is no {noun} {make_excerpt(ref)!r}.", why, step[0].upper() + step[1:]
    )


def parse_kind(text):
    """The kind whose id this text looks like, such as `task_20261116T…`, or None for any other text."""
    prefix, _, rest = text.partition("_")
    stamp = rest[:STAMP_DIGITS]
    looks_like = (
        len(stamp) == STAMP_DIGITS
        and stamp.isascii()
        and stamp.isdigit()
        and rest[STAMP_DIGITS:][:1] == "T"
    )
    return BY_PREFIX.get(prefix) if looks_like and not any(map(str.isspace, text)) else None


def resolve_evidence(tx, evidence, kept=()):
    """(`kept` and `evidence` as one list, the records among them). What looks like an id must be one; in `kept` it may
    be that of a test record which K7 removed."""
    found = [tx.resolve(parse_kind(item), item) if parse_kind(item) else item for item in evidence]
    every = list(dict.fromkeys([*kept, *found]))
    records = [
        tx.one(f"SELECT id, test FROM {parse_kind(item)} WHERE id = ?", (item,))
        for item in every
        if parse_kind(item)
    ]
    return every, [record for record in records if record]
