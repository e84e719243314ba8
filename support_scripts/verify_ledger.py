#!/usr/bin/env python3
"""Verify a Kaizen database with Python's standard library alone, as docs/format.md describes it.

    python verify_ledger.py DATABASE [--anchors FILE] [--copy] [--json]

It shares no code with the engine on purpose: two programs that agree are better evidence than one. The database
is opened read-only and streamed in the order of the log, so memory does not grow with the records.

Exit codes: 0 in order, 2 usage, 3 no such file, 7 a finding.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import heapq
import json
import math
import os
import sqlite3
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

APPLICATION_ID = 0x4B41495A
IN_ORDER, NO_SUCH_FILE, FOUND = 0, 3, 7  # and argparse has 2 for usage
FINDINGS_MAX = 100  # the first one counts; more than this says nothing new
SIZE_DIGITS_MAX = 18  # what an integer of SQLite surely holds
SWAPS_MAX = 64  # entries with a wrong leaf that are tried against each other
AFTER_THE_LOG = math.inf  # the place of a finding that belongs to no entry
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
# What SQLite says when it could not look, as opposed to having seen something wrong.
UNREADABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
}


# Canonical JSON and hashes


def ecmascript(number: float) -> str:
    """The number as ECMAScript prints it; repr has the same shortest digits, only laid out differently."""
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


string = json.JSONEncoder(ensure_ascii=False).encode


def value_json(value: Any) -> str:
    """Text comes as bytes, so that nothing but this strict decoding stands between the file and the hash."""
    if isinstance(value, bytes):
        return string(value.decode())
    return str(value) if isinstance(value, int) else ecmascript(value)


def members(names: Iterable[str]) -> list[tuple[str, str]]:
    """The names in the order of canonical JSON, each with how it is written there."""
    return [(name, f"{string(name)}:") for name in sorted(names)]


def canonical(named: list[tuple[str, str]], values: dict[str, Any]) -> bytes:
    """The object with these members; raises ValueError for what JSON cannot say."""
    present = [
        written + value_json(values[name]) for name, written in named if values[name] is not None
    ]
    return f"{{{','.join(present)}}}".encode()


ENTRY = members(LOG.keys() - {"seq", "leaf"})


def leaf_of(entry: dict[str, Any], **changed: Any) -> bytes:
    return sha256(b"\0" + canonical(ENTRY, entry | changed)).hexdigest().encode()


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


class Series:
    """The anchors of one origin in the order of the file: 40 bytes each, since there is one for each commit."""

    def __init__(self) -> None:
        self.sizes, self.roots = array("q"), bytearray()
        self.largest, self.largest_root, self.goes_back = -1, b"", False

    def add(self, size: int, root: bytes) -> None:
        # The same size with another root goes back as well: one commit was undone and one was made.
        if size < self.largest or (size == self.largest and root != self.largest_root):
            self.goes_back = True
        if size > self.largest:
            self.largest, self.largest_root = size, root
        self.sizes.append(size)
        self.roots += root

    def by_size(self) -> Iterator[tuple[int, bytes]]:
        order: Iterable[int] = range(len(self.sizes))
        for nth in sorted(order, key=self.sizes.__getitem__) if self.goes_back else order:
            yield self.sizes[nth], bytes(self.roots[32 * nth : 32 * nth + 32])


@dataclass
class Anchors:
    of: defaultdict[bytes, Series] = field(default_factory=lambda: defaultdict(Series))
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
            self.of[origin].add(int(size), root)
        else:
            self.damaged += 1


def read_anchors(path: Path | None) -> Anchors:
    anchors, block = Anchors(), list[bytes]()
    if path is None:
        return anchors
    with path.open("rb") as lines:
        for line in lines:
            if line != b"\n":
                block.append(line.removesuffix(b"\n"))
            elif block:
                anchors.add(block)
                block = []
    if block:
        anchors.add(block)
    return anchors


# The database


class Record(NamedTuple):
    seq: int
    kind: str
    values: dict[str, Any]
    fault: str | None


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def show(value: Any) -> str | None:
    """A value for people: ASCII, on one line, whatever was done to it."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return None if value is None else str(value).encode("unicode_escape").decode("ascii")


