"""Translate the errors of libsql into ours. Loaded only after an error, off the hot path."""

from ..errors import (
    Busy,
    Conflict,
    DiskError,
    Integrity,
    KaizenError,
    NotFound,
    Unavailable,
)

RESTORE = (
    "Run `K11` to see what is wrong. To restore a backup from AI/db/backups, move kaizen.db, "
    "kaizen.db-wal and kaizen.db-shm away together first."
)
_DAMAGE_MARKS = (
    *("not a database", "malformed", "file is encrypted", "unsupported file format"),
    *("vtable constructor failed", "unrecognized option", "invalid fts5 file format"),
)
# Parts of libsql's error texts, and the error of ours that each text means.
_MEANINGS: tuple[tuple[tuple[str, ...], type[KaizenError], str, str, str], ...] = (
    (
        ("is locked", "is busy"),
        *(Busy, "busy", "The database is locked by another program."),
        "Close the program that has kaizen.db open, then try again.",
    ),
    (
        ("no such table", "no such column", "no such index", "no such view"),
        *(Integrity, "schema_damaged", "The database lacks a part of its schema.", RESTORE),
    ),
    (
        _DAMAGE_MARKS,
        *(Integrity, "corrupt_database", "The database file is damaged.", RESTORE),
    ),
    (
        ("disk is full",),
        *(Unavailable, "disk_full", "The disk is full; nothing was written."),
        "Free some space, then run the same command again.",
    ),
    (
        ("disk I/O error",),
        *(DiskError, "disk_error", "The disk refused a read or a write; nothing was recorded."),
        "Check free space, quotas and the disk, then run the same command again.",
    ),
    (
        ("readonly database", "read-only"),
        *(Unavailable, "read_only", "The database cannot be written."),
        "Make AI/db/kaizen.db and its folder writable.",
    ),
    (
        ("unable to open", "Unable to open"),
        *(Unavailable, "cannot_open", "The database file cannot be opened."),
        "Run `K11` to see why.",
    ),
    (
        ("FOREIGN KEY constraint",),
        *(NotFound, "unknown_reference", "The record refers to an id that does not exist."),
        "Check the ids you gave.",
    ),
    (
        ("NOT NULL constraint failed: frontier.size",),
        *(Busy, "log_moved", "Another program wrote to the database without the write lock."),
        "Try again.",
    ),
    (
        ("constraint failed", "is append-only"),
        *(Conflict, "constraint", "The database refused the record."),
        "Correct the value that the reason names.",
    ),
)


def translate_error(error: BaseException) -> BaseException:
    """Return our error for an error of libsql or of the disk. Return any other error unchanged."""
    if isinstance(error, KaizenError):
        return error
    if type(error).__name__ == "PanicException":
        return Integrity(
            "corrupt_database",
            "The database could not be read.",
            "A stored text is not valid UTF-8, or the driver failed with an internal error.",
            RESTORE,
        )
    if not isinstance(error, ValueError):
        return error
    text = str(error)
    if text.startswith("Failed to connect"):  # the text has the private path
        code = text.rstrip("`").rpartition(" ")[2]
        text = f"SQLite could not open the file, with code {code}; unable to open"
        if code == "10":
            text = "disk I/O error"
    for marks, kind, code, what, next_step in _MEANINGS:
        if any(mark in text for mark in marks):
            return kind(code, what, text, next_step)
    return KaizenError(
        "store_error", "The database refused a statement.", text, "Please report this as a bug."
    )
