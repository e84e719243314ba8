"""What a run has kept, its answers and its files: is each still what it was when it was recorded?"""

from typing import Any

from ....errors import KaizenError
from ....records.files import artifact
from ....records.ledger.hashing import hash_text
from .. import recorder as ledger
from .difference import Row

HASH_CHARS = 12
CHANGED = "changed"


def explain_changed_answer(db, event: dict[str, Any]) -> str:
    """How the text on record differs from the answer that was given, in words; "" if it does not."""
    was, now = event["payload"].get("sha256"), hash_text(ledger.load_body(db, event["id"]))
    if was in (None, now):
        return ""
    hashes = f"its sha256 was {was[:HASH_CHARS]} and is {now[:HASH_CHARS]}"
    return f"The answer on record is not the one that was given: {hashes}."


def list_changed_answers(db, event: dict[str, Any]) -> list[Row]:
    """A row of a replay, only if the answer was changed."""
    why = explain_changed_answer(db, event)
    row = {
        "step": event["step"],
        "attempt": event["attempt"],
        "recorded": "answered",
        "replayed": CHANGED,
    }
    return [{**row, "same": False, "why": why}] if why else []


def list_changed_files(db, place, events: list[dict[str, Any]]) -> list[str]:
    """The results of a run that are not as they were left. No verdict rests on them."""
    left = [
        each
        for event in events
        if event["event"] == "ended"
        for each in event["payload"]["artifacts"].values()
    ]
    return [said for each in left if (said := _changed(place, db.find("artifact", each)))]


def _changed(place, record):
    try:
        found = artifact.compare_artifact(place, record)
    except KaizenError as error:
        return f"{record['path']}: {error.what}"
    if found["state"] == "ok":
        return ""
    return f"{record['path']} was {found['expected']} and is {found['found'] or 'gone'}"
