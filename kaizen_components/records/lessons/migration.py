"""Migrate Markdown lessons into records. M1 to M5 are five views of one plan.

A plan matches each entry of each lesson file with its record. M3 records the entries that have no
record. It first writes a backup of each file to disk. Then it commits the records and a
lesson_import row for each file, all in one transaction. Then it replaces each file by a stub, but
only if another connection sees the lesson_import row. So the text is always in the file or in the
database, and after a crash M3 continues where it stopped. Inside a batch (K5) nothing is committed
when M3 returns: the files keep their text until the next M3.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import Integrity, Refused
from ...store.gate import Gate
from ..ledger.canonical import encode_canonical
from ..ledger.hashing import hash_text, sha256
from .backup import back_up_file, format_backup_name, replace_with_stub, require_writable
from .entry import Entry, read_page, strip_line_ends
from .lesson import LESSONS
from .lesson_file import LessonFile, find_lesson_files, get_file_kind, require_importable
from .stub import render_stub

if TYPE_CHECKING:
    from ...parameters import Reader, Row, Store, WriteLater, Writer

IMPORTS = "SELECT * FROM lesson_import ORDER BY seq"
IMPORTED = "SELECT * FROM lesson_import WHERE path = ? AND sha256 = ? ORDER BY seq DESC LIMIT 1"
ADDED_SO_FAR = "SELECT coalesce(sum(added), 0) FROM lesson_import WHERE path = ? AND seq <= ?"
COUNT = "SELECT count(*) FROM {kind} WHERE source_hash IS NOT NULL"
RECORD = "SELECT id, title, body FROM {kind} WHERE source_hash = ?"  # by its unique index
TO_DO = ("pending", "recorded", "problem")


@dataclass
class FilePlan:
    """A lesson file, and for each entry its record, or None."""

    file: LessonFile
    records: list[Row | None]

    @property
    def new(self) -> int:
        return self.records.count(None)

    @property
    def state(self) -> str:
        if self.file.problems:
            return "problem"
        if not self.file.entries:
            return "stub" if self.file.page.is_stub else "empty"
        return "pending" if self.new else "recorded"

    @property
    def problem(self) -> str | None:
        lines = [f"line {problem.line} {problem.text}" for problem in self.file.problems]
        return "; ".join(lines) or None

    def list_entries(self) -> Iterator[tuple[Entry, Row | None, Row]]:
        """Yield each entry with its record and its place."""
        for entry, record in zip(self.file.entries, self.records, strict=True):
            place = {"kind": self.file.kind, "file": self.file.path, "line": entry.line}
            yield entry, record, {**place, "title": entry.title}


def plan_file(db: Reader | None, file: LessonFile) -> FilePlan:
    """Find the record of each entry. Without a database no entry has a record."""
    if db is None:
        return FilePlan(file, [None] * len(file.entries))
    sql = RECORD.format(kind=file.kind)
    return FilePlan(file, [db.one(sql, (file.hash_entry(entry),)) for entry in file.entries])


def make_plan(
    store: Store, db: Reader | None, roots: Sequence[str] = ()
) -> tuple[list[FilePlan], list[dict[str, str]]]:
    """Return the plan of every lesson file, and what the search skipped."""
    files, skipped = find_lesson_files(store.place.root, roots)
    return [plan_file(db, file) for file in files], skipped


def scan_lessons(store: Store, db: Reader | None, roots: Sequence[str]) -> Row:
    """M1: show each file with its state and counts."""
    plan, skipped = make_plan(store, db, roots)
    rows = [
        {
            "file": file_plan.file.path,
            "kind": file_plan.file.kind,
            "state": file_plan.state,
            "entries": len(file_plan.file.entries),
            "new": file_plan.new,
            "front_matter": ", ".join(file_plan.file.page.front_matter) or None,
            "problem": file_plan.problem,
        }
        for file_plan in plan
    ]
    return {
        "records": rows,
        "count": len(rows),
        "entries": sum(len(file_plan.file.entries) for file_plan in plan),
        "new": sum(file_plan.new for file_plan in plan),
        "headings_without_text": _list_bare_headings([file_plan.file for file_plan in plan]),
        "passed_over": skipped,
        "next": "M2 shows what M3 would do."
        if any(row["state"] in TO_DO for row in rows)
        else None,
    }


def preview_migration(store: Store, db: Reader | None, roots: Sequence[str]) -> Row:
    """M2: show each entry, and which files would become stubs."""
    plan, _ = make_plan(store, db, roots)
    files = [file_plan.file for file_plan in plan if file_plan.file.entries]
    require_importable([file_plan.file for file_plan in plan])
    rows = [
        {**row, "state": "recorded" if record else "new"}
        for file_plan in plan
        for _, record, row in file_plan.list_entries()
    ]
    folder = store.place.relative(backup_folder(store))
    return {
        "records": rows,
        "count": len(rows),
        "new": sum(file_plan.new for file_plan in plan),
        "would_become_stubs": [
            {"file": file.path, "backup": f"{folder}/{format_backup_name(file)}"} for file in files
        ],
        "headings_without_text": _list_bare_headings(files),
    }


def _list_bare_headings(files: list[LessonFile]) -> list[Row]:
    """Return headings with no text below them. They give no entries, so the report lists them."""
    return [
        {"file": file.path, "line": line, "heading": text}
        for file in files
        if not file.problems
        for line, text in file.page.bare
    ]


def apply_migration(write: WriteLater, store: Store, roots: Sequence[str]) -> Row:
    """M3: back up the files, record the new entries, and replace the files by stubs."""
    files, _ = find_lesson_files(store.place.root, roots)
    require_importable(files)
    files = [file for file in files if file.entries]
    require_writable(files)
    answer = write(lambda tx: _record_lessons(tx, store, files))
    answer["files_now"] = _leave_stubs(store, files) if files else []
    return {**answer, "headings_without_text": _list_bare_headings(files)}


def _record_lessons(tx: Writer, store: Store, files: list[LessonFile]) -> Row:
    """Back up each file and record its new entries."""
    if tx.test:
        raise Refused(
            "not_as_a_test",
            "M3 cannot run with --test.",
            "It replaces files by stubs; K7 would remove the records and leave the stubs.",
            "`M2` shows what it would do and changes nothing.",
        )
    rows, records = [], []
    for file in files:
        backup = store.place.relative(back_up_file(file, backup_folder(store)))
        added = []
        for entry, record, row in plan_file(tx, file).list_entries():
            if record is None:
                values = {
                    "title": entry.title,
                    "summary": entry.summary,
                    "body": entry.body,
                    "scope": "project",
                    "evidence": encode_canonical([f"{file.path}:{entry.line}"]),
                    "source_path": file.path,
                    "source_line": entry.line,
                    "source_hash": file.hash_entry(entry),
                }
                added.append({"id": tx.add(file.kind, values)["id"], **row})
        counts = {"entries": len(file.entries), "added": len(added)}
        before = tx.one(IMPORTED, (file.path, file.sha256))
        if added or before is None or before["backup"] != backup:
            so_far = tx.value(ADDED_SO_FAR, (file.path, 2**62)) + len(added)
            stub = render_stub(file.kind, so_far, tx.at[:10], backup)
            values = {"path": file.path, "sha256": file.sha256, "backup": backup, **counts}
            tx.add("lesson_import", {**values, "stub_sha256": hash_text(stub)})
        records += added
        rows.append({"file": file.path, "kind": file.kind, **counts, "backup": backup})
    entries, count = (
        _format_count(len(records), "entry", "entries"),
        _format_count(len(files), "file", "files"),
    )
    outcome = f"{entries} recorded from {count}"
    return {"outcome": outcome, "added": len(records), "files": rows, "entries": records}


def _format_count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def backup_folder(store: Store) -> str:
    return os.path.join(store.place.backups, "lessons")


def _leave_stubs(store: Store, files: list[LessonFile]) -> list[Row]:
    """Replace each file by a stub if its import is committed, as a second connection sees."""
    db = store.open_read_only()
    stubs = []
    try:
        for file in files:
            row = db.one(IMPORTED, (file.path, file.sha256))
            if row:
                so_far = db.value(ADDED_SO_FAR, (row["path"], row["seq"]))
                stubs.append(render_stub(file.kind, so_far, row["at"][:10], row["backup"]))
            else:
                stubs.append("")
    finally:
        db.close()
    not_yet = "kept: the batch is not committed yet; run M3 again"
    # Use another lock than the database's gate, which a batch already holds.
    with Gate(os.path.join(backup_folder(store), "lock")):
        return [
            {"file": file.path, "now": replace_with_stub(file, stub) if stub else not_yet}
            for file, stub in zip(files, stubs, strict=True)
        ]


def verify_migration(db: Reader, store: Store) -> Row:
    """M4: prove that the database has every entry of every backup, and that no file is pending."""
    imports = db.rows(IMPORTS)
    checked = 0
    lost: list[Row] = []
    for row in {(row["path"], row["sha256"]): row for row in imports}.values():
        entries, findings = _check_import(db, store, row)
        checked, lost = checked + entries, lost + findings
    if lost:
        error: Integrity | Refused = Integrity(
            "lesson_lost",
            f"{lost[0]['file']}:{lost[0]['line'] or ''} {lost[0]['problem']}.",
            f"{_format_count(len(lost), 'finding', 'findings')}; every entry of every backup must be in "
            "the database unchanged.",
            "Run `K8` to check the database. AI/db/backups/lessons has the text; "
            "`M3` makes a backup again if its file is restored in place of the stub.",
        )
        error.findings = lost
        raise error
    plan, skipped = make_plan(store, db)
    pending = [file_plan for file_plan in plan if file_plan.state in ("pending", "problem")]
    if pending:
        pending_text = f"{_format_count(pending[0].new, 'entry', 'entries')} not recorded yet"
        error = Refused(
            "migration_pending",
            f"{pending[0].file.path} has {'a problem' if pending[0].problem else pending_text}.",
            f"Still to be migrated: {_format_count(len(pending), 'file', 'files')}. Nothing that was "
            f"migrated is lost: {_format_count(checked, 'entry is', 'entries are')} unchanged.",
            "Run `M2` to see what would be recorded, then `M3`.",
        )
        error.findings = [
            {"file": file_plan.file.path, "new": file_plan.new, "problem": file_plan.problem}
            for file_plan in pending
        ]
        raise error
    recorded = [file_plan.file.path for file_plan in plan if file_plan.state == "recorded"]
    return {
        "verified": True,
        "imports": len(imports),
        "files": len({row["path"] for row in imports}),
        "entries": checked,
        **{kind: db.value(COUNT.format(kind=kind)) for kind in LESSONS},
        "not_yet_stubs": [{"file": path} for path in recorded],
        "passed_over": skipped,
    }


def _check_import(db: Reader, store: Store, row: Row) -> tuple[int, list[Row]]:
    """Return the number of entries in a backup, and those missing or changed in the database."""
    problem = ""
    try:
        with open(os.path.join(store.place.root, row["backup"]), "rb") as copy:
            data = copy.read()
        if sha256(data) != row["sha256"]:
            problem = f"its backup {row['backup']} is not the file that was migrated"
    except OSError as error:
        problem = f"its backup {row['backup']} cannot be read: {error.strerror}"
    if problem:
        return 0, [{"file": row["path"], "line": None, "problem": problem, "title": None}]
    kind = get_file_kind(row["path"]) or ""
    file = LessonFile(row["path"], kind, "", row["sha256"], data, read_page(data.decode()))
    lost = []
    for entry, record, place in plan_file(db, file).list_entries():
        # Ignore a changed title without a heading: the rules that cut it from the body may change.
        if record is None:
            lost.append({**place, "problem": "is not in the database"})
        elif (entry.heading and record["title"] != entry.title) or (
            strip_line_ends(record["body"] or "") != strip_line_ends(entry.body)
        ):
            lost.append({**place, "problem": f"reads differently in {record['id']}"})
    return len(file.entries), lost


def report_migration(db: Reader, store: Store) -> Row:
    """M5: show every import, and the state of its file now."""
    plan, skipped = make_plan(store, db)
    now = {
        file_plan.file.path: f"{file_plan.new} new"
        if file_plan.state == "pending"
        else file_plan.state
        for file_plan in plan
    }
    rows = [
        {
            "at": row["at"],
            "file": row["path"],
            "kind": get_file_kind(row["path"]),
            **{name: row[name] for name in ("entries", "added", "actor")},
            "now": now.get(row["path"], "gone"),
            "backup": row["backup"],
        }
        for row in db.rows(IMPORTS)
    ]
    return {
        "records": rows,
        "count": len(rows),
        **{kind: db.value(COUNT.format(kind=kind)) for kind in LESSONS},
        "pending": [
            {"file": file_plan.file.path, "state": file_plan.state, "new": file_plan.new}
            for file_plan in plan
            if file_plan.state in TO_DO
        ],
        "passed_over": skipped,
    }
