#!/usr/bin/env python3
"""Verify a Kaizen database with Python's standard library alone, as docs/format.md describes it.

    python verify_ledger.py DATABASE [--anchors FILE] [--copy] [--json]

It recomputes every hash and names the first damaged log index. K8 also names the kind of tampering.
This program shares no code with the engine on purpose: two programs that agree are better evidence
than one. It opens the database read-only and streams it in the order of the log, so its memory use
does not grow with the number of records.

Exit codes: 0 in order, 2 usage, 3 no such file, 7 a finding.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import contextlib
import heapq
import json
import math
import os
import sqlite3
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

APPLICATION_ID = 0x4B41495A
IN_ORDER, NO_SUCH_FILE, FOUND = 0, 3, 7  # argparse exits 2 for usage
SIZE_DIGITS_MAX = 18  # fits an integer of SQLite
STRICT_SINCE = (3, 37)
RECORD_COLUMNS = {"seq", "id", "at", "actor", "test"}
STORED_AS = {"TEXT": "text", "INTEGER": "integer", "INT": "integer", "REAL": "real"}
LOG = dict.fromkeys(("seq", "idx", "test"), "integer") | dict.fromkeys(
    ("origin", "at", "actor", "command", "kind", "record_id", "content_hash", "leaf"), "text"
)
FRONTIER = {"origin": "text", "local": "integer", "size": "integer", "peaks": "text"}
COLUMNS = """
SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_xinfo(m.name) c
WHERE m.type = ? AND c.hidden <> 1 ORDER BY m.name, c.cid
"""
# Error codes that mean the file cannot be opened or read now, not that its content is damaged.
UNREADABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
}


# Canonical JSON and hashes


def format_ecmascript(number: float) -> str:
    """Format a number as ECMAScript prints it. `repr` gives the same shortest digits."""
    if not math.isfinite(number):
        raise ValueError("JSON has no such number")
    sign, numerals, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    digits, minus = "".join(map(str, numerals)), "-" if sign and number else ""
    point = len(digits) + exponent
    if number == 0:
        return "0"
    if 0 < point <= 21:
        whole, part = digits[:point].ljust(point, "0"), digits[point:]
        return f"{minus}{whole}.{part}" if part else minus + whole
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    mantissa = f"{digits[0]}.{digits[1:]}" if digits[1:] else digits
    return f"{minus}{mantissa}e{point - 1:+d}"


encode_string = json.JSONEncoder(ensure_ascii=False).encode


def encode_value(value: Any) -> str:
    """Encode a number, or text given as bytes. Raise ValueError for text that is not UTF-8."""
    if isinstance(value, bytes):
        return encode_string(value.decode())
    return str(value) if isinstance(value, int) else format_ecmascript(value)


def name_members(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return (name, encoded name) in the order of canonical JSON."""
    return [(name, f"{encode_string(name)}:") for name in sorted(names)]


def encode_canonical(members: list[tuple[str, str]], values: dict[str, Any]) -> bytes:
    """Encode the object with these members; raise ValueError for a number outside JSON."""
    present = [
        written + encode_value(values[name])
        for name, written in members
        if values[name] is not None
    ]
    return f"{{{','.join(present)}}}".encode()


ENTRY = name_members(LOG.keys() - {"seq", "leaf"})


class Tree:
    """The Merkle tree of one origin's log, kept as the roots of its complete subtrees."""

    def __init__(self) -> None:
        self.size = 0
        self.peaks: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        complete, self.size = self.size, self.size + 1
        while complete & 1:
            leaf = sha256(b"\1" + self.peaks.pop() + leaf).digest()
            complete >>= 1
        self.peaks.append(leaf)

    def root(self) -> bytes:
        if not self.peaks:
            return sha256().digest()
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = sha256(b"\1" + peak + root).digest()
        return root


# Anchors


