"""R2: the ledger by day and actor: what each recorded, in words, the newest day first."""

from collections import Counter
from datetime import date, timedelta
from typing import Any

from ...records.search import full_text
from ..charts.chart import draw_bars
from ..engine.document import clip_text, document, fact, facts, format_count, section, story, table
from ..engine.filters import describe_filters
from .event import Event, describe_events, fold_events

DAYS_MAX = 366  # in the drawing
# By seq, which is the order of the log: it stops after so many rows, and reads on only where --since or --until say so.
NEWEST = """
SELECT seq, idx, at, actor, command, kind, record_id, test FROM log WHERE {asked} ORDER BY seq DESC LIMIT ?"""
CHOSEN = """
SELECT seq, idx, at, actor, command, kind, record_id, test FROM log
WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"""


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    limit = options["limit"]
    found = _entries(db, options, limit + 1)
    events = describe_events(db, found[:limit])
    return {
        "narrowed": describe_filters(options, zone),
        "verified": options.get("verify", False),
        "log_entries": db.value(full_text.LOG_SIZE) or 0,
        "more": len(found) > limit,
        "kinds": _counted(events, "kind"),
        "actors": _counted(events, "actor"),
        "entries": events,
    }


def _entries(db, options, limit):
    """The newest first."""
    since, until = options["since"], options["until"]
    if options["query"]:
        import json

        seqs = full_text.find_newest(db, options["query"], limit, since, until)
        return db.rows(CHOSEN, (json.dumps(seqs),))
    conditions = {"at >= ?": since, "at < ?": until}
    chosen = {sql: value for sql, value in conditions.items() if value is not None}
    return db.rows(NEWEST.format(asked=" AND ".join(chosen) or "1"), (*chosen.values(), limit))


def _counted(events: list[Event], name: str) -> dict[str, int]:
    """The most frequent first; among equals, by name."""
    return dict(
        sorted(
            Counter(event[name] for event in events).items(), key=lambda item: (-item[1], item[0])
        )
    )


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    days = _by_day(found["entries"], zone)
    if not days:
        return document(
            "Ledger",
            [text for text in (*_verified(found), _nothing(found), found["narrowed"]) if text],
            [],
        )
    return document(
        "Ledger", [text for text in (*_verified(found), _shown(found), found["narrowed"]) if text],
        [
            section("In numbers", _facts(found, days), _activity(days)),
            *(section(day, *_stories(events, zone)) for day, events in days.items()),
            section("By actor and kind", _numbers(found, "actor"), _numbers(found, "kind")),
        ],
    )  # fmt: skip


def _verified(found):
    said = f"Verified: {_entries_said(found['log_entries'])}, root recomputed."
    return [said] if found["verified"] else []


def _nothing(found):
    if found["log_entries"]:
        return f"None of {_entries_said(found['log_entries'])} fits."
    return "Nothing is recorded yet. `kaizen W1 --title … --summary …` starts a task, and the story with it."


def _shown(found):
    shown, total = len(found["entries"]), found["log_entries"]
    if not found["more"]:
        return (
            f"{_entries_said(shown)} of {format_count(total)} in the log."
            if shown < total
            else f"{_entries_said(total)}."
        )
    what = f"of {format_count(total)} entries" if not found["narrowed"] else "that fit"
    return f"The newest {format_count(shown)} {what}; --limit shows more."


def _entries_said(number):
    return f"{format_count(number)} entr{'y' if number == 1 else 'ies'}"


def _by_day(events, zone):
    """The newest day first, its events in the order of the log."""
    days: dict[str, list[Event]] = {}
    for event in events:
        days.setdefault(zone.day(event["at"]), []).insert(0, event)
    return dict(sorted(days.items(), reverse=True))


def _facts(found, days):
    tests = sum(event.get("test", False) for event in found["entries"])
    return facts(
        fact("entries shown", len(found["entries"])),
        fact("days", len(days)),
        fact("actors", len(found["actors"])),
        fact("kinds", len(found["kinds"])),
        fact("of test records", tests) if tests else None,
    )


def _activity(days):
    labels = _every_day(sorted(days))
    numbers: list[float] = [len(days.get(day, ())) for day in labels]
    busiest = labels[numbers.index(max(numbers))]
    of_days = f", the busiest of {len(days)} days with entries" if len(days) > 1 else ""
    says = f"{_entries_said(int(max(numbers)))} on {busiest}{of_days}."
    return draw_bars("Activity", "day", "entries", labels, {"entries": numbers}, says)


def _every_day(days):
    """Also those on which nothing happened, unless there are years of them."""
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    number = (last - first).days + 1
    return (
        days
        if number > DAYS_MAX
        else [(first + timedelta(days=at)).isoformat() for at in range(number)]
    )


def _numbers(found, what):
    said = {
        name.replace("_", " ") if what == "kind" else name: number
        for name, number in found[f"{what}s"].items()
    }
    rows = [[clip_text(name), number] for name, number in said.items()]
    return table(f"Entries shown, by {what}", {what.capitalize(): "", "Entries": "number"}, rows)


def _stories(events, zone):
    """A story for each actor of a day, in the order in which they came."""
    actors: dict[str, list[Event]] = {}
    for event in events:
        actors.setdefault(event["actor"], []).append(event)
    return [
        story(
            fold_events(theirs, lambda at: zone.show(at)[-5:]),
            f"{clip_text(actor, 60)}: {_entries_said(len(theirs))}",
        )
        for actor, theirs in actors.items()
    ]
