"""Report how well predictions were calibrated: numbers, a table, a plot as text or SVG.

Test records are excluded, except in the report on a test review.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...errors import Usage
from ...records.ledger import health
from ..engine.document import Block, format_percent, table
from ..engine.page import render_template, save_report

if TYPE_CHECKING:
    from ...parameters import Reader, Row, Store

BINS = 10
DIGITS = 4
PLOT_CELLS = 41  # one for each 2.5 % from 0 to 100; the plot with its margins has 60 columns
SVG_SIDE, SVG_LEFT, SVG_TOP = 272, 66, 36  # in units of the drawing, about a pixel on a phone

PREDICTIONS = """
SELECT p.id, p.deadline, p.probability, p.summary, r.title AS review, o.outcome
FROM irl_prediction p JOIN irl r ON r.id = p.irl_id
LEFT JOIN irl_outcome o ON o.prediction_id = p.id AND o.test <= ?
WHERE p.test <= ? AND (? IS NULL OR p.irl_id = ?) ORDER BY p.deadline, p.seq"""
REVIEWS = "SELECT count(*) FROM irl WHERE test <= ? AND (? IS NULL OR id = ?)"
CORRECTIONS = "SELECT count(*) FROM irl_correction WHERE test <= ? AND (? IS NULL OR irl_id = ?)"


def report_calibration(
    db: Reader, store: Store, review: Row | None, format: str, out: str | None
) -> dict[str, Any]:
    """Return the answer of `kaizen I5` for one review, or for all if `review` is None."""
    if out and format != "html":
        raise Usage(
            "out_without_html",
            "--out needs --format html.",
            "Only HTML is written to a file.",
            "Add --format html, or omit --out.",
        )
    report = collect_calibration(db, review)
    if format == "json":
        return report
    numbers = {name: value for name, value in report.items() if not isinstance(value, list)}
    if format == "text":
        plot = draw_text_plot(report["calibration"]) if report["closed"] else None
        lists = {name: report[name] for name in ("calibration", "overdue", "open")}
        return {**numbers, "plot": plot, **lists}
    page = render_template(
        "calibration.html",
        report=report,
        plot=draw_svg_plot(report["calibration"]),
        at=db.at,
        version=__version__,
        log=health.summarize_log(db.connection),
    )
    return {"path": save_report(store, "calibration", "html", page, out), **numbers}


def collect_calibration(db: Reader, review: Row | None) -> dict[str, Any]:
    """Return the data of the report: the counts, the scores and the lists of predictions."""
    test, review_id = (review["test"], review["id"]) if review else (0, None)
    rows = db.rows(PREDICTIONS, (test, test, review_id, review_id))
    closed = [
        (row["probability"], row["outcome"] == "happened")
        for row in rows
        if row["outcome"] not in (None, "void")
    ]
    overdue: list[Row] = []
    open: list[Row] = []
    for row in rows:
        if row["outcome"] is None:
            prediction = {name: value for name, value in row.items() if name != "outcome"}
            (overdue if row["deadline"] <= db.at else open).append(prediction)
    return {
        "review": review["title"] if review else None,
        "review_id": review_id,
        "reviews": db.value(REVIEWS, (test, review_id, review_id)),
        "predictions": len(rows),
        "closed": len(closed),
        "happened": sum(happened for _, happened in closed),
        "void": sum(row["outcome"] == "void" for row in rows),
        "not_due_yet": len(open),
        "overdue_count": len(overdue),
        "corrections": db.value(CORRECTIONS, (test, review_id, review_id)),
        **compute_scores(closed),
        "calibration": group_predictions(closed),
        "overdue": overdue,
        "open": open,
    }


def compute_scores(predictions: list[tuple[float, bool]]) -> dict[str, Any]:
    """Return the Brier score of (probability, happened) pairs, and that of the base rate."""
    if not predictions:
        return {
            "brier": None,
            "base_rate": None,
            "base_rate_brier": None,
            "reading": "No prediction is closed yet.",
        }
    brier = _compute_mean([(probability - happened) ** 2 for probability, happened in predictions])
    base_rate = _compute_mean([happened for _, happened in predictions])
    reference = _compute_mean([(base_rate - happened) ** 2 for _, happened in predictions])
    comparison = "better than" if brier < reference else "worse than"
    if math.isclose(brier, reference):
        comparison = "as good as"
    return {
        "brier": round(brier, DIGITS),
        "base_rate": round(base_rate, DIGITS),
        "base_rate_brier": round(reference, DIGITS),
        "reading": "A Brier score of 0 is perfect, 1 is always wrong. "
        f"This is {comparison} always predicting the base rate.",
    }


def group_predictions(predictions: list[tuple[float, bool]]) -> list[dict[str, Any]]:
    """Return a row for each range of 10 %. 10 % belongs to 10-20 %, and 100 % to 90-100 %."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for prediction in predictions:
        bins[min(int(prediction[0] * BINS), BINS - 1)].append(prediction)
    rows = []
    for tenth, members in enumerate(bins):
        means = [round(_compute_mean(values), DIGITS) for values in zip(*members, strict=True)]
        mean_predicted, observed = means or (None, None)
        rows.append(
            {
                "predicted": f"{tenth * 10}-{tenth * 10 + 10} %",
                "count": len(members),
                "mean_predicted": mean_predicted,
                "observed": observed,
            }
        )
    return rows


