"""Runs in the database. Every change of a run is one event in one transaction, and only if the machine allows it."""

import json
from typing import Any

from ...errors import Conflict
from ...records.ledger.canonical import encode_canonical
from ..protocol import Protocol
from . import machine

LAST = "SELECT n, state FROM run_event WHERE run_id = ? ORDER BY n DESC LIMIT 1"
EVENTS = """
SELECT n, id, at, actor, event, step, attempt, reason, says, payload, phase, outcome FROM run_event
WHERE run_id = ? ORDER BY n"""
STATES = "SELECT n, state FROM run_event WHERE run_id = ? ORDER BY n"
BODY = "SELECT body FROM run_event WHERE id = ?"
ROOT_SPAN = "SELECT id FROM span WHERE trace_id = ? ORDER BY seq LIMIT 1"
COLUMNS = ("step", "attempt", "reason", "says", "body")


def start_run(
    tx, protocol: Protocol, task: dict[str, Any], values: dict[str, Any]
) -> dict[str, Any]:
    """A new run; its first event is still to come."""
    row = {
        "task_id": task["id"], "protocol": protocol.name, "protocol_hash": protocol.hash,
        "definition": encode_canonical(protocol.given), **values, "options": encode_canonical(values["options"]),
    }  # fmt: skip
    return tx.add("run", row, of=(task,))


def load_protocol(run: dict[str, Any]) -> Protocol:
    """The protocol as it was when the run began, whatever the file says now."""
    return Protocol(json.loads(run["definition"]))


def load_state(db, run: dict[str, Any]) -> tuple[int, machine.State]:
    """(number of the newest event, the state after it)."""
    found = db.one(LAST, (run["id"],))
    return (
        (found["n"], json.loads(found["state"]))
        if found
        else (0, machine.initial_state(load_protocol(run)))
    )


def append_event(
    tx, run: dict[str, Any], event: machine.Event, known: int
) -> tuple[int, machine.State]:
    """Record the event and what the run has become by it; refused where it cannot follow.

    `known` is the number of the newest event that the caller has seen: if somebody else was quicker, nothing happens.
    """
    number, state = load_state(tx, run)
    if number != known:
        raise Conflict(
            "run_moved_on",
            f"{run['id']} has moved on.",
            "Somebody else drives it.",
            f"`P2 --id {run['id']}` shows it.",
        )
    try:
        new = machine.next_state(load_protocol(run), state, {**event, "at": tx.at})
    except machine.IllegalEvent as error:
        raise Conflict(
            "illegal_transition",
            f"{event['event']} is not legal now.",
            f"{error}.",
            f"`P2 --id {run['id']}` shows it.",
        ) from None
    payload = {name: value for name, value in event.items() if name not in ("event", *COLUMNS)}
    tx.add(
        "run_event",
        {
            "run_id": run["id"], "n": number + 1, "event": event["event"],
            **{name: event.get(name) for name in COLUMNS},
            "payload": encode_canonical(payload) if payload else None, "state": encode_canonical(new), "phase": new["phase"],
            "outcome": new["outcome"],
        },
        of=(run,),
    )  # fmt: skip
    return number + 1, new


def load_events(db, run: dict[str, Any]) -> list[dict[str, Any]]:
    """Everything that happened, in order, the payload as what it is."""
    return [
        {**row, "payload": json.loads(row["payload"] or "{}")}
        for row in db.rows(EVENTS, (run["id"],))
    ]


def load_states(db, run: dict[str, Any]) -> dict[int, machine.State]:
    """The state after each event; that of number 0 is the beginning."""
    found = {row["n"]: json.loads(row["state"]) for row in db.rows(STATES, (run["id"],))}
    return {0: machine.initial_state(load_protocol(run)), **found}


def load_body(db, event_id: str) -> str:
    """The text of an answer, or of a question."""
    return db.value(BODY, (event_id,)) or ""


def load_answer(db, state: dict[str, Any], step: str) -> str | None:
    """The newest answer to a step, as it was given."""
    event = state["answers"].get(step)
    return load_body(db, event) if event else None
