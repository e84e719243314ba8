"""Which proposals did better, and how we know.

Tiers: `measured` has evidence that a machine saw: a witnessed proof that passed, a score of that metric recorded by a
tool, or an eval run that passed or failed in a witnessed proof. `reported` has other evidence, `claimed` has none. What
is recorded about a proposal later (`--about`) is evidence like that which it named itself. A claim is not a gain: it
stands in a column of its own and behind everything that has evidence.
"""

import math
from typing import Any

TIERS = ("measured", "reported", "claimed")

PROPOSALS = """
SELECT p.id, p.at, p.actor, p.test, p.lab_id, b.contract, p.title, p.metric, p.better, p.baseline, p.candidate,
       p.artifact_id, count(*) OVER (PARTITION BY p.lab_id, p.metric) AS proposals
FROM lab_proposal p JOIN lab b ON b.id = p.lab_id
WHERE (? IS NULL OR p.lab_id = ?) AND (? IS NULL OR b.contract = ?) AND p.test <= ?
ORDER BY p.seq"""

EVIDENCE = """
WITH named AS (
    SELECT p.id AS proposal_id, p.metric, e.value AS shown FROM lab_proposal p JOIN json_each(p.evidence) e
    UNION SELECT p.id, p.metric, x.id FROM lab_proposal p JOIN proof x ON x.about_id = p.id WHERE x.test <= ?
    UNION SELECT p.id, p.metric, x.id FROM lab_proposal p JOIN score x ON x.about_id = p.id WHERE x.test <= ?
    UNION SELECT p.id, p.metric, x.id FROM lab_proposal p JOIN verification x ON x.about_id = p.id WHERE x.test <= ?
)
SELECT n.proposal_id, n.shown,
       EXISTS (SELECT 1 FROM proof x WHERE x.id = n.shown AND x.tier = 'witnessed' AND x.outcome = 'passed')
       OR EXISTS (SELECT 1 FROM score x
                  WHERE x.id = n.shown AND x.source = 'tool' AND lower(x.name) = lower(n.metric))
       OR EXISTS (SELECT 1 FROM eval_run x JOIN proof w ON w.id = x.proof_id AND w.tier = 'witnessed'
                  WHERE x.id = n.shown AND x.outcome IN ('passed', 'failed')) AS measured
FROM named n ORDER BY n.proposal_id, n.shown"""


def rank_proposals(
    db, lab_ref: str | None, contract: str | None, limit: int, with_tests: bool
) -> dict[str, Any]:
    lab_id = db.resolve("lab", lab_ref) if lab_ref else None
    found = db.rows(PROPOSALS, (lab_id, lab_id, contract, contract, int(with_tests)))
    evidence: dict[str, list[dict[str, Any]]] = {}
    for row in db.rows(EVIDENCE, (int(with_tests),) * 3):
        evidence.setdefault(row["proposal_id"], []).append(row)
    rows = [_judged(row, evidence.get(row["id"], [])) for row in found]
    rows.sort(
        key=lambda row: (TIERS.index(row["tier"]), -_gain(row), -(_relative(row) or 0), row["id"])
    )
    records = [{"rank": at, **row} for at, row in enumerate(rows[:limit], 1)]
    return {
        "tiers": {tier: sum(row["tier"] == tier for row in rows) for tier in TIERS},
        "records": records,
        "count": len(records),
        "more": len(rows) > limit,
    }


def _judged(row, evidence):
    measured = [item["shown"] for item in evidence if item["measured"]]
    other = [item["shown"] for item in evidence if not item["measured"]]
    tier = "measured" if measured else "reported" if other else "claimed"
    claim = "claimed_" if tier == "claimed" else ""
    return {
        "id": row["id"],
        "tier": tier,
        f"{claim}gain": _gain(row),
        f"{claim}relative_gain": _relative(row),
        "title": row["title"],
        "metric": row["metric"],
        "better": row["better"],
        "baseline": row["baseline"],
        "candidate": row["candidate"],
        "proposals": row["proposals"],
        "measured_by": measured,
        "reported_by": other,
        "contract": row["contract"],
        "lab_id": row["lab_id"],
        "artifact_id": row["artifact_id"],
        "actor": row["actor"],
        "at": row["at"],
        "test": bool(row["test"]),
    }


def _gain(row):
    """By how much the candidate is better; below zero where it is worse."""
    gain = row["candidate"] - row["baseline"]
    return _digits(gain if row["better"] == "higher" else -gain)


def _relative(row):
    """The gain as a part of the baseline; none where the baseline is 0, or next to it."""
    relative = _gain(row) / abs(row["baseline"]) if row["baseline"] else math.inf
    return _digits(relative) if math.isfinite(relative) else None


def _digits(number):
    """Twelve digits: 0.7 - 0.6 is 0.1."""
    return float(f"{number:.12g}")
