"""R3 as people read it: numbers first, then what is stale, then every lesson with where it came from."""

from typing import Any

from ...records.kinds import KINDS
from ...records.lessons.lesson import LESSONS
from ..charts.chart import draw_bars
from ..engine.document import (
    Own,
    Ref,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_duration,
    format_percent,
    paragraph,
    points,
    section,
    story,
    table,
)

DAY_MS = 86_400_000
PLURAL = {kind: KINDS[kind].plural or f"{kind}s" for kind in LESSONS}
HEADINGS = {
    "learned": "Proven lessons",
    "learning": "Learnings, not yet promoted",
    "gotcha": "Gotchas, not yet promoted",
}
STATUSES = ("active", "resolved", "promoted", "retired", "superseded")
TREE = "Stale or fresh is said by the files of the working tree as they are now; all else by the record."


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    totals = {kind: sum(found["statuses"][kind].values()) for kind in LESSONS}
    if not any(totals.values()):
        lead = "No lesson is recorded here. `kaizen G1 --title … --summary … --body …` records a pitfall you met."
        return document("Lessons", [text for text in (lead, found["narrowed"]) if text], [])
    return document(
        "Lessons", [text for text in (_lead(found, totals), TREE, found["narrowed"]) if text],
        [
            section("In numbers", _numbers(found, totals), _weeks(found["promoted"])),
            section("From gotcha to proven lesson", *_funnel(found)),
            section("Stale", *_stale(found, zone)),
            *(section(HEADINGS[kind], *_lessons(found, kind, zone)) for kind in HEADINGS),
            section("Retired and superseded, with the reason", _closed(found, zone)),
        ],
    )  # fmt: skip


def _lead(found, totals):
    stale = found["stale"]
    parts = [
        f"{format_count(totals[kind])} {PLURAL[kind] if totals[kind] != 1 else PLURAL[kind][:-1]}"
        for kind in LESSONS
    ]
    newest = "the newest " if stale["newest_only"] else ""
    return (
        f"{', '.join(parts[:2])} and {parts[2]}. Of {newest}{format_count(stale['looked_at'])} in force that name files, "
        f"{format_count(stale['number'])} {'is' if stale['number'] == 1 else 'are'} stale."
    )


def _numbers(found, totals):
    backed = found["backed_by"]
    return facts(
        *(
            fact(f"{PLURAL[kind].capitalize()} in force", _in_force(found, kind))
            for kind in LESSONS
        ),
        fact("Stale", found["stale"]["number"]),
        fact(
            "Proven by a proof or a verdict", backed.get("proof", 0) + backed.get("verification", 0)
        ),
        fact("Let pass by a waiver", backed.get("waiver", 0)),
    )


def _in_force(found, kind):
    return sum(found["statuses"][kind].get(status, 0) for status in ("active", "resolved"))


def _weeks(promoted):
    periods = promoted["periods"]
    series = {
        "became a learning": [row["became_learning"] for row in periods],
        "became proven": [row["became_learned"] for row in periods],
    }
    says = "; ".join(f"{format_count(sum(numbers))} {name}" for name, numbers in series.items())
    labels = [row["label"] for row in periods]
    return draw_bars(
        f"Promotions per {promoted['unit']}",
        promoted["unit"],
        "lessons",
        labels,
        series,
        says + " in all.",
    )


def _funnel(found):
    steps = {"gotcha to learning": "to_learning", "learning to proven lesson": "to_learned"}
    gone = [[name, *_gone(found["funnel"][step])] for name, step in steps.items()]
    columns = {
        "Step": "",
        "Of": "number",
        "Became": "number",
        "Share": "number",
        "Median time": "number",
    }
    statuses = [
        [PLURAL[kind], *(found["statuses"][kind].get(status, 0) for status in STATUSES)]
        for kind in LESSONS
    ]
    whole = f"{format_count(found['funnel']['whole_way'])} went the whole way. A learning may also be recorded without a gotcha."
    return (
        paragraph(whole),
        table("How many became what, and how long it took", columns, gone),
        table("By status", {"Kind": "", **dict.fromkeys(STATUSES, "number")}, statuses),
    )


def _gone(step):
    share = format_percent(step["became"] / step["lessons"] if step["lessons"] else None)
    return [step["lessons"], step["became"], share, _days(step["median_days"])]


def _days(days):
    return format_duration(None if days is None else days * DAY_MS)


def _stale(found, zone):
    stale = found["stale"]
    items = [
        [
            zone.day(row["at"]), row["kind"], Ref(row["id"]), f"{clip_text(row['title'], 120)}:",
            clip_text(row["because"]),
        ]
        for row in stale["lessons"]
    ]  # fmt: skip
    more = stale["number"] - len(items)
    advice = "Read each again: revise a gotcha with G5, retire what no longer holds with L11."
    return (
        (paragraph(advice), points([*items, *([[f"{more:,} more."]] if more else [])]))
        if items
        else ()
    )


def _lessons(found, kind, zone):
    shown = found["lessons"][kind]
    more = _in_force(found, kind) - len(shown)
    entries = [
        {
            "at": zone.day(row["at"]), "what": clip_text(row["title"]), "by": row["actor"],
            "refs": [(Own if step["id"] == row["id"] else Ref)(step["id"]) for step in row["lineage"]],
            "text": _said(row, zone),
        }
        for row in shown
    ]  # fmt: skip
    return story(entries), paragraph(
        f"{format_count(more)} older ones are not shown."
    ) if more else None


def _said(row, zone):
    """The lesson, where it came from, what it stands on."""
    lines = [
        clip_text(row["summary"], 600),
        *(f"Backed by {_backing(one)}" for one in row["backing"]),
    ]
    if row["kind"] == "learned" and not row["backing"]:
        lines.append("Backed by nothing: it was brought in from a file.")
    if row["kind"] == "learning" and not row["evidence"]:
        lines.append("Unproven: no evidence is recorded for it.")
    lines.append(_came(row, zone))
    if row["status"] == "resolved":
        lines.append("Resolved.")
    if row["paths"]:
        stale = f"Stale: {clip_text(row.get('stale_because'))}"
        lines.append(
            stale
            if row["stale"]
            else f"Fresh: {clip_text(', '.join(row['paths']))} as it was then."
        )
    return "\n".join(line for line in lines if line)


def _backing(one):
    name = {"verification": "verdict"}.get(one["kind"], one["kind"])
    return f"{name} {one['id']} ({one['says']}): {clip_text(one['text'], 200)}"


def _came(row, zone):
    steps = [f"{step['kind']} {zone.day(step['at'])}" for step in row["lineage"]]
    return "Came as " + " → ".join(steps) + "." if len(steps) > 1 else ""


def _closed(found, zone):
    columns = {
        "Lesson": "", "Kind": "", "State": "", "What": "", "Why": "", "Superseded by": "", "When": "whole", "By": "",
    }  # fmt: skip
    rows = [
        [
            Own(row["id"]), row["kind"], add_tone(row["status"]), clip_text(row["title"], 120), clip_text(row["reason"]),
            Ref(row["superseded_by"]) if row["superseded_by"] else None, zone.day(row["at"]), row["actor"],
        ]
        for row in found["closed"]
    ]  # fmt: skip
    closed = sum(
        found["statuses"][kind].get(status, 0)
        for kind in LESSONS
        for status in ("retired", "superseded")
    )
    return table("Lessons that no longer hold", columns, rows, closed - len(rows))
