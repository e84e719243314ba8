"""R2: the ledger by day and actor: what each recorded, in words, the newest day first."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from ...records.search import full_text
from ..charts.chart import draw_bars
from ..engine.document import (
    Block,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_quantity,
    section,
    story,
    table,
)
from ..engine.filters import describe_filters
from .event import Event, describe_events, fold_events

if TYPE_CHECKING:
    from ...parameters import Reader
    from ..engine.zone import Zone

DAYS_MAX = 366  # in the drawing
# By seq, the order of the log: stops after LIMIT rows, and reads on only for --since and --until.
NEWEST = """
SELECT seq, idx, at, actor, command, kind, record_id, test FROM log
WHERE {asked} ORDER BY seq DESC LIMIT ?"""
CHOSEN = """
SELECT seq, idx, at, actor, command, kind, record_id, test FROM log
WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"""


def gather(db: Reader, zone: Zone, options: dict[str, Any]) -> dict[str, Any]:
    limit, since, until = options["limit"], options["since"], options["until"]
    if options["query"]:
        import json

        seqs = full_text.find_newest_seqs(db, options["query"], limit + 1, since, until)
        entries = db.rows(CHOSEN, (json.dumps(seqs),))
    else:
        conditions = {"at >= ?": since, "at < ?": until}
        chosen = {sql: value for sql, value in conditions.items() if value is not None}
        newest = NEWEST.format(asked=" AND ".join(chosen) or "1")
        entries = db.rows(newest, (*chosen.values(), limit + 1))
    events = describe_events(db, entries[:limit])
    return {
        "narrowed": describe_filters(options, zone),
        "verified": options.get("verify", False),
        "log_entries": db.value(full_text.LOG_SIZE) or 0,
        "more": len(entries) > limit,
        "kinds": _count_events(events, "kind"),
        "actors": _count_events(events, "actor"),
        "entries": events,
    }


def _count_events(events: list[Event], name: str) -> dict[str, int]:
    """Count events by one of their values, the most frequent first; among equals, by name."""
    counts = Counter(event[name] for event in events)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def layout(data: dict[str, Any], zone: Zone) -> dict[str, Any]:
    days: dict[str, list[Event]] = {}  # the newest first, each in the order of the log
    for event in data["entries"]:
        days.setdefault(zone.day(event["at"]), []).insert(0, event)
    days = dict(sorted(days.items(), reverse=True))
    shown, total = len(data["entries"]), data["log_entries"]
    if not total:
        start = "`kaizen W1 --title … --summary …` starts a task, and the story with it."
        lead = f"Nothing is recorded yet. {start}"
    elif not days:
        lead = f"None of {format_quantity(total, 'entry')} fits."
    elif data["more"]:
        what = "that fit" if data["narrowed"] else f"of {format_count(total)} entries"
        lead = f"The newest {format_count(shown)} {what}; --limit shows more."
    elif shown < total:
        lead = f"{format_quantity(shown, 'entry')} of {format_count(total)} in the log."
    else:
        lead = f"{format_quantity(total, 'entry')}."
    verified = f"Verified: {format_quantity(total, 'entry')}, root recomputed."
    texts = [verified if data["verified"] else "", lead, data["narrowed"]]
    sections = []
    if days:
        tests = sum(event.get("test", False) for event in data["entries"])
        numbers = facts(
            fact("entries shown", shown),
            fact("days", len(days)),
            fact("actors", len(data["actors"])),
            fact("kinds", len(data["kinds"])),
            fact("of test records", tests) if tests else None,
        )
        sections = [
            section("In numbers", numbers, _draw_activity(days)),
            *(section(day, *_tell_day(events, zone)) for day, events in days.items()),
            section("By actor and kind", _list_counts(data, "actor"), _list_counts(data, "kind")),
        ]
    return document("Ledger", [text for text in texts if text], sections)


def _draw_activity(days: dict[str, list[Event]]) -> Block | None:
    """Draw the entries per day; days without any are shown too, unless there are years of them."""
    labels = sorted(days)
    first = date.fromisoformat(labels[0])
    number = (date.fromisoformat(labels[-1]) - first).days + 1
    if number <= DAYS_MAX:
        labels = [(first + timedelta(days=at)).isoformat() for at in range(number)]
    counts = [len(days.get(day, ())) for day in labels]
    most = max(counts)
    of_days = f", the busiest of {len(days)} days with entries" if len(days) > 1 else ""
    says = f"{format_quantity(most, 'entry')} on {labels[counts.index(most)]}{of_days}."
    return draw_bars("Activity", "day", "entries", labels, {"entries": counts}, says)


def _list_counts(data: dict[str, Any], what: str) -> Block | None:
    rows: list[list[Any]] = [
        [clip_text(name.replace("_", " ") if what == "kind" else name), number]
        for name, number in data[f"{what}s"].items()
    ]
    return table(f"Entries shown, by {what}", {what.capitalize(): "", "Entries": "number"}, rows)


def _tell_day(events: list[Event], zone: Zone) -> list[Block | None]:
    """Return a story for each actor of a day, in the order of their first entry."""
    actors: dict[str, list[Event]] = {}
    for event in events:
        actors.setdefault(event["actor"], []).append(event)
    return [
        story(
            fold_events(own, lambda at: zone.show(at)[-5:]),
            f"{clip_text(actor, 60)}: {format_quantity(len(own), 'entry')}",
        )
        for actor, own in actors.items()
    ]
