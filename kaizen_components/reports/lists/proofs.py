"""Report the proofs by tier (R4), their pass rates, and the commands that fail."""

from __future__ import annotations

from ...limits import PROOF_OUTCOME, PROOF_TIER
from ..charts.chart import draw_bars
from ..engine.document import (
    Code,
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
    record_table,
    section,
)
from ..engine.filters import build_condition, describe_filters
from ..periods.flow import OF_TASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row
    from ..engine.zone import Zone

HINT = "`kaizen Q1 --run -- pytest -q` runs a command and records the result."
BY_OUTCOME = (
    "SELECT tier, outcome, count(*) AS number FROM proof WHERE {condition} GROUP BY tier, outcome"
)
BY_COMMAND = """
SELECT command, count(*) AS runs, sum(outcome = 'passed') AS passed, avg(duration_ms) AS mean_ms,
       max(at) AS newest
FROM proof WHERE {condition} AND tier = 'witnessed' AND command IS NOT NULL
GROUP BY command ORDER BY sum(outcome <> 'passed') DESC, count(*) DESC, command LIMIT ?"""
NEWEST = """
SELECT id, at, actor, tier, outcome, command, title, duration_ms, task_id
FROM proof WHERE {condition} ORDER BY seq DESC LIMIT ?"""


def gather(db: Reader, zone: Zone, options: Row) -> Row:
    """Return the proofs by tier with their pass rates, the commands and the newest proofs."""
    condition, values = build_condition(db, "proof", {**options, "scope": None})
    if options["scope"]:
        condition, values = f"{condition} AND {OF_TASK}", [*values, options["scope"]]
    limit = options["limit"]
    outcomes = {tier: dict.fromkeys(PROOF_OUTCOME, 0) for tier in PROOF_TIER}
    for row in db.rows(BY_OUTCOME.format(condition=condition), values):
        outcomes[row["tier"]][row["outcome"]] = row["number"]
    tiers = {}
    for tier, numbers in outcomes.items():
        # A reported proof without an exit code has neither passed nor failed.
        decided_count = numbers["passed"] + numbers["failed"] + numbers["timeout"]
        pass_rate = round(numbers["passed"] / decided_count, 4) if decided_count else None
        tiers[tier] = {"proofs": sum(numbers.values()), "pass_rate": pass_rate, **numbers}
    return {
        "narrowed": describe_filters(options, zone),
        "tiers": tiers,
        "commands": db.rows(BY_COMMAND.format(condition=condition), (*values, limit)),
        "proofs": db.rows(NEWEST.format(condition=condition), (*values, limit)),
    }


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the outcomes by tier, the commands and the newest proofs."""
    tiers = data["tiers"]
    total = sum(tier["proofs"] for tier in tiers.values())
    if not total:
        lead = "No proof matches." if data["narrowed"] else f"No proof is recorded yet. {HINT}"
        return document("Proofs", [lead, data["narrowed"]], [])
    witnessed_tier = tiers["witnessed"]
    lead = (
        f"{format_count(witnessed_tier['proofs'])} of {format_count(total)} proofs are witnessed: "
        "Kaizen ran the command itself. "
        f"{format_percent(witnessed_tier['pass_rate'])} of those passed. The others are only reported."
    )
    numbers = facts(
        *(
            fact(f"{tier}, {name}", values[name])
            for tier, values in tiers.items()
            for name in PROOF_OUTCOME
            if values[name]
        ),
    )
    chart = _draw_outcomes(tiers)
    command_table = record_table(
        "Witnessed commands",
        data["commands"],
        {
            "Command": ("", lambda row: Code(clip_text(row["command"], 200))),
            "Runs": ("number", "runs"),
            "Passed": ("number", "passed"),
            "Pass rate": ("number", lambda row: format_percent(row["passed"] / row["runs"])),
            "Mean time": ("number", lambda row: format_duration(row["mean_ms"])),
            "Newest": ("whole", lambda row: zone.format_time(row["newest"])),
        },
    )
    proof_table = record_table(
        "Proofs, the newest first",
        data["proofs"],
        {
            "Proof": ("", lambda row: LinkTarget(row["id"])),
            "When": ("whole", lambda row: zone.format_time(row["at"])),
            "Tier": ("", lambda row: add_tone(row["tier"])),
            "Outcome": ("", lambda row: add_tone(row["outcome"])),
            "What": ("", lambda row: clip_text(row["title"])),
            "Time": ("number", lambda row: format_duration(row["duration_ms"])),
            "Task": ("", lambda row: row["task_id"] and Ref(row["task_id"])),
            "By": ("", "actor"),
        },
        total - len(data["proofs"]),
    )
    return document(
        "Proofs",
        [lead, data["narrowed"]],
        [
            section("In numbers", numbers, chart),
            section("Commands, those that fail first", command_table),
            section("Newest", proof_table),
        ],
    )


def _draw_outcomes(tiers: Row) -> Row | None:
    """Return the chart of outcomes by tier."""
    rates = "; ".join(
        f"{name}: {tier['proofs']} proofs, pass rate {format_percent(tier['pass_rate'])}"
        for name, tier in tiers.items()
    )
    return draw_bars(
        "Verification outcomes by tier",
        "tier",
        "proofs",
        list(tiers),
        {name: [tier[name] for tier in tiers.values()] for name in PROOF_OUTCOME},
        rates + ".",
    )
