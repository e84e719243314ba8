"""Rank the proposals of a lab by their evidence and their gain (O3).

The tier of a proposal says what its evidence is. `measured` is evidence from a machine: a witnessed
proof that passed, a score of that metric recorded by a tool, or an eval run that passed or failed
in a witnessed proof. `reported` means other evidence, `claimed` means no evidence. A later record
with `--about` the proposal counts like the evidence that the proposal names. A claimed gain has its
own column and ranks last.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row

TIERS = ("measured", "reported", "claimed")

PROPOSALS = """
SELECT p.id, p.at, p.actor, p.test, p.lab_id, b.contract, p.title, p.metric, p.better, p.baseline,
       p.candidate, p.artifact_id, count(*) OVER (PARTITION BY p.lab_id, p.metric) AS proposals
FROM lab_proposal p JOIN lab b ON b.id = p.lab_id
WHERE (? IS NULL OR p.lab_id = ?) AND (? IS NULL OR b.contract = ?) AND p.test <= ?
ORDER BY p.seq"""

EVIDENCE = """
WITH cited AS (
    SELECT p.id AS proposal_id, p.metric, e.value AS evidence_id
    FROM lab_proposal p JOIN json_each(p.evidence) e
    UNION SELECT p.id, p.metric, x.id
    FROM lab_proposal p JOIN proof x ON x.about_id = p.id WHERE x.test <= ?
    UNION SELECT p.id, p.metric, x.id
    FROM lab_proposal p JOIN score x ON x.about_id = p.id WHERE x.test <= ?
    UNION SELECT p.id, p.metric, x.id
    FROM lab_proposal p JOIN verification x ON x.about_id = p.id WHERE x.test <= ?
)
SELECT n.proposal_id, n.evidence_id,
       EXISTS (SELECT 1 FROM proof x
               WHERE x.id = n.evidence_id AND x.tier = 'witnessed' AND x.outcome = 'passed')
       OR EXISTS (SELECT 1 FROM score x
                  WHERE x.id = n.evidence_id AND x.source = 'tool'
                  AND lower(x.name) = lower(n.metric))
       OR EXISTS (SELECT 1 FROM eval_run x
                  JOIN proof w ON w.id = x.proof_id AND w.tier = 'witnessed'
                  WHERE x.id = n.evidence_id AND x.outcome IN ('passed', 'failed')) AS measured
FROM cited n ORDER BY n.proposal_id, n.evidence_id"""


def rank_proposals(
    db: Reader, lab_ref: str | None, contract: str | None, limit: int, with_tests: bool
) -> Row:
    """Return the proposals by tier, best evidence first, and within a tier by gain."""
    lab_id = db.resolve("lab", lab_ref) if lab_ref else None
    evidence: dict[str, list[Row]] = {}
    for item in db.rows(EVIDENCE, (int(with_tests),) * 3):
        evidence.setdefault(item["proposal_id"], []).append(item)
    ranking = []
    for row in db.rows(PROPOSALS, (lab_id, lab_id, contract, contract, int(with_tests))):
        items = evidence.get(row["id"], [])
        measuring_ids = [item["evidence_id"] for item in items if item["measured"]]
        other_ids = [item["evidence_id"] for item in items if not item["measured"]]
        tier = "measured" if measuring_ids else "reported" if other_ids else "claimed"
        prefix = "claimed_" if tier == "claimed" else ""
        change = row["candidate"] - row["baseline"]
        gain = _round_digits(change if row["better"] == "higher" else -change)
        relative = gain / abs(row["baseline"]) if row["baseline"] else math.inf
        relative_gain = _round_digits(relative) if math.isfinite(relative) else None
        proposal = {
            "id": row["id"],
            "tier": tier,
            f"{prefix}gain": gain,
            f"{prefix}relative_gain": relative_gain,
            "title": row["title"],
            "metric": row["metric"],
            "better": row["better"],
            "baseline": row["baseline"],
            "candidate": row["candidate"],
            "proposals": row["proposals"],
            "measured_by": measuring_ids,
            "reported_by": other_ids,
            "contract": row["contract"],
            "lab_id": row["lab_id"],
            "artifact_id": row["artifact_id"],
            "actor": row["actor"],
            "at": row["at"],
            "test": bool(row["test"]),
        }
        ranking.append(((TIERS.index(tier), -gain, -(relative_gain or 0), row["id"]), proposal))
    ranking.sort(key=lambda pair: pair[0])
    records = [{"rank": position, **row} for position, (_, row) in enumerate(ranking[:limit], 1)]
    return {
        "tiers": {tier: sum(row["tier"] == tier for _, row in ranking) for tier in TIERS},
        "records": records,
        "count": len(records),
        "more": len(ranking) > limit,
    }


def _round_digits(number: float) -> float:
    """Round to twelve digits, so that 0.7 - 0.6 is 0.1."""
    return float(f"{number:.12g}")
