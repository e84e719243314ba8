"""Recompute every hash of the ledger and name the first record that was tampered with.

One pass over the log checks the place, leaf hash and record of each entry. Then the frontier, the
anchors outside the file and the derived tables are checked. docs/format.md describes these checks
for a verifier in another language.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from ...store.connection import APPLICATION_ID, Connection
from .canonical import encode_canonical
from .hashing import EMPTY_ROOT, Frontier, hash_leaf, hash_text
from .health import find_page_problems, find_schema_problems, find_search_problems, find_stale_rows
from .raw_rows import SEQ_MAX, SEQ_MIN, InvalidValue, RawLedger, strip_nul

FINDINGS_MAX = 20
AFTER_THE_LOG = float("inf")  # sorts findings about the whole file last

Finding = dict[str, Any]
Row = dict[str, Any]
Rows = dict[str, dict[int, Row]]  # kind -> seq -> record


class Verification:
    """All checks of one database; `run` returns the findings in the order of the log."""

    def __init__(
        self, connection: Connection, anchors: list[tuple[str, int, str]], is_copy: bool = False
    ) -> None:
        self.connection = connection
        self.anchors = anchors
        self.is_copy = is_copy  # a backup may be older than the newest anchor
        self.findings: list[Finding] = []
        self.places: list[float] = []  # seq of each finding, to sort them
        self.frontiers: dict[str, Frontier] = {}
        self.records = 0
        self.entries = 0
        self.purged: set[str] = set()
        self.ledger = RawLedger(connection)

    def run(self) -> list[Finding]:
        """Run all checks on one snapshot and return the findings."""
        self.connection.execute("BEGIN")  # one snapshot, while others may write
        try:
            if self.connection.value("PRAGMA application_id") != APPLICATION_ID:
                self._report("edit", "The file is not marked as a Kaizen database.")
            self._report_first(self.find_schema_problems())
            path = self.connection.tuples("PRAGMA database_list")[0][2]
            # SQLite reads the missing part of a last page as zeros.
            if path and os.path.getsize(path) % self.connection.value("PRAGMA page_size"):
                self._report("edit", "The file ends in the middle of a page.")
            stored = {row["origin"]: row for row in self.ledger.read_frontiers()}
            last_seq = self.check_log(stored)
            if not self.findings:
                self.check_frontiers(stored, last_seq)
            if not self.findings:
                self.check_anchors(set(stored) | set(self.frontiers))
            if not self.findings:
                for seq, state in find_stale_rows(self.connection)[:1]:
                    entry = self.ledger.find_entry("seq = ?", seq)
                    self._report("edit", f"{state} does not agree with the records.", entry=entry)
                self._report_first(find_search_problems(self.connection))
            if not self.findings:
                damage = find_page_problems(self.connection)
                self._report_first(
                    f"SQLite finds the file damaged: {message}." for message in damage
                )
        finally:
            self.connection.roll_back()
        order = sorted(range(len(self.findings)), key=self.places.__getitem__)
        return [self.findings[at] for at in order]

    def find_schema_problems(self) -> list[str]:
        return find_schema_problems(self.connection)

    # One pass over the log

    def check_log(self, stored: dict[str, Row]) -> int:
        """Check every entry and record; return the last seq of the log."""
        for (raw,) in self.connection.tuples("SELECT CAST(records AS BLOB) FROM purge"):
            try:
                self.purged.update(json.loads(raw))
            except (ValueError, TypeError, RecursionError):
                pass  # this row was changed, so the check of its content hash reports it
        first = self.connection.value("SELECT min(seq) FROM log")
        before = min(1 if first is None else first, 1) - 1
        for kind in self.ledger.tables if before >= SEQ_MIN else ():
            self._report_misplaced_records(
                {kind: self.ledger.read_rows(kind, SEQ_MIN, before, 1)}, before
            )
        seq = 0
        for page in self.ledger.read_pages():
            rows = {
                kind: self.ledger.read_rows(kind, page[0]["seq"], page[-1]["seq"])
                for kind in self.ledger.tables
            }
            for entry in page:
                in_place = self.check_place(entry, seq + 1)
                if not in_place or len(self.findings) >= FINDINGS_MAX:
                    self._report_misplaced_records(rows, seq)
                    return entry["seq"]
                seq = entry["seq"]
                leaf = self.check_leaf(entry)
                self.check_record(entry, rows.get(entry["kind"], {}).pop(seq, None))
                self.frontiers[entry["origin"]].append(leaf)
                self.entries += 1
            self._report_misplaced_records(rows, seq)
        if not self.findings:
            # Skip records up to the frontier's size: they belong to a truncated log, and
            # check_frontiers reports that as one finding.
            sizes = [row["size"] for row in stored.values() if type(row["size"]) is int]
            after = min(max(seq, sum(sizes)), SEQ_MAX - 1) + 1
            for kind in self.ledger.tables:
                self._report_misplaced_records(
                    {kind: self.ledger.read_rows(kind, after, SEQ_MAX, 1)}, SEQ_MAX
                )
        return seq

    def check_place(self, entry: Row, expected_seq: int) -> bool:
        """Check that the entry continues the log. If not, return False: checking must stop."""
        frontier = self.frontiers.setdefault(str(entry["origin"]), Frontier())
        if entry["seq"] == expected_seq and entry["idx"] == frontier.size:
            return True
        missing, index = frontier.size, entry["idx"]
        due = "origin = ? AND idx = ?", entry["origin"], missing
        if hash_entry(entry) != entry["leaf"]:
            self.check_leaf(entry)  # the entry was changed, not moved
        elif index < missing:
            self._report("insertion", f"Log entry {index} is there twice.", entry=entry)
        elif index > missing and not self.ledger.find_entry(*due):
            # Name the first record that has lost its entry; if there is none, the next entry.
            kind, record_id = entry["kind"], entry["record_id"]
            if entry["seq"] > expected_seq:
                kind, record_id = self.ledger.find_first_record(expected_seq, entry["seq"] - 1)
            at = min(expected_seq, entry["seq"])
            message = f"Log entry {missing} is missing."
            self._report("deletion", message, kind, record_id, index=missing, seq=at)
        elif index > missing and entry["seq"] == expected_seq:
            message = f"Log entry {index} is in the place of entry {missing}."
            self._report("reordering", message, entry=entry)
        else:
            self._report("insertion", f"Log entry {index} is in a wrong place.", entry=entry)
        return False

    def check_leaf(self, entry: Row) -> str:
        """Return the computed leaf hash; record a finding if the stored leaf hash differs."""
        leaf = hash_entry(entry)
        if leaf != entry["leaf"]:
            problem = "edit" if self.findings else self._classify_leaf(entry)
            message = f"Log entry {entry['idx']} does not have its leaf hash."
            self._report(problem, message, entry=entry)
        return leaf or EMPTY_ROOT

    def _classify_leaf(self, entry: Row) -> str:
        """Return "insertion" for a copied entry, "reordering" for a moved one, else "edit"."""
        for page in self.ledger.read_pages():
            for other in page:
                if other["seq"] == entry["seq"]:
                    continue
                if other["leaf"] == entry["leaf"]:
                    return "insertion"  # a copy of an entry that is still there
                moved = ({**entry, "idx": other["idx"]}, {**other, "idx": entry["idx"]}, other)
                if any(hash_entry(trial) == entry["leaf"] for trial in moved):
                    return "reordering"
        return "edit"

    def check_record(self, entry: Row, row: Row | None) -> None:
        """Check the record of an entry; `row` is the row of its table with the entry's seq."""
        kind, record_id, index = entry["kind"], entry["record_id"], entry["idx"]
        is_purged = record_id in self.purged and entry["test"] == 1
        if kind not in self.ledger.tables:
            self._report("edit", f"Log entry {index} names an unknown kind.", entry=entry)
        elif row and row.get("id") == record_id:
            self.records += 1
            is_same = all(row.get(name) == entry[name] for name in ("at", "actor", "test"))
            if not is_same or hash_members(hash_text, row) != entry["content_hash"]:
                self._report("edit", f"{kind} {record_id} was changed.", entry=entry)
            elif is_purged:
                message = f"{kind} {record_id} was purged but is in the database again."
                self._report("insertion", message, entry=entry)
        elif row is None and is_purged:
            pass
        elif self.connection.value(f"SELECT 1 FROM {kind} WHERE id = ?", (strip_nul(record_id),)):
            self._report("reordering", f"{kind} {record_id} was moved.", entry=entry)
        elif row:
            if is_purged:
                self._report_misplaced(kind, entry["seq"], row)
            else:
                message = f"{kind} {row.get('id')} is in the place of {record_id}."
                self._report("edit", message, entry=entry)
        elif self.ledger.find_first_record(entry["seq"], entry["seq"])[1] == record_id:
            message = f"Log entry {index} names another kind than its record has."
            self._report("edit", message, entry=entry)
        else:
            self._report("deletion", f"{kind} {record_id} is missing.", entry=entry)

    def _report_misplaced_records(self, rows: Rows, last_seq: int) -> None:
        """Report each record up to `last_seq` that no log entry names."""
        strays = sorted((at, kind) for kind, left in rows.items() for at in left if at <= last_seq)
        for at, kind in strays[:FINDINGS_MAX]:
            self._report_misplaced(kind, at, rows[kind][at])

    def _report_misplaced(self, kind: str, at: int, row: Row) -> None:
        """Report a record without a log entry at its place: it was moved or inserted."""
        record_id = row.get("id")
        entry = self.ledger.find_entry("record_id = ? AND kind = ?", record_id, kind)
        if entry:
            message = f"{kind} {record_id} is not at the place of its log entry."
            self._report("reordering", message, kind, record_id, index=entry["idx"], seq=at)
        else:
            message = f"{kind} {record_id} has no log entry."
            self._report("insertion", message, kind, record_id, seq=at)

    # Checks of the whole file

    def check_frontiers(self, stored: dict[str, Row], last_seq: int) -> None:
        """Compare the stored frontiers with the log."""
        for row in stored.values():
            if type(row["size"]) is not int or type(row["peaks"]) is not str:
                return self._report("edit", "The frontier has values of the wrong type.")
        if [row["local"] for row in stored.values()].count(1) != 1:
            return self._report("edit", "No single frontier is marked as the one of this database.")
        unlisted = sorted(set(self.frontiers) - set(stored))
        for origin, row in stored.items():
            log, size = self.frontiers.get(origin, Frontier()), row["size"]
            if not log.size and size and unlisted:
                self._report("edit", "The frontier names another origin than the log.")
            elif log.size < size:
                message = f"The log ends after {log.size} of {size} entries."
                kind, record_id = self.ledger.find_first_record(last_seq + 1)
                self._report("truncation", message, kind, record_id, index=log.size)
            elif log.size > size:
                kind, record_id = self.ledger.find_record_at(origin, size)
                message = f"The log has more than the {size} entries that its frontier counts."
                self._report("insertion", message, kind, record_id, index=size)
            elif row["peaks"] != " ".join(log.peaks):
                message = f"The stored frontier of {origin} does not match its log."
                self._report("edit", message, index=log.size - 1)
            elif not size and row["local"] != 1:
                self._report("insertion", f"There is a frontier of {origin} without a log.")
        for origin in unlisted:
            kind, record_id = self.ledger.find_record_at(origin, 0)
            self._report("insertion", f"The log of {origin} has no frontier.", kind, record_id)
        return None

    def check_anchors(self, known_origins: set[str]) -> None:
        """Compare the log with the anchors outside the file."""
        for origin, size, _ in self.anchors:
            if origin not in known_origins and not self.is_copy:
                message = (
                    f"The anchors are of another database: {origin} with {count_entries(size)}."
                )
                return self._report("rollback", message, index=0)
        for origin in sorted(known_origins):
            self.check_roots(origin)
        for origin in dict.fromkeys(
            origin for origin, _, _ in self.anchors if origin in known_origins
        ):
            size = max(size for name, size, _ in self.anchors if name == origin)
            in_log = self.frontiers.get(origin, Frontier()).size
            if size > in_log and not self.is_copy and not self.findings:
                message = (
                    f"An anchor has {count_entries(size)}, this file {in_log}, and it is intact: "
                    "it is an older copy."
                )
                self._report("rollback", message, index=in_log)
        return None

    def check_roots(self, origin: str) -> None:
        """Compare the root at every anchored size; a newer anchor does not hide an older one."""
        anchors = [(size, root) for name, size, root in self.anchors if name == origin]
        expected_roots: dict[int, set[str]] = {}
        for size, root in anchors:
            expected_roots.setdefault(size, set()).add(root)
        if expected_roots.get(0, {EMPTY_ROOT}) != {EMPTY_ROOT}:
            return self._report("edit", "The anchor of the empty log has another root.", index=0)
        growing, first, before = Frontier(), None, Frontier()
        for page in self.ledger.read_pages() if expected_roots else ():
            for entry in page:
                if entry["origin"] != origin:
                    continue
                if first is None:  # the first entry after the last matching anchor
                    first, before = entry, growing.copy()
                growing.append(entry["leaf"])
                size = growing.size
                if size not in expected_roots:
                    continue
                if expected_roots[size] == {growing.root()}:
                    first = None
                    continue
                at = [anchored for anchored, _ in anchors].index(size)
                if any(anchored <= size for anchored, _ in anchors[at + 1 :]):
                    problem, message = "rollback", "an older copy was restored and then changed."
                elif first is entry and self._fits_later_entry(entry, before, expected_roots[size]):
                    problem, message = "reordering", "another entry was here at that time."
                else:
                    problem, message = "edit", "the history was rewritten together with its hashes."
                range_text = f"entry {first['idx']}"
                if first is not entry:
                    range_text = f"entries {first['idx']} to {entry['idx']}"
                message = f"The anchor of log {range_text} has another root: {message}"
                return self._report(problem, message, entry=first)
        return None

    def _fits_later_entry(self, entry: Row, before: Frontier, roots: set[str]) -> bool:
        """Return whether a later entry in place of `entry` would give the log one of `roots`."""
        for page in self.ledger.read_pages():
            for other in page:
                if other["idx"] > entry["idx"]:
                    trial = before.copy()
                    trial.append(hash_entry({**other, "idx": entry["idx"]}) or EMPTY_ROOT)
                    if trial.root() in roots:
                        return True
        return False

    def _report_first(self, problems: Iterable[str]) -> None:
        for message in list(problems)[:1]:
            self._report("edit", message)

    def _report(
        self,
        problem: str,
        message: str,
        kind: str | None = None,
        record_id: str | None = None,
        entry: Row | None = None,
        index: int | None = None,
        seq: int | None = None,
    ) -> None:
        if entry:
            kind, record_id = entry["kind"], entry["record_id"]
            index, seq = entry["idx"], entry["seq"]
        self.places.append(AFTER_THE_LOG if seq is None else seq)
        self.findings.append(
            {
                "problem": problem,
                "says": message,
                "kind": kind,
                "record_id": record_id,
                "log_index": index,
            }
        )


def count_entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def hash_entry(entry: Row) -> str | None:
    """Return the leaf hash of an entry."""
    members = {name: value for name, value in entry.items() if name not in ("seq", "leaf")}
    return hash_members(hash_leaf, members)


def hash_members(make: Callable[[str], str], members: Row) -> str | None:
    """Return the hash of the members, or None if a value is invalid, so no write recorded it."""
    return None if InvalidValue in map(type, members.values()) else make(encode_canonical(members))
