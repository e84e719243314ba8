"""Check the predictions, corrections and outcomes of an IRL review."""

from __future__ import annotations

from ...errors import Conflict, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Row, Writer


def require_future_deadline(tx: Writer, deadline: str) -> None:
    if deadline <= tx.at:
        raise Refused(
            "deadline_past",
            f"The deadline {deadline} has passed.",
            "A prediction comes before its outcome. A bare date means 00:00; 7d is 7 days ago.",
            "Give a later time, such as +7d for seven days from now.",
        )


def require_same_review(review: Row, prediction: Row) -> None:
    if prediction["irl_id"] != review["id"]:
        raise Refused(
            "prediction_of_another_review",
            f"{prediction['id']} does not belong to {review['id']}.",
            f"It was made in {prediction['irl_id']}.",
            "Name that review with --irl-id, or leave --prediction-id out.",
        )


def require_open_prediction(prediction: Row) -> None:
    if prediction["outcome_id"]:
        raise Conflict(
            "already_closed",
            f"{prediction['id']} is already closed.",
            f"{prediction['outcome_id']} said {prediction['outcome']} "
            f"at {prediction['closed_at']}.",
            "An outcome cannot be changed. If it was wrong, record that with `I3`.",
        )
