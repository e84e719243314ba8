"""Artifacts, files by their hash: A1 to A5."""


def add(write, store, *, path, title=None, summary=None, task_id=None, about=None, allow_external=False):
    """Record a file or a folder by its hash.

    Example: kaizen A1 --path kaizen.py --title "The launcher"
    """
    raise NotImplementedError


def hash_(store, *, path, allow_external=False):
    """Show the hash of a file or a folder without recording anything.

    Example: kaizen A2 --path kaizen.py
    """
    raise NotImplementedError


def inspect(db, *, id):
    """Show one artifact with what it belongs to and its place in the log.

    Example: kaizen A3 --id @last
    """
    raise NotImplementedError


def list_(db, *, query=None, task_id=None, path=None, actor=None, since=None, until=None, limit=50):
    """List artifacts, the newest first.

    Example: kaizen A4 --limit 10
    """
    raise NotImplementedError


def verify(db, store, *, id=None, all=False):
    """Hash an artifact again and compare; a mismatch exits 7.

    Example: kaizen A5 --id @last
    """
    raise NotImplementedError
