"""Retire lessons: L11."""

from __future__ import annotations

from ..records.lessons import lesson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Row, Writer


def retire(tx: Writer, *, id: str, reason: str, superseded_by: str | None = None) -> Row:
    """Retire a gotcha, learning or proven lesson, or supersede it by another; it stays in the
    record with the reason.

    Example: kaizen L11 --id @last --reason "The engine closes readers itself now."
    """
    return lesson.retire_lesson(tx, id, reason, superseded_by)