def select(table: str, columns: Iterable[str], order: str) -> str:
    """Every value with its type, since text_factory makes TEXT and BLOB alike; never from an index."""
    wanted = ", ".join(f"{quoted(column)}, typeof({quoted(column)})" for column in columns)
    return f"SELECT {wanted} FROM {quoted(table)} NOT INDEXED ORDER BY {quoted(order)}"


def rows(
    db: sqlite3.Connection,
    table: str,
    columns: dict[str, str],
    order: str = "seq",
    nullable: bool = False,
) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Each row, and what is wrong with the type or the encoding of a value in it."""
    expected = {
        name: {stored.encode(), b"null" if nullable else stored.encode()}
        for name, stored in columns.items()
    }
    faults: dict[
        tuple[bytes, ...], str | None
    ] = {}  # by the types of a row, which are mostly the same
    for row in db.execute(select(table, columns, order)):
        values, types = dict(zip(columns, row[::2], strict=True)), row[1::2]
        if types not in faults:
            wrong = [
                f"{name} is {show(kind)}"
                for name, kind in zip(columns, types, strict=True)
                if kind not in expected[name]
            ]
            faults[types] = wrong[0] if wrong else None
        yield values, faults[types] or encoding_fault(values)


def encoding_fault(values: dict[str, Any]) -> str | None:
    try:
        b"\0".join(value for value in values.values() if isinstance(value, bytes)).decode()
    except UnicodeDecodeError:
        return "a text is not UTF-8"
    return None


def columns_by_name(db: sqlite3.Connection, kind: str) -> dict[str, dict[str, str]]:
    """The columns of each table (or view) as SELECT * gives them, with the type that their values must have."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, column, stored in db.execute(COLUMNS, (kind,)):
        found[name.decode()][column.decode()] = STORED_AS.get(stored.decode().upper(), "unknown")
    return found


def records_of(db: sqlite3.Connection, kind: str, columns: dict[str, str]) -> Iterator[Record]:
    for values, fault in rows(db, kind, columns, nullable=True):
        yield Record(place(values["seq"]), kind, values, fault)


def place(seq: Any) -> int:
    """Only a table that was made anew can hold a seq that is no integer; nothing in order has place 0."""
    return seq if isinstance(seq, int) else 0


# The verification


@dataclass
class Finding:
    problem: str
    says: str
    kind: str | None = None
    record_id: str | None = None
    log_index: int | None = None

    def __str__(self) -> str:
        of = " ".join(filter(None, (self.kind, self.record_id)))
        at = None if self.log_index is None else f"log index {self.log_index}"
        where = ", ".join(filter(None, (of, at)))
        return f"{self.problem.capitalize()}{f' ({where})' if where else ''}: {self.says}"


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
        return {"ok": not self.findings, **asdict(self)}

    def __str__(self) -> str:
        if self.findings:
            return str(self.findings[0])
        damaged = f" ({self.damaged_anchors} more cut off)" if self.damaged_anchors else ""
        return (
            f"In order: {self.entries} entries, {self.records} records, {self.purged} purged, "
            f"root {self.root}, {self.anchors} anchors{damaged}."
        )


