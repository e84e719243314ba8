"""IRL reviews, predictions and what came of them: I1 to I5."""

from __future__ import annotations

from ..records.ledger.transaction import make_receipt
from ..records.quality import irl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, Row, Store, Writer


def create(
    tx: Writer,
    *,
    title: str,
    summary: str,
    body: str | None = None,
    task_id: str | None = None,
    scope: str = "project",
) -> Row:
    """Begin a review of how things went in reality.

    Example: kaizen I1 --title "Release 1.2 in the field" --summary "Did what we expected come
        true?"
    """
    task = tx.find("task", task_id) if task_id else None
    values = {
        "task_id": task and task["id"],
        "title": title,
        "summary": summary,
        "body": body,
        "scope": scope,
    }
    row = tx.add("irl", values, of=(task,) if task else ())
    return make_receipt("irl", row, title=title, task_id=task and task["id"])


def prediction_add(
    tx: Writer,
    *,
    irl_id: str,
    summary: str,
    probability: float,
    deadline: str,
    body: str | None = None,
) -> Row:
    """Record a prediction with its probability and when its outcome will be known.

    Example: kaizen I2 --irl-id @last --summary "No rollback in the first week." --probability
        0.8 --deadline +7d
    """
    review = tx.find("irl", irl_id)
    irl.require_future_deadline(tx, deadline)
    values = {
        "irl_id": review["id"],
        "summary": summary,
        "body": body,
        "probability": probability,
        "deadline": deadline,
    }
    row = tx.add("irl_prediction", values, of=(review,))
    return make_receipt(
        "irl_prediction", row, irl_id=review["id"], probability=probability, deadline=deadline
    )


def correction_add(
    tx: Writer,
    *,
    irl_id: str,
    summary: str,
    prediction_id: str | None = None,
    body: str | None = None,
) -> Row:
    """Record what a person had to correct.

    Example: kaizen I3 --irl-id @last --summary "The changelog named the wrong version."
    """
    review = tx.find("irl", irl_id)
    values, about = {"irl_id": review["id"], "summary": summary, "body": body}, [review]
    if prediction_id:
        prediction = tx.find("irl_prediction", prediction_id)
        irl.require_same_review(review, prediction)
        values["prediction_id"] = prediction["id"]
        about.append(prediction)
    row = tx.add("irl_correction", values, of=about)
    return make_receipt(
        "irl_correction", row, irl_id=review["id"], prediction_id=values.get("prediction_id")
    )


def outcome_add(
    tx: Writer, *, prediction_id: str, outcome: str, summary: str, body: str | None = None
) -> Row:
    """Close a prediction with what came of it; this is possible only once.

    Example: kaizen I4 --prediction-id @last --outcome happened --summary "Seven days without a
        rollback."
    """
    prediction = tx.find("irl_prediction", prediction_id)
    irl.require_open_prediction(prediction)
    values = {
        "prediction_id": prediction["id"],
        "outcome": outcome,
        "summary": summary,
        "body": body,
    }
    row = tx.add("irl_outcome", values, of=(prediction,))
    return make_receipt(
        "irl_outcome",
        row,
        irl_id=prediction["irl_id"],
        prediction_id=prediction["id"],
        outcome=outcome,
        probability=prediction["probability"],
    )


def report(
    db: Reader, store: Store, *, id: str | None = None, format: str = "text", out: str | None = None
) -> Row:
    """Show how well predictions were calibrated: Brier score, table, plot, what is open and
    overdue.

    Example: kaizen I5
    """
    from ..reports.charts import calibration

    return calibration.report_calibration(
        db, store, db.find("irl", id) if id else None, format, out
    )
