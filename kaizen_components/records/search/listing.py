"""Lists and queries: the newest first, or the best first when words are given."""

from ..kinds import KINDS
from . import full_text

FLAGS = {"test", "unproven"}  # columns of 0 and 1


def list_records(db, kind, columns, limit, filters, query=None):
    """`filters` maps a condition such as "status = ?" to its value; None means that it was not asked for."""
    chosen = {sql: value for sql, value in filters.items() if value is not None}
    found = (
        _best(db, kind, columns, limit + 1, chosen, query)
        if query
        else _newest(db, kind, columns, limit + 1, chosen)
    )
    for row in found:
        for name in FLAGS & row.keys():
            row[name] = bool(row[name])
    return {"records": found[:limit], "count": min(len(found), limit), "more": len(found) > limit}


def _newest(db, kind, columns, limit, chosen):
    where = " AND ".join(chosen) or "1"
    view = KINDS[kind].view
    return db.rows(
        f"SELECT {columns} FROM {view} WHERE {where} ORDER BY seq DESC LIMIT ?",
        (*chosen.values(), limit),
    )


def _best(db, kind, columns, limit, chosen, query):
    """The best that pass the filters; twice as many candidates as long as too few do."""
    view, wanted = KINDS[kind].view, limit if not chosen else limit * 5
    where = "".join(f" AND {sql}" for sql in chosen)
    while True:
        hits = [seq for _, seq in full_text.find_best(db, query, kind, wanted)]
        marks = ", ".join("?" * len(hits))
        found = db.rows(
            f"SELECT seq, {columns} FROM {view} WHERE seq IN ({marks}){where}",
            (*hits, *chosen.values()),
        )
        if len(found) >= limit or len(hits) < wanted or wanted > 10_000:
            break
        wanted *= 4
    place = {seq: at for at, seq in enumerate(hits)}
    found.sort(key=lambda row: place[row["seq"]])
    if len(found) < limit and full_text.is_pruned(db):
        found += _rest(
            db, kind, columns, limit - len(found), chosen, query, [row["seq"] for row in found]
        )
    return [{name: value for name, value in row.items() if name != "seq"} for row in found[:limit]]


def _rest(db, kind, columns, limit, chosen, query, known):
    """What a pruned search left out, the newest first: slower, but asked for only when the best were too few."""
    condition, values = full_text.build_condition(db, query, kind)
    where = "".join(f" AND {sql}" for sql in chosen)
    marks = ", ".join("?" * len(known))
    return db.rows(
        f"SELECT seq, {columns} FROM {KINDS[kind].view} WHERE {condition} AND seq NOT IN ({marks}){where}"
        " ORDER BY seq DESC LIMIT ?",
        (*values, *known, *chosen.values(), limit),
    )


# Stored as JSON: flat lists of texts, and whatever else.
LISTS = ("evidence", "findings", "remedies", "paths", "artifact_ids", "argv")
NESTED = ("payload", "missing", "filters", "cases")


def inspect_record(db, kind, record, **more):
    """A record as an inspect shows it: JSON as what it is, what hangs on it, its place in the log."""
    shown = {
        name: value
        for name, value in record.items()
        if name not in ("seq", "id") and value is not None
    }
    for name in LISTS:
        if name in shown:
            shown[name] = read_json_list(db, shown[name])
    for name in NESTED:
        if name in shown:
            import json

            shown[name] = json.loads(shown[name])
    shown["test"] = bool(shown["test"])
    return {
        "id": record["id"],
        "kind": kind,
        "record": shown,
        **more,
        "log": db.log_position(record),
    }


def read_json_list(db, text):
    """The texts of a JSON list; SQLite reads it, since importing json costs as much as the rest of a cold read."""
    return (
        [row["value"] for row in db.rows("SELECT value FROM json_each(?)", (text,))] if text else []
    )
