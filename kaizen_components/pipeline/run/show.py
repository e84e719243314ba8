"""Runs as people look at them: one as a card, all of them in numbers."""

from typing import Any

from ..protocol import Protocol
from . import recorder
from .account import summarize_run

SAYS_CHARS_MAX = 200
LISTED = (
    "id, at, protocol, driver, phase, outcome, events, task_id, test, request, json_extract(state, '$.step') AS step, "
    "json_extract(state, '$.spent.seconds') AS seconds, json_extract(state, '$.tries.build') AS build_attempts"
)
# A gate that could not be decided says nothing about how often its stage passes.
STAGES = """
WITH known AS (SELECT protocol_hash, max(definition) AS definition FROM run GROUP BY protocol_hash),
     stage AS (
    SELECT k.protocol_hash, s.key AS step, coalesce(json_extract(s.value, '$.stage'), s.key) AS stage
    FROM known k JOIN json_each(k.definition, '$.steps') s
)
SELECT r.protocol, s.stage, count(DISTINCT e.run_id) AS runs, sum(e.reason <> 'missing') AS judged,
       sum(e.reason = 'pass') AS passed, sum(e.reason = 'missing') AS undecided
FROM run_event e JOIN run r ON r.id = e.run_id
JOIN stage s ON s.protocol_hash = r.protocol_hash AND s.step = e.step
WHERE e.event = 'judged' AND e.test = 0 AND r.protocol = coalesce(?, r.protocol) GROUP BY r.protocol, s.stage
ORDER BY CASE WHEN sum(e.reason <> 'missing') THEN 1.0 * sum(e.reason = 'pass') / sum(e.reason <> 'missing') ELSE 2 END,
         r.protocol, s.stage"""


def run_card(db, run: dict[str, Any]) -> dict[str, Any]:
    """Everything about one run that fits on a screen."""
    number, state = recorder.load_state(db, run)
    events = recorder.load_events(db, run)
    ended: dict[str, Any] = next(
        (event["payload"] for event in reversed(events) if event["event"] == "ended"), {}
    )
    return {
        "id": run["id"], "kind": "run", "request": run["request"], "protocol": run["protocol"], "driver": run["driver"],
        "repo": run["repo"], "base_commit": run["base_commit"], "task_id": run["task_id"], "test": bool(run["test"]),
        "phase": state["phase"], "step": state["step"], "attempt": state["attempt"], "at": run["at"], "events": number,
        **summarize_run(state, events), **ended.get("delivered", {}), **_holding(state),
        **find_reviewer(events, recorder.load_protocol(run)),
        "gates": list_gates(events, recorder.load_protocol(run)),
        "log": db.log_position(run),
    }  # fmt: skip


def _holding(state):
    """Who drives a run that has not ended, or why nobody does."""
    if state["phase"] == "ended":
        return {}
    lease = state["lease"] or {}
    return {"paused": state["paused"], "holder": lease.get("holder"), "until": lease.get("until")}


def find_reviewer(events: list[dict[str, Any]], protocol: Protocol) -> dict[str, Any]:
    """Who reviewed the newest work, and whether the same one had built it; nothing where nobody has reviewed."""
    answered = [event for event in events if event["event"] == "answered"]
    by = {
        kind: [_who(event) for event in answered if protocol.steps[event["step"]].answer == kind]
        for kind in ("edits", "review")
    }
    if not by["review"]:
        return {}
    return {"reviewed_by": by["review"][-1], "reviewed_by_author": by["review"][-1] in by["edits"]}


def _who(event):
    return event["payload"].get("model") or event["actor"]


def list_gates(events: list[dict[str, Any]], protocol: Protocol) -> list[dict[str, Any]]:
    """One row for each step and attempt that was judged; the seconds are those of the answer and of its checks."""
    answered = {
        (event["step"], event["attempt"]): event["payload"]
        for event in events
        if event["event"] == "answered"
    }
    return [
        _gate(event, answered.get((event["step"], event["attempt"]), {}), protocol)
        for event in events
        if event["event"] == "judged"
    ]


def _gate(event, answer, protocol):
    payload = event["payload"]
    found = payload.get("findings") or []
    took = [one.get("spent", {}).get("seconds") for one in (answer, payload)]
    step = protocol.steps.get(event["step"])
    return {
        "step": event["step"], "stage": step.stage if step else event["step"], "attempt": event["attempt"],
        "reason": event["reason"], "seconds": round(sum(one or 0 for one in took), 3) if any(took) else None,
        "findings": len(found), "first": found[0] if found else None, "says": (event["says"] or "")[:SAYS_CHARS_MAX],
        "proof_id": payload.get("proof_id"),
    }  # fmt: skip


def count_stages(db, protocol: str | None = None) -> list[dict[str, Any]]:
    """How often each stage passes, over all runs; the one that fails most often first."""
    rows = db.rows(STAGES, (protocol,))
    return [
        {**row, "pass_rate": round(row["passed"] / row["judged"], 4) if row["judged"] else None}
        for row in rows
    ]


def find_flakiest(found: list[dict[str, Any]]) -> str | None:
    """The stage that fails most often; None where none ever did."""
    first = found[0] if found else None
    return (
        first["stage"]
        if first and first["pass_rate"] is not None and first["pass_rate"] < 1
        else None
    )
