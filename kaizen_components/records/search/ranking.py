"""What a query finds over all kinds, ranked by the records themselves as they were at one moment.

BM25 weighs a word by all records of today, so the same question about the past would be answered in another order after
each new record. Here a word counts the more, the fewer of the records up to then have it; four times in a title, twice
in a summary, once elsewhere; and of equals the newest comes first.
"""

import math

from ..kinds import SEARCHABLE
from .full_text import NEWEST, make_rowid, parse_query

LOOKED_MAX = 5_000  # records of a kind with one word, the newest: a common word has them by the hundred thousand
PLACES = {"title": 4, "summary": 2}  # and 1 in whatever else
LAST = "SELECT max(seq) FROM log"


class Ranking:
    """`best`: [(kind, seq)], the best first; `cut`: the kinds of which there may be more than were looked at."""

    def __init__(self, best, cut):
        self.best = best
        self.cut = cut


def rank_all_kinds(db, query):
    """Every record that has one of the words, and all that must be there."""
    must, may = parse_query(query)
    db.settle()
    last = db.value(LAST) or 0
    found: dict[str, dict[tuple[str, int], int]] = {}  # term -> (kind, seq) -> where it stands
    cut = set()
    for kind in SEARCHABLE if must or may else ():
        for term in (*must, *may):
            weights = _placed(db, kind, term, [other for other in must if other != term], last)
            found.setdefault(term, {}).update(
                {(kind, seq): weight for seq, weight in weights.items()}
            )
            if len(weights) == LOOKED_MAX:
                cut.add(kind)
    return Ranking(_ranked(found, last), cut)


def _ranked(found, records):
    """`records` is how many there are, or a few more: seq leaves gaps where databases were merged."""
    scores: dict[tuple[str, int], float] = {}
    for having in found.values():
        worth = math.log(1 + records / len(having)) if having else 0.0
        for record, weight in having.items():
            scores[record] = scores.get(record, 0.0) + weight * worth
    return sorted(scores, key=lambda record: (-round(scores[record], 9), -record[1]))


def _placed(db, kind, term, must, last):
    """{seq: weight} of the newest records of a kind with this word, by the best place where it stands."""
    low, high = make_rowid(kind, 0), make_rowid(kind, last)
    both = "".join(f" AND {other}" for other in must)
    rowids = [rowid for (rowid,) in db.tuples(NEWEST, (term + both, low, high, LOOKED_MAX))]
    weights = dict.fromkeys(rowids, 1)
    for place, weight in sorted(PLACES.items(), key=lambda place: place[1]) if rowids else ():
        there = db.tuples(NEWEST, (f"{{{place}}} : {term}{both}", rowids[-1], high, LOOKED_MAX))
        weights.update({rowid: weight for (rowid,) in there})
    return {rowid - low: weight for rowid, weight in weights.items()}
