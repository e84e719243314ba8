"""Rank the results of a query over all kinds as of one moment.

BM25 weighs a word by all records of today, so the order of past results would change with each new
record. Here a word counts the more, the fewer of the records up to then have it: four times in a
title, twice in a summary, once elsewhere. Of equals the newest comes first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..kinds import SEARCHABLE
from .full_text import NEWEST, make_rowid, parse_query

if TYPE_CHECKING:
    from ...parameters import Reader

LOOKED_MAX = 5_000  # the newest records of a kind with one word, which may have 100,000
PLACES = {"summary": 2, "title": 4}  # and 1 elsewhere
LAST = "SELECT max(seq) FROM log"


class Ranking:
    """`best`: [(kind, seq)], the best first; `cut`: the kinds with more records than were read."""

    def __init__(self, best: list[tuple[str, int]], cut: set[str]) -> None:
        self.best = best
        self.cut = cut


def rank_all_kinds(db: Reader, query: str) -> Ranking:
    """Rank every record that has one of the words, and all required ones."""
    must, may = parse_query(query)
    db.settle()
    last = db.value(LAST) or 0
    scores: dict[tuple[str, int], float] = {}
    cut = set()
    for term in (*must, *may):
        others = "".join(f" AND {other}" for other in must if other != term)
        weights: dict[tuple[str, int], int] = {}  # by the best place of the word
        for kind in SEARCHABLE:
            low, high = make_rowid(kind, 0), make_rowid(kind, last)
            rowids = db.tuples(NEWEST, (term + others, low, high, LOOKED_MAX))
            weights |= {(kind, rowid - low): 1 for (rowid,) in rowids}
            for place, weight in PLACES.items() if rowids else ():
                match = f"{{{place}}} : {term}{others}"
                rows = db.tuples(NEWEST, (match, rowids[-1][0], high, LOOKED_MAX))
                weights |= {(kind, rowid - low): weight for (rowid,) in rows}
            if len(rowids) == LOOKED_MAX:
                cut.add(kind)
        # seq leaves gaps where databases were merged, so `last` may be a few records too many.
        worth = math.log(1 + last / len(weights)) if weights else 0.0
        for record, weight in weights.items():
            scores[record] = scores.get(record, 0.0) + weight * worth
    best = sorted(scores, key=lambda record: (-round(scores[record], 9), -record[1]))
    return Ranking(best, cut)
