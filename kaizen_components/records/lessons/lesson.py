"""Gotchas, learnings and learned lessons. A change is a new row; nothing is overwritten."""

from __future__ import annotations

from ...errors import Conflict, Refused
from ..kinds import KINDS
from ..ledger import revision
from ..ledger.canonical import encode_canonical
from ..ledger.reference import resolve_evidence
from ..ledger.transaction import make_receipt
from ..search.listing import list_records, read_json_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ...parameters import Reader, Row, Store, WriteLater, Writer
    from ..files.paths import FileMatcher

LESSONS = ("gotcha", "learning", "learned")  # in the order of promotion
CLOSED_STATUSES = ("promoted", "retired", "superseded")
STATUS_MOVES = {  # status of a gotcha -> the statuses that G5 may give it
    "active": ("resolved", "retired"),
    "resolved": ("active", "retired"),
    "retired": ("active",),
    "superseded": ("active",),
    "promoted": (),
}
ELSEWHERE = {  # status -> why G5 cannot give it, and the command that does
    "promoted": ("A promotion also creates the learning and links the two.", "L2 --id {id}"),
    "superseded": (
        "Another lesson must take its place.",
        "L11 --id {id} --reason … --superseded-by ID",
    ),
}
NEXT = {"gotcha": "learning", "learning": "learned"}
LIST_COLUMNS = "id, status, scope, at, test, title"
QUERY_COLUMNS = LIST_COLUMNS + ", summary"  # the summary helps to choose a result
MORE_COLUMNS = {
    "learning": ", evidence IS NULL AS unproven",
    "learned": """, CASE WHEN proof_id IS NOT NULL THEN 'proof'
WHEN verification_id IS NOT NULL THEN 'verification'
WHEN waiver_id IS NOT NULL THEN 'waiver' ELSE 'none' END AS backing""",
}


class LessonPaths:
    """The files that a lesson names, hashed before the write transaction to keep it short."""

    def __init__(self, store: Store, paths: Sequence[str] = ()) -> None:
        self.root = store.place.root
        self.matcher: FileMatcher | None = None
        self.globs: list[str] = []
        self._hashes: dict[str, str] = {}
        if paths:
            from ..files.paths import normalize_globs

            self.globs = normalize_globs(self.root, list(paths))
            self.hash_columns(self.globs)

    def hash_columns(self, globs: list[str]) -> Row:
        """Return the columns for these globs. Hash the files of each list only once."""
        if not globs:
            return {}
        key = encode_canonical(globs)
        if key not in self._hashes:
            from ..files.paths import FileMatcher

            self.matcher = self.matcher or FileMatcher(self.root)
            self._hashes[key] = self.matcher.hash_matches(globs)
        return {"paths": key, "paths_hash": self._hashes[key]}

    def count_files(self) -> Row:
        """Return the number of matching files for the receipt, to reveal a mistyped glob."""
        if not self.matcher or not self.globs:
            return {}
        return {"files": len(self.matcher.find_matches(self.globs))}


def add_lesson(
    write: WriteLater,
    store: Store,
    kind: str,
    texts: Row,
    task_id: str | None,
    evidence: Sequence[str],
    paths: Sequence[str],
) -> Row:
    """Record a gotcha or a learning."""
    lesson_paths = LessonPaths(store, paths)

    def add_row(tx: Writer) -> Row:
        task = tx.find("task", task_id) if task_id else None
        every, records = resolve_evidence(tx, evidence)
        values = {
            **texts,
            "evidence": encode_canonical(every) if every else None,
            **lesson_paths.hash_columns(lesson_paths.globs),
            "task_id": task and task["id"],
        }
        row = tx.add(kind, values, of=[*records, task] if task else records)
        status = {f"{kind}_status": "active"}
        return make_receipt(kind, row, title=row["title"], **status, **lesson_paths.count_files())

    return write(add_row)


def revise_lesson(tx: Writer, kind: str, lesson: Row, changes: Row, of: Iterable[Row] = ()) -> Row:
    """Add a revision. It is a test record if the lesson or a record in `of` is one."""
    test = int(any(record["test"] for record in (lesson, *of)))
    return revision.add_revision(tx, kind, {**lesson, "test": test}, changes)


def update_gotcha(
    write: WriteLater,
    store: Store,
    ref: str,
    status: str | None,
    texts: Row,
    evidence: Sequence[str],
    paths: Sequence[str],
    note: str | None,
) -> Row:
    """Revise a gotcha's text, status, evidence or files, or add a note."""
    lesson_paths = LessonPaths(store, paths)

    def add_row(tx: Writer) -> Row:
        gotcha = tx.find("gotcha", ref)
        require_legal_status(gotcha, status, note)
        if any([*texts.values(), evidence, paths]):
            require_open_gotcha(gotcha, status)
        every, records = resolve_evidence(tx, evidence, read_json_list(tx, gotcha["evidence"]))
        changes = {
            "status": status,
            **texts,
            "evidence": encode_canonical(every) if evidence else None,
            "paths": None,
            "note": note,
            **lesson_paths.hash_columns(lesson_paths.globs),
        }
        row = revise_lesson(tx, "gotcha", gotcha, changes, records if evidence else ())
        return make_receipt(
            "gotcha_revision",
            row,
            gotcha_id=gotcha["id"],
            rev=row["rev"],
            title=texts["title"] or gotcha["title"],
            gotcha_status=status or gotcha["status"],
            **lesson_paths.count_files(),
        )

    return write(add_row)


