"""Ranked full-text search over all kinds: any word may match, more is better; `"a phrase"` and `+must` work.

Up to LARGE records it is plain BM25. Beyond, BM25 over a word that a third of all records have would score each of
them (1.6 microseconds apiece), so only the rarer words choose candidates, and the common ones tell between those.
When every word is common, the newest records that have any of them are compared by the words that they have.
"""

from .kinds import SEARCHED

LARGE = 20_000  # log entries
COMMON = 8_000  # records with a word, beyond which it no longer chooses candidates
SCORED_MAX = 16_000  # records that BM25 may score
WINDOW = 4_000  # the newest records that are compared when every word is common
TERMS_MAX = 32
COMMON_MAX = 8
KIND_SHIFT = 40
WEIGHTS = "4.0, 2.0, 1.0"  # title, summary, body

SCORE = f"""
SELECT rowid, bm25(search, {WEIGHTS}) AS score FROM search
WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY score, rowid DESC LIMIT ?"""
NEWEST = "SELECT rowid FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"
HOW_MANY = "SELECT count(*) FROM (SELECT rowid FROM search WHERE search MATCH ? LIMIT ?)"
LOG_SIZE = "SELECT max(seq) FROM log"
PUT = "INSERT INTO search (rowid, title, summary, body) VALUES (?, ?, ?, ?)"
TAKE_OUT = "INSERT INTO search (search, rowid, title, summary, body) VALUES ('delete', ?, ?, ?, ?)"

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


def condition(db, query, kind, column="seq"):
    """(SQL, values) that is true of every record of the kind that the query finds, for those who count them all."""
    must, may = parse(query)
    db.settle()
    if not must and not may:
        return "0", ()
    low, high = _range(kind)
    return f"{column} IN (SELECT rowid - {low} FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ?)", (
        _match(must, may), low, high,
    )  # fmt: skip


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
    common = [term for term in sizes if term not in rare][:COMMON_MAX]
    scores: dict[int, float] = {}
    if rare:
        chosen = " OR ".join(rare)
        match = f"({' AND '.join(must)}) AND ({chosen})" if must else chosen
        scores = {
            row["rowid"]: -row["score"] for row in db.rows(SCORE, (match, low, high, max(limit * 4, 100)))
        }  # bm25() is better the lower it is
    if rare and (len(scores) >= limit or must):
        _prefer_with(db, scores, common)
    else:
        _add_newest(db, scores, must, common or rare, low, high)
    return sorted(scores, key=lambda rowid: (-scores[rowid], -rowid))[:limit]


def _prefer_with(db, scores, common):
    """A common word says little: half a point, where a rare word is worth five and more."""
    marks = ", ".join("?" * len(scores))
    for term in common if scores else ():
        for row in db.rows(f"SELECT rowid FROM search WHERE search MATCH ? AND rowid IN ({marks})", (term, *scores)):
            scores[row["rowid"]] += 0.5


def _add_newest(db, scores, must, terms, low, high):
    """Among the newest records with any of the words: a word is worth more the fewer of these have it."""
    match = " AND ".join(must) if must else " OR ".join(terms)
    window = [row["rowid"] for row in db.rows(NEWEST, (match, low, high, WINDOW))]
    if not window:
        return
    allowed = set(window)
    for rowid in window:
        scores.setdefault(rowid, 0.0)
    for term in terms:
        having = [row["rowid"] for row in db.rows(NEWEST, (term, window[-1], window[0], WINDOW))]
        worth = 0.5 + (len(window) - len(having)) / len(window)
        for rowid in having:
            if rowid in allowed:
                scores[rowid] += worth