def draw_text_plot(calibration: list[dict[str, Any]]) -> str:
    """Return a line per range: # up to the share that happened, | at the mean prediction."""
    lines = [
        " predicted  # happened   | was predicted           count",
        " " * 11 + " 0 %      25 %      50 %      75 %    100 %",
    ]
    for row in calibration:
        cells = [" "] * PLOT_CELLS
        if row["count"]:
            observed, predicted = (
                int(row[name] * (PLOT_CELLS - 1) + 0.5) for name in ("observed", "mean_predicted")
            )
            filled_count = observed + 1 if row["observed"] else 0
            cells = ["#"] * filled_count + ["."] * (PLOT_CELLS - filled_count)
            cells[predicted] = "|"
        lines.append(f"{row['predicted']:>10}  {''.join(cells)} {row['count']:>5}".rstrip())
    return "\n".join(lines)


def draw_svg_plot(calibration: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the position of each point and tick; the template draws them."""
    count_max = max(row["count"] for row in calibration)

    def compute_position(predicted: float, observed: float) -> dict[str, float]:
        return {
            "x": round(SVG_LEFT + SVG_SIDE * predicted, 1),
            "y": round(SVG_TOP + SVG_SIDE * (1 - observed), 1),
        }

    points = [
        {
            **compute_position(row["mean_predicted"], row["observed"]),
            # The area of a point grows with its count.
            "r": round(4 + 6 * math.sqrt(row["count"] / count_max), 1),
            "tooltip": f"{row['predicted']}: {row['count']} predicted at "
            f"{row['mean_predicted']:.1%} on average, {row['observed']:.1%} happened",
        }
        for row in calibration
        if row["count"]
    ]
    ticks = [
        {"text": f"{percent} %", **compute_position(percent / 100, percent / 100)}
        for percent in (0, 25, 50, 75, 100)
    ]
    return {"points": points, "ticks": ticks, "left": SVG_LEFT, "top": SVG_TOP, "side": SVG_SIDE}


def build_block(calibration: list[dict[str, Any]], caption: str) -> Block | None:
    """Return the plot and its data as a block; None if no prediction is closed."""
    if not any(row["count"] for row in calibration):
        return None
    columns = {"predicted": "whole", "count": "number", "mean": "number", "happened": "number"}
    rows = [
        [
            row["predicted"],
            row["count"],
            format_percent(row["mean_predicted"]),
            format_percent(row["observed"]),
        ]
        for row in calibration
    ]
    title = "Happened against predicted"
    return {
        "block": "calibration",
        "title": title,
        "caption": caption,
        "plot": draw_svg_plot(calibration),
        "data": table(title, columns, rows),
    }


def _compute_mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
