"""Describe runs: one run as a card, and the pass rates of all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..protocol import Protocol
from . import recorder
from .account import summarize_run

if TYPE_CHECKING:
    from ...parameters import Reader, Row

SUMMARY_CHARS_MAX = 200
LISTED = (
    "id, at, protocol, driver, phase, outcome, events, task_id, test, request, "
    "json_extract(state, '$.step') AS step, json_extract(state, '$.spent.seconds') AS seconds, "
    "json_extract(state, '$.tries.build') AS build_attempts"
)
# `missing` means that a step was not decided, so it does not count in the pass rate.
STAGES = """
WITH known AS (SELECT protocol_hash, max(definition) AS definition FROM run GROUP BY protocol_hash),
     stage AS (
    SELECT k.protocol_hash, s.key AS step,
           coalesce(json_extract(s.value, '$.stage'), s.key) AS stage
    FROM known k JOIN json_each(k.definition, '$.steps') s
)
SELECT r.protocol, s.stage, count(DISTINCT e.run_id) AS runs, sum(e.reason <> 'missing') AS judged,
       sum(e.reason = 'pass') AS passed, sum(e.reason = 'missing') AS undecided
FROM run_event e JOIN run r ON r.id = e.run_id
JOIN stage s ON s.protocol_hash = r.protocol_hash AND s.step = e.step
WHERE e.event = 'judged' AND e.test = 0 AND r.protocol = coalesce(?, r.protocol)
GROUP BY r.protocol, s.stage
ORDER BY CASE WHEN sum(e.reason <> 'missing')
              THEN 1.0 * sum(e.reason = 'pass') / sum(e.reason <> 'missing') ELSE 2 END,
         r.protocol, s.stage"""


def build_card(db: Reader, run: Row) -> dict[str, Any]:
    """Return a summary of one run for P2."""
    number, state = recorder.load_state(db, run)
    events = recorder.load_events(db, run)
    protocol = recorder.load_protocol(run)
    end: dict[str, Any] = next(
        (event["payload"] for event in reversed(events) if event["event"] == "ended"), {}
    )
    lease_facts = {}
    if state["phase"] != "ended":
        lease = state["lease"] or {}
        lease_facts["paused"] = state["paused"]
        lease_facts |= {"holder": lease.get("holder"), "until": lease.get("until")}
    return {
        "id": run["id"], "kind": "run", "request": run["request"], "protocol": run["protocol"],
        "driver": run["driver"], "repo": run["repo"], "base_commit": run["base_commit"],
        "task_id": run["task_id"], "test": bool(run["test"]), "phase": state["phase"],
        "step": state["step"], "attempt": state["attempt"], "at": run["at"], "events": number,
        **summarize_run(state, events), **end.get("delivered", {}), **lease_facts,
        **find_reviewer(events, protocol), "gates": list_gates(events, protocol),
        "log": db.log_position(run),
    }  # fmt: skip


def find_reviewer(events: list[dict[str, Any]], protocol: Protocol) -> dict[str, Any]:
    """Return who reviewed the newest work and whether they also built it; {} before any review."""
    builders = []
    reviewers = []
    for event in events:
        if event["event"] == "answered":
            kind = protocol.steps[event["step"]].answer
            # Prefer the requested model: a server may report the same name for every model.
            answer = event["payload"]
            author = answer.get("requested") or answer.get("model") or event["actor"]
            builders += [author] if kind == "edits" else []
            reviewers += [author] if kind == "review" else []
    if not reviewers:
        return {}
    return {"reviewed_by": reviewers[-1], "reviewed_by_author": reviewers[-1] in builders}


def list_gates(events: list[dict[str, Any]], protocol: Protocol) -> list[dict[str, Any]]:
    """Return a row for each attempt with a verdict; its seconds include those of the answer."""
    rows = []
    answers = {}
    for event in events:
        place = (event["step"], event["attempt"])
        payload = event["payload"]
        if event["event"] == "answered":
            answers[place] = payload
        elif event["event"] == "judged":
            findings = payload.get("findings") or []
            seconds = [
                spent.get("spent", {}).get("seconds") for spent in (answers.get(place, {}), payload)
            ]
            step = protocol.steps.get(event["step"])
            rows.append({
                "step": event["step"], "stage": step.stage if step else event["step"],
                "attempt": event["attempt"], "reason": event["reason"],
                "seconds": round(sum(part or 0 for part in seconds), 3) if any(seconds) else None,
                "findings": len(findings), "first": findings[0] if findings else None,
                "says": (event["says"] or "")[:SUMMARY_CHARS_MAX],
                "proof_id": payload.get("proof_id"),
            })  # fmt: skip
    return rows


def compute_pass_rates(db: Reader, protocol: str | None = None) -> list[dict[str, Any]]:
    """Return the pass rate of each stage over all runs, lowest first."""
    return [
        {**row, "pass_rate": round(row["passed"] / row["judged"], 4) if row["judged"] else None}
        for row in db.rows(STAGES, (protocol,))
    ]


def find_flakiest_stage(stages: list[dict[str, Any]]) -> str | None:
    """Return the stage with the lowest pass rate; None if no stage has failed."""
    rate = stages[0]["pass_rate"] if stages else None
    return stages[0]["stage"] if rate is not None and rate < 1 else None
