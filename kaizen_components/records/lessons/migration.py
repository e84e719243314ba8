"""Markdown lessons into records: planned, applied, verified, reported.

For each file the order is: the backup is on disk; the records and a lesson_import row are committed, for all files in
one transaction; the file is replaced by its stub, but only if another connection sees that row. So at every moment the
text is in the file or in the database, and after a crash M3 goes on where it stopped. Inside a batch (K5) nothing is
committed yet when M3 returns: such files keep their text until the next M3.
"""

import os

from ...errors import Integrity, Refused
from ...store.gate import Gate
from ..ledger.canonical import encode_canonical
from ..ledger.hashing import hash_text, sha256
from . import backup as lesson_copy
from . import lesson_file as lesson_file
from .entry import strip_line_ends
from .lesson import LESSONS
from .lesson_file import LessonFile, get_file_kind
from .stub import render_stub

IMPORTS = "SELECT * FROM lesson_import ORDER BY seq"
IMPORTED = "SELECT * FROM lesson_import WHERE path = ? AND sha256 = ? ORDER BY seq DESC LIMIT 1"
SO_FAR = "SELECT coalesce(sum(added), 0) FROM lesson_import WHERE path = ? AND seq <= ?"
RECORDED = {
    kind: f"SELECT id, title, body FROM {kind} WHERE source_hash = ?" for kind in LESSONS
}  # one of these is asked for every entry, by its unique index
COUNTS = """
SELECT 'gotcha' AS kind, count(*) AS records FROM gotcha WHERE source_hash IS NOT NULL
UNION ALL SELECT 'learning', count(*) FROM learning WHERE source_hash IS NOT NULL
UNION ALL SELECT 'learned', count(*) FROM learned WHERE source_hash IS NOT NULL"""


def recorded(db, kind, source_hash):
    """The record of an entry, or None; without a database there is none."""
    return db.one(RECORDED[kind], (source_hash,)) if db else None


def state_of(db, file: LessonFile) -> tuple[str, int]:
    """(what is to be done with a file, how many of its entries are not recorded)"""
    new = sum(1 for entry in file.entries if not recorded(db, file.kind, file.hash_of(entry)))
    if file.problems:
        return "problem", new
    if not file.entries:
        return ("stub" if file.page.is_stub else "empty"), 0
    return ("pending" if new else "recorded"), new


def backup_folder(store) -> str:
    return os.path.join(store.place.backups, "lessons")


# M1, M2


def scan_lessons(store, db, roots) -> dict:
    found, passed = lesson_file.find_lesson_files(store.place.root, roots)
    rows = []
    for file in found:
        state, new = state_of(db, file)
        problem = "; ".join(f"line {one.line} {one.says}" for one in file.problems)
        rows.append({
            "file": file.path, "kind": file.kind, "state": state, "entries": len(file.entries), "new": new,
            "front_matter": ", ".join(file.page.front_matter) or None, "problem": problem or None,
        })  # fmt: skip
    return {
        "records": rows, "count": len(rows), "entries": sum(row["entries"] for row in rows),
        "new": sum(row["new"] for row in rows), "headings_without_text": _bare(found), "passed_over": passed,
        "next": "M2 shows what M3 would do." if any(row["state"] in TO_DO for row in rows) else None,
    }  # fmt: skip


TO_DO = ("pending", "recorded", "problem")


def preview_migration(store, db, roots) -> dict:
    found, _ = lesson_file.find_lesson_files(store.place.root, roots)
    lesson_file.require_importable(found)
    todo = [file for file in found if file.entries]
    rows = [
        {
            "kind": file.kind, "file": file.path, "line": entry.line, "title": entry.title,
            "state": "recorded" if recorded(db, file.kind, file.hash_of(entry)) else "new",
        }
        for file in todo for entry in file.entries
    ]  # fmt: skip
    folder = store.place.relative(backup_folder(store))
    stubs = [
        {"file": file.path, "backup": f"{folder}/{lesson_copy.format_backup_name(file)}"}
        for file in todo
    ]
    return {
        "records": rows, "count": len(rows), "new": sum(row["state"] == "new" for row in rows),
        "would_become_stubs": stubs, "headings_without_text": _bare(todo),
    }  # fmt: skip


