"""IRL reviews: what a prediction, a correction and an outcome must be like."""

from ...errors import Conflict, Refused


def require_future_deadline(tx, deadline):
    if deadline <= tx.at:
        raise Refused(
            "deadline_past",
            f"The deadline {deadline} has passed.",
            "A prediction is made before it is known. A bare date is its first moment, and 7d is seven days ago.",
            "Give a later time, such as +7d for seven days from now.",
        )


def require_same_review(review, prediction):
    if prediction["irl_id"] != review["id"]:
        raise Refused(
            "prediction_of_another_review",
            f"{prediction['id']} does not belong to {review['id']}.",
            f"It was made in {prediction['irl_id']}.",
            "Name that review with --irl-id, or leave --prediction-id out.",
        )


def require_open_prediction(prediction):
    if prediction["outcome_id"]:
        raise Conflict(
            "already_closed",
            f"{prediction['id']} is closed already.",
            f"{prediction['outcome_id']} said {prediction['outcome']} at {prediction['closed_at']}.",
            "An outcome stands. If it was wrong, record that with `I3`.",
        )
