"""Ranked full-text search over all kinds: any word may match, more is better; `"a phrase"` and `+must` work.

Up to LARGE records it is plain BM25. Beyond, BM25 over a word that a third of all records have would score each of
them (1.6 microseconds apiece), so only the rarer words choose candidates, and the common ones tell between those, each
worth the logarithm of how far apart the records with it stand, which is nearly what BM25 gives it. When every word is
common, the newest records that have any of them are compared in the same way.
"""

from .kinds import REVISED, SEARCHED

LARGE = 20_000  # log entries
COMMON = 8_000  # records with a word, beyond which it no longer chooses candidates
SCORED_MAX = 16_000  # records that BM25 may score
WINDOW = 4_000  # the newest records that are compared when every word is common
FEW = 600  # records that are looked up one by one; more are read in a range
TERMS_MAX = 24
COMMON_MAX = 8
KIND_SHIFT = 40
PAGE = 2_000
WEIGHTS = "4.0, 2.0, 1.0"  # title, summary, body

SCORE = f"""
SELECT rowid, bm25(search, {WEIGHTS}) AS score FROM search
WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY score, rowid DESC LIMIT ?"""
NEWEST = "SELECT rowid FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"
HOW_MANY = "SELECT count(*) FROM (SELECT rowid FROM search WHERE search MATCH ? LIMIT ?)"
HOW_FAR = """
SELECT count(*) AS hits, max(rowid) - min(rowid) AS span
FROM (SELECT rowid FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?)"""
LOG_SIZE = "SELECT max(seq) FROM log"
PUT = "INSERT INTO search (rowid, title, summary, body) VALUES (?, ?, ?, ?)"
TAKE_OUT = "INSERT INTO search (search, rowid, title, summary, body) VALUES ('delete', ?, ?, ?, ?)"

FORGET_ALL = "INSERT INTO search (search) VALUES ('delete-all')"

TEXTS = ("title", "summary", "body")


def rowid_of(kind, seq):
    return (SEARCHED[kind][0] << KIND_SHIFT) + seq


def texts(kind):
    """The columns that search looks at."""
    return (*TEXTS, *SEARCHED[kind][1])


def texts_of(kind, row):
    """(title, summary, body) of a record for the index; `body` has whatever else the kind says is text."""
    first = [row.get(name) or "" for name in TEXTS]
    more = [row.get(name) or "" for name in SEARCHED[kind][1]]
    return (first[0], first[1], "\n".join(filter(None, [first[2], *more])))


def rebuild(connection):
    """Make the index anew from the records; returns how many it has."""
    connection.execute(FORGET_ALL)
    count = 0
    for kind in sorted(SEARCHED, key=lambda kind: SEARCHED[kind][0]):
        after = 0
        while rows := connection.rows(
            f"SELECT * FROM {REVISED.get(kind, kind)} WHERE seq > ? ORDER BY seq LIMIT {PAGE}", (after,)
        ):
            for row in rows:
                connection.execute(PUT, (rowid_of(kind, row["seq"]), *texts_of(kind, row)))
            after = rows[-1]["seq"]
            count += len(rows)
    return count


def problems(connection):
    """Records that search cannot find, and what it finds that is no record."""
    found = []
    for kind, (number, _) in SEARCHED.items():
        low, high = number << KIND_SHIFT, (number + 1) << KIND_SHIFT
        missing = connection.value(
            f"SELECT count(*) FROM {kind} WHERE seq + {low} NOT IN (SELECT id FROM search_docsize)"
        )
        extra = connection.value(
            f"SELECT count(*) FROM search_docsize WHERE id BETWEEN {low} AND {high - 1}"
            f" AND id - {low} NOT IN (SELECT seq FROM {kind})"
        )
        if missing or extra:
            found.append(f"search lacks {missing} and has {extra} extra of {kind}: run `K1 --reindex`")
    return found


