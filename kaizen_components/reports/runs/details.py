"""Everything that a page says about a run: what the card has, the spec, the findings, the answers, the change itself.

The change is quoted from the file that the run left, if that is there as it was recorded.
"""

import os
from typing import Any

from ...pipeline.run import recorder as ledger
from ...records.ledger.hashing import sha256
from ...records.quality import span as spans_of
from . import card as run_card
from . import trace

DIFF = "change.diff"
DROVE = ("leased", "released", "refused", "aborted")
ARTIFACTS = (
    "SELECT id, name, title, path, bytes, sha256 FROM artifact WHERE about_id = ? ORDER BY seq"
)
SIZES = "SELECT id, length(body) AS chars FROM run_event WHERE run_id = ? AND event = 'answered' ORDER BY n"


def gather(root: str, db, zone, options: dict[str, Any]) -> dict[str, Any]:
    card = run_card.gather(db, zone, options)
    run = db.find("run", card["id"])
    events, protocol = ledger.load_events(db, run), ledger.load_protocol(run)
    _, state = ledger.load_state(db, run)
    spans = db.rows(spans_of.SPANS_OF_TRACE, (run["id"],))
    artifacts = db.rows(ARTIFACTS, (run["id"],))
    return {
        **card,
        "spec": _spec(db, protocol, events),
        "failed": [
            _failed(event)
            for event in events
            if event["event"] == "judged" and event["reason"] != "pass"
        ],
        "answers": _answers(db, run, events, state),
        "budget": _budget(protocol, state),
        "drove": [_drove(event) for event in events if event["event"] in DROVE],
        "trace": trace.analyze_trace(run["id"], spans) if spans else None,
        "artifacts": artifacts,
        "change": _change(root, artifacts),
    }


def _spec(db, protocol, events):
    """The newest plan that can be read, and whether it was accepted; None where there is none."""
    from ...pipeline.answers.contracts import MODELS
    from ...pipeline.answers.parse import AnswerRefused, validate_answer

    passed = {(event["step"], event["attempt"]) for event in events if event["reason"] == "pass"}
    for event in reversed(events):
        if event["event"] == "answered" and protocol.steps[event["step"]].answer == "spec":
            try:
                spec = validate_answer(
                    ledger.load_body(db, event["id"]), MODELS["spec"]
                ).model_dump()
            except AnswerRefused:
                continue
            return {
                **spec,
                "attempt": event["attempt"],
                "accepted": (event["step"], event["attempt"]) in passed,
            }
    return None


def _failed(event):
    return {
        "step": event["step"], "attempt": event["attempt"], "reason": event["reason"], "says": event["says"],
        "findings": event["payload"].get("findings") or [],
    }  # fmt: skip


def _answers(db, run, events, state):
    sizes = {row["id"]: row["chars"] for row in db.rows(SIZES, (run["id"],))}
    kept = set(state["answers"].values()) if state["outcome"] == "accepted" else set()
    return [
        {
            "id": event["id"], "step": event["step"], "attempt": event["attempt"],
            "model": event["payload"].get("model"), "served_by": event["payload"].get("served_by"),
            "chars": sizes.get(event["id"]) or 0, **event["payload"].get("spent", {}),
            "retries": event["payload"].get("retries"), "kept": event["id"] in kept,
        }
        for event in events
        if event["event"] == "answered"
    ]  # fmt: skip


def _budget(protocol, state):
    spent = {**state["spent"], "asks": state["asks"]}
    spent["tokens"] = spent["tokens_in"] + spent["tokens_out"]
    return [
        {"name": name, "spent": spent.get(name), "most": most}
        for name, most in protocol.budget.items()
    ]


def _drove(event):
    return {
        "id": event["id"], "at": event["at"], "actor": event["actor"], "event": event["event"],
        "holder": event["payload"].get("holder"), "why": event["payload"].get("why") or event["says"],
    }  # fmt: skip


def _change(root, artifacts):
    """The diff of the last candidate; None as `text` if its file is gone or is another one by now."""
    kept = next((one for one in artifacts if one["name"] == DIFF and one["path"]), None)
    if kept is None:
        return None
    try:
        with open(os.path.join(root, kept["path"]), "rb") as file:
            data = file.read(kept["bytes"] + 1)
    except OSError:
        data = b""
    same = sha256(data) == kept["sha256"]
    return {
        "artifact_id": kept["id"],
        "path": kept["path"],
        "text": data.decode("utf-8", "replace") if same else None,
    }
