"""Check that a run's answers and result files have not changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import KaizenError
from ....records.files import artifact
from ....records.ledger.hashing import hash_text
from .. import recorder
from .difference import Row

if TYPE_CHECKING:
    from ....parameters import Place, Reader

HASH_CHARS = 12
CHANGED = "changed"


def explain_changed_answer(db: Reader, event: dict[str, Any]) -> str:
    """Return a sentence if the recorded text no longer has the hash of the answer, else ""."""
    was, now = event["payload"].get("sha256"), hash_text(recorder.load_body(db, event["id"]))
    if was in (None, now):
        return ""
    hashes = f"its sha256 was {was[:HASH_CHARS]} and is {now[:HASH_CHARS]}"
    return f"The recorded answer was changed: {hashes}."


def list_changed_answers(db: Reader, event: dict[str, Any]) -> list[Row]:
    """Return one row of a replay if the answer was changed, else []."""
    why = explain_changed_answer(db, event)
    place = {"step": event["step"], "attempt": event["attempt"]}
    row = {**place, "recorded": "answered", "replayed": CHANGED, "same": False, "why": why}
    return [row] if why else []


def list_changed_files(db: Reader, place: Place, events: list[dict[str, Any]]) -> list[str]:
    """Describe each result file that has changed or is gone. No verdict depends on them."""
    changes = []
    for event in events:
        for ref in event["payload"]["artifacts"].values() if event["event"] == "ended" else ():
            record = db.find("artifact", ref)
            try:
                state = artifact.compare_artifact(place, record)
            except KaizenError as error:
                changes.append(f"{record['path']}: {error.what}")
                continue
            if state["state"] != "ok":
                now = state["found"] or "gone"
                changes.append(f"{record['path']} was {state['expected']} and is {now}")
    return changes
