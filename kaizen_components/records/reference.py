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


def cited(tx, items):
    """(items, records): each item that looks like an id is that of a record, in full; anything else stays a text."""
    found = [(item, kind_of(item)) for item in items]
    records = {item: tx.find(kind, item) for item, kind in found if kind}
    return [records[item]["id"] if kind else item for item, kind in found], list(records.values())
