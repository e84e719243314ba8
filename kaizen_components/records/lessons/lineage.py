"""Show where a lesson came from, what backs it, and whether its files have changed."""

from __future__ import annotations

from ..files.paths import FileMatcher, check_staleness
from ..ledger import revision
from ..search.listing import inspect_record, read_json_list
from .lesson import LESSONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row, Store

LEARNING_OF = "SELECT id FROM learning WHERE gotcha_id = ?"
LEARNED_OF = "SELECT id FROM learned WHERE learning_id = ?"
GOTCHA_OF = "SELECT gotcha_id FROM learning WHERE id = ?"
STEP = "SELECT id, status, at, title FROM {kind}_current WHERE id = ?"
SUPERSEDED = """
SELECT DISTINCT c.id, c.status, c.at, c.title
FROM {kind}_revision r JOIN {kind}_current c ON c.id = r.{kind}_id
WHERE r.superseded_by = ? AND c.superseded_by = r.superseded_by ORDER BY c.id"""
PATHS_HASHED_AT = """
SELECT at FROM {kind}_revision
WHERE {kind}_id = ? AND paths_hash IS NOT NULL ORDER BY rev DESC LIMIT 1"""
BACKINGS = {
    "proof_id": """
SELECT 'proof' AS kind, id, at, tier || ', ' || outcome AS says, coalesce(command, title) AS text
FROM proof WHERE id = ?""",
    "verification_id": """
SELECT 'verification' AS kind, id, at, conclusion AS says, summary AS text
FROM verification WHERE id = ?""",
    "waiver_id": """
SELECT 'waiver' AS kind, id, at, 'waived' AS says, reason AS text FROM waiver WHERE id = ?""",
}


def inspect_lesson(db: Reader, store: Store, kind: str, ref: str) -> Row:
    """Return a lesson with its revisions, its lineage and what it superseded."""
    lesson = db.find(kind, ref)
    revisions = [
        {
            name: read_json_list(db, value) if name in ("evidence", "paths") else value
            for name, value in row.items()
        }
        for row in revision.list_revisions(db, kind, lesson)
    ]
    answer = inspect_record(
        db,
        kind,
        lesson,
        revisions=revisions,
        lineage=trace_lineage(db, kind, lesson),
        supersedes=db.rows(SUPERSEDED.format(kind=kind), (lesson["id"],)),
        **({"backing": find_backing(db, lesson)} if kind == "learned" else {}),
    )
    if kind == "learning" and lesson["evidence"] is None:
        answer["record"]["unproven"] = True
    answer["record"].update(check_freshness(db, FileMatcher(store.place.root), kind, lesson))
    return answer


def trace_lineage(db: Reader, kind: str, lesson: Row) -> list[Row]:
    """Return the gotcha, learning and learned lesson that were promoted from each other."""
    ids = {kind: lesson["id"]}
    if kind == "learned":
        ids["learning"] = lesson["learning_id"]
    elif kind == "gotcha":
        ids["learning"] = db.value(LEARNING_OF, (lesson["id"],))
    if kind != "learned":
        ids["learned"] = db.value(LEARNED_OF, (ids["learning"],))
    if kind != "gotcha":
        ids["gotcha"] = db.value(GOTCHA_OF, (ids["learning"],))
    return [
        {"kind": step, **row}
        for step in LESSONS
        if ids[step]
        for row in db.rows(STEP.format(kind=step), (ids[step],))
    ]


def find_backing(db: Reader, lesson: Row) -> list[Row]:
    """Return the proof, verdict or waiver that backs a learned lesson."""
    return [
        row
        for column, sql in BACKINGS.items()
        if lesson[column]
        for row in db.rows(sql, (lesson[column],))
    ]


def check_freshness(db: Reader, matcher: FileMatcher, kind: str, lesson: Row) -> Row:
    """Return whether the files of a lesson have changed since they were hashed, and why."""
    at = db.value(PATHS_HASHED_AT.format(kind=kind), (lesson["id"],))
    globs = read_json_list(db, lesson["paths"])
    return check_staleness(matcher, globs, lesson["paths_hash"], at or lesson["at"])
