"""Verdicts: Q2."""


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
    raise NotImplementedError