def require_legal_status(gotcha: Row, status: str | None, note: str | None) -> None:
    """Refuse a status that this gotcha cannot take."""
    id, now = gotcha["id"], gotcha["status"]
    if status is None:
        return
    if status == now:
        raise Conflict(
            "same_status",
            f"{id} is already {now}.",
            "The status would not change.",
            "Omit --status; you can still add a --note.",
        )
    if now == "promoted":
        raise Refused(
            "promoted_lesson",
            f"{id} was promoted, so its status cannot be changed.",
            "A learning has replaced it.",
            f"`G4 --id {id}` shows the learning; `L11` retires it.",
        )
    if status in ELSEWHERE:
        why, command = ELSEWHERE[status]
        raise Refused(
            f"not_by_hand_{status}",
            f"G5 does not make a gotcha {status}.",
            why,
            f"Run `{command}`.".format(id=id),
        )
    if status not in STATUS_MOVES[now]:
        raise Refused(
            "no_such_move",
            f"{id} is {now} and cannot become {status}.",
            f"A {now} gotcha can only become active.",
            "Make it active first: `--status active --note REASON`.",
        )
    if note is None and (status == "retired" or now in CLOSED_STATUSES):
        raise Refused(
            "reason_missing",
            f"{id} cannot become {status} without a reason.",
            "Later readers need to know why.",
            "Add --note with the reason.",
        )


def require_open_gotcha(gotcha: Row, status: str | None) -> None:
    """Refuse to change the text of a closed gotcha, unless it becomes active again."""
    if gotcha["status"] not in CLOSED_STATUSES or status == "active":
        return
    why, step = "It is closed.", "make it active again: `--status active --note REASON`."
    if gotcha["status"] == "promoted":
        why, step = "Its learning is based on them.", "record a new gotcha with G1."
    raise Refused(
        "closed_lesson",
        f"{gotcha['id']} is {gotcha['status']}: its text, evidence and paths stay as they are.",
        why,
        f"Add a --note, or {step}",
    )


def retire_lesson(tx: Writer, ref: str, reason: str, superseded_by: str | None) -> Row:
    """Retire a lesson, or supersede it by another one."""
    kind, lesson = tx.find_any(LESSONS, ref)
    if lesson["status"] in ("retired", "superseded"):
        last = tx.rows(
            f"SELECT at, note FROM {kind}_revision WHERE {kind}_id = ? AND status NOT NULL"
            " ORDER BY rev DESC LIMIT 1",
            (lesson["id"],),
        )[0]
        by = f" by {lesson['superseded_by']}" if lesson["superseded_by"] else ""
        raise Conflict(
            "already_retired",
            f"{lesson['id']} is already {lesson['status']}{by}.",
            f"Since {last['at'][:10]}: {last['note']}",
            f"`{KINDS[kind].shows} --id {lesson['id']}` shows its history.",
        )
    if lesson["status"] == "promoted":
        promotion = find_promotion(tx, kind, lesson)
        raise Refused(
            "promoted_lesson",
            f"{lesson['id']} was promoted.",
            f"{promotion} replaces it.",
            f"Retire the newer lesson: `L11 --id {promotion} --reason …`.",
        )
    successor = _find_successor(tx, kind, lesson, superseded_by) if superseded_by else None
    status = "superseded" if successor else "retired"
    changes = {"status": status, "note": reason, "superseded_by": successor and successor["id"]}
    row = revise_lesson(tx, kind, lesson, changes, (successor,) if successor else ())
    more = {f"{kind}_id": lesson["id"], "title": lesson["title"], f"{kind}_status": status}
    if successor:
        more["superseded_by"] = successor["id"]
    return make_receipt(f"{kind}_revision", row, **more)


def find_promotion(db: Reader, kind: str, lesson: Row) -> str | None:
    """Return the id of the lesson that this one was promoted to."""
    if kind not in NEXT:
        return None
    return db.value(f"SELECT id FROM {NEXT[kind]} WHERE {kind}_id = ?", (lesson["id"],))


def _find_successor(tx: Writer, kind: str, lesson: Row, ref: str) -> Row:
    """Return an active lesson of the same kind. An active lesson has no successor: no cycles."""
    other, successor = tx.find_any(LESSONS, ref)
    if other != kind:
        raise Refused(
            "other_kind",
            f"A {kind} is superseded by a {kind}, not by a {other}.",
            f"{successor['id']} is a {other}.",
            f"Name a {kind}, or retire it without --superseded-by.",
        )
    if successor["id"] == lesson["id"]:
        raise Refused(
            "supersedes_itself",
            f"{lesson['id']} cannot supersede itself.",
            "Only a newer lesson can replace it.",
            "Name another lesson.",
        )
    if successor["status"] != "active":
        raise Refused(
            "successor_not_active",
            f"{successor['id']} is {successor['status']}.",
            "Only an active lesson can supersede another.",
            "Name an active one.",
        )
    return successor


def list_lessons(
    db: Reader,
    kind: str,
    limit: int,
    query: str | None,
    task_id: str | None = None,
    columns: str = LIST_COLUMNS,
    **filters: Any,
) -> Row:
    """List or search lessons; `filters` are columns, or `since` and `until`."""
    conditions = {
        {"since": "at >= ?", "until": "at < ?"}.get(name, f"{name} = ?"): value
        for name, value in filters.items()
    }
    conditions["task_id = ?"] = db.resolve("task", task_id) if task_id else None
    columns += MORE_COLUMNS.get(kind, "")
    return list_records(db, kind, columns, limit, conditions, query)
