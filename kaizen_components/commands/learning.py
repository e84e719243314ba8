"""Learnings, what a gotcha taught: L1, L4 to L6."""


def add(tx, store, *, title, summary, body=None, evidence=(), paths=(), task_id=None, scope="project"):
    """Record what was learned, with what shows it.

    Example: kaizen L1 --title "Close readers first" --summary "A long write needs no open readers." --body "It waits."
        --evidence "WAL stayed at 4 MB"
    """
    raise NotImplementedError


def list_(db, *, query=None, status=None, scope=None, task_id=None, actor=None, since=None, until=None, limit=50):
    """List learnings, the newest first.

    Example: kaizen L4 --status active
    """
    raise NotImplementedError


def query(db, *, query, status=None, scope=None, limit=20):
    """Find learnings by their words.

    Example: kaizen L5 --query checkpoint
    """
    raise NotImplementedError


def inspect(db, store, *, id):
    """Show one learning with its revisions, its lineage and its place in the log.

    Example: kaizen L6 --id @last
    """
    raise NotImplementedError
