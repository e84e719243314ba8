"""Promotions: gotcha to learning to learned. Each happens once, in one transaction.

A learning needs a backing to become learned: a passing verification, or a witnessed proof that
passed. A record can be the backing if it is about the learning or its gotcha (`about_id`), if their
evidence has its id, or if the user gives its id. An objection (a blocking verdict on the same
lesson) invalidates every backing recorded before the objection.
"""

from __future__ import annotations

from ...errors import Conflict, Refused
from ..ledger.canonical import encode_canonical
from ..ledger.reference import parse_kind, resolve_evidence
from ..ledger.transaction import make_receipt
from ..search.listing import read_json_list
from .lesson import NEXT, LessonPaths, find_promotion, revise_lesson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...parameters import Reader, Row, Store, WriteLater, Writer

    FindSupport = Callable[[Writer, Row], tuple[Row, list[Row], Row]]

PASSING = ("VERIFIED_ACCEPTABLE", "ACCEPTABLE_WITH_CONCERNS")
PROOFS = """
SELECT seq, id, test, tier, outcome, coalesce(command, argv, id) AS command FROM proof
WHERE about_id IN (?, ?) OR id IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"""
VERDICTS = """
SELECT seq, id, test, conclusion, blocking AND superseded_by IS NULL AS objects
FROM verification_current
WHERE about_id IN (?, ?) OR id IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"""
COPIED_COLUMNS = ("title", "summary", "body", "scope", "task_id", "evidence")


def promote_gotcha(
    write: WriteLater,
    db: Reader,
    store: Store,
    ref: str,
    texts: Row,
    evidence: Sequence[str],
    paths: Sequence[str],
) -> Row:
    """Promote a gotcha to a learning with the same evidence; without evidence it is unproven."""

    def find_evidence(tx: Writer, gotcha: Row) -> tuple[Row, list[Row], Row]:
        every, records = resolve_evidence(tx, evidence, read_json_list(tx, gotcha["evidence"]))
        if not every:
            return {"evidence": None}, records, {"unproven": True}
        return {"evidence": encode_canonical(every)}, records, {}

    return _promote(write, db, store, "gotcha", ref, texts, paths, find_evidence)


def promote_learning(
    write: WriteLater,
    db: Reader,
    store: Store,
    ref: str,
    texts: Row,
    proof_id: str | None,
    verification_id: str | None,
    waive: str | None,
) -> Row:
    """Promote a learning to learned, backed by the given or linked records, or by a waiver."""

    def find_backing(tx: Writer, learning: Row) -> tuple[Row, list[Row], Row]:
        proofs, verdicts = find_proofs_and_verdicts(tx, learning)
        objection = next((verdict for verdict in verdicts if verdict["objects"]), None)
        records: Row = {}
        if proof_id:
            records["proof_id"] = tx.find("proof", proof_id)
        if verification_id:
            records["verification_id"] = tx.find("verification", verification_id)
        for record in records.values():
            problem = find_problem(record, objection)
            if problem:
                raise Refused(
                    "not_passing",
                    f"{record['id']} does not prove the lesson.",
                    f"{problem}.",
                    "Give a proof that was witnessed and passed, or a passing verification.",
                )
        records = records or _choose_backing(proofs, verdicts, objection)
        if not records:
            later_failure = "{} passed, but a later run failed"
            proof_problems = [
                find_problem(proof, objection) or later_failure.format(proof["id"])
                for proof in proofs
            ]
            verdict_problems = [find_problem(verdict, objection) for verdict in verdicts]
            missing = [
                "a witnessed proof that passed"
                + (f" ({'; '.join(proof_problems)})" if proof_problems else ""),
                "a passing verification"
                + (f" ({'; '.join(verdict_problems)})" if verdict_problems else ""),
            ]
            records = {"waiver_id": _add_waiver(tx, learning, waive, missing)}
        ids = {name: record["id"] for name, record in records.items()}
        more = {"waiver_not_needed": True} if waive and "waiver_id" not in ids else {}
        return ids, list(records.values()), {**ids, **more}

    return _promote(write, db, store, "learning", ref, texts, (), find_backing)


