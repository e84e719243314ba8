"""R6: what was read: what is superseded and who still stands on it, what is not pinned down, how old it is."""

from typing import Any

from ...limits import SOURCE_TIER
from ...records.lessons.lesson import CLOSED_STATUSES
from ..charts.chart import draw_bars
from ..engine.citation import find_citations
from ..engine.document import (
    Own,
    Ref,
    Tone,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_duration,
    paragraph,
    points,
    section,
    table,
)
from ..engine.filters import build_condition, describe_filters

DAY_MS = 86_400_000
MISSING = {
    "without_license": "Without a license",
    "without_hash": "Without a hash",
    "without_version": "Without a version",
}
BY_TIER = """
SELECT tier, count(*) AS sources, coalesce(sum(superseded_by IS NOT NULL), 0) AS superseded,
       coalesce(sum(license IS NULL), 0) AS without_license, coalesce(sum(content_hash IS NULL), 0) AS without_hash,
       coalesce(sum(version IS NULL AND commit_hash IS NULL), 0) AS without_version,
       avg(julianday(?) - julianday(retrieved_at)) AS mean_age_days, min(retrieved_at) AS oldest
FROM source_current WHERE {asked} GROUP BY tier"""
NEWEST = """
SELECT id, at, tier, title, scope, version, commit_hash, url, path, license, content_hash, retrieved_at, superseded_by
FROM source_current WHERE {asked} ORDER BY seq DESC LIMIT ?"""
SUPERSEDED = """
SELECT id, title, version, superseded_by FROM source_current WHERE {asked} AND superseded_by IS NOT NULL
ORDER BY seq DESC"""
# From whatever was asked for up to the newest of its line, and from there back. CROSS JOIN: the chain first.
CHAINS = """
WITH RECURSIVE up (id) AS (
    SELECT id FROM source_current WHERE {asked} AND (supersedes_id IS NOT NULL OR superseded_by IS NOT NULL)
    UNION
    SELECT n.id FROM up JOIN source n ON n.supersedes_id = up.id WHERE n.test = 0
),
     head AS (
    SELECT s.seq, s.id FROM up CROSS JOIN source_current s ON s.id = up.id WHERE s.superseded_by IS NULL
    ORDER BY s.seq DESC LIMIT ?
),
     chain (head_seq, id, depth) AS (
    SELECT seq, id, 0 FROM head
    UNION ALL
    SELECT head_seq, s.supersedes_id, depth + 1 FROM chain JOIN source s ON s.id = chain.id
    WHERE s.supersedes_id IS NOT NULL
)
SELECT c.head_seq, s.id, s.title, s.tier, s.version, s.retrieved_at, s.content_hash
FROM chain c CROSS JOIN source s ON s.id = c.id ORDER BY c.head_seq DESC, c.depth DESC, s.seq"""


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    asked, values = build_condition(db, "source", options, tier=options["tier"])
    limit = options["limit"]
    tiers = {row["tier"]: row for row in db.rows(BY_TIER.format(asked=asked), (db.at, *values))}
    superseded = {row["id"]: row for row in db.rows(SUPERSEDED.format(asked=asked), values)}
    citations = find_citations(db, "src", list(superseded))
    standing = [
        {
            **row,
            "source_id": id,
            "source_title": superseded[id]["title"],
            "newer_id": superseded[id]["superseded_by"],
        }
        for id in superseded
        for row in citations.get(id, [])
        if row["says"] not in CLOSED_STATUSES  # what was promoted is listed as what it became
    ]
    return {
        "narrowed": describe_filters(options, zone)
        if options["tier"] is None
        else _with_tier(options, zone),
        "at": db.at,
        "tiers": [tiers[tier] for tier in SOURCE_TIER if tier in tiers],
        "chains": _chains(db.rows(CHAINS.format(asked=asked), (*values, limit))),
        "standing_records": len({row["id"] for row in standing}),
        "standing": standing[:limit],
        "standing_more": max(len(standing) - limit, 0),
        "sources": db.rows(NEWEST.format(asked=asked), (*values, limit)),
    }


def _with_tier(options, zone):
    return " ".join(
        filter(None, [f"Only tier {options['tier']}.", describe_filters(options, zone)])
    )


