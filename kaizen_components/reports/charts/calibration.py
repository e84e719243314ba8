"""How well predictions were calibrated: numbers, a table, a plot as text and one as SVG in an HTML file.

Test records count only when the report is asked for a review that is itself one.
"""

import math
from typing import Any

from ... import __version__
from ...errors import Usage
from ...records.ledger import health
from ..engine.document import Block, format_percent, table
from ..engine.page import render_template, save_report

BINS = 10
DIGITS = 4
PLOT_CELLS = 41  # one for each 2.5 % from 0 to 100; with its margins the plot is 60 columns broad
SVG_SIDE, SVG_LEFT, SVG_TOP = 272, 66, 36  # in the units of the drawing, near pixels on a phone

PREDICTIONS = """
SELECT p.id, p.deadline, p.probability, p.summary, r.title AS review, o.outcome
FROM irl_prediction p JOIN irl r ON r.id = p.irl_id
LEFT JOIN irl_outcome o ON o.prediction_id = p.id AND o.test <= ?
WHERE p.test <= ? AND (? IS NULL OR p.irl_id = ?) ORDER BY p.deadline, p.seq"""
REVIEWS = "SELECT count(*) FROM irl WHERE test <= ? AND (? IS NULL OR id = ?)"
CORRECTIONS = "SELECT count(*) FROM irl_correction WHERE test <= ? AND (? IS NULL OR irl_id = ?)"


def report_calibration(db, store, review, format: str, out: str | None) -> dict[str, Any]:
    """The answer of I5, over one review or all."""
    if out and format != "html":
        raise Usage(
            "out_without_html",
            "--out needs --format html.",
            "Only HTML is written to a file.",
            "Add it.",
        )
    found = collect_calibration(db, review)
    if format == "json":
        return found
    if format == "text":
        plot = draw_text_plot(found["calibration"]) if found["closed"] else None
        return {
            **_numbers(found),
            "plot": plot,
            **{name: found[name] for name in ("calibration", "overdue", "open")},
        }
    page = render_template(
        "calibration.html", found=found, plot=draw_svg_plot(found["calibration"]), at=db.at, version=__version__,
        log=health.summarize_log(db.connection),
    )  # fmt: skip
    return {"path": save_report(store, "calibration", "html", page, out), **_numbers(found)}


def collect_calibration(db, review) -> dict[str, Any]:
    """Everything the report says, as data."""
    test, chosen = (review["test"], review["id"]) if review else (0, None)
    rows = db.rows(PREDICTIONS, (test, test, chosen, chosen))
    closed = [
        (row["probability"], row["outcome"] == "happened")
        for row in rows
        if row["outcome"] not in (None, "void")
    ]
    waiting = [
        {name: row[name] for name in row if name != "outcome"}
        for row in rows
        if row["outcome"] is None
    ]
    overdue = [row for row in waiting if row["deadline"] <= db.at]
    return {
        "review": review["title"] if review else None,
        "review_id": chosen,
        "reviews": db.value(REVIEWS, (test, chosen, chosen)),
        "predictions": len(rows),
        "closed": len(closed),
        "happened": sum(happened for _, happened in closed),
        "void": sum(row["outcome"] == "void" for row in rows),
        "not_due_yet": len(waiting) - len(overdue),
        "overdue_count": len(overdue),
        "corrections": db.value(CORRECTIONS, (test, chosen, chosen)),
        **compute_scores(closed),
        "calibration": group_predictions(closed),
        "overdue": overdue,
        "open": [row for row in waiting if row["deadline"] > db.at],
    }


