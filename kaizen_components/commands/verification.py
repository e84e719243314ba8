"""Verdicts: Q2."""

from __future__ import annotations

from ..records.quality import verification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..parameters import Row, Writer


def add(
    tx: Writer,
    *,
    conclusion: str,
    summary: str,
    body: str | None = None,
    task_id: str | None = None,
    about: str | None = None,
    scope: str = "project",
    severity: str | None = None,
    evidence: Sequence[str] = (),
    findings: Sequence[str] = (),
    remedies: Sequence[str] = (),
    artifact_id: Sequence[str] = (),
    proof_id: str | None = None,
) -> Row:
    """Record a verdict on a task or on any other record.

    Example: kaizen Q2 --task-id @last --conclusion VERIFIED_ACCEPTABLE --summary "All checks
        passed."
    """
    texts = {
        "scope": scope,
        "conclusion": conclusion,
        "severity": severity,
        "summary": summary,
        "body": body,
    }
    return verification.add_verification(
        tx, texts, task_id, about, proof_id, artifact_id, evidence, findings, remedies
    )
