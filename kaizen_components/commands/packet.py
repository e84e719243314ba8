"""Packets of a task: W15."""

from ..records.work import packet


def list_(db, *, query=None, task_id=None, kind=None, open=False, limit=50):
    """List packets, the newest first: all, of one task, or only those without a result; W10 shows them in full.

    Example: kaizen W15 --task-id @last --open
    """
    return packet.list_packets(db, task_id, kind, open, limit, query)
