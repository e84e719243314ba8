"""Report the anti-patterns (R7) with their symptoms, corrections and the records that cite them."""

from __future__ import annotations

from ..engine.citation import find_citations
from ..engine.document import (
    LinkTarget,
    Ref,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_quantity,
    points,
    prose,
    record_table,
    section,
)
from ..engine.filters import build_condition, describe_filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...parameters import Reader, Row
    from ..engine.zone import Zone

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
SELECT count(*) AS patterns, count(DISTINCT scope) AS scopes,
       coalesce(sum(verification IS NULL), 0) AS unchecked
FROM anti_pattern WHERE {condition}"""
NEWEST = """
SELECT id, at, actor, title, scope, task_id, symptom, harm, trigger, correction, exceptions,
       verification, summary, body
FROM anti_pattern WHERE {condition} ORDER BY seq DESC LIMIT ?"""


def gather(db: Reader, zone: Zone, options: Row) -> Row:
    """Return the newest anti-patterns, each with the records that refer to it."""
    condition, values = build_condition(db, "anti_pattern", options)
    patterns = db.rows(NEWEST.format(condition=condition), (*values, options["limit"]))
    references = find_citations(db, "anti", [pattern["id"] for pattern in patterns])
    for pattern in patterns:
        pattern["references"] = references.get(pattern["id"], [])
    return {
        "narrowed": describe_filters(options, zone),
        "totals": db.one(TOTALS.format(condition=condition), values),
        "patterns": patterns,
    }


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the totals, an overview and a section for each pattern."""
    totals, patterns = data["totals"], data["patterns"]
    if not patterns:
        hint = "`kaizen Q5 --title … --symptom … --correction …` records one."
        return document(
            "Anti-patterns", [f"No anti-pattern is recorded here. {hint}", data["narrowed"]], []
        )
    cited_count = sum(bool(pattern["references"]) for pattern in patterns)
    lead = (
        f"{format_quantity(totals['patterns'], 'anti-pattern')}, newest first, each with its "
        f"symptoms and what to do instead. Other records refer to "
        f"{format_count(cited_count)} of the {format_count(len(patterns))} shown."
    )
    numbers = facts(
        fact("Anti-patterns", totals["patterns"]),
        fact("Scopes", totals["scopes"]),
        fact("Without a way to check", totals["unchecked"]),
    )
    overview = record_table(
        "Anti-patterns, the newest first",
        patterns,
        {
            "Anti-pattern": ("", lambda row: LinkTarget(row["id"])),
            "What": ("", lambda row: clip_text(row["title"])),
            "Scope": ("", lambda row: clip_text(row["scope"], 60)),
            "Referred to": ("number", lambda row: len(row["references"])),
            "Recorded": ("whole", lambda row: zone.format_time(row["at"])),
            "By": ("", "actor"),
        },
        totals["patterns"] - len(patterns),
    )
    sections = []
    for pattern in patterns:
        command = f"kaizen Q7 --id {pattern['id']}"
        references = pattern["references"]
        verb = "record refers" if len(references) == 1 else "records refer"
        lines: list[list[Any]] = [[Ref(pattern["id"]), f"{len(references):,} {verb} to it."]]
        if pattern["task_id"]:
            lines.append(["Met in", Ref(pattern["task_id"])])
        for row in references[:REFERENCES_MAX]:
            kind = row["kind"].replace("_", " ")
            text = clip_text(row["text"], 120)
            lines.append(
                [kind, Ref(row["id"]), add_tone(row["says"]), text, zone.format_day(row["at"])]
            )
        sections.append(
            section(
                clip_text(pattern["title"]) or "",
                *(prose(label, pattern[name], command) for name, label in TEXTS.items()),
                points(lines, max(0, len(references) - REFERENCES_MAX)),
            )
        )
    return document(
        "Anti-patterns",
        [lead, data["narrowed"]],
        [section("In numbers", numbers, overview), *sections],
    )
