"""Lessons: gotchas, learnings and learned ones. They are revised and retired by new rows; nothing is overwritten."""

from ...errors import Conflict, Refused
from ..kinds import KINDS
from ..ledger import revision
from ..ledger.canonical import encode_canonical
from ..ledger.reference import resolve_evidence
from ..ledger.transaction import make_receipt
from ..search.listing import list_records, read_json_list

LESSONS = ("gotcha", "learning", "learned")  # from noticed to proven
CLOSED_STATUSES = ("promoted", "retired", "superseded")
STATUS_MOVES = {  # where G5 may take a gotcha
    "active": ("resolved", "retired"),
    "resolved": ("active", "retired"),
    "retired": ("active",),
    "superseded": ("active",),
    "promoted": (),
}
ELSEWHERE = {  # a status that another command gives
    "promoted": ("Promotion makes a learning of it and keeps the lineage.", "L2 --id {id}"),
    "superseded": (
        "Another lesson must take its place.",
        "L11 --id {id} --reason … --superseded-by ID",
    ),
}
NEXT = {"gotcha": "learning", "learning": "learned"}
LIST_COLUMNS = "id, status, scope, at, test, title"
BACKING_COLUMN = (  # what a proven lesson rests on: "waiver" and "none" are not proof
    ", CASE WHEN proof_id IS NOT NULL THEN 'proof' WHEN verification_id IS NOT NULL THEN 'verification'"
    " WHEN waiver_id IS NOT NULL THEN 'waiver' ELSE 'none' END AS backing"
)
QUERY_COLUMNS = (
    LIST_COLUMNS + ", summary"
)  # what a query shows: the summary tells which of them to open


class LessonPaths:
    """The files that a lesson names. Hashed before the write, so that nobody waits for it."""

    def __init__(self, store, paths=()):
        self.root = store.place.root
        self.tree = None
        self.globs = []
        self._hashes = {}
        if paths:
            from ..files.paths import normalize_globs

            self.globs = normalize_globs(self.root, paths)
            self.values(self.globs)

    def values(self, globs):
        """The columns for these globs; what was hashed once is not hashed again."""
        if not globs:
            return {}
        key = encode_canonical(globs)
        if key not in self._hashes:
            from ..files.paths import FileMatcher

            self.tree = self.tree or FileMatcher(self.root)
            self._hashes[key] = self.tree.hash_matches(globs)
        return {"paths": key, "paths_hash": self._hashes[key]}

    def count(self):
        """For the receipt: how many files that is, so that a mistyped glob is noticed."""
        return {"files": len(self.tree.find_matches(self.globs))} if self.tree and self.globs else {}


def add_lesson(write, store, kind, texts, task_id, evidence, paths):
    named = LessonPaths(store, paths)

    def record(tx):
        task = tx.find("task", task_id) if task_id else None
        every, records = resolve_evidence(tx, evidence)
        values = {
            **texts,
            "evidence": encode_canonical(every) if every else None,
            **named.values(named.globs),
        }
        values["task_id"] = task["id"] if task else None
        row = tx.add(kind, values, of=[*records, task] if task else records)
        return make_receipt(
            kind, row, title=row["title"], **{f"{kind}_status": "active"}, **named.count()
        )

    return write(record)


def revise_lesson(tx, kind, lesson, changes, of=()):
    """A revision that refers to a test record is one, like everything else."""
    test = int(any(record["test"] for record in (lesson, *of)))
    return revision.add_revision(tx, kind, {**lesson, "test": test}, changes)


def update_gotcha(write, store, ref, status, texts, evidence, paths, note):
    """G5: a gotcha's text, state, evidence, files, or only a note."""
    named = LessonPaths(store, paths)

    def record(tx):
        gotcha = tx.find("gotcha", ref)
        require_legal_status(gotcha, status, note)
        if any([*texts.values(), evidence, paths]):
            require_open_gotcha(gotcha, status)
        every, records = resolve_evidence(tx, evidence, kept=read_json_list(tx, gotcha["evidence"]))
        changes = {
            "status": status, **texts, "evidence": encode_canonical(every) if evidence else None, "paths": None, "note": note,
            **named.values(named.globs),
        }  # fmt: skip
        row = revise_lesson(tx, "gotcha", gotcha, changes, records if evidence else ())
        return make_receipt(
            "gotcha_revision", row, gotcha_id=gotcha["id"], rev=row["rev"], title=texts["title"] or gotcha["title"],
            gotcha_status=status or gotcha["status"], **named.count(),
        )  # fmt: skip

    return write(record)


