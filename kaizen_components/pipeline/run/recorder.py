"""Store runs: each change is one event that the state machine allows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import Conflict
from ...records.ledger.canonical import encode_canonical
from ..protocol import Protocol
from . import machine

if TYPE_CHECKING:
    from ...parameters import Reader, Row, Writer

LAST = "SELECT n, state FROM run_event WHERE run_id = ? ORDER BY n DESC LIMIT 1"
EVENTS = """
SELECT n, id, at, actor, event, step, attempt, reason, says, payload, phase, outcome FROM run_event
WHERE run_id = ? ORDER BY n"""
STATES = "SELECT n, state FROM run_event WHERE run_id = ? ORDER BY n"
BODY = "SELECT body FROM run_event WHERE id = ?"
ROOT_SPAN = "SELECT id FROM span WHERE trace_id = ? ORDER BY seq LIMIT 1"
COLUMNS = ("step", "attempt", "reason", "says", "body")


def start_run(tx: Writer, protocol: Protocol, task: Row, values: dict[str, Any]) -> Row:
    """Add the record of a run, without events."""
    row = {
        "task_id": task["id"], "protocol": protocol.name, "protocol_hash": protocol.hash,
        "definition": encode_canonical(protocol.definition), **values,
        "options": encode_canonical(values["options"]),
    }  # fmt: skip
    return tx.add("run", row, of=(task,))


def load_protocol(run: Row) -> Protocol:
    """Return the protocol as it was when the run began; its file may have changed since."""
    return Protocol(json.loads(run["definition"]))


def load_state(db: Reader, run: Row) -> tuple[int, machine.State]:
    """Return (the number of the newest event, the state after it)."""
    newest_event = db.one(LAST, (run["id"],))
    if newest_event is None:
        return 0, machine.make_initial_state(load_protocol(run))
    return newest_event["n"], json.loads(newest_event["state"])


def append_event(
    tx: Writer, run: Row, event: machine.Event, expected_number: int
) -> tuple[int, machine.State]:
    """Record an event and the state after it; raise Conflict if the event cannot follow.

    `expected_number` is that of the newest event that the caller has read. A newer event is a
    conflict.
    """
    number, state = load_state(tx, run)
    hint = f"`P2 --id {run['id']}` shows the run."
    if number != expected_number:
        raise Conflict(
            "run_moved_on",
            f"{run['id']} has newer events than expected.",
            "Another process is driving the run.",
            hint,
        )
    try:
        new_state = machine.compute_next_state(load_protocol(run), state, {**event, "at": tx.at})
    except machine.IllegalEvent as error:
        raise Conflict(
            "illegal_transition",
            f"The event {event['event']!r} is not allowed in the run's current state.",
            f"{error}.",
            hint,
        ) from None
    payload = {name: value for name, value in event.items() if name not in ("event", *COLUMNS)}
    row = {
        "run_id": run["id"], "n": number + 1, "event": event["event"],
        **{name: event.get(name) for name in COLUMNS},
        "payload": encode_canonical(payload) if payload else None, "state": encode_canonical(new_state),
        "phase": new_state["phase"], "outcome": new_state["outcome"],
    }  # fmt: skip
    tx.add("run_event", row, of=(run,))
    return number + 1, new_state


def load_events(db: Reader, run: Row) -> list[dict[str, Any]]:
    """Return all events in order, each with its payload decoded."""
    return [
        {**row, "payload": json.loads(row["payload"] or "{}")}
        for row in db.rows(EVENTS, (run["id"],))
    ]


def load_states(db: Reader, run: Row) -> dict[int, machine.State]:
    """Return the state after each event, by its number; 0 is the initial state."""
    states = {row["n"]: json.loads(row["state"]) for row in db.rows(STATES, (run["id"],))}
    return {0: machine.make_initial_state(load_protocol(run)), **states}


def load_body(db: Reader, event_id: str) -> str:
    """Return the text of an answer or a question by the id of its event."""
    return db.value(BODY, (event_id,)) or ""


def load_answer(db: Reader, state: machine.State, step: str) -> str | None:
    """Return the text of the newest answer to a step, or None."""
    event = state["answers"].get(step)
    return load_body(db, event) if event else None
