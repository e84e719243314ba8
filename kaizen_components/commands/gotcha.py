"""Gotchas, pitfalls that somebody met: G1 to G5."""


def add(tx, store, *, title, summary, body, evidence=(), paths=(), task_id=None, scope="project"):
    """Record a pitfall so that the next session avoids it.

    Example: kaizen G1 --title "WAL grows" --summary "A reader pins the checkpoint." --body "Close readers first."
        --evidence "WAL of 3 GB on 2026-11-02"
    """
    raise NotImplementedError


def list_(db, *, query=None, status=None, scope=None, task_id=None, actor=None, since=None, until=None, limit=50):
    """List gotchas, the newest first.

    Example: kaizen G2 --status active
    """
    raise NotImplementedError


def query(db, *, query, status=None, scope=None, limit=20):
    """Find gotchas by their words.

    Example: kaizen G3 --query checkpoint
    """
    raise NotImplementedError


def inspect(db, store, *, id):
    """Show one gotcha with its revisions, its lineage and its place in the log.

    Example: kaizen G4 --id @last
    """
    raise NotImplementedError


def update(tx, store, *, id, status=None, title=None, summary=None, body=None, evidence=(), paths=(), note=None):
    """Revise a gotcha, or say what became of it; the history keeps every version.

    Example: kaizen G5 --id @last --status resolved --note "Readers are closed by the engine now."
    """
    raise NotImplementedError