@dataclass
class Anchors:
    roots: defaultdict[bytes, set[tuple[int, bytes]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    count: int = 0
    damaged: int = 0

    def add(self, block: list[bytes]) -> None:
        try:
            origin, size, root = block[0], block[1], base64.b64decode(block[2], validate=True)
            readable = size.isdigit() and len(size) <= SIZE_DIGITS_MAX and len(root) == 32
        except (IndexError, binascii.Error):
            readable = False
        if readable:
            self.count += 1
            self.roots[origin].add((int(size), root))
        else:
            self.damaged += 1


def read_anchors(path: Path | None) -> Anchors:
    anchors, block = Anchors(), list[bytes]()
    if path is None:
        return anchors
    with path.open("rb") as lines:
        for line in chain(lines, [b"\n"]):
            if line != b"\n":
                block.append(line.removesuffix(b"\n"))
            elif block:
                anchors.add(block)
                block = []
    return anchors


# The database


class Record(NamedTuple):
    seq: int
    kind: str
    values: dict[str, Any]
    fault: str | None


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def show(value: Any) -> str | None:
    """Return a value as ASCII text on one line, for a message."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return None if value is None else str(value).encode("unicode_escape").decode("ascii")


def read_rows(
    db: sqlite3.Connection,
    table: str,
    columns: dict[str, str],
    order: str = "seq",
    nullable: bool = False,
) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Yield each row with the first fault in the type or encoding of its values, or None.

    Read each value with its type, because text_factory returns both TEXT and BLOB as bytes. NOT
    INDEXED reads the table itself: an index may differ from it.
    """
    select_list = ", ".join(f"{quote(column)}, typeof({quote(column)})" for column in columns)
    expected = {
        name: {stored.encode(), b"null" if nullable else stored.encode()}
        for name, stored in columns.items()
    }
    faults: dict[tuple[bytes, ...], str | None] = {}  # most rows have the same types
    for row in db.execute(
        f"SELECT {select_list} FROM {quote(table)} NOT INDEXED ORDER BY {quote(order)}"
    ):
        values, types = dict(zip(columns, row[::2], strict=True)), row[1::2]
        if types not in faults:
            wrong = [
                f"{name} is {show(kind)}"
                for name, kind in zip(columns, types, strict=True)
                if kind not in expected[name]
            ]
            faults[types] = wrong[0] if wrong else None
        fault = faults[types]
        try:
            b"\0".join(value for value in values.values() if isinstance(value, bytes)).decode()
        except UnicodeDecodeError:
            fault = fault or "a text is not UTF-8"
        yield values, fault


def columns_by_name(db: sqlite3.Connection, kind: str) -> dict[str, dict[str, str]]:
    """Return the columns of each table (or view) in the order of SELECT *, with their types."""
    columns: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, column, stored in db.execute(COLUMNS, (kind,)):
        columns[name.decode()][column.decode()] = STORED_AS.get(stored.decode().upper(), "unknown")
    return columns


def read_records(db: sqlite3.Connection, kind: str, columns: dict[str, str]) -> Iterator[Record]:
    for values, fault in read_rows(db, kind, columns, nullable=True):
        # Only a tampered table can hold a seq that is not an integer. Use 0, which no entry has.
        seq = values["seq"] if isinstance(values["seq"], int) else 0
        yield Record(seq, kind, values, fault)


# The verification


class Finding(Exception):
    """The first problem that the verifier found."""

    def __init__(
        self, says: str, kind: Any = None, record_id: Any = None, log_index: int | None = None
    ) -> None:
        super().__init__(says)
        self.facts: dict[str, Any] = {
            "says": says,
            "kind": show(kind),
            "record_id": show(record_id),
            "log_index": log_index,
        }

    def __str__(self) -> str:
        of = " ".join(filter(None, (self.facts["kind"], self.facts["record_id"])))
        at = None if self.facts["log_index"] is None else f"log index {self.facts['log_index']}"
        where = ", ".join(filter(None, (of, at)))
        return f"Not in order{f' ({where})' if where else ''}: {self.facts['says']}"


@dataclass
class Report:
    entries: int = 0
    records: int = 0
    purged: int = 0
    root: str | None = None
    anchors: int = 0
    damaged_anchors: int = 0
    findings: list[Finding] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        findings = [finding.facts for finding in self.findings]
        return {"ok": not findings, **vars(self), "findings": findings}

    def __str__(self) -> str:
        if self.findings:
            return str(self.findings[0])
        damaged = f" ({self.damaged_anchors} more cut off)" if self.damaged_anchors else ""
        return (
            f"In order: {self.entries} entries, {self.records} records, {self.purged} purged, "
            f"root {self.root}, {self.anchors} anchors{damaged}."
        )


class Verifier:
    """Check the log and all records in the order of seq, then the other tables.

    Stop at the first finding. K8 of the engine also names the kind of tampering.
    """

    def __init__(self, db: sqlite3.Connection, anchors: Anchors, is_copy: bool = False) -> None:
        self.db, self.anchors, self.is_copy = db, anchors, is_copy
        self.report = Report(anchors=anchors.count, damaged_anchors=anchors.damaged)
        self.trees: defaultdict[bytes, Tree] = defaultdict(Tree)
        self.due = {origin: deque(sorted(roots)) for origin, roots in anchors.roots.items()}
        self.size_agreed = Counter[bytes]()

    def run(self) -> Report:
        try:
            self.read_schema()
            self.check_log()
            self.check_frontier()
            self.check_anchors()
            self.check_derived()
            self.check_pages()
        except Finding as finding:
            self.report.findings.append(finding)
        except (sqlite3.Error, UnicodeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in UNREADABLE:
                raise
            says = f"the file cannot be read as a Kaizen database: {show(error)}."
            self.report.findings.append(Finding(says))
        return self.report

    def one(self, sql: str, *parameters: Any) -> Any:
        return self.db.execute(sql, parameters).fetchone()

    def finding_at(self, origin: bytes, index: int, says: str) -> Finding:
        """Return a finding about a whole log, with the record at `index` if there is one."""
        sql = "SELECT kind, record_id FROM log WHERE origin = CAST(? AS TEXT) AND idx = ?"
        kind, record_id = self.one(sql, origin, index) or (None, None)
        return Finding(says, kind, record_id, index)

    def read_schema(self) -> None:
        self.columns = columns_by_name(self.db, "table")
        self.kinds = {
            name: columns
            for name, columns in self.columns.items()
            if columns.keys() >= RECORD_COLUMNS
        }
        self.members = {
            kind: name_members(columns.keys() - {"seq"}) for kind, columns in self.kinds.items()
        }
        if self.one("PRAGMA application_id")[0] != APPLICATION_ID:
            raise Finding("the application_id is not that of a Kaizen database.")
        version = self.one("PRAGMA user_version")[0]
        has_list = "migration" in self.columns
        listed = self.one("SELECT max(version) FROM migration")[0] if has_list else 0
        if version != listed or not version:
            raise Finding(f"the user_version is {version}, and the table migration lists {listed}.")

    def read_purged(self) -> Iterator[bytes]:
        if "records" in self.kinds.get("purge", ()):
            for (listed,) in self.db.execute("SELECT records FROM purge NOT INDEXED"):
                with contextlib.suppress(ValueError, TypeError, RecursionError):
                    # A changed value fails its content hash, which check_record reports.
                    yield from map(str.encode, json.loads(listed))

    # Checks 1 to 4: the log and the records

    def check_log(self) -> None:
        purged = set(self.read_purged())
        records = heapq.merge(
            *(read_records(self.db, kind, columns) for kind, columns in self.kinds.items()),
            key=lambda record: record.seq,
        )
        record = next(records, None)
        for seq, (entry, fault) in enumerate(read_rows(self.db, "log", LOG), 1):
            self.report.entries += 1
            if record and record.seq < seq:
                break
            self.check_entry(seq, entry, fault)
            has_record = False
            while record and record.seq == seq:
                self.check_record(entry, record)
                if has_record or (entry["test"] == 1 and entry["record_id"] in purged):
                    raise self.finding_in(entry, "a record is here that was purged.")
                has_record = True
                self.report.records += 1
                record = next(records, None)
            if not has_record:
                if entry["test"] != 1 or entry["record_id"] not in purged:
                    raise self.finding_in(entry, "the record is gone, and no purge names it.")
                self.report.purged += 1
        if record:
            says = f"the record at seq {record.seq} has no entry at its place in the log."
            raise Finding(says, record.kind, record.values["id"])

    def finding_in(self, entry: dict[str, Any], says: str) -> Finding:
        return Finding(
            says, entry["kind"], entry["record_id"], self.trees[entry["origin"]].size - 1
        )

    def check_entry(self, seq: int, entry: dict[str, Any], fault: str | None) -> None:
        """Check the place and the leaf of an entry; add the leaf to the tree of its origin."""
        origin, facts = entry["origin"], (entry["kind"], entry["record_id"])
        tree = self.trees[origin]
        if fault:
            raise Finding(f"in the log, {fault}.", *facts, tree.size)
        if (entry["seq"], entry["idx"]) != (seq, tree.size):
            says = (
                f"the log has seq {entry['seq']} and index {entry['idx']} "
                f"where seq {seq} and index {tree.size} are due."
            )
            raise Finding(says, *facts, tree.size)
        leaf = sha256(b"\0" + encode_canonical(ENTRY, entry))
        if leaf.hexdigest().encode() != entry["leaf"]:
            raise Finding("the leaf in the log is not the hash of its entry.", *facts, tree.size)
        self.compare_root(origin)
        tree.add(leaf.digest())

    def check_record(self, entry: dict[str, Any], record: Record) -> None:
        values = record.values
        if (record.kind.encode(), values["id"]) != (entry["kind"], entry["record_id"]):
            says = f"the record at its place is {record.kind} {show(values['id'])}."
            raise self.finding_in(entry, says)
        if record.fault:
            raise self.finding_in(entry, f"in the record, {record.fault}.")
        for name in ("test", "at", "actor"):
            if values[name] != entry[name]:
                raise self.finding_in(entry, f"the record and its entry differ in {name}.")
        try:
            content = encode_canonical(self.members[record.kind], values)
        except ValueError as error:
            raise self.finding_in(entry, f"the record cannot be hashed: {error}.") from None
        if sha256(content).hexdigest().encode() != entry["content_hash"]:
            raise self.finding_in(entry, "the record does not have its content hash.")

    # Checks 5 to 8: frontier, anchors, derived tables, pages

    def check_frontier(self) -> None:
        sizes, local = dict[bytes, int](), list[bytes]()
        for row, fault in read_rows(self.db, "frontier", FRONTIER, "origin"):
            origin, size = row["origin"], row["size"]
            if fault or row["local"] not in (0, 1):
                raise Finding(f"in frontier, {fault or 'local is neither 0 nor 1'}.")
            sizes[origin] = size
            local += [origin] * row["local"]
            tree = self.trees[origin]
            if size != tree.size:
                says = f"frontier counts {size} entries of {show(origin)}, the log has {tree.size}."
                raise self.finding_at(origin, min(size, tree.size), says)
            if row["peaks"] != b" ".join(peak.hex().encode() for peak in tree.peaks):
                raise Finding(f"frontier has other peaks than the log of {show(origin)}.")
            if not size and not row["local"]:
                raise Finding(f"frontier has a row for {show(origin)}, which has no log.")
        for origin in sorted(self.trees.keys() - sizes.keys()):
            says = f"frontier has no row for the entries of {show(origin)}."
            raise self.finding_at(origin, 0, says)
        if len(local) != 1:
            raise Finding(f"frontier has {len(local)} local rows, not one.")
        self.report.root = self.trees[local[0]].root().hex()

    def compare_root(self, origin: bytes) -> None:
        """Compare the root at this size with the anchors of the same size."""
        tree, due = self.trees[origin], self.due.get(origin)
        while due and due[0][0] == tree.size:
            if due.popleft()[1] != tree.root():
                says = (
                    f"the root at size {tree.size} is not the anchor's: history was rewritten, "
                    "or an older copy was put here and written to."
                )
                raise self.finding_at(origin, self.size_agreed[origin], says)
            self.size_agreed[origin] = tree.size

    def check_anchors(self) -> None:
        is_related = any(origin in self.due for origin in self.trees)
        for origin, due in self.due.items():
            if origin in self.trees:
                self.compare_root(origin)
                size = self.trees[origin].size
                if due and not self.is_copy:
                    says = (
                        f"the log has {size} entries, an anchor {due[-1][0]}: "
                        "the file is an older copy."
                    )
                    raise self.finding_at(origin, size, says)
            elif not (self.is_copy and is_related):
                says = f"there are anchors of {show(origin)}, and no such log: "
                raise Finding(says + "another file, or an older copy.")

    def check_derived(self) -> None:
        """Compare each table x_state with its view x_fold, in both directions."""
        views = columns_by_name(self.db, "view")
        for table in self.columns.keys() - self.kinds.keys():
            if table.endswith("_state") and table.removesuffix("_state") + "_fold" not in views:
                raise Finding(f"the derived table {show(table)} has no view to agree with.")
        for view in views:
            if not view.endswith("_fold"):
                continue
            table, columns = view.removesuffix("_fold") + "_state", list(views[view])
            if columns != list(self.columns.get(table, ())):
                raise Finding(f"{show(table)} does not have the columns of {show(view)}.")
            seq = quote(columns[0])
            differences = (
                f"SELECT {seq} FROM (SELECT * FROM {left} EXCEPT SELECT * FROM {right})"
                for left, right in ((quote(table), quote(view)), (quote(view), quote(table)))
            )
            if row := self.one(f"{' UNION '.join(differences)} ORDER BY 1 LIMIT 1"):
                entry = self.one("SELECT kind, record_id, idx FROM log WHERE seq = ?", row[0])
                says = f"{show(table)} does not agree with {show(view)}."
                raise Finding(says, *(entry or ()))

    def check_pages(self) -> None:
        """Find damage that the other checks cannot see, such as an index without a row."""
        path, page = self.one("PRAGMA database_list")[2], self.one("PRAGMA page_size")[0]
        if path and os.path.getsize(path) % page:  # SQLite reads the missing bytes as zeros
            raise Finding("the file ends in the middle of a page.")
        # CHECK constraints differ between versions: json_valid(NULL) is 0 in SQLite 3.40.
        self.db.execute("PRAGMA ignore_check_constraints = ON")
        for (says,) in self.db.execute("PRAGMA integrity_check(20)").fetchall():
            # Newer versions of SQLite report an FTS5 index as malformed during a write.
            if says != b"ok" and b"FTS5" not in says:
                raise Finding(f"the file is malformed: {show(says)}.")


def verify(database: Path, anchors: Path | None = None, is_copy: bool = False) -> Report:
    """Read the anchors, then verify one snapshot of the database."""
    uri, anchors_read = database.resolve().as_uri(), read_anchors(anchors)

    def verify_at(uri: str) -> Report:
        with contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
            db.text_factory = bytes
            db.execute("BEGIN")
            return Verifier(db, anchors_read, is_copy).run()

    try:
        return verify_at(f"{uri}?mode=ro")
    except sqlite3.OperationalError as error:
        # In a read-only folder SQLite cannot make a -shm file. A file without a -wal needs none.
        is_alone = not any(Path(f"{database}{side}").exists() for side in ("-wal", "-journal"))
        code = error.sqlite_errorcode & 0xFF
        if not is_alone or code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        return verify_at(f"{uri}?immutable=1")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Verify a Kaizen database without the engine.",
        epilog="Exit codes: 0 in order, 2 usage, 3 no such file, 7 a finding.",
    )
    parser.add_argument("database", type=Path, metavar="DATABASE")
    help_text = "anchors file (default: manifests/checkpoints beside DATABASE)"
    parser.add_argument("--anchors", type=Path, metavar="FILE", help=help_text)
    help_text = "the file is a backup: accept anchors that are newer"
    parser.add_argument("--copy", action="store_true", help=help_text)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if sqlite3.sqlite_version_info < STRICT_SINCE:
        parser.error(f"this Python has SQLite {sqlite3.sqlite_version}; STRICT tables need 3.37")
    beside = options.database.parent / "manifests" / "checkpoints"
    anchors = options.anchors or (beside if beside.is_file() else None)
    for path in filter(None, (options.database, anchors)):
        if not path.is_file():
            print(f"verify_ledger: no such file: {show(path)}", file=sys.stderr)
            return NO_SUCH_FILE
    try:
        report = verify(options.database, anchors, options.copy)
    except (sqlite3.Error, OSError) as error:
        says = f"verify_ledger: {show(options.database)} cannot be read: {show(error)}"
        print(says, file=sys.stderr)
        return NO_SUCH_FILE
    print(json.dumps(report.as_dict()) if options.json else report)
    return FOUND if report.findings else IN_ORDER


if __name__ == "__main__":
    sys.exit(main())
