"""Eval cases and their runs: Q3, Q4."""


def case_add(
    tx,
    *,
    title,
    summary,
    category,
    body=None,
    command=None,
    fixture=None,
    payload_json=None,
    task_id=None,
    scope="project",
):
    """Record an eval case: what must happen, or must not, and how it is decided.

    Example: kaizen Q3 --title "Refuses a key" --summary "W1 exits 1." --category security --command "pytest -k key"
    """
    raise NotImplementedError


def run_add(
    tx, *, case_id, outcome, score=None, summary=None, body=None, payload_json=None, duration_ms=None, proof_id=None
):
    """Record how a run of an eval case ended.

    Example: kaizen Q4 --case-id @last --outcome passed --score 1
    """
    raise NotImplementedError
