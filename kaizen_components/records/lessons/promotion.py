"""Promotions: gotcha -> learning -> learned. Each happens once, in one transaction, and keeps where it came from.

A learning becomes learned with a backing that is linked to it: a passing verification, or a proof that was witnessed
and passed. Linked is what names the learning or its gotcha (`about_id`), what their evidence names, and what is given
by its id. An objection (a blocking verdict on the same lesson) counts against everything recorded before it.
"""

from ...errors import Conflict, Refused
from ..ledger.canonical import encode_canonical
from ..ledger.reference import parse_kind, resolve_evidence
from ..ledger.transaction import make_receipt
from ..search.listing import read_json_list
from .lesson import LessonPaths, find_promotion, revise_lesson

PASSING = ("VERIFIED_ACCEPTABLE", "ACCEPTABLE_WITH_CONCERNS")
PROOFS = """
SELECT seq, id, test, tier, outcome, coalesce(command, argv, id) AS command FROM proof
WHERE about_id IN (?, ?) OR id IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"""
VERDICTS = """
SELECT seq, id, test, conclusion, blocking AND superseded_by IS NULL AS objects FROM verification_current
WHERE about_id IN (?, ?) OR id IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"""
COPIED_COLUMNS = ("title", "summary", "body", "scope", "task_id")


def promote_gotcha(write, db, store, ref, texts, evidence, paths):
    """L2. The files are hashed before the write, also those that the gotcha names."""
    named = LessonPaths(store, paths)
    seen = db.find("gotcha", ref)
    gotcha_id = seen["id"]
    named.values(named.globs or read_json_list(db, seen["paths"]))

    def promote(tx):
        gotcha = tx.find("gotcha", gotcha_id)
        _require_active(tx, "gotcha", gotcha)
        every, records = resolve_evidence(tx, evidence, kept=read_json_list(tx, gotcha["evidence"]))
        if not every:
            raise Refused(
                "no_evidence", f"{gotcha_id} has no evidence.", "A learning needs something that shows it.",
                f"Run `L2 --id {gotcha_id} --evidence …` with a text or the id of a record.",
            )  # fmt: skip
        values = {
            "gotcha_id": gotcha_id, **_carried(gotcha, texts), "evidence": encode_canonical(every),
            **named.values(named.globs or read_json_list(tx, gotcha["paths"])),
        }  # fmt: skip
        row = tx.add("learning", values, of=(gotcha, *records))
        revise_lesson(tx, "gotcha", gotcha, {"status": "promoted"}, (row,))
        return make_receipt(
            "learning", row, gotcha_id=gotcha_id, title=row["title"], learning_status="active"
        )

    return write(promote)


def promote_learning(write, db, store, ref, texts, proof_id, verification_id, waive):
    """L3."""
    named = LessonPaths(store)
    seen = db.find("learning", ref)
    learning_id = seen["id"]
    named.values(read_json_list(db, seen["paths"]))

    def promote(tx):
        learning = tx.find("learning", learning_id)
        _require_active(tx, "learning", learning)
        backing, records = _backing(tx, learning, proof_id, verification_id, waive)
        _, evidence = resolve_evidence(tx, (), kept=read_json_list(tx, learning["evidence"]))
        values = {
            "learning_id": learning_id, **backing, **_carried(learning, texts), "evidence": learning["evidence"],
            **named.values(read_json_list(tx, learning["paths"])),
        }  # fmt: skip
        row = tx.add("learned", values, of=(learning, *records, *evidence))
        revise_lesson(tx, "learning", learning, {"status": "promoted"}, (row,))
        more = {"waiver_not_needed": True} if waive and "waiver_id" not in backing else {}
        return make_receipt(
            "learned",
            row,
            learning_id=learning_id,
            title=row["title"],
            learned_status="active",
            **backing,
            **more,
        )

    return write(promote)


def _carried(lesson, texts):
    given = {name: text for name, text in texts.items() if text is not None}
    return {**{name: lesson[name] for name in COPIED_COLUMNS}, **given}


def _require_active(tx, kind, lesson):
    became = find_promotion(tx, kind, lesson)
    if became:
        raise Conflict(
            "already_promoted", f"{lesson['id']} was promoted already.", f"It became {became}; that happens once.",
            f"Go on with {became}.",
        )  # fmt: skip
    if lesson["status"] == "active":
        return
    again = f"Make it active again: `G5 --id {lesson['id']} --status active --note REASON`."
    raise Refused(
        "not_active", f"{lesson['id']} is {lesson['status']}.", f"Only an active {kind} is promoted.",
        again if kind == "gotcha" else "Record what holds now with `L1`.",
    )  # fmt: skip


