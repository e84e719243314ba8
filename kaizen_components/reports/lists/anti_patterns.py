"""R7: patterns that harm, each with how it shows, what to do instead, and who met it."""

from typing import Any

from ..engine.citation import find_citations
from ..engine.document import (
    Own,
    Ref,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    points,
    prose,
    section,
    table,
)
from ..engine.filters import build_condition, describe_filters

TEXTS = {
    "symptom": "How it shows",
    "harm": "What it costs",
    "trigger": "What brings it about",
    "correction": "What to do instead",
    "exceptions": "When it is all right",
    "verification": "How to check that it is gone",
    "summary": "In short",
    "body": "More",
}
REFERENCES_MAX = 20  # of one pattern
TOTALS = """
SELECT count(*) AS patterns, count(DISTINCT scope) AS scopes, coalesce(sum(verification IS NULL), 0) AS unchecked
FROM anti_pattern WHERE {asked}"""
NEWEST = """
SELECT id, at, actor, title, scope, task_id, symptom, harm, trigger, correction, exceptions, verification, summary, body
FROM anti_pattern WHERE {asked} ORDER BY seq DESC LIMIT ?"""


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    asked, values = build_condition(db, "anti_pattern", options)
    patterns = db.rows(NEWEST.format(asked=asked), (*values, options["limit"]))
    references = find_citations(db, "anti", [pattern["id"] for pattern in patterns])
    for pattern in patterns:
        pattern["references"] = references.get(pattern["id"], [])
    return {
        "narrowed": describe_filters(options, zone),
        "totals": db.one(TOTALS.format(asked=asked), values),
        "patterns": patterns,
    }


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    totals, patterns = found["totals"], found["patterns"]
    if not patterns:
        none = "No anti-pattern is recorded here. `kaizen Q5 --title … --symptom … --correction …` records one."
        return document("Anti-patterns", [text for text in (none, found["narrowed"]) if text], [])
    met = sum(bool(pattern["references"]) for pattern in patterns)
    lead = [
        f"{_patterns(totals['patterns'])} that harm, the newest first: how each shows, and what to do instead. "
        f"Other records refer to {format_count(met)} of the {format_count(len(patterns))} shown.",
        found["narrowed"],
    ]
    numbers = facts(
        fact("Anti-patterns", totals["patterns"]),
        fact("Scopes", totals["scopes"]),
        fact("Without a way to check", totals["unchecked"]),
    )
    overview = _overview(patterns, zone, totals["patterns"] - len(patterns))
    return document(
        "Anti-patterns", [text for text in lead if text],
        [section("In numbers", numbers, overview), *(_pattern(pattern, zone) for pattern in patterns)],
    )  # fmt: skip


def _patterns(number):
    return f"{format_count(number)} pattern{'' if number == 1 else 's'}"


def _overview(patterns, zone, more):
    columns = {
        "Anti-pattern": "",
        "What": "",
        "Scope": "",
        "Referred to": "number",
        "Recorded": "whole",
        "By": "",
    }
    rows = [
        [
            Own(pattern["id"]), clip_text(pattern["title"]), clip_text(pattern["scope"], 60), len(pattern["references"]),
            zone.show(pattern["at"]), pattern["actor"],
        ]
        for pattern in patterns
    ]  # fmt: skip
    return table("Anti-patterns, the newest first", columns, rows, more)


def _pattern(pattern, zone):
    whole = f"kaizen Q7 --id {pattern['id']}"
    references = [
        [
            row["kind"].replace("_", " "),
            Ref(row["id"]),
            add_tone(row["says"]),
            clip_text(row["text"], 120),
            zone.day(row["at"]),
        ]
        for row in pattern["references"][:REFERENCES_MAX]
    ]
    more = len(pattern["references"]) - len(references)
    number = len(pattern["references"])
    lines = [
        [Ref(pattern["id"]), f"{number:,} record{' refers' if number == 1 else 's refer'} to it."]
    ]
    if pattern["task_id"]:
        lines.append(["Met in", Ref(pattern["task_id"])])
    return section(
        clip_text(pattern["title"]) or "",
        *(prose(label, pattern[name], whole) for name, label in TEXTS.items()),
        points([*lines, *references, *([[f"{more:,} more."]] if more else [])]),
    )
