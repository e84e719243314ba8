"""Ranked full-text search over all kinds: any word may match, more is better; `"a phrase"` and `+must` work.

Up to LARGE records it is plain BM25. Beyond, BM25 over a word that a third of all records have would score each of
them (2 to 4 microseconds apiece), so only the rarer words choose candidates, and the common ones tell between the best
of those, each worth the logarithm of how far apart the records with it stand, which is nearly what BM25 gives it. When
every word is common, the newest records that have any of them are compared in the same way.
"""

from ..kinds import KINDS, SEARCHABLE

LARGE = 20_000  # log entries
SCORED_MAX = 6_000  # records that BM25 may score
WINDOW = 1_000  # the newest records with a common word that are looked at
PROBED = 200  # the newest records with a word that tell how common it is
RARE = 1e9  # so far apart is what has fewer
COMPARED = 60  # the best, which are also looked up by common words
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
NEWEST = "SELECT rowid FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"
# CROSS JOIN: the index is read from its newest end and stops at the limit, however many records have the words.
NEWEST_BETWEEN = """
SELECT l.seq FROM search CROSS JOIN log l ON l.seq = search.rowid - ?
WHERE search MATCH ? AND search.rowid BETWEEN ? AND ? AND l.at >= ? AND l.at < ? ORDER BY search.rowid DESC LIMIT ?"""
LOG_SIZE = "SELECT max(seq) FROM log"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
FORGET_ALL = "INSERT INTO search (search) VALUES ('delete-all')"

TEXTS = ("title", "summary", "body")


def make_rowid(kind, seq):
    return (KINDS[kind].number << KIND_SHIFT) + seq


def extract_texts(kind, row):
    """(title, summary, body) of a record for the index; `body` has whatever else the kind says is text."""
    body = row.get("body") or ""
    if KINDS[kind].texts:
        body = "\n".join(filter(None, [body, *(row.get(name) for name in KINDS[kind].texts)]))
    return (row.get("title") or "", row.get("summary") or "", body)


def insert_texts(connection, rowid, texts):
    connection.insert("search", {"rowid": rowid, **dict(zip(TEXTS, texts, strict=True))})


def delete_texts(connection, rowid, texts):
    """The index keeps no texts: it has to be told what it has."""
    connection.insert(
        "search", {"search": "delete", "rowid": rowid, **dict(zip(TEXTS, texts, strict=True))}
    )


def rebuild_index(connection):
    """Make the index anew from the records; returns how many it has."""
    connection.execute(FORGET_ALL)
    count = 0
    for kind in SEARCHABLE:
        after = 0
        while rows := connection.rows(
            f"SELECT * FROM {KINDS[kind].view} WHERE seq > ? ORDER BY seq LIMIT {PAGE}", (after,)
        ):
            for row in rows:
                insert_texts(connection, make_rowid(kind, row["seq"]), extract_texts(kind, row))
            after = rows[-1]["seq"]
            count += len(rows)
    return count


def find_index_problems(connection):
    """Records that search cannot find, and what it finds that is no record."""
    found = []
    tables = {
        name for (name,) in connection.tuples(TABLES)
    }  # a file of an older schema has fewer kinds
    for kind in SEARCHABLE:
        if kind not in tables:
            continue
        low, high = _range(kind)
        missing = connection.value(
            f"SELECT count(*) FROM {kind} k WHERE NOT EXISTS (SELECT 1 FROM search_docsize WHERE id = k.seq + {low})"
        )
        extra = connection.value(
            f"SELECT count(*) FROM search_docsize WHERE id BETWEEN {low} AND {high}"
            f" AND NOT EXISTS (SELECT 1 FROM {kind} WHERE seq = search_docsize.id - {low})"
        )
        if missing or extra:
            found.append(
                f"search lacks {missing} and has {extra} extra of {kind}: run `K1 --reindex`"
            )
    return found


def find_best(db, query, kind=None, limit=20):
    """[(kind, seq)] of the best records for the query, in one kind or in all."""
    must, may = parse_query(query)
    if not must and not may:
        return []
    db.settle()
    low, high = _range(kind)
    if not is_pruned(db):
        found = [row["rowid"] for row in db.rows(SCORE, (_match(must, may), low, high, limit))]
    else:
        found = _pruned(db, must, may, low, high, limit)
    names = {KINDS[kind].number: kind for kind in SEARCHABLE}
    return [(names[rowid >> KIND_SHIFT], rowid & ((1 << KIND_SHIFT) - 1)) for rowid in found]


