"""Report the sources (R6): which are superseded but cited, what they lack, how old they are."""

from __future__ import annotations

from ...limits import SOURCE_TIER
from ...records.lessons.lesson import CLOSED_STATUSES
from ..charts.chart import draw_bars
from ..engine.citation import find_citations
from ..engine.document import (
    LinkTarget,
    Ref,
    Tone,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_duration,
    format_quantity,
    paragraph,
    points,
    record_table,
    section,
)
from ..engine.filters import build_condition, describe_filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row
    from ..engine.zone import Zone

DAY_MS = 86_400_000
MISSING = {
    "without_license": "Without a license",
    "without_hash": "Without a hash",
    "without_version": "Without a version",
}
BY_TIER = """
SELECT tier, count(*) AS sources,
       coalesce(sum(superseded_by IS NOT NULL), 0) AS superseded,
       coalesce(sum(license IS NULL), 0) AS without_license,
       coalesce(sum(content_hash IS NULL), 0) AS without_hash,
       coalesce(sum(version IS NULL AND commit_hash IS NULL), 0) AS without_version,
       avg(julianday(?) - julianday(retrieved_at)) AS mean_age_days,
       min(retrieved_at) AS oldest
FROM source_current WHERE {condition} GROUP BY tier"""
NEWEST = """
SELECT id, at, tier, title, scope, version, commit_hash, url, path, license, content_hash,
       retrieved_at, superseded_by
FROM source_current WHERE {condition} ORDER BY seq DESC LIMIT ?"""
SUPERSEDED = """
SELECT id, title, version, superseded_by FROM source_current
WHERE {condition} AND superseded_by IS NOT NULL ORDER BY seq DESC"""
# Follow each selected source to its newest version, and from there back to the oldest one.
# CROSS JOIN makes SQLite read the chain first.
CHAINS = """
WITH RECURSIVE up (id) AS (
    SELECT id FROM source_current
    WHERE {condition} AND (supersedes_id IS NOT NULL OR superseded_by IS NOT NULL)
    UNION
    SELECT n.id FROM up JOIN source n ON n.supersedes_id = up.id WHERE n.test = 0
),
     head AS (
    SELECT s.seq, s.id FROM up CROSS JOIN source_current s ON s.id = up.id
    WHERE s.superseded_by IS NULL ORDER BY s.seq DESC LIMIT ?
),
     chain (head_seq, id, depth) AS (
    SELECT seq, id, 0 FROM head
    UNION ALL
    SELECT head_seq, s.supersedes_id, depth + 1 FROM chain JOIN source s ON s.id = chain.id
    WHERE s.supersedes_id IS NOT NULL
)
SELECT c.head_seq, s.id, s.title, s.tier, s.version, s.retrieved_at, s.content_hash
FROM chain c CROSS JOIN source s ON s.id = c.id ORDER BY c.head_seq DESC, c.depth DESC, s.seq"""