def ranked(db, query, kind=None, limit=20):
    """[(kind, seq)] of the best records for the query, in one kind or in all."""
    must, may = parse(query)
    if not must and not may:
        return []
    db.settle()
    low, high = _range(kind)
    if (db.value(LOG_SIZE) or 0) <= LARGE:
        found = [row["rowid"] for row in db.rows(SCORE, (_match(must, may), low, high, limit))]
    else:
        found = _pruned(db, must, may, low, high, limit)
    names = {number: name for name, (number, _) in SEARCHED.items()}
    return [(names[rowid >> KIND_SHIFT], rowid & ((1 << KIND_SHIFT) - 1)) for rowid in found]


def parse(query):
    """(must, may): FTS5 phrases, each quoted, so that nothing in a query is ever syntax."""
    must: list[str] = []
    may: list[str] = []
    for required, chunk in _chunks(query):
        if any(map(str.isalnum, chunk)):
            (must if required else may).append('"' + chunk.replace('"', '""') + '"')
    must = list(dict.fromkeys(must))[:TERMS_MAX]
    may = [term for term in dict.fromkeys(may) if term not in must]
    return must, may[: TERMS_MAX - len(must)]


def _chunks(query):
    """(is it required, text) of each word and each "quoted phrase"; a quote without its partner is text."""
    at = 0
    while at < len(query):
        if query[at].isspace():
            at += 1
            continue
        required = query[at] == "+"
        start = at + required
        end = query.find('"', start + 1) if query[start : start + 1] == '"' else -1
        if end > 0:
            yield required, query[start + 1 : end]
            at = end + 1
            continue
        at = start
        while at < len(query) and not query[at].isspace():
            at += 1
        yield required, query[start:at]


def _range(kind):
    if kind is None:
        return 0, 2**62
    number = SEARCHED[kind][0]
    return number << KIND_SHIFT, ((number + 1) << KIND_SHIFT) - 1


def _match(must, may):
    """`+a b c` finds what has a, and ranks by all three."""
    if not must:
        return " OR ".join(may)
    every = " AND ".join(must)
    return f"({every}) AND ({' OR '.join([*must, *may])})" if may else every


def _pruned(db, must, may, low, high, limit):
    sizes = {term: db.value(HOW_MANY, (term, COMMON + 1)) for term in (*must, *may)}
    rare, total = [], 0
    for term in sorted(sizes, key=lambda term: sizes[term]):
        total += sizes[term]
        if sizes[term] <= COMMON and total <= SCORED_MAX:
            rare.append(term)
    worths = {term: _worth(db, term, low, high) for term in sizes if term not in rare}
    worths = dict(sorted(worths.items(), key=lambda item: -item[1])[:COMMON_MAX])
    scores: dict[int, float] = {}
    if rare:
        chosen = " OR ".join(rare)
        match = f"({' AND '.join(must)}) AND ({chosen})" if must else chosen
        found = db.rows(SCORE, (match, low, high, max(limit * 5, 200)))
        scores = {row["rowid"]: -row["score"] for row in found}  # bm25() is better the lower it is
    if len(scores) < limit and worths:
        _add_newest(db, scores, must, worths, low, high)
    _add_worths(db, scores, worths)
    return sorted(scores, key=lambda rowid: (-scores[rowid], -rowid))[:limit]


def _worth(db, term, low, high):
    """What a common word adds to a score: little when nearly every record has it."""
    import math

    near = db.one(HOW_FAR, (term, low, high, WINDOW))
    apart = near["span"] / max(near["hits"], 1) if near["hits"] > 1 else COMMON
    return math.log(1 + min(apart, COMMON))


def _add_newest(db, scores, must, worths, low, high):
    """The newest records with any of the words, or with all that must be there."""
    match = " AND ".join(must) if must else " OR ".join(worths)
    for row in db.rows(NEWEST, (match, low, high, WINDOW)):
        scores.setdefault(row["rowid"], 0.0)


def _add_worths(db, scores, worths):
    if not scores:
        return
    oldest, newest = min(scores), max(scores)
    few = len(scores) <= FEW
    marks = ", ".join("?" * len(scores))
    for term, worth in worths.items():
        if few:
            having = db.rows(f"SELECT rowid FROM search WHERE search MATCH ? AND rowid IN ({marks})", (term, *scores))
        else:
            having = db.rows(NEWEST, (term, oldest, newest, WINDOW))
        for row in having:
            if row["rowid"] in scores:
                scores[row["rowid"]] += worth
