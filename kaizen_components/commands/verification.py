"""Verdicts: Q2."""

from ..records.quality import verification


def add(
    tx,
    *,
    conclusion,
    summary,
    body=None,
    task_id=None,
    about=None,
    scope="project",
    severity=None,
    evidence=(),
    findings=(),
    remedies=(),
    artifact_id=(),
    proof_id=None,
):
    """Record a verdict on a task or on any other record.

    Example: kaizen Q2 --task-id @last --conclusion VERIFIED_ACCEPTABLE --summary "All checks passed."
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
