"""Eval cases and their runs: Q3, Q4 and R5."""

from __future__ import annotations

from ..records.ledger.canonical import encode_canonical
from ..records.ledger.transaction import make_receipt
from ..records.quality.evaluation import require_fixture
from ..records.work.command_line import normalize_command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..parameters import Output, Row, Store, Writer


def case_add(
    tx: Writer,
    store: Store,
    *,
    title: str,
    summary: str,
    category: str,
    body: str | None = None,
    command: str | None = None,
    fixture: str | None = None,
    payload_json: Any = None,
    task_id: str | None = None,
    scope: str = "project",
) -> Row:
    """Record an eval case: what must or must not happen, and how that is decided.

    Example: kaizen Q3 --title "Refuses a key" --summary "W1 exits 1." --category security
        --command "pytest -k key"
    """
    task = tx.find("task", task_id) if task_id else None
    values = {
        "task_id": task and task["id"],
        "title": title,
        "summary": summary,
        "body": body,
        "scope": scope,
        "category": category,
        "command": normalize_command_line("--command", command) if command else None,
        "fixture": require_fixture(store.place.root, fixture) if fixture else None,
        "payload": None if payload_json is None else encode_canonical(payload_json),
    }
    row = tx.add("eval_case", values, of=(task,) if task else ())
    return make_receipt(
        "eval_case",
        row,
        title=title,
        category=category,
        task_id=row.get("task_id"),
        fixture=row.get("fixture"),
    )


def run_add(
    tx: Writer,
    *,
    case_id: str,
    outcome: str,
    score: float | None = None,
    summary: str | None = None,
    body: str | None = None,
    payload_json: Any = None,
    duration_ms: int | None = None,
    proof_id: str | None = None,
) -> Row:
    """Record how a run of an eval case ended.

    Example: kaizen Q4 --case-id @last --outcome passed --score 1
    """
    case = tx.find("eval_case", case_id)
    proof = tx.find("proof", proof_id) if proof_id else None
    values = {
        "case_id": case["id"],
        "outcome": outcome,
        "score": score,
        "summary": summary,
        "body": body,
        "payload": None if payload_json is None else encode_canonical(payload_json),
        "duration_ms": duration_ms,
        "proof_id": proof and proof["id"],
    }
    row = tx.add("eval_run", values, of=(case, proof) if proof else (case,))
    return make_receipt(
        "eval_run",
        row,
        case_id=case["id"],
        title=case["title"],
        outcome=outcome,
        score=score,
        proof_id=row.get("proof_id"),
    )


def report(
    output: Output,
    *,
    scope: str | None = None,
    category: str | None = None,
    since: str | None = None,
    until: str | None = None,
    query: str | None = None,
    limit: int = 50,
) -> Row:
    """Report the eval cases with their runs, scores and trends: which fail, which are flaky, which
    were never run.

    Example: kaizen R5 --since 90d
    """
    from ..reports.lists import evals

    return output.publish(
        evals.gather,
        evals.layout,
        scope=scope,
        category=category,
        since=since,
        until=until,
        query=query,
        limit=limit,
    )
