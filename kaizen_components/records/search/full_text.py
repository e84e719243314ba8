"""Ranked full-text search over all kinds: any word may match; `"a phrase"` and `+must` work.

Up to LARGE records the rank is plain BM25. In a larger database, BM25 would score every record with
a common word (2 to 4 microseconds each). So only the rare words choose candidates, and the common
words rank the best candidates. The weight of a common word is the logarithm of the distance between
its records, which is nearly its BM25 weight. If every word is common, the newest records that have
any of the words are ranked by these weights.
"""

from ..kinds import KINDS, SEARCHABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ...parameters import Reader, Row
    from ...store.connection import Connection

LARGE = 20_000  # log entries
SCORED_MAX = 6_000  # records that BM25 may score
WINDOW = 1_000  # the newest records with a common word that are compared
PROBED = 200  # the newest records with a word, to measure how common the word is
RARE = 1e9  # the distance of a word with fewer than PROBED records
COMPARED = 60  # the best records by rare words, which are also ranked by common words
TERMS_MAX = 24
COMMON_MAX = 6
KIND_SHIFT = 40
PAGE = 2_000
WEIGHTS = "4.0, 2.0, 1.0"  # title, summary, body

SCORE = f"""
SELECT rowid, bm25(search, {WEIGHTS}) AS score FROM search
WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY score, rowid DESC LIMIT ?"""
SCORE_NEWEST = f"""
SELECT rowid, score FROM (
    SELECT rowid, bm25(search, {WEIGHTS}) AS score FROM search
    WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?)
ORDER BY score, rowid DESC LIMIT ?"""
NEWEST = """
SELECT rowid FROM search
WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"""
# CROSS JOIN reads the index from its newest end and stops at the limit.
NEWEST_BETWEEN = """
SELECT l.seq FROM search CROSS JOIN log l ON l.seq = search.rowid - ?
WHERE search MATCH ? AND search.rowid BETWEEN ? AND ? AND l.at >= ? AND l.at < ?
ORDER BY search.rowid DESC LIMIT ?"""
MISSING = """
SELECT count(*) FROM {kind} k
WHERE NOT EXISTS (SELECT 1 FROM search_docsize WHERE id = k.seq + ?)"""
EXTRA = """
SELECT count(*) FROM search_docsize
WHERE id BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM {kind} WHERE seq = search_docsize.id - ?)"""
LOG_SIZE = "SELECT max(seq) FROM log"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
FORGET_ALL = "INSERT INTO search (search) VALUES ('delete-all')"

TEXTS = ("title", "summary", "body")


def make_rowid(kind: str, seq: int) -> int:
    return (KINDS[kind].number << KIND_SHIFT) + seq


def extract_texts(kind: str, row: "Row") -> "tuple[str, str, str]":
    """Return (title, summary, body) for the index; `body` includes the other texts of the kind."""
    body = row.get("body") or ""
    if KINDS[kind].texts:
        body = "\n".join(filter(None, [body, *(row.get(name) for name in KINDS[kind].texts)]))
    return (row.get("title") or "", row.get("summary") or "", body)


def insert_texts(connection: "Connection", rowid: int, texts: "Iterable[str]") -> None:
    connection.insert("search", {"rowid": rowid, **dict(zip(TEXTS, texts, strict=True))})


def delete_texts(connection: "Connection", rowid: int, texts: "Iterable[str]") -> None:
    """Delete texts from the index. It stores no texts, so it needs them to find its entries."""
    values = {"search": "delete", "rowid": rowid, **dict(zip(TEXTS, texts, strict=True))}
    connection.insert("search", values)


def rebuild_index(connection: "Connection") -> int:
    """Rebuild the index from the records; return the number of records."""
    connection.execute(FORGET_ALL)
    count = 0
    for kind in SEARCHABLE:
        after = 0
        sql = f"SELECT * FROM {KINDS[kind].view} WHERE seq > ? ORDER BY seq LIMIT {PAGE}"
        while rows := connection.rows(sql, (after,)):
            for row in rows:
                insert_texts(connection, make_rowid(kind, row["seq"]), extract_texts(kind, row))
            after = rows[-1]["seq"]
            count += len(rows)
    return count


def find_index_problems(connection: "Connection") -> "list[str]":
    """Return a sentence for each kind with missing or extra entries in the index."""
    problems = []
    # A database with an older schema has fewer kinds.
    tables = {name for (name,) in connection.tuples(TABLES)}
    for kind in SEARCHABLE:
        if kind not in tables:
            continue
        low, high = _find_range(kind)
        missing = connection.value(MISSING.format(kind=kind), (low,))
        extra = connection.value(EXTRA.format(kind=kind), (low, high, low))
        if missing or extra:
            problem = f"the search index lacks {missing} and has {extra} extra {kind} records"
            problems.append(f"{problem}: run `K1 --reindex`")
    return problems


def find_best(
    db: "Reader", query: str, kind: "str | None" = None, limit: int = 20
) -> "list[tuple[str, int]]":
    """Return [(kind, seq)] of the best records for the query, of one kind or of all."""
    must, may = parse_query(query)
    if not must and not may:
        return []
    db.settle()
    low, high = _find_range(kind)
    if is_pruned(db):
        rowids = _find_pruned(db, must, may, low, high, limit)
    else:
        rowids = [
            rowid for rowid, _ in db.tuples(SCORE, (_format_match(must, may), low, high, limit))
        ]
    names = {KINDS[kind].number: kind for kind in SEARCHABLE}
    return [(names[rowid >> KIND_SHIFT], rowid & ((1 << KIND_SHIFT) - 1)) for rowid in rowids]


