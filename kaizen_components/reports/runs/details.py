"""Gather the data of a run page: the card, the spec, the findings, the answers and the change.

The change is read from the file that the run wrote, unless that file is gone or was modified.
"""

from __future__ import annotations

import os

from ...pipeline.run import recorder as ledger
from ...records.ledger.hashing import sha256
from ...records.quality import span as spans_of
from . import card as run_card
from . import trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row
    from ...pipeline.protocol import Protocol
    from ..engine.zone import Zone

DIFF = "change.diff"
DRIVER_EVENTS = ("leased", "released", "refused", "aborted")
ARTIFACTS = """
SELECT id, name, title, path, bytes, sha256 FROM artifact WHERE about_id = ? ORDER BY seq"""
SIZES = """
SELECT id, length(body) AS chars FROM run_event
WHERE run_id = ? AND event = 'answered' ORDER BY n"""


def gather(root: str, db: Reader, zone: Zone, options: Row) -> Row:
    """Return the card and everything else that the page shows."""
    card = run_card.gather(db, zone, options)
    run = db.find("run", card["id"])
    events, protocol = ledger.load_events(db, run), ledger.load_protocol(run)
    _, state = ledger.load_state(db, run)
    spans = db.rows(spans_of.SPANS_OF_TRACE, (run["id"],))
    artifacts = db.rows(ARTIFACTS, (run["id"],))
    sizes = {row["id"]: row["chars"] for row in db.rows(SIZES, (run["id"],))}
    accepted_answer_ids = (
        set(state["answers"].values()) if state["outcome"] == "accepted" else set()
    )
    spending = {**state["spent"], "asks": state["asks"]}
    spending["tokens"] = spending["tokens_in"] + spending["tokens_out"]
    return {
        **card,
        "spec": _find_spec(db, protocol, events),
        "failed": [
            {
                **{name: event[name] for name in ("step", "attempt", "reason", "says")},
                "findings": event["payload"].get("findings") or [],
            }
            for event in events
            if event["event"] == "judged" and event["reason"] != "pass"
        ],
        "answers": [
            {
                "id": event["id"],
                "step": event["step"],
                "attempt": event["attempt"],
                "model": event["payload"].get("model"),
                "requested": event["payload"].get("requested"),
                "served_by": event["payload"].get("served_by"),
                "chars": sizes.get(event["id"]) or 0,
                **event["payload"].get("spent", {}),
                "retries": event["payload"].get("retries"),
                "kept": event["id"] in accepted_answer_ids,
            }
            for event in events
            if event["event"] == "answered"
        ],
        "budget": [
            {"name": name, "spent": spending.get(name), "most": most}
            for name, most in protocol.budget.items()
        ],
        "drove": [
            {
                **{name: event[name] for name in ("id", "at", "actor", "event")},
                "holder": event["payload"].get("holder"),
                "why": event["payload"].get("why") or event["says"],
            }
            for event in events
            if event["event"] in DRIVER_EVENTS
        ],
        "trace": trace.analyze_trace(run["id"], spans) if spans else None,
        "artifacts": artifacts,
        "change": _read_change(root, artifacts),
    }


def _find_spec(db: Reader, protocol: Protocol, events: list[Row]) -> Row | None:
    """Return the newest spec that can be parsed, and whether it was accepted."""
    from ...pipeline.answers.contracts import MODELS
    from ...pipeline.answers.parse import AnswerRefused, validate_answer

    accepted_places = {
        (event["step"], event["attempt"]) for event in events if event["reason"] == "pass"
    }
    for event in reversed(events):
        if event["event"] == "answered" and protocol.steps[event["step"]].answer == "spec":
            try:
                spec = validate_answer(ledger.load_body(db, event["id"]), MODELS["spec"])
            except AnswerRefused:
                continue
            place = (event["step"], event["attempt"])
            return {
                **spec.model_dump(),
                "attempt": event["attempt"],
                "accepted": place in accepted_places,
            }
    return None


def _read_change(root: str, artifacts: list[Row]) -> Row | None:
    """Return the diff of the last candidate; `text` is None if the file is gone or was modified."""
    diff = next((row for row in artifacts if row["name"] == DIFF and row["path"]), None)
    if diff is None:
        return None
    try:
        with open(os.path.join(root, diff["path"]), "rb") as file:
            data = file.read(diff["bytes"] + 1)
    except OSError:
        data = b""
    text = data.decode("utf-8", "replace") if sha256(data) == diff["sha256"] else None
    return {"artifact_id": diff["id"], "path": diff["path"], "text": text}