def gather(db: Reader, zone: Zone, options: Row) -> Row:
    """Return the sources by tier, their versions, and the records that cite an old version."""
    condition, values = build_condition(db, "source", options, tier=options["tier"])
    limit = options["limit"]
    tiers = {
        row["tier"]: row for row in db.rows(BY_TIER.format(condition=condition), (db.at, *values))
    }
    superseded_sources = {
        row["id"]: row for row in db.rows(SUPERSEDED.format(condition=condition), values)
    }
    citations = find_citations(db, "src", list(superseded_sources))
    old_citations = [
        {
            **row,
            "source_id": id,
            "source_title": source["title"],
            "newer_id": source["superseded_by"],
        }
        for id, source in superseded_sources.items()
        for row in citations.get(id, [])
        if row["says"] not in CLOSED_STATUSES  # a promoted lesson is cited as the lesson it became
    ]
    chains: dict[int, list[Row]] = {}
    for row in db.rows(CHAINS.format(condition=condition), (*values, limit)):
        chains.setdefault(row.pop("head_seq"), []).append(row)
    tier = f"Only tier {options['tier']}." if options["tier"] else ""
    return {
        "narrowed": " ".join(filter(None, [tier, describe_filters(options, zone)])),
        "at": db.at,
        "tiers": [tiers[tier] for tier in SOURCE_TIER if tier in tiers],
        "chains": list(chains.values()),
        "standing_records": len({row["id"] for row in old_citations}),
        "standing": old_citations[:limit],
        "standing_more": max(len(old_citations) - limit, 0),
        "sources": db.rows(NEWEST.format(condition=condition), (*values, limit)),
    }


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the tiers, the citations of old versions, the versions and the newest sources."""
    tiers = data["tiers"]
    if not tiers:
        hint = "`kaizen S1 --title … --tier primary --url …` says what was read, and when."
        return document("Sources", [f"No source is locked here. {hint}", data["narrowed"]], [])
    sums = {name: sum(tier[name] for tier in tiers) for name in ("sources", "superseded", *MISSING)}
    citing_count = data["standing_records"]
    lead = (
        f"{format_quantity(sums['sources'], 'source')} {'is' if sums['sources'] == 1 else 'are'} "
        f"locked, {format_count(sums['superseded'])} of them superseded. "
        f"{format_quantity(citing_count, 'record')} still "
        f"{'cites' if citing_count == 1 else 'cite'} a superseded one."
    )
    numbers = facts(
        fact("Sources", sums["sources"]),
        fact("Superseded", sums["superseded"]),
        *(fact(label, sums[name]) for name, label in MISSING.items()),
    )
    chart = _draw_tiers(tiers)
    by_tier = record_table(
        "Sources by tier; the age counts from the time of reading",
        tiers,
        {
            "Tier": ("", "tier"),
            "Sources": ("number", "sources"),
            "Superseded": ("number", "superseded"),
            "No license": ("number", "without_license"),
            "No hash": ("number", "without_hash"),
            "No version": ("number", "without_version"),
            "Mean age": (
                "number",
                lambda row: format_duration(max(row["mean_age_days"], 0) * DAY_MS),
            ),
            "Oldest read": ("whole", lambda row: zone.format_day(row["oldest"])),
        },
    )
    return document(
        "Sources",
        [lead, data["narrowed"]],
        [
            section("In numbers", numbers, chart, by_tier),
            section("Records that cite a superseded source", *_list_old_citations(data, zone)),
            section("Versions, the oldest first", _tabulate_versions(data["chains"], zone)),
            section("Newest", _tabulate_newest_sources(data, zone, sums["sources"])),
        ],
    )


def _draw_tiers(tiers: list[Row]) -> Row | None:
    """Return the chart of sources by tier."""
    sums_by_tier = "; ".join(
        f"{tier['tier']}: {format_count(tier['sources'])}, "
        f"{format_count(tier['superseded'])} superseded"
        for tier in tiers
    )
    return draw_bars(
        "Sources by tier",
        "tier",
        "sources",
        [tier["tier"] for tier in tiers],
        {
            "current": [tier["sources"] - tier["superseded"] for tier in tiers],
            "superseded": [tier["superseded"] for tier in tiers],
        },
        sums_by_tier + ".",
    )


def _list_old_citations(data: Row, zone: Zone) -> list[Row | None]:
    """List the records that cite a superseded source, below advice on what to do."""
    items = [
        [
            zone.format_day(row["at"]),
            row["kind"].replace("_", " "),
            Ref(row["id"]),
            add_tone(row["says"]),
            clip_text(row["text"], 120),
            "names",
            Ref(row["source_id"]),
            "superseded by",
            Ref(row["newer_id"]),
        ]
        for row in data["standing"]
    ]
    advice = (
        "Read the newer version and check whether the record still holds. L11 retires a lesson."
    )
    return [paragraph(advice), points(items, data["standing_more"])] if items else []


def _tabulate_versions(chains: list[list[Row]], zone: Zone) -> Row | None:
    """Tabulate the versions of each source and whether its content changed between them."""
    rows = []
    for chain_number, chain in enumerate(chains, 1):
        for older_source, source in zip([None, *chain], chain, strict=False):
            if older_source is None:
                content = "the first"
            elif not (source["content_hash"] and older_source["content_hash"]):
                content = "unknown"
            else:
                is_same = source["content_hash"] == older_source["content_hash"]
                content = "the same" if is_same else "changed"
            rows.append({**source, "line": chain_number, "content": content})
    return record_table(
        "The versions of each source, from the oldest to the current one",
        rows,
        {
            "Line": ("number", "line"),
            "Source": ("", lambda row: Ref(row["id"])),
            "Version": ("", lambda row: clip_text(row["version"], 60)),
            "Tier": ("", "tier"),
            "Title": ("", lambda row: clip_text(row["title"], 120)),
            "Read": ("whole", lambda row: zone.format_day(row["retrieved_at"])),
            "Content": ("", "content"),
        },
    )


def _tabulate_newest_sources(data: Row, zone: Zone, total: int) -> Row | None:
    """Tabulate the newest sources with their age and the fields that are missing."""
    now = zone.localize(data["at"])

    def format_age(row: Row) -> str:
        age = now - zone.localize(row["retrieved_at"])
        return format_duration(max(age.total_seconds(), 0) * 1000)

    def list_missing_fields(row: Row) -> str | None:
        fields = {"license": "license", "hash": "content_hash"}
        missing_fields = [name for name, field in fields.items() if not row[field]]
        return ", ".join([*missing_fields, *([] if get_version(row) else ["version"])]) or None

    def get_version(row: Row) -> str | None:
        return row["version"] or row["commit_hash"]

    return record_table(
        "Sources, the newest first",
        data["sources"],
        {
            "Source": ("", lambda row: LinkTarget(row["id"])),
            "Tier": ("", "tier"),
            "Title": ("", lambda row: clip_text(row["title"], 120)),
            "Version": ("", lambda row: clip_text(get_version(row), 60)),
            "State": (
                "",
                lambda row: Tone("superseded", "warn") if row["superseded_by"] else "current",
            ),
            "Lacks": ("", list_missing_fields),
            "Age": ("number", format_age),
            "Read": ("whole", lambda row: zone.format_day(row["retrieved_at"])),
            "Where": ("", lambda row: clip_text(row["url"] or row["path"], 120)),
        },
        total - len(data["sources"]),
    )
