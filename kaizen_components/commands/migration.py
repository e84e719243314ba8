"""Turn Markdown lessons into records: M1 to M5. Each loads its modules when it runs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..parameters import Reader, Row, Store, WriteLater


def scan(store: Store, *, roots: Sequence[str] = ()) -> Row:
    """Find GOTCHA.md, LEARNING.md and LEARNED.md and count what is in them.

    Example: kaizen M1
    """
    from ..records.lessons import migration as lesson_import

    reader: Any = store.reader() if store.exists() else None
    return lesson_import.scan_lessons(store, reader, roots)


def dry_run(store: Store, *, roots: Sequence[str] = ()) -> Row:
    """Show exactly what M3 would record and change, and change nothing.

    Example: kaizen M2
    """
    from ..records.lessons import migration as lesson_import

    reader: Any = store.reader() if store.exists() else None
    return lesson_import.preview_migration(store, reader, roots)


def apply(write: WriteLater, store: Store, *, roots: Sequence[str] = ()) -> Row:
    """Record every entry, back the files up and leave stubs; a second run adds nothing.

    Example: kaizen M3
    """
    from ..records.lessons import migration as lesson_import

    return lesson_import.apply_migration(write, store, roots)


def verify(db: Reader, store: Store) -> Row:
    """Prove that every entry of every migrated file is in the database.

    Example: kaizen M4
    """
    from ..records.lessons import migration as lesson_import

    return lesson_import.verify_migration(db, store)


def report(db: Reader, store: Store) -> Row:
    """Show which files were migrated, when, and where their entries are.

    Example: kaizen M5
    """
    from ..records.lessons import migration as lesson_import

    return lesson_import.report_migration(db, store)
