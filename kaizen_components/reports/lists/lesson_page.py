"""Lay out R3 as a page: the numbers, the stale lessons, then every lesson with its lineage."""

from __future__ import annotations

from ...records.kinds import KINDS
from ...records.lessons.lesson import LESSONS
from ..charts.chart import draw_bars
from ..engine.document import (
    LinkTarget,
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
    record_table,
    section,
    story,
    table,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Row
    from ..engine.zone import Zone

DAY_MS = 86_400_000
PLURAL = {kind: KINDS[kind].plural or f"{kind}s" for kind in LESSONS}
HEADINGS = {
    "learned": "Proven lessons",
    "learning": "Learnings, not yet promoted",
    "gotcha": "Gotchas, not yet promoted",
}
STATUSES = ("active", "resolved", "promoted", "retired", "superseded")
STALENESS_NOTE = (
    "Whether a lesson is stale is checked against the working tree as it is now; "
    "everything else comes from the record."
)


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the totals, the promotions, the stale lessons, the lessons and the closed lessons."""
    totals = {kind: sum(data["statuses"][kind].values()) for kind in LESSONS}
    if not any(totals.values()):
        hint = "`kaizen G1 --title … --summary … --body …` records a pitfall you met."
        return document("Lessons", [f"No lesson is recorded here. {hint}", data["narrowed"]], [])
    stale, backing_counts = data["stale"], data["backed_by"]
    parts = [
        f"{format_count(totals[kind])} {PLURAL[kind] if totals[kind] != 1 else PLURAL[kind][:-1]}"
        for kind in LESSONS
    ]
    newest = "the newest " if stale["newest_only"] else ""
    lead = (
        f"{', '.join(parts[:2])} and {parts[2]}. Of {newest}{format_count(stale['looked_at'])} in "
        f"force that name files, {format_count(stale['number'])} "
        f"{'is' if stale['number'] == 1 else 'are'} stale."
    )
    in_force = {
        kind: sum(data["statuses"][kind].get(status, 0) for status in ("active", "resolved"))
        for kind in LESSONS
    }
    numbers = _list_numbers(in_force, stale, backing_counts)
    periods, unit = data["promoted"]["periods"], data["promoted"]["unit"]
    series = {
        "became a learning": [row["became_learning"] for row in periods],
        "became proven": [row["became_learned"] for row in periods],
    }
    sums = "; ".join(f"{format_count(sum(numbers))} {name}" for name, numbers in series.items())
    labels = [row["label"] for row in periods]
    chart = draw_bars(f"Promotions per {unit}", unit, "lessons", labels, series, sums + " in all.")
    advice = (
        "Read each again. Revise a gotcha with G5; retire a lesson that no longer holds with L11."
    )
    items = []
    for row in stale["lessons"]:
        title, reason = clip_text(row["title"], 120), clip_text(row["because"])
        items.append([zone.format_day(row["at"]), row["kind"], Ref(row["id"]), f"{title}:", reason])
    return document(
        "Lessons",
        [lead, STALENESS_NOTE, data["narrowed"]],
        [
            section("In numbers", numbers, chart),
            section("From gotcha to proven lesson", *_lay_out_funnel(data)),
            section(
                "Stale",
                paragraph(advice) if items else None,
                points(items, stale["number"] - len(items)),
            ),
            *(
                _lay_out_lessons(heading, data["lessons"][kind], in_force[kind], zone)
                for kind, heading in HEADINGS.items()
            ),
            section(
                "Retired and superseded, with the reason", _tabulate_closed_lessons(data, zone)
            ),
        ],
    )


def _list_numbers(in_force: Row, stale: Row, backing_counts: Row) -> Row:
    """Return the key figures of the page."""
    return facts(
        *(fact(f"{PLURAL[kind].capitalize()} in force", in_force[kind]) for kind in LESSONS),
        fact("Stale", stale["number"]),
        fact(
            "Proven by a proof or a verdict",
            backing_counts.get("proof", 0) + backing_counts.get("verification", 0),
        ),
        fact("Promoted by a waiver", backing_counts.get("waiver", 0)),
    )


def _lay_out_funnel(data: Row) -> list[Row | None]:
    """Tabulate how many lessons were promoted, how long that took, and the lessons by status."""
    funnel = data["funnel"]
    steps = [
        {"step": "gotcha to learning", **funnel["to_learning"]},
        {"step": "learning to proven lesson", **funnel["to_learned"]},
    ]

    def format_share(step: Row) -> str:
        return format_percent(step["became"] / step["lessons"] if step["lessons"] else None)

    def format_days(step: Row) -> str:
        days = step["median_days"]
        return format_duration(None if days is None else days * DAY_MS)

    statuses = [
        [PLURAL[kind], *(data["statuses"][kind].get(status, 0) for status in STATUSES)]
        for kind in LESSONS
    ]
    return [
        paragraph(
            f"{format_count(funnel['whole_way'])} went from gotcha to proven lesson. "
            "A learning may also be recorded without a gotcha."
        ),
        record_table(
            "How many were promoted, and how long it took",
            steps,
            {
                "Step": ("", "step"),
                "Lessons": ("number", "lessons"),
                "Promoted": ("number", "became"),
                "Share": ("number", format_share),
                "Median time": ("number", format_days),
            },
        ),
        table("By status", {"Kind": "", **dict.fromkeys(STATUSES, "number")}, statuses),
    ]


def _lay_out_lessons(heading: str, lessons: list[Row], in_force: int, zone: Zone) -> Row:
    """List the lessons in force with their backing, lineage and freshness."""
    entries = []
    for row in lessons:
        lineage = row["lineage"]
        lines = [clip_text(row["summary"], 600)]
        for backing in row["backing"]:
            name = {"verification": "verdict"}.get(backing["kind"], backing["kind"])
            text = clip_text(backing["text"], 200)
            lines.append(f"Backed by {name} {backing['id']} ({backing['says']}): {text}")
        if row["kind"] == "learned" and not row["backing"]:
            lines.append("Backed by nothing: it was imported from a file.")
        if row["kind"] == "learning" and not row["evidence"]:
            lines.append("Unproven: no evidence is recorded for it.")
        if len(lineage) > 1:
            steps = [f"{step['kind']} {zone.format_day(step['at'])}" for step in lineage]
            lines.append("Lineage: " + " → ".join(steps) + ".")
        if row["status"] == "resolved":
            lines.append("Resolved.")
        if row["stale"]:
            lines.append(f"Stale: {clip_text(row.get('stale_because'))}")
        elif row["paths"]:
            lines.append(f"Fresh: {clip_text(', '.join(row['paths']))} unchanged since then.")
        entries.append(
            {
                "at": zone.format_day(row["at"]),
                "what": clip_text(row["title"]),
                "by": row["actor"],
                "refs": [
                    (LinkTarget if step["id"] == row["id"] else Ref)(step["id"]) for step in lineage
                ],
                "text": "\n".join(line for line in lines if line),
            }
        )
    hidden_count = in_force - len(lessons)
    note = (
        paragraph(f"{format_count(hidden_count)} older ones are not shown.")
        if hidden_count
        else None
    )
    return section(heading, story(entries), note)


def _tabulate_closed_lessons(data: Row, zone: Zone) -> Row | None:
    """Tabulate the retired and superseded lessons with the reason."""
    total = sum(
        data["statuses"][kind].get(status, 0)
        for kind in LESSONS
        for status in ("retired", "superseded")
    )
    closed_lessons = data["closed"]
    return record_table(
        "Lessons that no longer hold",
        closed_lessons,
        {
            "Lesson": ("", lambda row: LinkTarget(row["id"])),
            "Kind": ("", "kind"),
            "State": ("", lambda row: add_tone(row["status"])),
            "What": ("", lambda row: clip_text(row["title"], 120)),
            "Why": ("", lambda row: clip_text(row["reason"])),
            "Superseded by": ("", lambda row: row["superseded_by"] and Ref(row["superseded_by"])),
            "When": ("whole", lambda row: zone.format_day(row["at"])),
            "By": ("", "actor"),
        },
        total - len(closed_lessons),
    )
