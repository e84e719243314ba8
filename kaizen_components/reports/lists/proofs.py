"""R4: the proofs by tier, how often they pass, and which commands fail."""

from typing import Any

from ...limits import PROOF_OUTCOME, PROOF_TIER
from ..charts.chart import draw_bars
from ..engine.document import (
    Code,
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
    section,
    table,
)
from ..engine.filters import build_condition, describe_filters
from ..periods.flow import OF_TASK

HOW = "`kaizen Q1 --run -- pytest -q` runs a command and records what was seen."
BY_OUTCOME = (
    "SELECT tier, outcome, count(*) AS number FROM proof WHERE {asked} GROUP BY tier, outcome"
)
BY_COMMAND = """
SELECT command, count(*) AS runs, sum(outcome = 'passed') AS passed, avg(duration_ms) AS mean_ms, max(at) AS newest
FROM proof WHERE {asked} AND tier = 'witnessed' AND command IS NOT NULL
GROUP BY command ORDER BY sum(outcome <> 'passed') DESC, count(*) DESC, command LIMIT ?"""
NEWEST = """
SELECT id, at, actor, tier, outcome, command, title, duration_ms, task_id FROM proof WHERE {asked}
ORDER BY seq DESC LIMIT ?"""


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    asked, values = build_condition(db, "proof", {**options, "scope": None})
    if options["scope"]:
        asked, values = f"{asked} AND {OF_TASK}", [*values, options["scope"]]
    limit = options["limit"]
    outcomes = {tier: dict.fromkeys(PROOF_OUTCOME, 0) for tier in PROOF_TIER}
    for row in db.rows(BY_OUTCOME.format(asked=asked), values):
        outcomes[row["tier"]][row["outcome"]] = row["number"]
    tiers = {
        tier: {"proofs": sum(of.values()), "pass_rate": _rate(of), **of}
        for tier, of in outcomes.items()
    }
    return {
        "narrowed": describe_filters(options, zone),
        "tiers": tiers,
        "commands": db.rows(BY_COMMAND.format(asked=asked), (*values, limit)),
        "proofs": db.rows(NEWEST.format(asked=asked), (*values, limit)),
    }


def _rate(outcomes):
    """Of those that ended one way or the other; a report without an exit code says nothing."""
    known = sum(outcomes[name] for name in ("passed", "failed", "timeout"))
    return round(outcomes["passed"] / known, 4) if known else None


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    tiers = found["tiers"]
    total = sum(tier["proofs"] for tier in tiers.values())
    if not total:
        none = "No proof fits." if found["narrowed"] else f"No proof is recorded yet. {HOW}"
        return document("Proofs", [text for text in (none, found["narrowed"]) if text], [])
    seen = tiers["witnessed"]
    lead = [
        f"{format_count(seen['proofs'])} of {format_count(total)} proofs are witnessed: the command was run and seen here. "
        f"{format_percent(seen['pass_rate'])} of those passed. The others are only reported.",
        found["narrowed"],
    ]
    numbers = facts(
        *(
            fact(f"{tier}, {name}", values[name])
            for tier, values in tiers.items()
            for name in PROOF_OUTCOME
            if values[name]
        ),
    )
    return document(
        "Proofs", [text for text in lead if text],
        [
            section("In numbers", numbers, _by_tier(tiers)),
            section("Commands, those that fail first", _commands(found, zone)),
            section("Newest", _newest(found, zone, total)),
        ],
    )  # fmt: skip


def _by_tier(tiers):
    series = {name: [tier[name] for tier in tiers.values()] for name in PROOF_OUTCOME}
    says = "; ".join(
        f"{name}: {tier['proofs']} proofs, pass rate {format_percent(tier['pass_rate'])}"
        for name, tier in tiers.items()
    )
    return draw_bars(
        "Verification outcomes by tier", "tier", "proofs", list(tiers), series, says + "."
    )


def _commands(found, zone):
    columns = {
        "Command": "",
        "Runs": "number",
        "Passed": "number",
        "Pass rate": "number",
        "Mean time": "number",
        "Newest": "whole",
    }
    rows = [
        [
            Code(clip_text(row["command"], 200)), row["runs"], row["passed"], format_percent(row["passed"] / row["runs"]),
            format_duration(row["mean_ms"]), zone.show(row["newest"]),
        ]
        for row in found["commands"]
    ]  # fmt: skip
    return table("Witnessed commands", columns, rows)


def _newest(found, zone, total):
    columns = {
        "Proof": "",
        "When": "whole",
        "Tier": "",
        "Outcome": "",
        "What": "",
        "Time": "number",
        "Task": "",
        "By": "",
    }
    rows = [
        [
            Own(row["id"]), zone.show(row["at"]), add_tone(row["tier"]), add_tone(row["outcome"]), clip_text(row["title"]),
            format_duration(row["duration_ms"]), Ref(row["task_id"]) if row["task_id"] else None, row["actor"],
        ]
        for row in found["proofs"]
    ]  # fmt: skip
    return table("Proofs, the newest first", columns, rows, total - len(rows))
