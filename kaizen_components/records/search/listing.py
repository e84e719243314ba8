"""List records, the newest first, or search them, the best match first."""

from ..kinds import KINDS
from . import full_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...parameters import Reader, Row

FLAGS = {"test", "unproven"}  # columns of 0 and 1


def list_records(
    db: "Reader",
    kind: str,
    columns: str,
    limit: int,
    filters: "Mapping[str, object]",
    query: "str | None" = None,
) -> "Row":
    """List records that pass the filters, the newest first, or the best for a query.

    `filters` maps a condition such as "status = ?" to its value; a None value means no condition.
    """
    active_filters = {sql: value for sql, value in filters.items() if value is not None}
    if query:
        rows = _find_best_rows(db, kind, columns, limit + 1, active_filters, query)
    else:
        where = " AND ".join(active_filters) or "1"
        sql = f"SELECT {columns} FROM {KINDS[kind].view} WHERE {where} ORDER BY seq DESC LIMIT ?"
        rows = db.rows(sql, (*active_filters.values(), limit + 1))
    for row in rows:
        for name in FLAGS & row.keys():
            row[name] = bool(row[name])
    return {"records": rows[:limit], "count": min(len(rows), limit), "more": len(rows) > limit}


def _find_best_rows(
    db: "Reader", kind: str, columns: str, limit: int, active_filters: "Row", query: str
) -> "list[Row]":
    """Return the best rows that pass the filters; fetch more candidates until `limit` rows do."""
    select = f"SELECT seq, {columns} FROM {KINDS[kind].view}"
    candidates_max = limit * (5 if active_filters else 1)
    where = "".join(f" AND {sql}" for sql in active_filters)
    while True:
        hits = [seq for _, seq in full_text.find_best(db, query, kind, candidates_max)]
        marks = ", ".join("?" * len(hits))
        rows = db.rows(f"{select} WHERE seq IN ({marks}){where}", (*hits, *active_filters.values()))
        if len(rows) >= limit or len(hits) < candidates_max or candidates_max > 10_000:
            break
        candidates_max *= 4
    place = {seq: at for at, seq in enumerate(hits)}
    rows.sort(key=lambda row: place[row["seq"]])
    if len(rows) < limit and full_text.is_pruned(db):
        # Add the matches that the pruned search left out, the newest first: slow, but rare.
        condition, values = full_text.build_condition(db, query, kind)
        row_seqs = [row["seq"] for row in rows]
        condition += f" AND seq NOT IN ({', '.join('?' * len(row_seqs))}){where}"
        sql = f"{select} WHERE {condition} ORDER BY seq DESC LIMIT ?"
        rows += db.rows(sql, (*values, *row_seqs, *active_filters.values(), limit - len(rows)))
    for row in rows:
        del row["seq"]
    return rows[:limit]


# Columns with JSON: LISTS are flat lists of texts, NESTED are other values.
LISTS = ("evidence", "findings", "remedies", "paths", "artifact_ids", "argv")
NESTED = ("payload", "missing", "filters", "cases")


def inspect_record(db: "Reader", kind: str, record: "Row", **more: object) -> "Row":
    """Return a record for inspection: JSON decoded, with related facts and its place in the log."""
    fields = {
        name: value
        for name, value in record.items()
        if name not in ("seq", "id") and value is not None
    }
    for name in LISTS:
        if name in fields:
            fields[name] = read_json_list(db, fields[name])
    for name in NESTED:
        if name in fields:
            import json

            fields[name] = json.loads(fields[name])
    fields["test"] = bool(fields["test"])
    return {
        "id": record["id"],
        "kind": kind,
        "record": fields,
        **more,
        "log": db.log_position(record),
    }


def read_json_list(db: "Reader", text: "str | None") -> "list[str]":
    """Return the texts of a JSON list; SQLite parses it, since importing json takes long."""
    if not text:
        return []
    return [value for (value,) in db.tuples("SELECT value FROM json_each(?)", (text,))]
