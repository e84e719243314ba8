"""Scores of anything: T2 and T4."""


def add(tx, *, name, value, about=None, trace_id=None, task_id=None, source="tool", unit=None, summary=None):
    """Record a score: of a record, of a trace or of a task.

    Example: kaizen T2 --name coverage --value 0.93
    """
    raise NotImplementedError


def query(
    db, *, name=None, about=None, trace_id=None, task_id=None, source=None, query=None, since=None, until=None, limit=20
):
    """Show scores with count, mean, spread and trend over all that match.

    Example: kaizen T4 --name coverage
    """
    raise NotImplementedError