def find_newest_seqs(
    db: "Reader",
    query: str,
    limit: int,
    since: "str | None" = None,
    until: "str | None" = None,
) -> "list[int]":
    """Return the seq of the newest records of any kind that the query finds."""
    must, may = parse_query(query)
    if not must and not may:
        return []
    db.settle()
    seqs: list[int] = []
    for kind in SEARCHABLE:
        low, high = _find_range(kind)
        between = since or "", until or "~"  # ~ sorts after every time
        values = (low, _format_match(must, may), low, high, *between, limit)
        seqs += [seq for (seq,) in db.tuples(NEWEST_BETWEEN, values)]
    return sorted(seqs, reverse=True)[:limit]


def is_pruned(db: "Reader") -> bool:
    """Return whether the log is so large that common words search only the newest records."""
    return (db.value(LOG_SIZE) or 0) > LARGE


def build_condition(
    db: "Reader", query: str, kind: str, column: str = "seq"
) -> "tuple[str, tuple[Any, ...]]":
    """Return (SQL condition, values) that selects the records of the kind matching the query."""
    must, may = parse_query(query)
    db.settle()
    if not must and not may:
        return "0", ()
    low, high = _find_range(kind)
    select = f"SELECT rowid - {low} FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ?"
    return f"{column} IN ({select})", (_format_match(must, may), low, high)


def parse_query(query: str) -> "tuple[list[str], list[str]]":
    """Return the required and the optional FTS5 phrases of a query.

    Every phrase is quoted, so that FTS5 never reads user text as syntax. A single unpaired quote is
    text.
    """
    must: list[str] = []
    may: list[str] = []
    at = 0
    while at < len(query):
        if query[at].isspace():
            at += 1
            continue
        terms = must if query[at] == "+" else may
        start = at + (terms is must)
        end = query.find('"', start + 1) if query[start : start + 1] == '"' else -1
        if end > 0:
            text, at = query[start + 1 : end], end + 1
        else:
            at = start
            while at < len(query) and not query[at].isspace():
                at += 1
            text = query[start:at]
        if any(map(str.isalnum, text)):
            terms.append('"' + text.replace('"', '""') + '"')
    must = list(dict.fromkeys(must))[:TERMS_MAX]
    may = [term for term in dict.fromkeys(may) if term not in must]
    return must, may[: TERMS_MAX - len(must)]


def _find_range(kind: "str | None") -> "tuple[int, int]":
    if kind is None:
        return 0, 2**62
    number = KINDS[kind].number
    return number << KIND_SHIFT, ((number + 1) << KIND_SHIFT) - 1


def _format_match(must: "Sequence[str]", may: "Sequence[str]") -> str:
    """Return the FTS5 query. For `+a b c` it requires a and ranks by all three."""
    if not must:
        return " OR ".join(may)
    every = " AND ".join(must)
    return f"({every}) AND ({' OR '.join([*must, *may])})" if may else every


def _find_pruned(
    db: "Reader", must: "list[str]", may: "list[str]", low: int, high: int, limit: int
) -> "list[int]":
    """Return the rowids of the best records in a large database."""
    import math

    # The mean distance between the records with a word, measured on the newest ones.
    records, distances = db.value(LOG_SIZE), {}
    for term in (*must, *may):
        newest = db.tuples(NEWEST, (term, low, high, PROBED))
        distances[term] = RARE
        if len(newest) == PROBED:
            distances[term] = max((newest[0][0] - newest[-1][0]) / len(newest), 1.0)
    rare: list[str] = []
    common: list[str] = []
    total = 0.0
    for term in sorted(distances, key=lambda term: -distances[term]):
        total += records / distances[term]
        (rare if total <= SCORED_MAX else common).append(term)
    worths = {term: math.log(1 + distances[term]) for term in common[:COMMON_MAX]}
    scores = _score_rare(db, must, rare, low, high, max(limit, COMPARED)) if rare else {}
    best = sorted(scores, key=lambda rowid: -scores[rowid])[:COMPARED]
    among = f"search MATCH ? AND rowid IN ({', '.join(map(str, best))})"
    for term, worth in worths.items() if best else ():
        for (rowid,) in db.tuples(f"SELECT rowid FROM search WHERE {among}", (term,)):
            scores[rowid] += worth
    if len(scores) < limit and worths:
        # Add the newest records with the common words; each word adds its weight.
        allowed = None
        if must:
            match = " AND ".join(must)
            allowed = {rowid for (rowid,) in db.tuples(NEWEST, (match, low, high, WINDOW))}
        for rowid in allowed or ():
            scores.setdefault(rowid, 0.0)
        for term, worth in worths.items():
            for (rowid,) in db.tuples(NEWEST, (term, low, high, WINDOW)):
                if allowed is None or rowid in allowed:
                    scores[rowid] = scores.get(rowid, 0.0) + worth
    return sorted(scores, key=lambda rowid: (-scores[rowid], -rowid))[:limit]


def _score_rare(
    db: "Reader", must: "list[str]", rare: "list[str]", low: int, high: int, rows_max: int
) -> "dict[int, float]":
    """Return rowid -> score by the rare words.

    BM25 reads every record that has a word of its query, so a required word that is common is
    matched in a separate query.
    """
    any_rare = " OR ".join(rare)
    rare_must = [term for term in must if term in rare]
    match = f"({' AND '.join(rare_must)}) AND ({any_rare})" if rare_must else any_rare
    allowed = None
    if len(rare_must) < len(must):
        every = f"({' AND '.join(must)}) AND ({any_rare})"
        allowed = {rowid for (rowid,) in db.tuples(NEWEST, (every, low, high, SCORED_MAX))}
        rows_max = SCORED_MAX
    rows = db.tuples(SCORE_NEWEST, (match, low, high, SCORED_MAX, rows_max))
    # a lower bm25() is better
    return {rowid: -score for rowid, score in rows if allowed is None or rowid in allowed}
