"""Scores of anything: T2 and T4."""

from __future__ import annotations

from ..records.quality import score

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, Row, Writer


def add(
    tx: Writer,
    *,
    name: str,
    value: float,
    about: str | None = None,
    trace_id: str | None = None,
    task_id: str | None = None,
    source: str = "tool",
    unit: str | None = None,
    summary: str | None = None,
) -> Row:
    """Record a score: of a record, of a trace or of a task.

    Example: kaizen T2 --name coverage --value 0.93
    """
    values = {"name": name, "value": value, "unit": unit, "source": source, "summary": summary}
    return score.add_score(tx, about, trace_id, task_id, values)


def query(
    db: Reader,
    *,
    name: str | None = None,
    about: str | None = None,
    trace_id: str | None = None,
    task_id: str | None = None,
    source: str | None = None,
    query: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 20,
    test: bool = False,
) -> Row:
    """Show the scores that match, with their count, mean, spread and trend.

    Example: kaizen T4 --name coverage
    """
    filters = score.build_filters(db, name, about, trace_id, task_id, source, since, until)
    return score.query_scores(db, limit, query, test, filters)