def _bare(files):
    """Headings that nothing stands below: no entries, so a person should know of them."""
    return [
        {"file": file.path, "line": line, "heading": text}
        for file in files
        if not file.problems
        for line, text in file.page.bare
    ]


# M3


def apply_migration(write, store, roots) -> dict:
    found, _ = lesson_file.find_lesson_files(store.place.root, roots)
    lesson_file.require_importable(found)
    todo = [file for file in found if file.entries]
    lesson_copy.require_writable(todo)
    answer = write(lambda tx: _record(tx, store, todo))
    return {**answer, "files_now": _leave_stubs(store, todo), "headings_without_text": _bare(todo)}


def _record(tx, store, todo):
    if tx.test:
        raise Refused(
            "not_as_a_test",
            "M3 cannot be tried with --test.",
            "It replaces files by stubs; K7 would remove the records and leave the stubs.",
            "`M2` shows what it would do and changes nothing.",
        )
    rows, records = [], []
    for file in todo:
        backup = store.place.relative(lesson_copy.back_up_file(file, backup_folder(store)))
        added = [
            _add(tx, file, entry)
            for entry in file.entries
            if not recorded(tx, file.kind, file.hash_of(entry))
        ]
        before = tx.one(IMPORTED, (file.path, file.sha256))
        if added or before is None or before["backup"] != backup:
            _add_import(tx, file, backup, len(added))
        records += added
        rows.append({
            "file": file.path, "kind": file.kind, "entries": len(file.entries), "added": len(added), "backup": backup,
        })  # fmt: skip
    return {
        "outcome": f"{_counted(len(records), 'entry', 'entries')} recorded from {_counted(len(todo), 'file', 'files')}",
        "added": len(records), "files": rows, "entries": records,
    }  # fmt: skip


def _counted(number, one, many):
    return f"{number} {one if number == 1 else many}"


def _add(tx, file, entry):
    row = tx.add(
        file.kind,
        {
            "title": entry.title, "summary": entry.summary, "body": entry.body, "scope": "project",
            "evidence": encode_canonical([f"{file.path}:{entry.line}"]), "source_path": file.path,
            "source_line": entry.line, "source_hash": file.hash_of(entry),
        },
    )  # fmt: skip
    return {
        "id": row["id"],
        "kind": file.kind,
        "file": file.path,
        "line": entry.line,
        "title": entry.title,
    }


def _add_import(tx, file, backup, added):
    so_far = tx.value(SO_FAR, (file.path, 2**62))
    text = render_stub(file.kind, so_far + added, tx.at[:10], backup)
    return tx.add(
        "lesson_import",
        {
            "path": file.path, "sha256": file.sha256, "backup": backup, "stub_sha256": hash_text(text),
            "entries": len(file.entries), "added": added,
        },
    )  # fmt: skip


def _leave_stubs(store, todo):
    """Replace what a second connection sees as imported: what is not committed yet could still be taken back."""
    if not todo:
        return []
    seen = store.look()
    try:
        texts = [_stub_of(seen, seen.one(IMPORTED, (file.path, file.sha256))) for file in todo]
    finally:
        seen.close()
    rows = []
    with Gate(
        os.path.join(backup_folder(store), "lock")
    ):  # not the database's gate: a batch holds that already
        for file, text in zip(todo, texts, strict=True):
            came = (
                lesson_copy.replace_with_stub(file, text)
                if text
                else "kept: the batch is not committed yet; run M3 again"
            )
            rows.append({"file": file.path, "now": came})
    return rows


def _stub_of(db, row):
    if row is None:
        return None
    return render_stub(
        get_file_kind(row["path"]) or "",
        db.value(SO_FAR, (row["path"], row["seq"])),
        row["at"][:10],
        row["backup"],
    )


# M4, M5


def verify_migration(db, store) -> dict:
    imports = db.rows(IMPORTS)
    checked = 0
    lost: list[dict] = []
    for row in {(row["path"], row["sha256"]): row for row in imports}.values():
        entries, findings = _lost(db, store, row)
        checked, lost = checked + entries, lost + findings
    if lost:
        raise _failure(lost)
    found, passed = lesson_file.find_lesson_files(store.place.root)
    states = [(file, *state_of(db, file)) for file in found]
    pending = [(file, new) for file, state, new in states if state in ("pending", "problem")]
    if pending:
        raise _unfinished(pending, checked)
    return {
        "verified": True, "imports": len(imports), "files": len({row["path"] for row in imports}),
        "entries": checked, **{row["kind"]: row["records"] for row in db.rows(COUNTS)},
        "not_yet_stubs": [{"file": file.path} for file, state, _ in states if state == "recorded"],
        "passed_over": passed,
    }  # fmt: skip