def require_legal_status(gotcha, status, note):
    id, now = gotcha["id"], gotcha["status"]
    if status is None:
        return
    if status == now:
        raise Conflict(
            "same_status",
            f"{id} is {now} already.",
            "",
            "Leave --status out; a --note can still be added.",
        )
    if now == "promoted":
        raise Refused(
            "promoted_lesson", f"{id} was promoted, and stays so.", "What it taught goes on as a learning.",
            f"`G4 --id {id}` shows which; `L11` retires that one.",
        )  # fmt: skip
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
            "no_such_move", f"{id} is {now} and cannot become {status}.", "It is no longer open.",
            "Make it active first: `--status active --note REASON`.",
        )  # fmt: skip
    if note is None and (status == "retired" or now in CLOSED_STATUSES):
        raise Refused(
            "reason_missing", f"{id} becomes {status} for a reason, which is not given.",
            "Whoever reads it later must know why.", "Add --note with the reason.",
        )  # fmt: skip


def require_open_gotcha(gotcha, status):
    """The text of a closed gotcha stays as it was when it was closed."""
    if gotcha["status"] not in CLOSED_STATUSES or status == "active":
        return
    promoted = gotcha["status"] == "promoted"
    raise Refused(
        "closed_lesson",
        f"{gotcha['id']} is {gotcha['status']}; its text, evidence and paths stay as they are.",
        "The learning that came of it stands on them."
        if promoted
        else "It would change what was closed.",
        "Add a --note, or record a new gotcha with G1."
        if promoted
        else "Add a --note, or make it active again: `--status active --note REASON`.",
    )


def retire_lesson(tx, ref, reason, superseded_by):
    kind, lesson = tx.find_any(LESSONS, ref)
    _require_in_force(tx, kind, lesson)
    successor = _successor(tx, kind, lesson, superseded_by) if superseded_by else None
    status = "superseded" if successor else "retired"
    changes = {"status": status, "note": reason, "superseded_by": successor and successor["id"]}
    row = revise_lesson(tx, kind, lesson, changes, (successor,) if successor else ())
    more = {f"{kind}_id": lesson["id"], "title": lesson["title"], f"{kind}_status": status}
    if successor:
        more["superseded_by"] = successor["id"]
    return make_receipt(f"{kind}_revision", row, **more)


def _require_in_force(tx, kind, lesson):
    if lesson["status"] in ("retired", "superseded"):
        last = tx.one(
            f"SELECT at, note FROM {kind}_revision WHERE {kind}_id = ? AND status NOT NULL ORDER BY rev DESC LIMIT 1",
            (lesson["id"],),
        )
        by = f" by {lesson['superseded_by']}" if lesson["superseded_by"] else ""
        raise Conflict(
            "already_retired", f"{lesson['id']} is {lesson['status']}{by} already.",
            f"Since {last['at'][:10]}: {last['note']}", f"`{KINDS[kind].shows} --id {lesson['id']}` shows its history.",
        )  # fmt: skip
    if lesson["status"] == "promoted":
        became = find_promotion(tx, kind, lesson)
        raise Refused(
            "promoted_lesson", f"{lesson['id']} was promoted.", f"It goes on as {became}.",
            f"Retire that one: `L11 --id {became} --reason …`.",
        )  # fmt: skip


def find_promotion(db, kind, lesson):
    """The id of what this was promoted to, or None."""
    return (
        db.value(f"SELECT id FROM {NEXT[kind]} WHERE {kind}_id = ?", (lesson["id"],))
        if kind in NEXT
        else None
    )


def _successor(tx, kind, lesson, ref):
    """The lesson that takes the place of another. It is active, so it has no successor itself: no circle can arise."""
    other, successor = tx.find_any(LESSONS, ref)
    if other != kind:
        raise Refused(
            "other_kind", f"A {kind} is superseded by a {kind}, not by a {other}.", f"{successor['id']} is a {other}.",
            f"Name a {kind}, or retire it without --superseded-by.",
        )  # fmt: skip
    if successor["id"] == lesson["id"]:
        raise Refused(
            "supersedes_itself",
            f"{lesson['id']} cannot supersede itself.",
            "",
            "Name another lesson.",
        )
    if successor["status"] != "active":
        raise Refused(
            "successor_not_active", f"{successor['id']} is {successor['status']}.",
            "Only an active lesson can supersede another.", "Name an active one.",
        )  # fmt: skip
    return successor


def list_lessons(db, kind, limit, query, task_id=None, columns=LIST_COLUMNS, **filters):
    """G2, G3 and the like: `filters` are columns and what they must be, `since` and `until` excepted."""
    conditions = {
        {"since": "at >= ?", "until": "at < ?"}.get(name, f"{name} = ?"): value
        for name, value in filters.items()
    }
    conditions["task_id = ?"] = db.resolve("task", task_id) if task_id else None
    return list_records(
        db, kind, columns + (BACKING_COLUMN if kind == "learned" else ""), limit, conditions, query
    )
