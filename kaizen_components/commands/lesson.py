"""Lessons that no longer hold: L11."""

from ..records.lessons import lesson


def retire(tx, *, id, reason, superseded_by=None):
    """Retire a gotcha, learning or proven lesson, or supersede it by another; it stays in the record with the reason.

    Example: kaizen L11 --id @last --reason "The engine closes readers itself now."
    """
    return lesson.retire_lesson(tx, id, reason, superseded_by)