def compute_scores(closed: list[tuple[float, bool]]) -> dict[str, Any]:
    """The mean squared error, and that of somebody who knows only how often things happened."""
    if not closed:
        return {
            "brier": None,
            "base_rate": None,
            "base_rate_brier": None,
            "reading": "No prediction is closed yet.",
        }
    brier = _mean([(probability - happened) ** 2 for probability, happened in closed])
    base = _mean([happened for _, happened in closed])
    reference = _mean([(base - happened) ** 2 for _, happened in closed])
    compared = (
        "as good as"
        if math.isclose(brier, reference)
        else "better than"
        if brier < reference
        else "worse than"
    )
    return {
        "brier": round(brier, DIGITS),
        "base_rate": round(base, DIGITS),
        "base_rate_brier": round(reference, DIGITS),
        "reading": f"A Brier score of 0 is perfect, 1 is always wrong. This is {compared} always saying the base rate.",
    }


def group_predictions(closed: list[tuple[float, bool]]) -> list[dict[str, Any]]:
    """Ten rows; a probability on a border belongs to the upper one, and 1 to the last."""
    sorted_in: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for one in closed:
        sorted_in[min(int(one[0] * BINS), BINS - 1)].append(one)
    return [
        {
            "predicted": f"{at * 10}-{at * 10 + 10} %",
            "count": len(members),
            "mean_predicted": round(_mean([probability for probability, _ in members]), DIGITS)
            if members
            else None,
            "observed": round(_mean([happened for _, happened in members]), DIGITS)
            if members
            else None,
        }
        for at, members in enumerate(sorted_in)
    ]


def draw_text_plot(calibration: list[dict[str, Any]]) -> str:
    """A line a bin: # up to how often it happened, | where it was predicted."""
    lines = [
        " predicted  # happened   | was predicted           count",
        " " * 11 + " 0 %      25 %      50 %      75 %    100 %",
    ]
    for row in calibration:
        cells = ["."] * PLOT_CELLS if row["count"] else [" "] * PLOT_CELLS
        if row["count"]:
            reach = _cell(row["observed"])
            cells[: reach + 1] = ["#"] * (reach + 1) if row["observed"] else ["."]
            cells[_cell(row["mean_predicted"])] = "|"
        lines.append(f"{row['predicted']:>10}  {''.join(cells)} {row['count']:>5}".rstrip())
    return "\n".join(lines)


def draw_svg_plot(calibration: list[dict[str, Any]]) -> dict[str, Any]:
    """Where things stand in the drawing; the template draws them."""
    most = max(row["count"] for row in calibration)
    points = [
        {
            "x": _across(row["mean_predicted"]),
            "y": _down(row["observed"]),
            "r": round(4 + 6 * math.sqrt(row["count"] / most), 1),  # the area grows with the count
            "says": f"{row['predicted']}: {row['count']} predicted at {row['mean_predicted']:.1%} on average, "
            f"{row['observed']:.1%} happened",
        }
        for row in calibration
        if row["count"]
    ]
    ticks = [
        {"text": f"{part} %", "x": _across(part / 100), "y": _down(part / 100)}
        for part in (0, 25, 50, 75, 100)
    ]
    return {"points": points, "ticks": ticks, "left": SVG_LEFT, "top": SVG_TOP, "side": SVG_SIDE}


def build_block(calibration: list[dict[str, Any]], says: str) -> Block | None:
    """The plot as a block of a report, with its data as a table; none as long as nothing is closed."""
    plot = draw_svg_plot(calibration) if any(row["count"] for row in calibration) else None
    columns = {"predicted": "whole", "count": "number", "mean": "number", "happened": "number"}
    rows = [
        [row["predicted"], row["count"], format_percent(row["mean_predicted"]), format_percent(row["observed"])]
        for row in calibration
    ]  # fmt: skip
    title = "Happened against predicted"
    made = {
        "block": "calibration",
        "title": title,
        "says": says,
        "plot": plot,
        "data": table(title, columns, rows),
    }
    return made if plot else None


def _across(part: float) -> float:
    return round(SVG_LEFT + SVG_SIDE * part, 1)


def _down(part: float) -> float:
    return round(SVG_TOP + SVG_SIDE * (1 - part), 1)


def _cell(part: float) -> int:
    return int(part * (PLOT_CELLS - 1) + 0.5)


def _mean(numbers: list[Any]) -> float:
    return math.fsum(numbers) / len(numbers)


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if not isinstance(value, list)}