def _lost(db, store, row):
    """(how many entries the backup of an import has, those that are not in the database as they were)"""
    try:
        with open(os.path.join(store.place.root, row["backup"]), "rb") as copy:
            data = copy.read()
    except OSError as error:
        return 0, [
            _finding(row, None, f"its backup {row['backup']} cannot be read: {error.strerror}")
        ]
    if sha256(data) != row["sha256"]:
        return 0, [
            _finding(row, None, f"its backup {row['backup']} is not the file that was migrated")
        ]
    file = LessonFile(row["path"], get_file_kind(row["path"]) or "", "", row["sha256"], data)
    file.page = lesson_file.read_page(data.decode())
    return len(file.entries), [
        _finding(row, entry, problem)
        for entry in file.entries
        if (problem := _difference(db, file, entry))
    ]


def _difference(db, file, entry):
    """The body has the whole text, and the title the heading; how summaries are cut from these may change."""
    record = recorded(db, file.kind, file.hash_of(entry))
    if record is None:
        return "is not in the database"
    same_title = record["title"] == entry.title or not entry.heading
    same_text = strip_line_ends(record["body"] or "") == strip_line_ends(entry.body)
    return None if same_title and same_text else f"reads differently in {record['id']}"


def _finding(row, entry, problem):
    return {
        "file": row["path"], "line": entry.line if entry else None, "problem": problem,
        "title": entry.title if entry else None,
    }  # fmt: skip


BACKUP_LOST = "Put the file as it was, from git or elsewhere, in place of its stub and run `M3`: it makes the backup anew."
ENTRY_LOST = "Run `K8` to see what happened to the database; the backups below AI/db/backups/lessons have the text."


def _failure(lost):
    first = lost[0]
    where = f"{first['file']}:" if first["line"] is None else f"{first['file']}:{first['line']}"
    remedy = BACKUP_LOST if first["line"] is None else ENTRY_LOST
    error = Integrity(
        "lesson_lost",
        f"{where} {first['problem']}.",
        f"{_counted(len(lost), 'finding', 'findings')}; every entry of every backup must be in the database as it was.",
        remedy,
    )
    error.findings = lost
    return error


def _unfinished(pending, checked):
    file, new = pending[0]
    waits = (
        "a problem" if file.problems else _counted(new, "entry", "entries") + " not recorded yet"
    )
    error = Refused(
        "migration_pending",
        f"{file.path} has {waits}.",
        f"Still to be migrated: {_counted(len(pending), 'file', 'files')}. Nothing is lost of what was migrated: "
        f"{_counted(checked, 'entry is', 'entries are')} as they were.",
        "Run `M2` to see what would be recorded, then `M3`.",
    )
    error.findings = [
        {
            "file": file.path,
            "new": new,
            "problem": "; ".join(one.says for one in file.problems) or None,
        }
        for file, new in pending
    ]
    return error


def report_migration(db, store) -> dict:
    imports = db.rows(IMPORTS)
    found, passed = lesson_file.find_lesson_files(store.place.root)
    now = {file.path: _now(db, file) for file in found}
    rows = [
        {
            "at": row["at"], "file": row["path"], "kind": get_file_kind(row["path"]), "entries": row["entries"],
            "added": row["added"], "actor": row["actor"], "now": now.get(row["path"], "gone"), "backup": row["backup"],
        }
        for row in imports
    ]  # fmt: skip
    waiting = [(file, *state_of(db, file)) for file in found]
    pending = [
        {"file": file.path, "state": state, "new": new}
        for file, state, new in waiting
        if state in TO_DO
    ]
    return {
        "records": rows, "count": len(rows), **{row["kind"]: row["records"] for row in db.rows(COUNTS)},
        "pending": pending, "passed_over": passed,
    }  # fmt: skip


def _now(db, file):
    state, new = state_of(db, file)
    return f"{new} new" if state == "pending" else state
