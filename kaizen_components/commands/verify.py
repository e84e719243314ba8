"""Verdicts: Q9."""

from __future__ import annotations

from ..records.quality import verification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, Row


def query(
    db: Reader,
    *,
    task_id: str | None = None,
    conclusion: str | None = None,
    severity: str | None = None,
    scope: str | None = None,
    query: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 20,
) -> Row:
    """Find verdicts by task, conclusion, severity or words, with what superseded them.

    Example: kaizen Q9 --conclusion VERIFIED_ACCEPTABLE
    """
    return verification.query_verifications(
        db, limit, query, task_id, conclusion, severity, scope, since, until
    )
