"""Verdicts: whether a verdict blocks, and which earlier verdicts it supersedes."""

from __future__ import annotations

from ..kinds import SEARCHABLE
from ..ledger.canonical import encode_canonical
from ..ledger.reference import resolve_evidence
from ..ledger.transaction import make_receipt
from ..search.listing import list_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...parameters import Reader, Row, Writer

BLOCKING = ("NEEDS_HUMAN_DECISION", "STRUCTURAL_REWORK_RECOMMENDED", "VERIFICATION_FAILED")
SUPERSEDED = """
SELECT id FROM verification_current
WHERE (task_id = ? OR about_id = ?) AND scope = ? AND superseded_by = ? ORDER BY seq"""
COLUMNS = (
    "id, conclusion, severity, scope, task_id, about_id, at, blocking, superseded_by, test, summary"
)


def add_verification(
    tx: Writer,
    texts: Row,
    task_id: str | None,
    about: str | None,
    proof_id: str | None,
    artifact_ids: Iterable[str],
    evidence: Sequence[str],
    findings: Sequence[str],
    remedies: Sequence[str],
) -> Row:
    """Record a verdict; `texts` are the columns that do not refer to other records."""
    about_kind, subject = tx.find_any(SEARCHABLE, about) if about else (None, None)
    task = tx.find("task", task_id) if task_id else subject if about_kind == "task" else None
    proof = tx.find("proof", proof_id) if proof_id else None
    artifacts = {row["id"]: row for row in (tx.find("artifact", ref) for ref in artifact_ids)}
    evidence, records = resolve_evidence(tx, evidence)
    lists = {
        "artifact_ids": artifacts,
        "evidence": evidence,
        "findings": findings,
        "remedies": remedies,
    }
    values = {
        **texts,
        "task_id": task and task["id"],
        "about_id": subject and subject["id"],
        "proof_id": proof and proof["id"],
        **{name: encode_canonical(list(items)) for name, items in lists.items() if items},
    }
    linked_records = [
        record for record in (task, subject, proof, *artifacts.values(), *records) if record
    ]
    row = tx.add("verification", values, of=linked_records)
    blocking = row["conclusion"] in BLOCKING
    hint = {"hint": "This verdict blocks without saying why; add --findings."}
    return make_receipt(
        "verification",
        row,
        task_id=row.get("task_id"),
        about_id=row.get("about_id"),
        scope=row["scope"],
        conclusion=row["conclusion"],
        blocking=blocking,
        supersedes=list_superseded(tx, row),
        **(hint if blocking and not findings else {}),
    )


def list_superseded(db: Reader, row: Row) -> list[str]:
    """Return the ids of the blocking verdicts that this one supersedes."""
    about = (row.get("task_id"), row.get("about_id"), row["scope"], row["id"])
    return [verdict["id"] for verdict in db.rows(SUPERSEDED, about)]


def query_verifications(
    db: Reader,
    limit: int,
    words: str | None,
    task_id: str | None,
    conclusion: str | None,
    severity: str | None,
    scope: str | None,
    since: str | None,
    until: str | None,
) -> Row:
    """List verdicts that pass the filters, the newest first, or the best for a query."""
    filters = {
        "task_id = ?": db.resolve("task", task_id) if task_id else None,
        "conclusion = ?": conclusion,
        "severity = ?": severity,
        "scope = ?": scope,
        "at >= ?": since,
        "at < ?": until,
    }
    answer = list_records(db, "verification", COLUMNS, limit, filters, words)
    for row in answer["records"]:
        row["blocking"] = bool(row["blocking"])
    return answer
