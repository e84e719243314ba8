"""Rank the results of a query over all kinds, as of one moment.

BM25 weighs a word by all records of today, so each new record could change the order of past
results. Here only the records up to that moment count. The weight of a word is higher if fewer of
them have it; it counts four times in a title, twice in a summary and once elsewhere. Of records
with equal scores the newest comes first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..kinds import SEARCHABLE
from .full_text import NEWEST, make_rowid, parse_query

if TYPE_CHECKING:
    from ...parameters import Reader

MATCHES_MAX = 5_000  # read only the newest records of a kind with a word; 100,000 may have it
PLACES = {"summary": 2, "title": 4}  # weights; 1 elsewhere
LAST = "SELECT max(seq) FROM log"


class Ranking:
    """`best` is [(kind, seq)], the best first. `cut` are the kinds with more matches than read."""

    def __init__(self, best: list[tuple[str, int]], cut: set[str]) -> None:
        self.best = best
        self.cut = cut


def rank_all_kinds(db: Reader, query: str) -> Ranking:
    """Rank every record that has any word of the query and all its required words."""
    must, may = parse_query(query)
    db.settle()
    last = db.value(LAST) or 0
    scores: dict[tuple[str, int], float] = {}
    cut = set()
    for term in (*must, *may):
        others = "".join(f" AND {other}" for other in must if other != term)
        weights: dict[tuple[str, int], int] = {}  # the weight of the best place of the word
        for kind in SEARCHABLE:
            low, high = make_rowid(kind, 0), make_rowid(kind, last)
            rowids = db.tuples(NEWEST, (term + others, low, high, MATCHES_MAX))
            weights |= {(kind, rowid - low): 1 for (rowid,) in rowids}
            for place, weight in PLACES.items() if rowids else ():
                match = f"{{{place}}} : {term}{others}"
                rows = db.tuples(NEWEST, (match, rowids[-1][0], high, MATCHES_MAX))
                weights |= {(kind, rowid - low): weight for (rowid,) in rows}
            if len(rowids) == MATCHES_MAX:
                cut.add(kind)
        # seq leaves gaps where databases were merged, so `last` may be a few records too many.
        worth = math.log(1 + last / len(weights)) if weights else 0.0
        for record, weight in weights.items():
            scores[record] = scores.get(record, 0.0) + weight * worth
    best = sorted(scores, key=lambda record: (-round(scores[record], 9), -record[1]))
    return Ranking(best, cut)
