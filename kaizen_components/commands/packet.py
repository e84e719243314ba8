"""Packets of a task: W15."""

LIST = """
SELECT id, kind, outcome, recipient, actor, at, task_id, title FROM packet_current
WHERE (? IS NULL OR task_id = ?) AND (? IS NULL OR kind = ?) AND (? = 0 OR outcome = 'open')
ORDER BY seq DESC LIMIT ?"""


def list_(db, *, task_id=None, kind=None, open=False, limit=50):
    """List packets, the newest first: all, of one task, or only those without a result.

    Example: kaizen W15 --task-id @last --open
    """
    task = db.resolve("task", task_id) if task_id else None
    found = db.rows(LIST, (task, task, kind, kind, int(open), limit + 1))
    return {"records": found[:limit], "count": min(len(found), limit), "more": len(found) > limit}