def _promote(
    write: WriteLater,
    db: Reader,
    store: Store,
    kind: str,
    ref: str,
    texts: Row,
    paths: Sequence[str],
    find_support: FindSupport,
) -> Row:
    """Record the promoted lesson and revise the old one.

    `find_support` finds the evidence or backing. It returns the columns, the records, and fields
    for the receipt.
    """
    lesson_paths = LessonPaths(store, paths)
    lesson_before = db.find(kind, ref)
    lesson_paths.hash_columns(lesson_paths.globs or read_json_list(db, lesson_before["paths"]))

    def add_row(tx: Writer) -> Row:
        lesson = tx.find(kind, lesson_before["id"])
        _require_active(tx, kind, lesson)
        values, records, receipt = find_support(tx, lesson)
        row = tx.add(
            NEXT[kind],
            {
                f"{kind}_id": lesson["id"],
                **{name: lesson[name] for name in COPIED_COLUMNS},
                **{name: text for name, text in texts.items() if text is not None},
                **values,
                **lesson_paths.hash_columns(
                    lesson_paths.globs or read_json_list(tx, lesson["paths"])
                ),
            },
            of=(lesson, *records),
        )
        revise_lesson(tx, kind, lesson, {"status": "promoted"}, (row,))
        ids = {f"{kind}_id": lesson["id"], "title": row["title"], f"{NEXT[kind]}_status": "active"}
        return make_receipt(NEXT[kind], row, **ids, **receipt)

    return write(add_row)


def _require_active(tx: Writer, kind: str, lesson: Row) -> None:
    promotion = find_promotion(tx, kind, lesson)
    if promotion:
        raise Conflict(
            "already_promoted",
            f"{lesson['id']} was already promoted to {promotion}.",
            f"A {kind} can be promoted only once.",
            f"Use {promotion} instead.",
        )
    if lesson["status"] != "active":
        again = f"Make it active again: `G5 --id {lesson['id']} --status active --note REASON`."
        raise Refused(
            "not_active",
            f"{lesson['id']} is {lesson['status']}.",
            f"Only an active {kind} can be promoted.",
            again if kind == "gotcha" else "Record a new learning with `L1`.",
        )


def find_proofs_and_verdicts(tx: Reader, learning: Row) -> tuple[list[Row], list[Row]]:
    """Return the proofs and verdicts on a learning or on its gotcha, the newest first.

    The evidence of the learning includes that of its gotcha.
    """
    evidence = read_json_list(tx, learning["evidence"])
    ids = [item for item in evidence if parse_kind(item) in ("proof", "verification")]
    about = (learning["id"], learning["gotcha_id"], encode_canonical(ids))
    return tx.rows(PROOFS, about), tx.rows(VERDICTS, about)


def find_problem(record: Row, objection: Row | None) -> str:
    """Return why a proof or verdict cannot back a lesson, or an empty text."""
    id = record["id"]
    if "tier" not in record:
        if record["conclusion"] not in PASSING:
            return f"{id} says {record['conclusion']}"
    elif record["tier"] != "witnessed":
        return f"{id} is only reported, not witnessed"
    elif record["outcome"] != "passed":
        return f"{id} did not pass ({record['outcome']})"
    if objection is None or record["seq"] > objection["seq"]:
        return ""
    return f"{objection['id']} came after {id} and says {objection['conclusion']}"


def _choose_backing(proofs: list[Row], verdicts: list[Row], objection: Row | None) -> Row:
    """Return the newest proof and verdict that pass. Of each command only the last run counts."""
    last_runs: Row = {}
    for proof in proofs:
        if proof["tier"] == "witnessed":
            last_runs.setdefault(proof["command"], proof)
    backing = {}
    for name, records in (("proof_id", [*last_runs.values()]), ("verification_id", verdicts)):
        good = [record for record in records if not find_problem(record, objection)]
        if good:
            backing[name] = good[0]
    return backing


def _add_waiver(tx: Writer, learning: Row, reason: str | None, missing: list[str]) -> Row:
    """Record a waiver for the missing backing; refuse it without a reason."""
    id = learning["id"]
    if reason is None:
        raise Refused(
            "not_proven",
            f"{id} is not proven.",
            f"It, its gotcha and their evidence lack {' and '.join(missing)}.",
            f"Run `Q1 --about {id} --run -- COMMAND`, or `Q2 --about {id} --conclusion "
            f"VERIFIED_ACCEPTABLE --summary …`, then `L3 --id {id}` again; or promote it "
            f"without proof: `L3 --id {id} --waive REASON`.",
        )
    values = {
        "gate": "learned",
        "subject_id": id,
        "task_id": learning["task_id"],
        "reason": reason,
        "missing": encode_canonical(missing),
    }
    return tx.add("waiver", values, of=(learning,))
