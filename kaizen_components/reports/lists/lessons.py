"""R3: the lessons, how far each has come, what backs it, and whether the files it is about are still the same.

The only report that reads more than the database: whether a lesson is stale is said by the working tree as it is now.
"""

from typing import Any

from ...records.files.paths import FileMatcher
from ...records.kinds import KINDS
from ...records.lessons.lesson import LESSONS
from ...records.lessons.lineage import check_freshness, find_backing, trace_lineage
from ...records.search.listing import read_json_list
from ..engine.filters import build_condition, describe_filters
from ..periods.time_series import QUARTER, sum_by_period

IN_FORCE = "status IN ('active', 'resolved')"
LOOKED_MAX = 5_000  # lessons of a kind whose files are looked at: a query and some stats each
SHOWN = ("id", "at", "actor", "status", "scope", "title", "summary", "task_id")
BY_STATUS = "SELECT status, count(*) AS number FROM {kind}_current WHERE {asked} GROUP BY status"
TO_LEARNING = """
WITH gone AS MATERIALIZED (
    SELECT julianday(n.at) - julianday(g.at) AS days FROM (SELECT id, at FROM gotcha WHERE {asked}) g
    LEFT JOIN learning n ON n.gotcha_id = g.id AND n.test = 0
)
SELECT count(*) AS lessons, count(days) AS became, (SELECT days FROM gone WHERE days IS NOT NULL ORDER BY days
       LIMIT 1 OFFSET (SELECT (count(days) - 1) / 2 FROM gone)) AS median_days FROM gone"""
TO_LEARNED = """
WITH gone AS MATERIALIZED (
    SELECT julianday(n.at) - julianday(l.at) AS days FROM (SELECT id, at FROM learning WHERE {asked}) l
    LEFT JOIN learned n ON n.learning_id = l.id AND n.test = 0
)
SELECT count(*) AS lessons, count(days) AS became, (SELECT days FROM gone WHERE days IS NOT NULL ORDER BY days
       LIMIT 1 OFFSET (SELECT (count(days) - 1) / 2 FROM gone)) AS median_days FROM gone"""
WHOLE_WAY = """
SELECT count(*) FROM (SELECT learning_id FROM learned WHERE {asked}) d JOIN learning l ON l.id = d.learning_id
WHERE l.gotcha_id IS NOT NULL"""
BACKED = """
SELECT CASE WHEN proof_id IS NOT NULL THEN 'proof' WHEN verification_id IS NOT NULL THEN 'verification'
            WHEN waiver_id IS NOT NULL THEN 'waiver' ELSE 'none' END AS backing, count(*) AS number
FROM learned WHERE {asked} GROUP BY 1"""
PROMOTED = f"""
SELECT at, sum(learning) AS became_learning, sum(learned) AS became_learned FROM (
    SELECT {QUARTER} AS at, 1 AS learning, 0 AS learned FROM learning WHERE gotcha_id IS NOT NULL AND {{asked}}
    UNION ALL SELECT {QUARTER}, 0, 1 FROM learned WHERE learning_id IS NOT NULL AND {{asked}}
) GROUP BY at ORDER BY at"""


def gather(db, zone, options: dict[str, Any], root: str) -> dict[str, Any]:
    asked = {kind: build_condition(db, kind, options) for kind in LESSONS}
    tree = FileMatcher(root)
    return {
        "narrowed": describe_filters(options, zone),
        "statuses": {kind: _statuses(db, kind, asked[kind]) for kind in LESSONS},
        "funnel": _funnel(db, asked),
        "backed_by": {row["backing"]: row["number"] for row in _rows(db, BACKED, asked["learned"])},
        "promoted": sum_by_period(_promoted(db, asked), zone, "week"),
        "stale": _stale(db, tree, asked, options["limit"]),
        "lessons": {
            kind: _lessons(db, tree, kind, options["limit"], *asked[kind]) for kind in LESSONS
        },
        "closed": [
            row for kind in LESSONS for row in _closed(db, kind, options["limit"], *asked[kind])
        ],
    }


def _rows(db, sql, asked, **names):
    condition, values = asked
    return db.rows(sql.format(asked=condition, **names), values)


def _statuses(db, kind, asked):
    return {row["status"]: row["number"] for row in _rows(db, BY_STATUS, asked, kind=kind)}


def _funnel(db, asked):
    """How many of those asked for became what, in how many days; and how many went the whole way."""
    condition, values = asked["learned"]
    return {
        "to_learning": _rows(db, TO_LEARNING, asked["gotcha"])[0],
        "to_learned": _rows(db, TO_LEARNED, asked["learning"])[0],
        "whole_way": db.value(WHOLE_WAY.format(asked=condition), values),
    }


def _promoted(db, asked):
    (learning, values), (learned, more) = asked["learning"], asked["learned"]
    before, after = PROMOTED.split("UNION ALL")
    sql = before.format(asked=learning) + "UNION ALL" + after.format(asked=learned)
    return db.rows(sql, (*values, *more))


def _stale(db, tree, asked, limit):
    """How many lessons in force name files, and those whose files are others now, with the reason."""
    looked, cut, found = 0, False, []
    for kind in LESSONS:
        sql, values = asked[kind]
        rows = db.rows(
            f"SELECT id, at, title, status, paths, paths_hash FROM {kind}_current "
            f"WHERE {sql} AND {IN_FORCE} AND paths_hash IS NOT NULL ORDER BY seq DESC LIMIT {LOOKED_MAX}",
            values,
        )
        looked, cut = looked + len(rows), cut or len(rows) == LOOKED_MAX
        for row in rows:
            state = check_freshness(db, tree, kind, row)
            if state["stale"]:
                told = {name: row[name] for name in ("id", "at", "title")}
                found.append({"kind": kind, **told, "because": state["stale_because"]})
    return {"looked_at": looked, "newest_only": cut, "number": len(found), "lessons": found[:limit]}


def _lessons(db, tree, kind, limit, asked, values):
    """Those in force, the newest first: what was promoted is shown with what it became."""
    rows = db.rows(
        f"SELECT * FROM {kind}_current WHERE {asked} AND {IN_FORCE} ORDER BY seq DESC LIMIT ?",
        (*values, limit),
    )
    return [_lesson(db, tree, kind, row) for row in rows]


def _lesson(db, tree, kind, row):
    shown = {name: row[name] for name in SHOWN}
    shown |= {
        "kind": kind,
        "paths": read_json_list(db, row["paths"]),
        "evidence": read_json_list(db, row["evidence"]),
    }
    shown |= check_freshness(db, tree, kind, row)
    shown["lineage"] = [
        {name: step[name] for name in ("kind", "id", "at", "status")}
        for step in trace_lineage(db, kind, row)
    ]
    shown["backing"] = find_backing(db, row) if kind == "learned" else []
    shown["whole"] = f"kaizen {KINDS[kind].shows} --id {row['id']}"
    return shown


def _closed(db, kind, limit, asked, values):
    """Retired and superseded ones with the reason of the revision that closed them."""
    return db.rows(
        f"SELECT '{kind}' AS kind, c.id, c.title, c.status, c.superseded_by, r.at, r.actor, r.note AS reason "
        f"FROM (SELECT * FROM {kind}_current WHERE {asked} AND status IN ('retired', 'superseded')) c "
        f"JOIN {kind}_revision r ON r.{kind}_id = c.id AND r.rev = (SELECT max(n.rev) FROM {kind}_revision n "
        f"WHERE n.{kind}_id = c.id AND n.status IS NOT NULL) ORDER BY r.seq DESC LIMIT ?",
        (*values, limit),
    )
