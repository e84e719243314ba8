"""What a record refers to: texts that are ids, and records of any kind."""

from .kinds import PREFIXES

KINDS = {prefix: kind for kind, prefix in PREFIXES.items()}
STAMP_DIGITS = 8  # the date, which a T follows


def kind_of(text):
    """The kind whose id this text looks like, such as `task_20261116T…`, or None for any other text."""
    prefix, _, rest = text.partition("_")
    stamp = rest[:STAMP_DIGITS]
    looks_like = len(stamp) == STAMP_DIGITS and stamp.isascii() and stamp.isdigit() and rest[STAMP_DIGITS:][:1] == "T"
    return KINDS.get(prefix) if looks_like and not any(map(str.isspace, text)) else None


def cited(tx, evidence, kept=()):
    """(`kept` and `evidence` as one list, the records among them). What looks like an id must be one; in `kept` it may
    be that of a test record which K7 removed."""
    found = [tx.resolve(kind_of(item), item) if kind_of(item) else item for item in evidence]
    every = list(dict.fromkeys([*kept, *found]))
    records = [tx.one(f"SELECT id, test FROM {kind_of(item)} WHERE id = ?", (item,)) for item in every if kind_of(item)]
    return every, [record for record in records if record]
