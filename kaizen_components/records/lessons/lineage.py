"""Where a lesson came from, what became of it, what backs it, and whether its files are still the same."""

from ..files.paths import FileMatcher, check_staleness
from ..ledger import revision
from ..search.listing import inspect_record, read_json_list

LEARNING_OF = "SELECT id FROM learning WHERE gotcha_id = ?"
LEARNED_OF = "SELECT id FROM learned WHERE learning_id = ?"
GOTCHA_OF = "SELECT gotcha_id FROM learning WHERE id = ?"
PROOF = """
SELECT 'proof' AS kind, id, at, tier || ', ' || outcome AS says, coalesce(command, title) AS text
FROM proof WHERE id = ?"""
VERDICT = "SELECT 'verification' AS kind, id, at, conclusion AS says, summary AS text FROM verification WHERE id = ?"
WAIVER = (
    "SELECT 'waiver' AS kind, id, at, 'waived' AS says, reason AS text FROM waiver WHERE id = ?"
)


def inspect_lesson(db, store, kind, ref):
    """G4, L6, L9."""
    lesson = db.find(kind, ref)
    more = {"backing": find_backing(db, lesson)} if kind == "learned" else {}
    answer = inspect_record(
        db, kind, lesson, revisions=_revisions(db, kind, lesson), lineage=trace_lineage(db, kind, lesson),
        supersedes=_supersedes(db, kind, lesson), **more,
    )  # fmt: skip
    answer["record"].update(check_freshness(db, FileMatcher(store.place.root), kind, lesson))
    return answer


def trace_lineage(db, kind, lesson):
    """Gotcha, learning, learned: as many of them as there are, this one among them."""
    ids = {kind: lesson["id"]}
    if kind == "learned":
        ids["learning"] = lesson["learning_id"]
    elif kind == "gotcha":
        ids["learning"] = db.value(LEARNING_OF, (lesson["id"],))
    if kind != "learned":
        ids["learned"] = db.value(LEARNED_OF, (ids["learning"],))
    if kind != "gotcha":
        ids["gotcha"] = db.value(GOTCHA_OF, (ids["learning"],))
    return [_step(db, name, ids[name]) for name in ("gotcha", "learning", "learned") if ids[name]]


def _step(db, kind, id):
    return {
        "kind": kind,
        **db.one(f"SELECT id, status, at, title FROM {kind}_current WHERE id = ?", (id,)),
    }


def _supersedes(db, kind, lesson):
    return db.rows(
        "SELECT DISTINCT c.id, c.status, c.at, c.title "
        f"FROM {kind}_revision r JOIN {kind}_current c ON c.id = r.{kind}_id "
        "WHERE r.superseded_by = ? AND c.superseded_by = r.superseded_by ORDER BY c.id",
        (lesson["id"],),
    )


def find_backing(db, lesson):
    """Why a lesson counts as proven; a waiver with its reason."""
    asked = ((PROOF, "proof_id"), (VERDICT, "verification_id"), (WAIVER, "waiver_id"))
    return [db.one(sql, (lesson[name],)) for sql, name in asked if lesson[name]]


def check_freshness(db, tree, kind, lesson):
    """`stale`, and why: do the files that it names have another hash than when they were named?"""
    at = db.value(
        f"SELECT at FROM {kind}_revision WHERE {kind}_id = ? AND paths_hash IS NOT NULL ORDER BY rev DESC LIMIT 1",
        (lesson["id"],),
    )
    return check_staleness(
        tree, read_json_list(db, lesson["paths"]), lesson["paths_hash"], at or lesson["at"]
    )


def _revisions(db, kind, lesson):
    lists = ("evidence", "paths")
    found = revision.list_revisions(db, kind, lesson)
    return [
        {name: read_json_list(db, value) if name in lists else value for name, value in row.items()}
        for row in found
    ]
