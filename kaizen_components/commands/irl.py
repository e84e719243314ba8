"""IRL reviews, predictions and what came of them: I1 to I5."""


def create(tx, *, title, summary, body=None, task_id=None, scope="project"):
    """Begin a review of how things went in reality.

    Example: kaizen I1 --title "Release 1.2 in the field" --summary "Did what we expected come true?"
    """
    raise NotImplementedError


def prediction_add(tx, *, irl_id, summary, probability, deadline, body=None):
    """Record a prediction with its probability and the day it will be known.

    Example: kaizen I2 --irl-id @last --summary "No rollback in the first week." --probability 0.8 --deadline +7d
    """
    raise NotImplementedError


def correction_add(tx, *, irl_id, summary, prediction_id=None, body=None):
    """Record what a person had to correct.

    Example: kaizen I3 --irl-id @last --summary "The changelog named the wrong version."
    """
    raise NotImplementedError


def outcome_add(tx, *, prediction_id, outcome, summary, body=None):
    """Close a prediction with what came of it.

    Example: kaizen I4 --prediction-id @last --outcome happened --summary "Seven days without a rollback."
    """
    raise NotImplementedError


def report(db, store, *, id=None, format="text", out=None):
    """Show how well predictions were calibrated: Brier score, table, plot, what is open and overdue.

    Example: kaizen I5
    """
    raise NotImplementedError
