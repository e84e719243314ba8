"""Verdicts: Q9."""

from ..records.quality import verification


def query(
    db,
    *,
    task_id=None,
    conclusion=None,
    severity=None,
    scope=None,
    query=None,
    since=None,
    until=None,
    limit=20,
):
    """Find verdicts by task, conclusion, severity or words, with what superseded them.

    Example: kaizen Q9 --conclusion VERIFIED_ACCEPTABLE
    """
    return verification.query_verifications(
        db, limit, query, task_id, conclusion, severity, scope, since, until
    )
