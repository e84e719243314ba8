"""Traces, spans of work: T1 and T3."""


def add(
    tx,
    *,
    name=None,
    kind="other",
    status="ok",
    trace_id=None,
    parent=None,
    task_id=None,
    started_at=None,
    duration_ms=0,
    model=None,
    tokens_in=0,
    tokens_out=0,
    cost_usd=0,
    summary=None,
    payload_json=None,
    jsonl=None,
):
    """Record a span of work, or many of them from JSONL.

    Example: kaizen T1 --name "review the diff" --kind model --duration-ms 5200 --tokens-in 1800 --tokens-out 240
    """
    raise NotImplementedError


def report(db, store, *, trace_id=None, task_id=None, format="text", out=None):
    """Show a trace as a waterfall, with totals per kind and the critical path.

    Example: kaizen T3 --trace-id @last
    """
    raise NotImplementedError
