"""Markdown lessons become records: M1 to M5. What they stand on is loaded when they run: it reads whole files."""


def scan(store, *, roots=()):
    """Find GOTCHA.md, LEARNING.md and LEARNED.md and count what is in them.

    Example: kaizen M1
    """
    from ..records.lessons import migration as lesson_import

    return lesson_import.scan_lessons(store, _reader(store), roots)


def dry_run(store, *, roots=()):
    """Show exactly what M3 would record and change, and change nothing.

    Example: kaizen M2
    """
    from ..records.lessons import migration as lesson_import

    return lesson_import.preview_migration(store, _reader(store), roots)


def apply(write, store, *, roots=()):
    """Record every entry, back the files up and leave stubs; again it adds nothing.

    Example: kaizen M3
    """
    from ..records.lessons import migration as lesson_import

    return lesson_import.apply_migration(write, store, roots)


def verify(db, store):
    """Prove that every entry of every migrated file is in the database.

    Example: kaizen M4
    """
    from ..records.lessons import migration as lesson_import

    return lesson_import.verify_migration(db, store)


def report(db, store):
    """Show which files were migrated, when, and where their entries are.

    Example: kaizen M5
    """
    from ..records.lessons import migration as lesson_import

    return lesson_import.report_migration(db, store)


def _reader(store):
    """M1 and M2 also work where there is no database yet."""
    return store.reader() if store.exists() else None
