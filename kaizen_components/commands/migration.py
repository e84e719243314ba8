"""Markdown lessons become records: M1 to M5."""


def scan(store, *, roots=()):
    """Find GOTCHA.md, LEARNING.md and LEARNED.md and count what is in them.

    Example: kaizen M1
    """
    raise NotImplementedError


def dry_run(db, store, *, roots=()):
    """Show exactly what M3 would record and change, and change nothing.

    Example: kaizen M2
    """
    raise NotImplementedError


def apply(write, store, *, roots=()):
    """Record every entry, back the files up and leave stubs; again it adds nothing.

    Example: kaizen M3
    """
    raise NotImplementedError


def verify(db, store):
    """Prove that every entry of every migrated file is in the database.

    Example: kaizen M4
    """
    raise NotImplementedError


def report(db):
    """Show which files were migrated, when, and where their entries are.

    Example: kaizen M5
    """
    raise NotImplementedError
