"""Report the log in words (R2), by day and actor, the newest day first."""

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
# Sorted by seq, the primary key, so that SQLite stops after LIMIT matching rows.
NEWEST = """
SELECT seq, idx, at, actor, command, kind, record_id, test FROM log
WHERE {condition} ORDER BY seq DESC LIMIT ?"""
BY_SEQ = """
SELECT seq, idx, at, actor, command, kind, record_id, test FROM log
WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"""


def gather(db: Reader, zone: Zone, options: dict[str, Any]) -> dict[str, Any]:
    """Return the newest entries that match the filters, as events, and counts of them."""
    limit, since, until = options["limit"], options["since"], options["until"]
    if options["query"]:
        import json

        seqs = full_text.find_newest_seqs(db, options["query"], limit + 1, since, until)
        entries = db.rows(BY_SEQ, (json.dumps(seqs),))
    else:
        filters = {"at >= ?": since, "at < ?": until}
        filters = {sql: value for sql, value in filters.items() if value is not None}
        newest = NEWEST.format(condition=" AND ".join(filters) or "1")
        entries = db.rows(newest, (*filters.values(), limit + 1))
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
    """Return {value: number of events with it} for a field, the most frequent first."""
    counts = Counter(event[name] for event in events)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def layout(data: dict[str, Any], zone: Zone) -> dict[str, Any]:
    """Return the report: the counts, a story for each day and actor, and totals."""
    days: dict[str, list[Event]] = {}  # the newest day first, the oldest event of a day first
    for event in data["entries"]:
        days.setdefault(zone.format_day(event["at"]), []).insert(0, event)
    days = dict(sorted(days.items(), reverse=True))
    shown_count, total = len(data["entries"]), data["log_entries"]
    if not total:
        start = "`kaizen W1 --title … --summary …` starts a task."
        lead = f"Nothing is recorded yet. {start}"
    elif not days:
        lead = f"None of {format_quantity(total, 'entry')} matches."
    elif data["more"]:
        which = "matching entries" if data["narrowed"] else f"of {format_count(total)} entries"
        lead = f"The newest {format_count(shown_count)} {which}. Use --limit to see more."
    elif shown_count < total:
        lead = f"{format_quantity(shown_count, 'entry')} of {format_count(total)} in the log."
    else:
        lead = f"{format_quantity(total, 'entry')}."
    verification_note = f"Verified: {format_quantity(total, 'entry')}, root recomputed."
    texts = [verification_note if data["verified"] else "", lead, data["narrowed"]]
    sections = []
    if days:
        test_count = sum(event.get("test", False) for event in data["entries"])
        numbers = facts(
            fact("entries shown", shown_count),
            fact("days", len(days)),
            fact("actors", len(data["actors"])),
            fact("kinds", len(data["kinds"])),
            fact("about test records", test_count) if test_count else None,
        )
        sections = [
            section("In numbers", numbers, _draw_activity(days)),
            *(section(day, *_build_day_stories(events, zone)) for day, events in days.items()),
            section("By actor and kind", _list_counts(data, "actor"), _list_counts(data, "kind")),
        ]
    return document("Ledger", [text for text in texts if text], sections)


def _draw_activity(days: dict[str, list[Event]]) -> Block | None:
    """Return a chart of the entries per day. A period of at most DAYS_MAX days includes empty days."""
    labels = sorted(days)
    first = date.fromisoformat(labels[0])
    number = (date.fromisoformat(labels[-1]) - first).days + 1
    if number <= DAYS_MAX:
        labels = [(first + timedelta(days=n)).isoformat() for n in range(number)]
    counts = [len(days.get(day, ())) for day in labels]
    count_max = max(counts)
    of_days = f", the busiest of {len(days)} days with entries" if len(days) > 1 else ""
    busiest_day = labels[counts.index(count_max)]
    caption = f"{format_quantity(count_max, 'entry')} on {busiest_day}{of_days}."
    return draw_bars("Activity", "day", "entries", labels, {"entries": counts}, caption)


def _list_counts(data: dict[str, Any], what: str) -> Block | None:
    """Return a table of the entries by actor or kind."""
    rows: list[list[Any]] = [
        [clip_text(name.replace("_", " ") if what == "kind" else name), number]
        for name, number in data[f"{what}s"].items()
    ]
    return table(f"Entries shown, by {what}", {what.capitalize(): "", "Entries": "number"}, rows)


def _build_day_stories(events: list[Event], zone: Zone) -> list[Block | None]:
    """Return a story for each actor of a day, in order of their first entries."""
    actors: dict[str, list[Event]] = {}
    for event in events:
        actors.setdefault(event["actor"], []).append(event)
    return [
        story(
            fold_events(actor_events, lambda at: zone.format_time(at)[-5:]),
            f"{clip_text(actor, 60)}: {format_quantity(len(actor_events), 'entry')}",
        )
        for actor, actor_events in actors.items()
    ]
