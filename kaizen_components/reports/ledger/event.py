"""Describe log entries in words, as events for R1 and R2: who did what, and when."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..engine.document import LinkTarget, Ref, clip_text
from .event_words import build_query, build_sentence, summarize_entries

if TYPE_CHECKING:
    from ...parameters import Reader, Row

TEXT_CHARS_MAX = 600
FINDINGS_MAX = 20
FOLD_MIN = 4  # this many consecutive events of one kind become one line
BY_SEQ = "e.seq IN (SELECT value FROM json_each(?))"

Event = dict[str, Any]
ShowTime = Callable[[str], str]


def describe_events(db: Reader, entries: list[Row]) -> list[Event]:
    """Return an event with a sentence for each entry. Read the records with a query per kind."""
    records: dict[int, Row] = {}
    for kind in sorted({entry["kind"] for entry in entries}):
        seqs = json.dumps([entry["seq"] for entry in entries if entry["kind"] == kind])
        rows = db.rows(build_query(kind).format(condition=BY_SEQ), (seqs,))
        records.update({row["seq"]: row for row in rows})
    return [_describe_event(entry, records.get(entry["seq"])) for entry in entries]


def _describe_event(entry: Row, record: Row | None) -> Event:
    """Return an entry as an event; `record` is None if the record was purged."""
    kind = entry["kind"]
    event = {
        "log_index": entry["idx"],
        "at": entry["at"],
        "actor": entry["actor"],
        "command": entry["command"],
        "kind": kind,
        "id": entry["record_id"],
    }
    if entry["test"]:
        event["test"] = True
    if record is None:
        what = f"recorded a purged test record ({kind.replace('_', ' ')})"
        return {**event, "purged": True, "what": what}
    event["what"] = build_sentence(kind, {**record, "command": entry["command"]})
    if record.get("about"):
        event["about"] = record["about"]
    findings = json.loads(record.get("findings") or "[]")[:FINDINGS_MAX]
    lines = [record.get("text"), *(f"- {clip_text(str(finding))}" for finding in findings)]
    text = "\n".join(line for line in lines if line)
    if text:
        is_long = len(text) > TEXT_CHARS_MAX
        event["text"] = text[: TEXT_CHARS_MAX - 1] + "…" if is_long else text
    return event


def format_entry(event: Event, show_time: ShowTime, omit_id: str | None = None) -> dict[str, Any]:
    """Return an event as an entry of a story, without a link to the record `omit_id`."""
    about = event.get("about")
    refs = [LinkTarget(event["id"]), *([Ref(about)] if about and about != omit_id else [])]
    test_note = " (test record)" if event.get("test") and not event.get("purged") else ""
    at, what = show_time(event["at"]), event["what"] + test_note
    return {"at": at, "what": what, "refs": refs, "text": event.get("text")}


def fold_events(events: list[Event], show_time: ShowTime) -> list[dict[str, Any]]:
    """Return events as entries of a story; FOLD_MIN or more of a kind in a row become one."""
    entries = []
    for (kind, is_purged), group in groupby(
        events, key=lambda event: (event["kind"], event.get("purged"))
    ):
        folded_events = list(group)
        if len(folded_events) < FOLD_MIN:
            entries += [format_entry(event, show_time) for event in folded_events]
            continue
        what = f"recorded {len(folded_events):,} purged test records"
        what = what if is_purged else summarize_entries(kind, len(folded_events))
        refs = [LinkTarget(folded_events[0]["id"]), Ref(folded_events[-1]["id"])]
        at = show_time(folded_events[0]["at"])
        entries.append({"at": at, "what": f"{what}; the first and the last:", "refs": refs})
    return entries
