"""Count what a period has besides tasks: verdicts, proofs, lessons, cost, predictions."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Any

from ..charts import calibration
from .calendar import Period
from .flow import OF_TASK, OF_TASK_OR_OWN, PARTS, BarIndex, fetch_scoped_rows

if TYPE_CHECKING:
    from ...parameters import Reader, Row

PASSING = ("VERIFIED_ACCEPTABLE", "ACCEPTABLE_WITH_CONCERNS")
NOT_A_VERDICT = "PROOF_RECORDED"

VERDICTS = """
SELECT CASE WHEN at >= ? THEN substr(at, 1, 13) || (substr(at, 15, 2) >= ?) ELSE 'before' END
           AS key, conclusion, count(*) AS number
FROM verification
WHERE test = 0 AND at >= ? AND at < ? AND (at < ? OR at >= ?) AND {condition} GROUP BY 1, 2"""
SPANS = """
SELECT CASE WHEN at >= ? THEN substr(at, 1, 13) || (substr(at, 15, 2) >= ?) ELSE 'before' END
           AS key, sum(tokens_in + tokens_out) AS tokens, sum(cost_usd) AS cost_usd
FROM span WHERE test = 0 AND at >= ? AND at < ? AND (at < ? OR at >= ?) AND {condition} GROUP BY 1"""
PROOFS = """
SELECT CASE WHEN at >= ? THEN 'now' ELSE 'before' END AS part, tier, outcome, count(*) AS number
FROM proof WHERE test = 0 AND at >= ? AND at < ? AND (at < ? OR at >= ?) AND {condition}
GROUP BY 1, 2, 3"""
WAIVERS = """
SELECT CASE WHEN at >= ? THEN 'now' ELSE 'before' END AS part, count(*) AS number
FROM waiver WHERE test = 0 AND at >= ? AND at < ? AND (at < ? OR at >= ?) AND {condition} GROUP BY 1"""
LESSONS = """
SELECT CASE WHEN at >= ? THEN 'now' ELSE 'before' END AS part, sum(promoted) AS promoted,
       sum(NOT promoted) AS gotchas
FROM (SELECT at, scope, 0 AS promoted FROM gotcha WHERE test = 0
      UNION ALL SELECT at, scope, 1 FROM learning WHERE test = 0 AND gotcha_id IS NOT NULL
      UNION ALL SELECT at, scope, 1 FROM learned WHERE test = 0 AND learning_id IS NOT NULL)
WHERE at >= ? AND at < ? AND (at < ? OR at >= ?) AND {condition} GROUP BY 1"""
PREDICTIONS = """
SELECT CASE WHEN o.at >= ? THEN 'now' ELSE 'before' END AS part, p.probability,
       o.outcome = 'happened' AS happened
FROM irl_outcome o JOIN irl_prediction p ON p.id = o.prediction_id JOIN irl i ON i.id = p.irl_id
WHERE o.test = 0 AND o.outcome <> 'void' AND o.at >= ? AND o.at < ? AND (o.at < ? OR o.at >= ?)
  AND {condition}
ORDER BY o.seq"""


class Tally:
    """The numbers of a period (`now`) and of the period `before`; `bars` has series for charts."""

    def __init__(self, db: Reader, period: Period, scope: str | None) -> None:
        self.index = BarIndex(period)
        self.parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        self.verdicts: dict[str, list[int]] = {}
        limits = (period.before_since, period.until, period.before_until, period.since)

        def fetch_rows(sql: str, condition: str) -> list[Row]:
            """Return the rows of both periods; VERDICTS and SPANS group this period by bar."""
            is_by_bar = sql in (VERDICTS, SPANS)
            begin = (period.since, self.index.minute) if is_by_bar else (period.since,)
            return fetch_scoped_rows(db, sql, (*begin, *limits), scope, condition)

        self._count_verdicts(fetch_rows(VERDICTS, OF_TASK_OR_OWN))
        before = {"tokens": 0, "cost_usd": 0.0}  # sums of the spans of the period before
        self.bars: dict[str, list[Any]] = {name: self.index.make_zeros() for name in before}
        for row in fetch_rows(SPANS, OF_TASK):
            if row["key"] == "before":
                before = {name: row[name] for name in before}
                continue
            for name, bars in self.bars.items():
                bars[self.index.find_bar(row["key"])] += row[name]
        costs = self.bars["cost_usd"] = [round(cost, 6) for cost in self.bars["cost_usd"]]
        self.parts["before"].update(tokens=before["tokens"], cost_usd=round(before["cost_usd"], 6))
        self.parts["now"].update(tokens=sum(self.bars["tokens"]), cost_usd=round(fsum(costs), 6))
        self.proofs: dict[str, dict[str, dict[str, int]]] = {part: {} for part in PARTS}
        for row in fetch_rows(PROOFS, OF_TASK):
            self.proofs[row["part"]].setdefault(row["tier"], {})[row["outcome"]] = row["number"]
        for part, numbers in self.parts.items():
            for tier in ("witnessed", "reported"):
                outcomes = self.proofs[part].get(tier, {})
                numbers[f"proofs_{tier}"] = sum(outcomes.values())
            numbers.update(waivers=0, promoted=0, gotchas=0)
        for row in fetch_rows(WAIVERS, OF_TASK):
            self.parts[row["part"]]["waivers"] = row["number"]
        for row in fetch_rows(LESSONS, "scope = ?"):
            self.parts[row["part"]].update(promoted=row["promoted"], gotchas=row["gotchas"])
        predictions: dict[str, list[tuple[float, bool]]] = {part: [] for part in PARTS}
        for row in fetch_rows(PREDICTIONS, "i.scope = ?"):
            predictions[row["part"]].append((row["probability"], bool(row["happened"])))
        for part, pairs in predictions.items():
            brier = calibration.compute_scores(pairs)["brier"]
            self.parts[part].update(predictions=len(pairs), brier=brier)
        self.calibration = calibration.group_predictions(predictions["now"])

    def _count_verdicts(self, rows: list[Row]) -> None:
        """Count the verdicts of both periods, by bar and conclusion, and their pass rates."""
        counts: dict[str, dict[str, int]] = {part: {} for part in PARTS}
        for row in rows:
            name, number = row["conclusion"], row["number"]
            if name == NOT_A_VERDICT:
                continue
            part = "before" if row["key"] == "before" else "now"
            counts[part][name] = counts[part].get(name, 0) + number
            if part == "now":
                bars = self.verdicts.setdefault(name, self.index.make_zeros())
                bars[self.index.find_bar(row["key"])] += number
        for part, conclusions in counts.items():
            total = sum(conclusions.values())
            passed_count = sum(conclusions.get(name, 0) for name in PASSING)
            rate = round(passed_count / total, 4) if total else None
            self.parts[part].update(verdicts=total, pass_rate=rate)