def _chains(rows):
    chains: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        chains.setdefault(row.pop("head_seq"), []).append(row)
    return list(chains.values())


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    tiers = found["tiers"]
    if not tiers:
        none = "No source is locked here. `kaizen S1 --title … --tier primary --url …` says what was read, and when."
        return document("Sources", [text for text in (none, found["narrowed"]) if text], [])
    sums = {name: sum(tier[name] for tier in tiers) for name in ("sources", "superseded", *MISSING)}
    standing = found["standing_records"]
    one = sums["sources"] == 1
    lead = [
        f"{format_count(sums['sources'])} source{' is' if one else 's are'} locked, {format_count(sums['superseded'])} of them "
        f"superseded. {format_count(standing)} record{' still names' if standing == 1 else 's still name'} a superseded one.",
        found["narrowed"],
    ]
    numbers = facts(
        fact("Sources", sums["sources"]),
        fact("Superseded", sums["superseded"]),
        *(fact(label, sums[name]) for name, label in MISSING.items()),
    )
    return document(
        "Sources", [text for text in lead if text],
        [
            section("In numbers", numbers, _chart(tiers), _tiers(tiers, zone)),
            section("Records that stand on a superseded source", *_standing(found, zone)),
            section("Lines of versions, the oldest first", _lines(found["chains"], zone)),
            section("Newest", _newest(found, zone, sums["sources"])),
        ],
    )  # fmt: skip


def _chart(tiers):
    series = {
        "current": [tier["sources"] - tier["superseded"] for tier in tiers],
        "superseded": [tier["superseded"] for tier in tiers],
    }
    says = "; ".join(
        f"{tier['tier']}: {format_count(tier['sources'])}, {format_count(tier['superseded'])} superseded"
        for tier in tiers
    )
    return draw_bars(
        "Sources by tier", "tier", "sources", [tier["tier"] for tier in tiers], series, says + "."
    )


def _tiers(tiers, zone):
    columns = {
        "Tier": "", "Sources": "number", "Superseded": "number", "No license": "number", "No hash": "number",
        "No version": "number", "Mean age": "number", "Oldest read": "whole",
    }  # fmt: skip
    rows = [
        [
            tier["tier"], tier["sources"], tier["superseded"], *(tier[name] for name in MISSING),
            format_duration(max(tier["mean_age_days"], 0) * DAY_MS), zone.day(tier["oldest"]),
        ]
        for tier in tiers
    ]  # fmt: skip
    return table("By tier; the age counts from when it was read", columns, rows)


def _standing(found, zone):
    items = [
        [
            zone.day(row["at"]), row["kind"].replace("_", " "), Ref(row["id"]), add_tone(row["says"]),
            clip_text(row["text"], 120), "names", Ref(row["source_id"]), "superseded by", Ref(row["newer_id"]),
        ]
        for row in found["standing"]
    ]  # fmt: skip
    more = found["standing_more"]
    advice = "Read the newer version, and see whether the record still holds; lessons are retired with L11."
    return (
        (paragraph(advice), points([*items, *([[f"{more:,} more."]] if more else [])]))
        if items
        else ()
    )


def _lines(chains, zone):
    columns = {
        "Line": "number",
        "Source": "",
        "Version": "",
        "Tier": "",
        "Title": "",
        "Read": "whole",
        "Content": "",
    }
    rows = [
        [
            at, Ref(source["id"]), clip_text(source["version"], 60), source["tier"], clip_text(source["title"], 120),
            zone.day(source["retrieved_at"]), _content(chain, number),
        ]
        for at, chain in enumerate(chains, 1)
        for number, source in enumerate(chain)
    ]  # fmt: skip
    return table("Each line from its oldest version to the one that holds now", columns, rows)


def _content(chain, number):
    """Did the content change with the version? Only hashes can tell."""
    now, before = (
        chain[number]["content_hash"],
        chain[number - 1]["content_hash"] if number else None,
    )
    if not number:
        return "the first"
    return "unknown" if not (now and before) else "the same" if now == before else "changed"


def _newest(found, zone, total):
    columns = {
        "Source": "", "Tier": "", "Title": "", "Version": "", "State": "", "Lacks": "", "Age": "number",
        "Read": "whole", "Where": "",
    }  # fmt: skip
    now = zone.moment(found["at"])
    rows = [
        [
            Own(row["id"]), row["tier"], clip_text(row["title"], 120), clip_text(row["version"] or row["commit_hash"], 60),
            Tone("superseded", "warn") if row["superseded_by"] else "current", ", ".join(_lacks(row)) or None,
            format_duration(max((now - zone.moment(row["retrieved_at"])).total_seconds(), 0) * 1000),
            zone.day(row["retrieved_at"]), clip_text(row["url"] or row["path"], 120),
        ]
        for row in found["sources"]
    ]  # fmt: skip
    return table("Sources, the newest first", columns, rows, total - len(rows))


def _lacks(row):
    lacking = {
        "license": row["license"], "hash": row["content_hash"], "version": row["version"] or row["commit_hash"],
    }  # fmt: skip
    return [name for name, value in lacking.items() if not value]
