"""Packets of a task: W15."""

from __future__ import annotations

from ..records.work import packet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, Row


def list_(
    db: Reader,
    *,
    query: str | None = None,
    task_id: str | None = None,
    kind: str | None = None,
    open: bool = False,
    limit: int = 50,
) -> Row:
    """List packets, the newest first: all, of one task, or only those without a result; W10 shows
    them in full.

    Example: kaizen W15 --task-id @last --open
    """
    return packet.list_packets(db, task_id, kind, open, limit, query)
