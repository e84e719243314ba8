"""Report the lessons (R3), their promotions and backing, and whether their files changed since.

No other report reads files besides the database: staleness depends on the current working tree.
"""

from __future__ import annotations

from ...records.files.paths import FileMatcher
from ...records.kinds import KINDS
from ...records.lessons.lesson import LESSONS
from ...records.lessons.lineage import check_freshness, find_backing, trace_lineage
from ...records.search.listing import read_json_list
from ..engine.filters import build_condition, describe_filters
from ..periods.time_series import QUARTER, sum_by_period

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...parameters import Reader, Row
    from ..engine.zone import Zone

IN_FORCE = "status IN ('active', 'resolved')"
# Lessons of a kind whose files are checked; each costs a query and some stat calls.
CHECKED_MAX = 5_000
FIELDS = ("id", "at", "actor", "status", "scope", "title", "summary", "task_id")
NEWEST = f"""
SELECT * FROM {{kind}}_current WHERE {{condition}} AND {IN_FORCE} ORDER BY seq DESC LIMIT ?"""
WITH_FILES = f"""
SELECT id, at, title, status, paths, paths_hash FROM {{kind}}_current
WHERE {{condition}} AND {IN_FORCE} AND paths_hash IS NOT NULL
ORDER BY seq DESC LIMIT {CHECKED_MAX}"""
BY_STATUS = (
    "SELECT status, count(*) AS number FROM {kind}_current WHERE {condition} GROUP BY status"
)
PROMOTED_TO = """
WITH step AS MATERIALIZED (
    SELECT julianday(n.at) - julianday(o.at) AS days
    FROM (SELECT id, at FROM {kind} WHERE {condition}) o
    LEFT JOIN {next_kind} n ON n.{kind}_id = o.id AND n.test = 0
)
SELECT count(*) AS lessons, count(days) AS became,
       (SELECT days FROM step WHERE days IS NOT NULL ORDER BY days
        LIMIT 1 OFFSET (SELECT (count(days) - 1) / 2 FROM step)) AS median_days
FROM step"""
WHOLE_WAY = """
SELECT count(*) AS number FROM (SELECT learning_id FROM learned WHERE {condition}) d
JOIN learning l ON l.id = d.learning_id WHERE l.gotcha_id IS NOT NULL"""
BACKED = """
SELECT CASE WHEN proof_id IS NOT NULL THEN 'proof'
            WHEN verification_id IS NOT NULL THEN 'verification'
            WHEN waiver_id IS NOT NULL THEN 'waiver' ELSE 'none' END AS backing,
       count(*) AS number
FROM learned WHERE {condition} GROUP BY 1"""
PROMOTED = f"""
SELECT at, sum(learning) AS became_learning, sum(learned) AS became_learned FROM (
    SELECT {QUARTER} AS at, 1 AS learning, 0 AS learned FROM learning
    WHERE gotcha_id IS NOT NULL AND {{learning}}
    UNION ALL
    SELECT {QUARTER}, 0, 1 FROM learned WHERE learning_id IS NOT NULL AND {{learned}}
) GROUP BY at ORDER BY at"""
# Retired and superseded lessons with the reason that the closing revision gives.
CLOSED = """
SELECT '{kind}' AS kind, c.id, c.title, c.status, c.superseded_by, r.at, r.actor, r.note AS reason
FROM (SELECT * FROM {kind}_current WHERE {condition} AND status IN ('retired', 'superseded')) c
JOIN {kind}_revision r ON r.{kind}_id = c.id AND r.rev = (
    SELECT max(n.rev) FROM {kind}_revision n WHERE n.{kind}_id = c.id AND n.status IS NOT NULL)
ORDER BY r.seq DESC LIMIT ?"""


def gather(db: Reader, zone: Zone, options: Row, root: str) -> Row:
    """Return the lessons in force, their promotions, and which lessons are stale or closed."""
    conditions = {kind: build_condition(db, kind, options) for kind in LESSONS}
    matcher = FileMatcher(root)
    limit = options["limit"]

    def fetch_rows(sql: str, kind: str, *extra_values: Any, **names: str) -> list[Row]:
        condition, values = conditions[kind]
        return db.rows(
            sql.format(kind=kind, condition=condition, **names), (*values, *extra_values)
        )

    lessons_with_files = {kind: fetch_rows(WITH_FILES, kind) for kind in LESSONS}
    stale_lessons = []
    for kind, rows in lessons_with_files.items():
        for row in rows:
            state = check_freshness(db, matcher, kind, row)
            if state["stale"]:
                fields = {name: row[name] for name in ("id", "at", "title")}
                stale_lessons.append({"kind": kind, **fields, "because": state["stale_because"]})
    whole_way_rows = fetch_rows(WHOLE_WAY, "learned")
    (learning, learning_values), (learned, learned_values) = (
        conditions["learning"],
        conditions["learned"],
    )
    promotion_rows = db.rows(
        PROMOTED.format(learning=learning, learned=learned), (*learning_values, *learned_values)
    )
    return {
        "narrowed": describe_filters(options, zone),
        "statuses": {
            kind: {row["status"]: row["number"] for row in fetch_rows(BY_STATUS, kind)}
            for kind in LESSONS
        },
        "funnel": {
            "to_learning": fetch_rows(PROMOTED_TO, "gotcha", next_kind="learning")[0],
            "to_learned": fetch_rows(PROMOTED_TO, "learning", next_kind="learned")[0],
            "whole_way": whole_way_rows[0]["number"],
        },
        "backed_by": {row["backing"]: row["number"] for row in fetch_rows(BACKED, "learned")},
        "promoted": sum_by_period(promotion_rows, zone, "week"),
        "stale": {
            "looked_at": sum(map(len, lessons_with_files.values())),
            "newest_only": any(len(rows) == CHECKED_MAX for rows in lessons_with_files.values()),
            "number": len(stale_lessons),
            "lessons": stale_lessons[:limit],
        },
        "lessons": {
            kind: [
                _describe_lesson(db, matcher, kind, row) for row in fetch_rows(NEWEST, kind, limit)
            ]
            for kind in LESSONS
        },
        "closed": [row for kind in LESSONS for row in fetch_rows(CLOSED, kind, limit)],
    }


def _describe_lesson(db: Reader, matcher: FileMatcher, kind: str, row: Row) -> Row:
    """Return the fields of a lesson with its freshness, lineage and backing."""
    lineage = [
        {name: step[name] for name in ("kind", "id", "at", "status")}
        for step in trace_lineage(db, kind, row)
    ]
    return {
        **{name: row[name] for name in FIELDS},
        "kind": kind,
        "paths": read_json_list(db, row["paths"]),
        "evidence": read_json_list(db, row["evidence"]),
        **check_freshness(db, matcher, kind, row),
        "lineage": lineage,
        "backing": find_backing(db, row) if kind == "learned" else [],
        "whole": f"kaizen {KINDS[kind].shows} --id {row['id']}",
    }
