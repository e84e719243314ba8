"""Entries of the log as events: who did what, when, in words; told the same way in R1 and R2."""

import json
from typing import Any

from ..engine.document import Own, Ref, clip_text
from .event_words import build_question, build_sentence, summarize_entries

TEXT_CHARS_MAX = 600
FINDINGS_MAX = 20
FOLDED_FROM = 4  # so many of one kind in a row become one line
BY_SEQ = "e.seq IN (SELECT value FROM json_each(?))"

Event = dict[str, Any]


def describe_events(db, entries: list[dict[str, Any]]) -> list[Event]:
    """The entries with what they say; one question for each kind among them, however many there are."""
    records: dict[int, dict[str, Any]] = {}
    for kind in sorted({entry["kind"] for entry in entries}):
        wanted = json.dumps([entry["seq"] for entry in entries if entry["kind"] == kind])
        records.update(
            {
                row["seq"]: row
                for row in db.rows(build_question(kind).format(asked=BY_SEQ), (wanted,))
            }
        )
    return [_told(entry, records.get(entry["seq"])) for entry in entries]


def _told(entry, record):
    shown = {
        "log_index": entry["idx"], "at": entry["at"], "actor": entry["actor"], "command": entry["command"],
        "kind": entry["kind"], "id": entry["record_id"],
    }  # fmt: skip
    if entry["test"]:
        shown["test"] = True
    if record is None:
        return {
            **shown,
            "purged": True,
            "what": f"recorded a purged test record ({entry['kind'].replace('_', ' ')})",
        }
    said = {**shown, "what": build_sentence(entry["kind"], {**record, "command": entry["command"]})}
    text = _text(record)
    return {
        **said,
        **({"about": record["about"]} if record.get("about") else {}),
        **({"text": text} if text else {}),
    }


def _text(record):
    """What the record says itself, its findings below it; the beginning of it."""
    found = json.loads(record.get("findings") or "[]")[:FINDINGS_MAX]
    lines = [record.get("text"), *(f"- {clip_text(str(finding))}" for finding in found)]
    text = "\n".join(line for line in lines if line)
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"


def format_entry(event: Event, when, besides: str | None = None) -> dict[str, Any]:
    """An event as an entry of a story; `when(at)` shows its time. `besides` is the record that needs no mention."""
    about = event.get("about")
    refs = [Own(event["id"]), *([Ref(about)] if about and about != besides else [])]
    what = event["what"] + (
        " (test record)" if event.get("test") and not event.get("purged") else ""
    )
    return {"at": when(event["at"]), "what": what, "refs": refs, "text": event.get("text")}


def fold_events(events: list[Event], when) -> list[dict[str, Any]]:
    """Events of one actor as entries; where many of one kind follow each other, one line says how many."""
    found = []
    for run in _runs(events):
        found += (
            [_run(run, when)]
            if len(run) >= FOLDED_FROM
            else [format_entry(event, when) for event in run]
        )
    return found


def _runs(events):
    runs: list[list[Event]] = []
    for event in events:
        if runs and _alike(runs[-1][-1], event):
            runs[-1].append(event)
        else:
            runs.append([event])
    return runs


def _alike(one, other):
    return (one["kind"], one.get("purged")) == (other["kind"], other.get("purged"))


def _run(run, when):
    number = len(run)
    what = (
        f"recorded {number:,} purged test records"
        if run[0].get("purged")
        else summarize_entries(run[0]["kind"], number)
    )
    refs = [Own(run[0]["id"]), Ref(run[-1]["id"])]
    return {"at": when(run[0]["at"]), "what": f"{what}; the first and the last:", "refs": refs}
