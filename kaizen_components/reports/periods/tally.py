"""What is counted of a period beside its tasks: verdicts, proofs, lessons, waivers, tokens and cost, predictions."""

from math import fsum
from typing import Any

from ..charts import calibration
from .calendar import Period
from .flow import OF_TASK, OF_TASK_OR_OWN, PARTS, BarIndex, fetch_scoped_rows

PASSING = ("VERIFIED_ACCEPTABLE", "ACCEPTABLE_WITH_CONCERNS")
NOT_A_VERDICT = "PROOF_RECORDED"

VERDICTS = """
SELECT CASE WHEN at >= ? THEN substr(at, 1, 13) || (substr(at, 15, 2) >= ?) ELSE 'before' END AS key, conclusion,
       count(*) AS number
FROM verification
WHERE test = 0 AND at >= ? AND at < ? AND (at < ? OR at >= ?) AND {asked} GROUP BY 1, 2"""
SPANS = """
SELECT CASE WHEN at >= ? THEN substr(at, 1, 13) || (substr(at, 15, 2) >= ?) ELSE 'before' END AS key,
       sum(tokens_in + tokens_out) AS tokens, sum(cost_usd) AS cost_usd
FROM span WHERE test = 0 AND at >= ? AND at < ? AND (at < ? OR at >= ?) AND {asked} GROUP BY 1"""
PROOFS = """
SELECT CASE WHEN at >= ? THEN 'now' ELSE 'before' END AS part, tier, outcome, count(*) AS number
FROM proof WHERE test = 0 AND at >= ? AND at < ? AND (at < ? OR at >= ?) AND {asked} GROUP BY 1, 2, 3"""
WAIVERS = """
SELECT CASE WHEN at >= ? THEN 'now' ELSE 'before' END AS part, count(*) AS number
FROM waiver WHERE test = 0 AND at >= ? AND at < ? AND (at < ? OR at >= ?) AND {asked} GROUP BY 1"""
LESSONS = """
SELECT CASE WHEN at >= ? THEN 'now' ELSE 'before' END AS part, sum(promoted) AS promoted, sum(NOT promoted) AS gotchas
FROM (SELECT at, scope, 0 AS promoted FROM gotcha WHERE test = 0
      UNION ALL SELECT at, scope, 1 FROM learning WHERE test = 0 AND gotcha_id IS NOT NULL
      UNION ALL SELECT at, scope, 1 FROM learned WHERE test = 0 AND learning_id IS NOT NULL)
WHERE at >= ? AND at < ? AND (at < ? OR at >= ?) AND {asked} GROUP BY 1"""
PREDICTIONS = """
SELECT CASE WHEN o.at >= ? THEN 'now' ELSE 'before' END AS part, p.probability, o.outcome = 'happened' AS happened
FROM irl_outcome o JOIN irl_prediction p ON p.id = o.prediction_id JOIN irl i ON i.id = p.irl_id
WHERE o.test = 0 AND o.outcome <> 'void' AND o.at >= ? AND o.at < ? AND (o.at < ? OR o.at >= ?) AND {asked}
ORDER BY o.seq"""


class Tally:
    """`parts` has the numbers of `now` and `before`, `bars` what charts show step by step."""

    def __init__(self, db, period: Period, scope: str | None):
        self.db, self.scope, self.fold = db, scope, BarIndex(period)
        self.parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        self.bars: dict[str, list[Any]] = {
            "tokens": self.fold.empty(),
            "cost_usd": self.fold.empty(),
        }
        self.verdicts: dict[str, list[int]] = {}
        self.proofs: dict[str, dict[str, dict[str, int]]] = {part: {} for part in PARTS}
        within = (period.before_since, period.until, period.before_until, period.since)
        self._limits, self._limits_by_key = (
            (period.since, *within),
            (period.since, self.fold.minute, *within),
        )
        for count in (self._verdicts, self._spans, self._proofs, self._others, self._predictions):
            count()

    def _verdicts(self):
        counted: dict[str, dict[str, int]] = {part: {} for part in PARTS}
        for row in fetch_scoped_rows(
            self.db, VERDICTS, self._limits_by_key, self.scope, OF_TASK_OR_OWN
        ):
            part, name = "before" if row["key"] == "before" else "now", row["conclusion"]
            counted[part][name] = counted[part].get(name, 0) + row["number"]
            if part == "now" and name != NOT_A_VERDICT:
                self.verdicts.setdefault(name, self.fold.empty())[self.fold.place(row["key"])] += (
                    row["number"]
                )
        for part, conclusions in counted.items():
            total = sum(number for name, number in conclusions.items() if name != NOT_A_VERDICT)
            passed = sum(conclusions.get(name, 0) for name in PASSING)
            self.parts[part].update(
                verdicts=total, pass_rate=round(passed / total, 4) if total else None
            )

    def _spans(self):
        before = {"tokens": 0, "cost_usd": 0.0}
        for row in fetch_scoped_rows(self.db, SPANS, self._limits_by_key, self.scope, OF_TASK):
            if row["key"] == "before":
                before = {name: row[name] for name in before}
                continue
            for name in before:
                self.bars[name][self.fold.place(row["key"])] += row[name]
        self.bars["cost_usd"] = [round(cost, 6) for cost in self.bars["cost_usd"]]
        self.parts["before"].update(tokens=before["tokens"], cost_usd=round(before["cost_usd"], 6))
        self.parts["now"].update(
            tokens=sum(self.bars["tokens"]), cost_usd=round(fsum(self.bars["cost_usd"]), 6)
        )

    def _proofs(self):
        for row in fetch_scoped_rows(self.db, PROOFS, self._limits, self.scope, OF_TASK):
            self.proofs[row["part"]].setdefault(row["tier"], {})[row["outcome"]] = row["number"]
        for part, tiers in self.proofs.items():
            for tier in ("witnessed", "reported"):
                self.parts[part][f"proofs_{tier}"] = sum(tiers.get(tier, {}).values())

    def _others(self):
        for part in self.parts.values():
            part.update(waivers=0, promoted=0, gotchas=0)
        for row in fetch_scoped_rows(self.db, WAIVERS, self._limits, self.scope, OF_TASK):
            self.parts[row["part"]]["waivers"] = row["number"]
        for row in fetch_scoped_rows(self.db, LESSONS, self._limits, self.scope, "scope = ?"):
            self.parts[row["part"]].update(promoted=row["promoted"], gotchas=row["gotchas"])

    def _predictions(self):
        closed: dict[str, list[tuple[float, bool]]] = {part: [] for part in PARTS}
        for row in fetch_scoped_rows(self.db, PREDICTIONS, self._limits, self.scope, "i.scope = ?"):
            closed[row["part"]].append((row["probability"], bool(row["happened"])))
        for part, pairs in closed.items():
            self.parts[part].update(
                predictions=len(pairs), brier=calibration.compute_scores(pairs)["brier"]
            )
        self.calibration = calibration.group_predictions(closed["now"])
