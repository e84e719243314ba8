"""Runs as people look at them: one as a card, all of them in numbers."""

import json
from typing import Any

from . import ledger
from .account import summary

JUDGED = """
SELECT e.step, e.attempt, e.at, e.reason, e.says, e.payload FROM run_event e
WHERE e.run_id = ? AND e.event = 'judged' ORDER BY e.n"""
STAGES = """
SELECT step, count(*) AS judged, sum(reason = 'pass') AS passed, count(DISTINCT run_id) AS runs FROM run_event
WHERE event = 'judged' AND test = 0 GROUP BY step ORDER BY 1.0 * sum(reason = 'pass') / count(*), step"""


def card(db, run: dict[str, Any]) -> dict[str, Any]:
    """Everything about one run that fits on a screen."""
    number, state = ledger.state_of(db, run)
    events = ledger.events(db, run)
    ended = next((event for event in reversed(events) if event["event"] == "ended"), None)
    return {
        "id": run["id"], "kind": "run", "request": run["request"], "protocol": run["protocol"], "driver": run["driver"],
        "repo": run["repo"], "base_commit": run["base_commit"], "task_id": run["task_id"], "phase": state["phase"],
        "step": state["step"], "at": run["at"], "events": number, **summary(state, events),
        **(ended["payload"]["delivered"] if ended else {}),
        "gates": [_gate(row) for row in db.rows(JUDGED, (run["id"],))],
        "log": db.log_position(run),
    }  # fmt: skip


def _gate(row):
    payload = json.loads(row["payload"] or "{}")
    return {
        "step": row["step"], "attempt": row["attempt"], "reason": row["reason"],
        "seconds": payload.get("spent", {}).get("seconds"), "findings": len(payload.get("findings", [])),
        "says": (row["says"] or "")[:200], "proof_id": payload.get("proof_id"),
    }  # fmt: skip


def stages(db) -> list[dict[str, Any]]:
    """Pass rate of each step over all runs, the flakiest first."""
    return [{**row, "pass_rate": round(row["passed"] / row["judged"], 4)} for row in db.rows(STAGES)]