class Verifier:
    """One pass over the log and all records, side by side in the order of seq, then the tables around them."""

    def __init__(self, db: sqlite3.Connection, anchors: Anchors, copy: bool = False) -> None:
        self.db, self.anchors, self.copy = db, anchors, copy
        self.report = Report(anchors=anchors.count, damaged_anchors=anchors.damaged)
        self.found: list[tuple[float, int, Finding]] = []
        self.log_in_order = True
        self.next_seq, self.next_idx = 1, Counter[bytes]()
        self.unfit: list[tuple[dict[str, Any], Finding]] = []
        self.trees: dict[bytes, Tree] = {}
        self.agreed, self.disagreed = Counter[bytes](), dict[bytes, int]()
        self.lost: Record | None = None

    def run(self) -> Report:
        try:
            self.read_schema()
            self.walk()
            self.judge_leaves()
            self.check_frontier()
            self.check_anchors()
            self.check_derived()
            self.check_pages()
        except (sqlite3.Error, UnicodeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in UNREADABLE:
                raise
            self.find(
                AFTER_THE_LOG,
                "edit",
                f"the file cannot be read as a Kaizen database: {show(error)}.",
            )
        self.found.sort(key=lambda found: found[:2])
        self.report.findings = [finding for _, _, finding in self.found]
        return self.report

    def find(
        self,
        seq: float,
        problem: str,
        says: str,
        kind: Any = None,
        record_id: Any = None,
        log_index: Any = None,
    ) -> Finding:
        index = log_index if isinstance(log_index, int) else None
        finding = Finding(problem, says, show(kind), show(record_id), index)
        if len(self.found) < FINDINGS_MAX:
            self.found.append((seq, len(self.found), finding))
        return finding

    def find_in(self, entry: dict[str, Any], problem: str, says: str) -> Finding:
        return self.find(
            entry["seq"], problem, says, entry["kind"], entry["record_id"], entry["idx"]
        )

    def find_in_log(self, entry: dict[str, Any], problem: str, says: str) -> Finding:
        """A finding in the log itself, after which its tree is not worth comparing."""
        self.log_in_order = False
        return self.find_in(entry, problem, says)

    def find_at(self, origin: bytes, idx: int, problem: str, says: str) -> None:
        """A finding about a log as a whole, with the entry where it begins if there is one."""
        entry = self.one(
            "SELECT kind, record_id FROM log WHERE origin = CAST(? AS TEXT) AND idx = ?",
            origin,
            idx,
        )
        kind, record_id = entry or (None, None)
        self.find(AFTER_THE_LOG, problem, says, kind, record_id, idx)

    def one(self, sql: str, *parameters: Any) -> Any:
        return self.db.execute(sql, parameters).fetchone()

    def read_schema(self) -> None:
        self.columns = columns_by_name(self.db, "table")
        self.kinds = {
            name: columns
            for name, columns in self.columns.items()
            if columns.keys() >= RECORD_COLUMNS
        }
        self.hashed = {
            kind: members(columns.keys() - {"seq"}) for kind, columns in self.kinds.items()
        }
        if self.one("PRAGMA application_id")[0] != APPLICATION_ID:
            self.find(0, "edit", "the application_id is not that of a Kaizen database.")
        version = self.one("PRAGMA user_version")[0]
        listed = (
            self.one("SELECT max(version) FROM migration")[0] if "migration" in self.columns else 0
        )
        if version != listed or not version:
            self.find(
                AFTER_THE_LOG,
                "edit",
                f"the user_version is {version}, and the table migration lists {listed}.",
            )
        self.frontier = list(rows(self.db, "frontier", FRONTIER, "origin"))
        self.size = {row["origin"]: row["size"] for row, fault in self.frontier if not fault}
        self.purged = set(self.read_purged())
        self.later = {origin: series.by_size() for origin, series in self.anchors.of.items()}
        self.due = {origin: next(later, None) for origin, later in self.later.items()}
        for origin in self.anchors.of:
            self.compare(origin, Tree())

    def read_purged(self) -> Iterator[bytes]:
        if "records" not in self.kinds.get("purge", ()):
            return
        for (listed,) in self.db.execute("SELECT records FROM purge NOT INDEXED"):
            try:
                ids = json.loads(listed)
            except (ValueError, TypeError, RecursionError):
                continue  # its content hash says more
            yield from (
                (item.encode() for item in ids if isinstance(item, str))
                if isinstance(ids, list)
                else ()
            )

    # Checks 1 to 4: the log and the records

    def walk(self) -> None:
        merged = heapq.merge(
            *(records_of(self.db, kind, columns) for kind, columns in self.kinds.items()),
            key=lambda record: record.seq,
        )
        record = next(merged, None)
        for entry, fault in rows(self.db, "log", LOG):
            entry["seq"] = place(entry["seq"])
            early, here = list[Record](), list[Record]()
            while record and record.seq <= entry["seq"]:
                if record.seq == entry["seq"]:
                    here.append(record)
                elif len(early) < FINDINGS_MAX:
                    early.append(record)
                self.report.records += 1
                record = next(merged, None)
            self.report.entries += 1
            self.check_early(early)
            if fault:
                self.find_in_log(entry, "edit", f"in the log, {fault}.")
            else:
                self.check_entry(entry)
                self.check_record(entry, here)
            self.next_seq = max(self.next_seq, entry["seq"] + 1)
        last, self.lost = sum(self.size.values()), None
        while record:
            self.report.records += 1
            # Up to the frontier's size the log is cut off, which is one finding, not one for each record.
            if not self.next_seq <= record.seq <= last:
                self.check_alone(record)
            else:
                self.lost = self.lost or record
            record = next(merged, None)

    def check_early(self, early: list[Record]) -> None:
        """Records before this entry have none of their own; where an entry is missing, that is the finding."""
        self.lost = None
        for record in early:
            if record.seq < self.next_seq:
                self.check_alone(record)
            else:
                self.lost = self.lost or record

    def check_entry(self, entry: dict[str, Any]) -> None:
        origin, expected = entry["origin"], self.next_idx[entry["origin"]]
        if entry["seq"] != self.next_seq or entry["idx"] != expected:
            self.next_idx[origin] = self.check_place(entry, expected)
            return
        self.next_idx[origin] += 1
        if leaf_of(entry) != entry["leaf"]:
            self.find_unfit(entry)
        elif self.log_in_order:
            tree = self.trees.setdefault(origin, Tree())
            tree.add(bytes.fromhex(entry["leaf"].decode()))
            self.compare(origin, tree)

    def find_unfit(self, entry: dict[str, Any]) -> None:
        finding = self.find_in_log(
            entry, "edit", "the leaf in the log is not the hash of its entry."
        )
        if len(self.unfit) < SWAPS_MAX:
            self.unfit.append((entry, finding))

    def check_place(self, entry: dict[str, Any], expected: int) -> int:
        """The entry does not carry on the log: it was moved, or others were. Gives the index due after it."""
        seq, idx = entry["seq"], entry["idx"]
        says = f"the entry at seq {seq} has log index {idx} where seq {self.next_seq} and index {expected} are due."
        if leaf_of(entry) != entry["leaf"]:
            self.find_unfit(entry)
        elif idx < expected:
            self.find_in_log(entry, "insertion", f"the entry is there twice: {says}")
            return expected
        elif idx > expected and not self.is_in_log(entry["origin"], expected):
            self.find_missing(entry, expected, says)
            return idx + 1
        elif idx > expected and seq == self.next_seq:
            self.find_in_log(entry, "reordering", says)
        else:
            self.find_in_log(entry, "insertion", says)
        return expected + 1

    def find_missing(self, entry: dict[str, Any], expected: int, says: str) -> None:
        """Named by the first record that is left without an entry; if no place is left out, by the entry after it."""
        self.log_in_order = False
        kind, record_id = (self.lost.kind, self.lost.values["id"]) if self.lost else (None, None)
        if entry["seq"] <= self.next_seq:
            kind, record_id = entry["kind"], entry["record_id"]
        at = min(self.next_seq, entry["seq"])
        self.find(at, "deletion", f"the entry is missing: {says}", kind, record_id, expected)

    def is_in_log(self, origin: bytes, idx: int) -> bool:
        return bool(
            self.one("SELECT 1 FROM log WHERE origin = CAST(? AS TEXT) AND idx = ?", origin, idx)
        )

    def judge_leaves(self) -> None:
        """A wrong leaf is an edit, unless it is a copy of another's, or fits once two entries are put back."""
        for entry, finding in self.unfit:
            leaf, idx, seq = entry["leaf"], entry["idx"], entry["seq"]
            if self.one("SELECT 1 FROM log WHERE leaf = CAST(? AS TEXT) AND seq <> ?", leaf, seq):
                finding.problem, finding.says = (
                    "insertion",
                    "the leaf in the log is a copy of another entry's.",
                )
            elif any(
                leaf in (leaf_of(other), leaf_of(other, idx=idx), leaf_of(entry, idx=other["idx"]))
                for other, _ in self.unfit
                if other is not entry
            ):
                finding.problem, finding.says = (
                    "reordering",
                    "the leaf in the log belongs to another entry.",
                )

    def check_record(self, entry: dict[str, Any], here: list[Record]) -> None:
        kind, record_id = entry["kind"].decode(), entry["record_id"]
        mine = next((record for record in here if record.kind == kind), None)
        if mine is None and any(record.values["id"] == record_id for record in here):
            self.find_in(entry, "edit", "the entry names another kind than its record's.")
            return
        for record in here:
            if record is not mine:
                self.check_alone(record)
        if mine and mine.values["id"] == record_id:
            self.check_content(entry, mine)
        elif kind in self.kinds and (
            moved := self.one(
                f"SELECT seq FROM {quoted(kind)} WHERE id = CAST(? AS TEXT)", record_id
            )
        ):
            self.find_in(
                entry,
                "reordering",
                f"the record stands at seq {moved[0]}, its entry at {entry['seq']}.",
            )
        elif entry["test"] == 1 and record_id in self.purged:
            self.report.purged += 1
            if mine:
                self.check_alone(mine)
        elif mine:
            self.find_in(
                entry, "edit", f"the record at its place has the id {show(mine.values['id'])}."
            )
        else:
            self.find_in(entry, "deletion", "the record is gone, and no purge names it.")

    def check_content(self, entry: dict[str, Any], record: Record) -> None:
        if record.fault:
            self.find_in(entry, "edit", f"in the record, {record.fault}.")
            return
        for name in ("test", "at", "actor"):
            if record.values[name] != entry[name]:
                self.find_in(entry, "edit", f"the record and its entry differ in {name}.")
                return
        try:
            content = canonical(self.hashed[record.kind], record.values)
        except ValueError as error:
            self.find_in(entry, "edit", f"the record cannot be hashed: {error}.")
            return
        if sha256(content).hexdigest().encode() != entry["content_hash"]:
            self.find_in(entry, "edit", "the record does not have its content hash.")
        elif entry["test"] == 1 and entry["record_id"] in self.purged:
            self.find_in(entry, "insertion", "the record was purged, and stands there again.")

    def check_alone(self, record: Record) -> None:
        """A record without an entry at its place: moved there if the log knows its id, else put there."""
        record_id = record.values["id"]
        if len(self.found) >= FINDINGS_MAX:
            return
        sql = "SELECT seq, idx FROM log WHERE record_id = CAST(? AS TEXT) AND kind = ?"
        if entry := self.one(sql, record_id, record.kind):
            says = f"the record stands at seq {record.seq}, its entry at {entry[0]}."
            self.find(record.seq, "reordering", says, record.kind, record_id, entry[1])
        else:
            says = f"the record at seq {record.seq} has no entry in the log."
            self.find(record.seq, "insertion", says, record.kind, record_id)

    # Checks 5 to 7: what stands around them

    def check_frontier(self) -> None:
        local = [row["origin"] for row, _ in self.frontier if row["local"] == 1]
        if self.log_in_order and len(local) == 1:
            self.report.root = self.trees.get(local[0], Tree()).root().hex()
        for row, fault in self.frontier:
            if fault or row["local"] not in (0, 1):
                self.find(
                    AFTER_THE_LOG, "edit", f"in frontier, {fault or 'local is neither 0 nor 1'}."
                )
        if len(local) != 1:
            self.find(AFTER_THE_LOG, "edit", f"frontier has {len(local)} local rows, not one.")
        if not self.log_in_order:
            return
        unlisted = self.trees.keys() - self.size.keys()
        for row, fault in self.frontier:
            if row["local"] == 0 and row["size"] == 0:
                self.find(
                    AFTER_THE_LOG,
                    "insertion",
                    f"frontier has a row for {show(row['origin'])}, which has no log.",
                )
            if not fault:
                self.check_peaks(row, self.trees.get(row["origin"], Tree()), bool(unlisted))
        for origin in sorted(unlisted):
            self.find_at(
                origin, 0, "insertion", f"frontier has no row for the entries of {show(origin)}."
            )

    def check_peaks(self, row: dict[str, Any], tree: Tree, renamed: bool) -> None:
        origin, size = row["origin"], row["size"]
        says = f"frontier counts {size} entries of {show(origin)}, the log has {tree.size}."
        if tree.size == 0 and size and renamed:
            self.find(AFTER_THE_LOG, "edit", says)
        elif tree.size < size:
            lost = self.lost
            self.find(
                AFTER_THE_LOG,
                "truncation",
                says,
                lost and lost.kind,
                lost and lost.values["id"],
                tree.size,
            )
        elif tree.size > size:
            self.find_at(origin, size, "insertion", says)
        elif row["peaks"] != b" ".join(peak.hex().encode() for peak in tree.peaks):
            self.find(
                AFTER_THE_LOG, "edit", f"frontier has other peaks than the log of {show(origin)}."
            )

    def compare(self, origin: bytes, tree: Tree) -> None:
        """Compare the root at this size with the anchors that have it."""
        due = self.due.get(origin)
        while due and due[0] == tree.size and origin not in self.disagreed:
            if due[1] == tree.root():
                self.agreed[origin] = tree.size
            else:
                self.disagreed[origin] = tree.size
            due = self.due[origin] = next(self.later[origin], None)

    def check_anchors(self) -> None:
        if not self.log_in_order:
            return
        known = self.trees.keys() | self.size.keys()
        related = bool(known & self.anchors.of.keys())
        for origin, series in self.anchors.of.items():
            size, agreed = self.trees.get(origin, Tree()).size, self.agreed[origin]
            if origin not in known:
                if not (self.copy and related):
                    says = f"there are anchors of {show(origin)}, and no such log: another file, or an older copy."
                    self.find(AFTER_THE_LOG, "rollback", says)
            elif origin in self.disagreed:
                says = f"the root at size {self.disagreed[origin]} is not the anchor's"
                if series.goes_back:
                    self.find_at(
                        origin,
                        agreed,
                        "rollback",
                        f"{says}: an older copy was put here and written to.",
                    )
                else:
                    self.find_at(origin, agreed, "edit", f"{says}: history was rewritten.")
            elif series.largest > size and not self.copy:
                says = f"the log has {size} entries, an anchor {series.largest}: the file is an older copy."
                self.find_at(origin, size, "rollback", says)

    def check_derived(self) -> None:
        views = columns_by_name(self.db, "view")
        for view in views:
            if view.endswith("_fold"):
                self.check_state(view, view.removesuffix("_fold") + "_state", list(views[view]))
        for table in self.columns.keys() - self.kinds.keys():
            if table.endswith("_state") and table.removesuffix("_state") + "_fold" not in views:
                self.find(
                    AFTER_THE_LOG,
                    "edit",
                    f"the derived table {show(table)} has no view to agree with.",
                )

    def check_state(self, view: str, table: str, columns: list[str]) -> None:
        if columns != list(self.columns.get(table, ())):
            self.find(
                AFTER_THE_LOG, "edit", f"{show(table)} does not have the columns of {show(view)}."
            )
            return
        seq = quoted(columns[0])  # of every derived table
        differences = (
            f"SELECT {seq} FROM (SELECT * FROM {quoted(one)} EXCEPT SELECT * FROM {quoted(other)})"
            for one, other in ((table, view), (view, table))
        )
        if row := self.one(f"{' UNION '.join(differences)} ORDER BY 1 LIMIT 1"):
            entry = self.one("SELECT kind, record_id, idx FROM log WHERE seq = ?", row[0])
            self.find(
                AFTER_THE_LOG,
                "edit",
                f"{show(table)} does not agree with {show(view)}.",
                *(entry or ()),
            )

    def check_pages(self) -> None:
        """Damage where no check above has read, such as an index that is cut off or lacks a row."""
        path, page = self.one("PRAGMA database_list")[2], self.one("PRAGMA page_size")[0]
        if path and os.path.getsize(path) % page:  # SQLite takes the missing bytes for zeros
            self.find(AFTER_THE_LOG, "edit", "the file ends in the middle of a page.")
        self.db.execute(
            "PRAGMA ignore_check_constraints = ON"
        )  # json_valid(NULL) is 0 in SQLite 3.40
        # Newer versions of SQLite take an FTS5 index for malformed that somebody is writing to.
        checked = () if self.found else self.db.execute("PRAGMA integrity_check(20)").fetchall()
        for damage in [says for (says,) in checked if says != b"ok" and b"FTS5" not in says][:1]:
            self.find(AFTER_THE_LOG, "edit", f"the file is malformed: {show(damage)}.")


def verify_at(uri: str, anchors: Anchors, copy: bool) -> Report:
    db = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        db.text_factory = bytes
        db.execute("BEGIN")
        return Verifier(db, anchors, copy).run()
    finally:
        db.close()


def verify(database: Path, anchors: Path | None = None, copy: bool = False) -> Report:
    """Read the anchors, then the database as it is at one moment."""
    uri, read = database.resolve().as_uri(), read_anchors(anchors)
    try:
        return verify_at(f"{uri}?mode=ro", read, copy)
    except sqlite3.OperationalError as error:
        # A folder that cannot be written has no room for the -shm file; a file that stands alone needs none.
        alone = not any(Path(f"{database}{side}").exists() for side in ("-wal", "-journal"))
        if not alone or error.sqlite_errorcode & 0xFF not in (
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_READONLY,
        ):
            raise
        return verify_at(f"{uri}?immutable=1", read, copy)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Verify a Kaizen database without the engine.",
        epilog="Exit codes: 0 in order, 2 usage, 3 no such file, 7 a finding.",
    )
    parser.add_argument("database", type=Path, metavar="DATABASE")
    parser.add_argument(
        "--anchors",
        type=Path,
        metavar="FILE",
        help="manifests/checkpoints beside DATABASE unless told",
    )
    parser.add_argument(
        "--copy", action="store_true", help="a backup: anchors that are larger are in order"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args(arguments)
    if sqlite3.sqlite_version_info < STRICT_SINCE:
        parser.error(f"this Python has SQLite {sqlite3.sqlite_version}; STRICT tables need 3.37")
    beside = asked.database.parent / "manifests" / "checkpoints"
    anchors = asked.anchors or (beside if beside.is_file() else None)
    for path in filter(None, (asked.database, anchors)):
        if not path.is_file():
            print(f"verify_ledger: no such file: {show(path)}", file=sys.stderr)
            return NO_SUCH_FILE
    try:
        report = verify(asked.database, anchors, asked.copy)
    except (sqlite3.Error, OSError) as error:
        print(
            f"verify_ledger: {show(asked.database)} cannot be read: {show(error)}", file=sys.stderr
        )
        return NO_SUCH_FILE
    print(json.dumps(report.as_dict()) if asked.json else report)
    return FOUND if report.findings else IN_ORDER


if __name__ == "__main__":
    sys.exit(main())
