"""Verdicts: which of them block, and which later ones supersede those."""

from ..kinds import SEARCHABLE
from ..ledger import reference
from ..ledger.canonical import encode_canonical
from ..ledger.transaction import make_receipt
from ..search.listing import list_records

BLOCKING = ("NEEDS_HUMAN_DECISION", "STRUCTURAL_REWORK_RECOMMENDED", "VERIFICATION_FAILED")
SUPERSEDED = """
SELECT id FROM verification_current
WHERE (task_id = ? OR about_id = ?) AND scope = ? AND superseded_by = ? ORDER BY seq"""
COLUMNS = (
    "id, conclusion, severity, scope, task_id, about_id, at, blocking, superseded_by, test, summary"
)


def add_verification(
    tx, texts, task_id, about, proof_id, artifact_ids, evidence, findings, remedies
):
    """Record a verdict; `texts` are the columns that refer to nothing."""
    about_kind, subject = tx.find_any(SEARCHABLE, about) if about else (None, None)
    task = tx.find("task", task_id) if task_id else subject if about_kind == "task" else None
    proof = tx.find("proof", proof_id) if proof_id else None
    artifacts = {row["id"]: row for row in (tx.find("artifact", ref) for ref in artifact_ids)}
    evidence, cited = reference.resolve_evidence(tx, evidence)
    values = {
        **texts,
        "task_id": task and task["id"],
        "about_id": subject and subject["id"],
        "proof_id": proof and proof["id"],
        "artifact_ids": _list(artifacts),
        "evidence": _list(evidence),
        "findings": _list(findings),
        "remedies": _list(remedies),
    }
    named = [record for record in (task, subject, proof, *artifacts.values(), *cited) if record]
    return _answer(tx, tx.add("verification", values, of=named))


def _list(items):
    return encode_canonical(list(items)) if items else None


def _answer(tx, row):
    blocking = row["conclusion"] in BLOCKING
    more = (
        {"hint": "It blocks, and no finding says why; --findings would."}
        if _unexplained(row)
        else {}
    )
    return make_receipt(
        "verification", row, task_id=row.get("task_id"), about_id=row.get("about_id"), scope=row["scope"],
        conclusion=row["conclusion"], blocking=blocking, supersedes=list_superseded(tx, row), **more,
    )  # fmt: skip


def _unexplained(row):
    return row["conclusion"] in BLOCKING and "findings" not in row


def list_superseded(db, row):
    """The ids of the blocking verdicts that this one supersedes."""
    about = (row.get("task_id"), row.get("about_id"), row["scope"], row["id"])
    return [found["id"] for found in db.rows(SUPERSEDED, about)]


def query_verifications(db, limit, words, task_id, conclusion, severity, scope, since, until):
    filters = {
        "task_id = ?": db.resolve("task", task_id) if task_id else None,
        "conclusion = ?": conclusion,
        "severity = ?": severity,
        "scope = ?": scope,
        "at >= ?": since,
        "at < ?": until,
    }
    found = list_records(db, "verification", COLUMNS, limit, filters, words)
    for row in found["records"]:
        row["blocking"] = bool(row["blocking"])
    return found
