"""Scores of anything: T2 and T4."""

from ..records.quality import score


def add(
    tx,
    *,
    name,
    value,
    about=None,
    trace_id=None,
    task_id=None,
    source="tool",
    unit=None,
    summary=None,
):
    """Record a score: of a record, of a trace or of a task.

    Example: kaizen T2 --name coverage --value 0.93
    """
    values = {"name": name, "value": value, "unit": unit, "source": source, "summary": summary}
    return score.add_score(tx, about, trace_id, task_id, values)


def query(
    db,
    *,
    name=None,
    about=None,
    trace_id=None,
    task_id=None,
    source=None,
    query=None,
    since=None,
    until=None,
    limit=20,
    test=False,
):
    """Show scores with count, mean, spread and trend over all that match.

    Example: kaizen T4 --name coverage
    """
    filters = score.build_filters(db, name, about, trace_id, task_id, source, since, until)
    return score.query_scores(db, limit, query, test, filters)