def _backing(tx, learning, proof_id, verification_id, waive):
    """({column: id}, the records): what is given, or else what is linked, or else a waiver."""
    proofs, verdicts = find_linked(tx, learning)
    objection = next((verdict for verdict in verdicts if verdict["objects"]), None)
    found = {}
    if proof_id:
        found["proof_id"] = _required(tx.find("proof", proof_id), _proof_problem, objection)
    if verification_id:
        found["verification_id"] = _required(
            tx.find("verification", verification_id), _verdict_problem, objection
        )
    found = found or _good(proofs, verdicts, objection)
    if not found:
        waiver = _waived(tx, learning, waive, _missing(proofs, verdicts, objection))
        found = {"waiver_id": waiver}
    return {name: record["id"] for name, record in found.items()}, list(found.values())


def _good(proofs, verdicts, objection):
    """The newest proof and verdict that count. Of several runs of one command the last does."""
    last: dict[str, dict] = {}
    for proof in proofs:
        if proof["tier"] == "witnessed":
            last.setdefault(proof["command"], proof)
    found = {}
    for name, records, problem in (
        ("proof_id", last.values(), _proof_problem),
        ("verification_id", verdicts, _verdict_problem),
    ):
        good = [
            record
            for record in records
            if not problem(record) and not _overruled(record, objection)
        ]
        if good:
            found[name] = good[0]
    return found


def find_linked(tx, learning):
    """(proofs, verdicts) on the learning or on the gotcha it came from, the newest first."""
    gotcha = tx.find("gotcha", learning["gotcha_id"]) if learning["gotcha_id"] else None
    named = read_json_list(tx, learning["evidence"]) + (
        read_json_list(tx, gotcha["evidence"]) if gotcha else []
    )
    cited_ids = encode_canonical(
        [item for item in named if parse_kind(item) in ("proof", "verification")]
    )
    about = (learning["id"], learning["gotcha_id"], cited_ids)
    return tx.rows(PROOFS, about), tx.rows(VERDICTS, about)


def _proof_problem(proof):
    if proof["tier"] != "witnessed":
        return f"{proof['id']} is only reported, not witnessed"
    return (
        "" if proof["outcome"] == "passed" else f"{proof['id']} did not pass ({proof['outcome']})"
    )


def _verdict_problem(verdict):
    return (
        "" if verdict["conclusion"] in PASSING else f"{verdict['id']} says {verdict['conclusion']}"
    )


def _overruled(record, objection):
    if objection is None or record["seq"] > objection["seq"]:
        return ""
    return f"{objection['id']} came after {record['id']} and says {objection['conclusion']}"


def _required(record, problem, objection):
    wrong = problem(record) or _overruled(record, objection)
    if wrong:
        raise Refused(
            "not_passing", f"{record['id']} does not prove the lesson.", f"{wrong}.",
            "Give a proof that was witnessed and passed, or a passing verification.",
        )  # fmt: skip
    return record


def _missing(proofs, verdicts, objection):
    """What was looked for and not found, in words, with what was found instead."""
    unfit = [
        _proof_problem(one)
        or _overruled(one, objection)
        or f"{one['id']} passed, but a later run failed"
        for one in proofs
    ]
    against = [_verdict_problem(one) or _overruled(one, objection) for one in verdicts]
    return [
        "a witnessed proof that passed" + (f" ({'; '.join(unfit)})" if unfit else ""),
        "a passing verification" + (f" ({'; '.join(against)})" if against else ""),
    ]


def _waived(tx, learning, reason, missing):
    id = learning["id"]
    if reason is None:
        raise Refused(
            "not_proven",
            f"{id} is not proven.",
            f"Looked for {' and for '.join(missing)}; about it or its gotcha, or in their evidence.",
            f"Run `Q1 --about {id} --run -- COMMAND`, or `Q2 --about {id} --conclusion VERIFIED_ACCEPTABLE "
            f"--summary …`, and then `L3 --id {id}` again; or go on without: `L3 --id {id} --waive REASON`.",
        )
    values = {
        "gate": "learned", "subject_id": id, "task_id": learning["task_id"], "reason": reason,
        "missing": encode_canonical(missing),
    }  # fmt: skip
    return tx.add("waiver", values, of=(learning,))