def find_newest(db, query, limit, since=None, until=None):
    """The seq of the newest records that the query finds, of whatever kind, the newest first."""
    must, may = parse_query(query)
    if not must and not may:
        return []
    db.settle()
    found = []
    for kind in SEARCHABLE:
        low, high = _range(kind)
        values = (
            low,
            _match(must, may),
            low,
            high,
            since or "",
            until or "~",
            limit,
        )  # ~ sorts after every time
        found += [seq for (seq,) in db.tuples(NEWEST_BETWEEN, values)]
    return sorted(found, reverse=True)[:limit]


def is_pruned(db):
    """Is the database so large that a query of common words looks at the newest only?"""
    return (db.value(LOG_SIZE) or 0) > LARGE


def build_condition(db, query, kind, column="seq"):
    """(SQL, values) that is true of every record of the kind that the query finds, for those who count them all."""
    must, may = parse_query(query)
    db.settle()
    if not must and not may:
        return "0", ()
    low, high = _range(kind)
    return f"{column} IN (SELECT rowid - {low} FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ?)", (
        _match(must, may), low, high,
    )  # fmt: skip


def parse_query(query):
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
    number = KINDS[kind].number
    return number << KIND_SHIFT, ((number + 1) << KIND_SHIFT) - 1


def _match(must, may):
    """`+a b c` finds what has a, and ranks by all three."""
    if not must:
        return " OR ".join(may)
    every = " AND ".join(must)
    return f"({every}) AND ({' OR '.join([*must, *may])})" if may else every


def _pruned(db, must, may, low, high, limit):
    import math

    records = db.value(LOG_SIZE)
    apart = {term: _apart(db, term, low, high) for term in (*must, *may)}
    rare, total = [], 0
    for term in sorted(apart, key=lambda term: -apart[term]):
        total += records / apart[term]
        if total <= SCORED_MAX:
            rare.append(term)
    common = sorted((term for term in apart if term not in rare), key=lambda term: -apart[term])[
        :COMMON_MAX
    ]
    worths = {term: math.log(1 + apart[term]) for term in common}
    scores = _scored(db, must, rare, low, high, max(limit, COMPARED)) if rare else {}
    _prefer_with(db, scores, worths)
    if len(scores) < limit and worths:
        _add_newest(db, scores, must, worths, low, high)
    return sorted(scores, key=lambda rowid: (-scores[rowid], -rowid))[:limit]


def _scored(db, must, rare, low, high, wanted):
    """rowid -> score by the rare words. BM25 counts every record with each word that it is given, so a common one that
    must be there is asked for by itself."""
    chosen = " OR ".join(rare)
    rare_must = [term for term in must if term in rare]
    match = f"({' AND '.join(rare_must)}) AND ({chosen})" if rare_must else chosen
    allowed = None
    if len(rare_must) < len(must):
        every = f"({' AND '.join(must)}) AND ({chosen})"
        allowed = {rowid for (rowid,) in db.tuples(NEWEST, (every, low, high, SCORED_MAX))}
        wanted = SCORED_MAX
    found = db.tuples(SCORE_NEWEST, (match, low, high, SCORED_MAX, wanted))
    # bm25() is better the lower it is
    return {rowid: -score for rowid, score in found if allowed is None or rowid in allowed}


def _apart(db, term, low, high):
    """How many records there are to one with this word, by the newest that have it."""
    near = db.tuples(NEWEST, (term, low, high, PROBED))
    if len(near) < PROBED:
        return RARE
    return max((near[0][0] - near[-1][0]) / len(near), 1.0)


def _prefer_with(db, scores, worths):
    """Among the best, what has the common words too."""
    best = sorted(scores, key=lambda rowid: -scores[rowid])[:COMPARED]
    among = f"rowid IN ({', '.join(map(str, best))})"
    for term, worth in worths.items() if best else ():
        for (rowid,) in db.tuples(
            f"SELECT rowid FROM search WHERE search MATCH ? AND {among}", (term,)
        ):
            scores[rowid] += worth


def _add_newest(db, scores, must, worths, low, high):
    """The newest records with these words, or with all that must be there; each word counts where it is seen."""
    seen = {term: db.tuples(NEWEST, (term, low, high, WINDOW)) for term in worths}
    allowed = (
        {rowid for (rowid,) in db.tuples(NEWEST, (" AND ".join(must), low, high, WINDOW))}
        if must
        else None
    )
    for rowid in allowed or ():
        scores.setdefault(rowid, 0.0)
    for term, rows in seen.items():
        for (rowid,) in rows:
            if allowed is None or rowid in allowed:
                scores[rowid] = scores.get(rowid, 0.0) + worths[term]
