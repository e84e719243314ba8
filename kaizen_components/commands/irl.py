"""IRL reviews, predictions and what came of them: I1 to I5."""

from ..records.ledger.transaction import make_receipt
from ..records.quality import irl


def create(tx, *, title, summary, body=None, task_id=None, scope="project"):
    """Begin a review of how things went in reality.

    Example: kaizen I1 --title "Release 1.2 in the field" --summary "Did what we expected come true?"
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


def prediction_add(tx, *, irl_id, summary, probability, deadline, body=None):
    """Record a prediction with its probability and the day it will be known.

    Example: kaizen I2 --irl-id @last --summary "No rollback in the first week." --probability 0.8 --deadline +7d
    """
    review = tx.find("irl", irl_id)
    irl.require_future_deadline(tx, deadline)
    values = {
        "irl_id": review["id"], "summary": summary, "body": body, "probability": probability, "deadline": deadline,
    }  # fmt: skip
    row = tx.add("irl_prediction", values, of=(review,))
    return make_receipt(
        "irl_prediction", row, irl_id=review["id"], probability=probability, deadline=deadline
    )


def correction_add(tx, *, irl_id, summary, prediction_id=None, body=None):
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


def outcome_add(tx, *, prediction_id, outcome, summary, body=None):
    """Close a prediction with what came of it, once.

    Example: kaizen I4 --prediction-id @last --outcome happened --summary "Seven days without a rollback."
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
        "irl_outcome", row, irl_id=prediction["irl_id"], prediction_id=prediction["id"], outcome=outcome,
        probability=prediction["probability"],
    )  # fmt: skip


def report(db, store, *, id=None, format="text", out=None):
    """Show how well predictions were calibrated: Brier score, table, plot, what is open and overdue.

    Example: kaizen I5
    """
    from ..reports.charts import calibration

    return calibration.report_calibration(
        db, store, db.find("irl", id) if id else None, format, out
    )
