"""Recompute every hash of the ledger and name the first record that is not what was written.

One pass in the order of the log: each entry's place, its leaf, its record. Then what only the whole shows: the
frontier, the anchors outside the file, and the derived tables. docs/format.md describes the same checks for a
verifier in another language.
"""

import os
from typing import Any

from ...store.connection import APPLICATION_ID, Connection
from .canonical import encode_canonical
from .hashing import EMPTY_ROOT, Frontier, hash_leaf, hash_text
from .health import find_page_problems, find_schema_problems, find_search_problems, find_stale_rows
from .raw_rows import SEQ_MAX, SEQ_MIN, InvalidValue, RawLedger, strip_nul

FINDINGS_MAX = 20
AFTER_THE_LOG = float("inf")  # the place of what concerns the file as a whole

Finding = dict[str, Any]


class Verification:
    """`run` gives the findings in the order of the log; none means that everything is as it was written."""

    def __init__(
        self, connection: Connection, anchors: list[tuple[str, int, str]], is_copy: bool = False
    ):
        self.connection = connection
        self.anchors = anchors
        self.is_copy = is_copy  # a backup is older than the newest anchor, and that is all right
        self.findings: list[Finding] = []
        self.places: list[float] = []  # of the findings, in the order of the log
        self.frontiers: dict[str, Frontier] = {}
        self.records = 0
        self.entries = 0
        self.purged: set[str] = set()
        self.ledger = RawLedger(connection)

    def run(self) -> list[Finding]:
        self.connection.execute("BEGIN")  # one snapshot, whatever others write meanwhile
        try:
            if self.connection.value("PRAGMA application_id") != APPLICATION_ID:
                self._found("edit", "The file is not marked as a Kaizen database.")
            self._check_schema()
            self._check_length()
            stored = {row["origin"]: row for row in self.ledger.frontiers()}
            self._read_purged()
            self._check_early()
            last_seq = self._walk_log()
            if not self.findings:
                self._check_late(stored, last_seq)
            if not self.findings:
                self._check_frontiers(stored, last_seq)
            if not self.findings:
                self._check_anchors(set(stored) | set(self.frontiers))
            if not self.findings:
                self._check_derived()
            if not self.findings:
                self._check_indexes()
        finally:
            self.connection.roll_back()
        order = sorted(range(len(self.findings)), key=self.places.__getitem__)
        return [self.findings[at] for at in order]

    def _check_schema(self):
        """Tables, views, indexes and triggers are those that the migrations make, and nobody's own among the active."""
        for says in find_schema_problems(self.connection)[:1]:
            self._found("edit", says)

    def _check_length(self):
        """SQLite takes what is missing of the last page for zeros."""
        path = self.connection.tuples("PRAGMA database_list")[0][2]
        if path and os.path.getsize(path) % self.connection.value("PRAGMA page_size"):
            self._found("edit", "The file ends in the middle of a page.")

    # One pass over the log

    def _walk_log(self) -> int:
        seq = 0
        for page in self.ledger.pages():
            rows = {
                kind: self.ledger.rows(kind, page[0]["seq"], page[-1]["seq"])
                for kind in self.ledger.tables
            }
            for entry in page:
                if not self._check_place(entry, seq + 1) or len(self.findings) >= FINDINGS_MAX:
                    self._found_strays(rows, seq)
                    return entry["seq"]
                seq = entry["seq"]
                leaf = self._check_leaf(entry)
                self._check_record(entry, rows.get(entry["kind"], {}).pop(seq, None))
                self.frontiers[entry["origin"]].append(leaf)
                self.entries += 1
            self._found_strays(rows, seq)
        return seq

    def _check_place(self, entry, expected_seq):
        """The entry stands where the one before it says; False if the rest cannot be judged."""
        frontier = self.frontiers.setdefault(str(entry["origin"]), Frontier())
        if entry["seq"] == expected_seq and entry["idx"] == frontier.size:
            return True
        missing, index = frontier.size, entry["idx"]
        if _leaf(entry) != entry["leaf"]:
            self._check_leaf(entry)  # the entry was changed, not its place
        elif index < missing:
            self._found("insertion", f"Log entry {index} is there twice.", entry=entry)
        elif index > missing and not self.ledger.entry(
            "origin = ? AND idx = ?", entry["origin"], missing
        ):
            self._found_missing(entry, expected_seq, missing)
        elif index > missing and entry["seq"] == expected_seq:
            self._found(
                "reordering",
                f"Log entry {index} stands where entry {missing} belongs.",
                entry=entry,
            )
        else:
            self._found(
                "insertion", f"Log entry {index} stands at a place of its own.", entry=entry
            )
        return False

    def _found_missing(self, entry, expected_seq, missing):
        """Named by the first record that is left without an entry; if no place is left out, by the entry after it."""
        kind, record_id = entry["kind"], entry["record_id"]
        if entry["seq"] > expected_seq:
            kind, record_id = self.ledger.find_first_record(expected_seq, entry["seq"] - 1)
        at = min(expected_seq, entry["seq"])
        self._found(
            "deletion", f"Log entry {missing} is missing.", kind, record_id, index=missing, seq=at
        )

    def _check_leaf(self, entry):
        """The leaf as it should be; whether the stored one is the same is noted."""
        leaf = _leaf(entry)
        if leaf != entry["leaf"]:
            problem = "edit" if self.findings else self._why_another_leaf(entry)
            self._found(
                problem, f"Log entry {entry['idx']} does not have its leaf hash.", entry=entry
            )
        return leaf or EMPTY_ROOT

    def _why_another_leaf(self, entry):
        """Was this entry, or its content, at another place when its leaf was made?"""
        own = _hashed(entry)
        for page in self.ledger.pages():
            for other in page:
                if other["seq"] == entry["seq"]:
                    continue
                if other["leaf"] == entry["leaf"]:
                    return "insertion"  # a copy of an entry that is still there
                theirs = _hashed(other)
                moved = ({**own, "idx": other["idx"]}, {**theirs, "idx": entry["idx"]}, theirs)
                if any(_leaf(one) == entry["leaf"] for one in moved):
                    return "reordering"
        return "edit"

    def _check_record(self, entry, row):
        kind, record_id = entry["kind"], entry["record_id"]
        if kind not in self.ledger.tables:
            return self._found(
                "edit", f"Log entry {entry['idx']} names an unknown kind.", entry=entry
            )
        if row is None or row.get("id") != record_id:
            return self._check_absent(entry, row)
        self.records += 1
        same = all(row.get(name) == entry[name] for name in ("at", "actor", "test"))
        if not same or _hash(hash_text, row) != entry["content_hash"]:
            return self._found("edit", f"{kind} {record_id} is not what was recorded.", entry=entry)
        if record_id in self.purged and entry["test"] == 1:
            return self._found(
                "insertion", f"{kind} {record_id} was purged, and stands there again.", entry=entry
            )
        return None

    def _check_absent(self, entry, row):
        """The record is not at its place; `row` is what stands there instead, if anything does."""
        kind, record_id = entry["kind"], entry["record_id"]
        is_purged = entry["test"] == 1 and record_id in self.purged
        if row is None and is_purged:
            return
        if self.connection.value(f"SELECT 1 FROM {kind} WHERE id = ?", (strip_nul(record_id),)):
            self._found("reordering", f"{kind} {record_id} stands elsewhere.", entry=entry)
        elif (
            row is None
            and self.ledger.find_first_record(entry["seq"], entry["seq"])[1] == record_id
        ):
            self._found(
                "edit",
                f"Log entry {entry['idx']} names another kind than its record's.",
                entry=entry,
            )
        elif row is None:
            self._found("deletion", f"{kind} {record_id} is missing.", entry=entry)
        elif is_purged:
            self._found_stray(kind, entry["seq"], row)
        else:
            self._found(
                "edit", f"{kind} {row.get('id')} stands where {record_id} belongs.", entry=entry
            )

    # Records that the log does not have

    def _check_early(self):
        """Records before the log's beginning."""
        first = self.connection.value("SELECT min(seq) FROM log")
        high = min(1 if first is None else first, 1) - 1
        for kind in self.ledger.tables if high >= SEQ_MIN else ():
            self._found_strays({kind: self.ledger.rows(kind, SEQ_MIN, high, 1)}, high)

    def _check_late(self, stored, last_seq):
        """Records after the log's end; up to the frontier's size the log is cut off, which is one finding."""
        sizes = [row["size"] for row in stored.values() if type(row["size"]) is int]
        low = min(max(last_seq, sum(sizes)), SEQ_MAX - 1) + 1
        for kind in self.ledger.tables:
            self._found_strays({kind: self.ledger.rows(kind, low, SEQ_MAX, 1)}, SEQ_MAX)

    def _found_strays(self, rows, last_seq):
        """Records that no entry has taken, up to this place."""
        strays = sorted((at, kind) for kind, left in rows.items() for at in left if at <= last_seq)
        for at, kind in strays[:FINDINGS_MAX]:
            self._found_stray(kind, at, rows[kind][at])

    def _found_stray(self, kind, at, row):
        """A record without an entry at its place: moved there if the log knows it, else put there."""
        record_id = row.get("id")
        entry = self.ledger.entry("record_id = ? AND kind = ?", record_id, kind)
        if entry:
            says = f"{kind} {record_id} stands elsewhere than its log entry."
            self._found("reordering", says, kind, record_id, index=entry["idx"], seq=at)
        else:
            self._found(
                "insertion", f"{kind} {record_id} has no log entry.", kind, record_id, seq=at
            )

    # What only the whole shows

    def _check_frontiers(self, stored, last_seq):
        if any(
            type(row["size"]) is not int or type(row["peaks"]) is not str for row in stored.values()
        ):
            return self._found("edit", "The frontier has values of another type.")
        if [row["local"] for row in stored.values()].count(1) != 1:
            return self._found("edit", "The frontier of this database is not marked.")
        unlisted = sorted(set(self.frontiers) - set(stored))
        for origin, row in stored.items():
            self._check_frontier(
                row, self.frontiers.get(origin, Frontier()), bool(unlisted), last_seq
            )
        for origin in unlisted:
            self._found(
                "insertion",
                f"The frontier does not have the log of {origin}.",
                *self.ledger.find_record_at(origin, 0),
            )
        return None

    def _check_frontier(self, row, log, is_renamed, last_seq):
        origin, size = row["origin"], row["size"]
        if not log.size and size and is_renamed:
            self._found("edit", "The frontier names another origin than the log.")
        elif log.size < size:
            cut_off = self.ledger.find_first_record(last_seq + 1)
            self._found(
                "truncation",
                f"The log ends after {log.size} of {size} entries.",
                *cut_off,
                index=log.size,
            )
        elif log.size > size:
            self._found(
                "insertion",
                f"The log has entries beyond its {size}.",
                *self.ledger.find_record_at(origin, size),
                index=size,
            )
        elif row["peaks"] != " ".join(log.peaks):
            self._found(
                "edit", f"The stored frontier of {origin} does not fit its log.", index=log.size - 1
            )
        elif not size and row["local"] != 1:
            self._found("insertion", f"There is a frontier of {origin}, and no log.")

    def _check_anchors(self, known):
        last: dict[str, tuple[int, str]] = {}
        for origin, size, root in self.anchors:
            if origin not in known:
                if not self.is_copy:
                    self._found(
                        "rollback",
                        f"The anchors speak of a database {origin} with {_entries(size)}, which is not this one.",
                        index=0,
                    )
                    return
                continue
            last[origin] = max(last.get(origin, (0, "")), (size, root))
        self._check_anchored_roots(known)  # first what is there, then what is missing
        for origin, (size, _) in last.items() if not self.findings else ():
            has = self.frontiers.get(origin, Frontier()).size
            if size > has and not self.is_copy:
                says = f"An anchor says {_entries(size)}; this file has {has} and fits together: it is an older copy."
                self._found("rollback", says, index=has)
                return

    def _check_anchored_roots(self, known):
        """Compare the root at every anchored size; a new anchor on a rewritten history does not hide the old ones."""
        for origin in sorted(known):
            mine = [(size, root) for name, size, root in self.anchors if name == origin]
            wanted: dict[int, set[str]] = {}
            for size, root in mine:
                wanted.setdefault(size, set()).add(root)
            if wanted.get(0, {EMPTY_ROOT}) != {EMPTY_ROOT}:
                return self._found(
                    "edit", "The anchor of the empty log is not that of an empty log.", index=0
                )
            growing, open_since, before = Frontier(), None, Frontier()
            for page in self.ledger.pages() if wanted else ():
                for entry in page:
                    if entry["origin"] != origin:
                        continue
                    if open_since is None:  # the first entry that no anchor has confirmed yet
                        open_since, before = entry, growing.copy()
                    growing.append(entry["leaf"])
                    if growing.size not in wanted:
                        continue
                    if wanted[growing.size] != {growing.root()}:
                        return self._anchor_broken(
                            open_since, entry, before, wanted[growing.size], mine
                        )
                    open_since = None
        return None

    def _anchor_broken(self, first, last, before, roots, mine):
        """Something is wrong between the `first` entry that no anchor confirms and the `last`, which has one."""
        size = last["idx"] + 1
        at = next(at for at, (anchored, _) in enumerate(mine) if anchored == size)
        if any(anchored <= size for anchored, _ in mine[at + 1 :]):
            problem, says = "rollback", "an older copy was put in place here, and written to since."
        elif first is last and self._fits_another(last, before, roots):
            problem, says = "reordering", "another entry stood here when the anchor was made."
        else:
            problem, says = "edit", "the history was rewritten together with its hashes."
        one = f"entry {first['idx']} does not fit its anchor"
        more = f"entries {first['idx']} to {last['idx']} do not fit their anchor"
        return self._found(problem, f"Log {one if first is last else more}: {says}", entry=first)

    def _fits_another(self, entry, before, roots):
        for page in self.ledger.pages():
            for other in page:
                if other["idx"] > entry["idx"]:
                    trial = before.copy()
                    trial.append(_leaf({**other, "idx": entry["idx"]}))
                    if trial.root() in roots:
                        return True
        return False

    def _check_derived(self):
        """`x_state` is what `x_fold` computes from the records, row by row."""
        for seq, state in find_stale_rows(self.connection)[:1]:
            self._found(
                "edit",
                f"{state} is not what the records say.",
                entry=self.ledger.entry("seq = ?", seq),
            )
        for says in find_search_problems(self.connection)[:1]:
            self._found("edit", says)

    def _check_indexes(self):
        """What is read through an index is what the table has."""
        for says in find_page_problems(self.connection)[:1]:
            self._found("edit", f"SQLite finds the file damaged: {says}.")

    def _read_purged(self):
        import json

        for (raw,) in self.connection.tuples("SELECT CAST(records AS BLOB) FROM purge"):
            try:
                self.purged.update(json.loads(raw))
            except (ValueError, TypeError, RecursionError):
                pass  # not what was recorded: the walk over the log says so

    def _found(self, problem, says, kind=None, record_id=None, entry=None, index=None, seq=None):
        if entry:
            kind, record_id, index, seq = (
                entry["kind"],
                entry["record_id"],
                entry["idx"],
                entry["seq"],
            )
        self.places.append(AFTER_THE_LOG if seq is None else seq)
        self.findings.append(
            {
                "problem": problem,
                "says": says,
                "kind": kind,
                "record_id": record_id,
                "log_index": index,
            }
        )


def _hashed(entry):
    """The members of an entry that its leaf is made from."""
    return {name: value for name, value in entry.items() if name not in ("seq", "leaf")}


def _entries(count):
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _leaf(entry):
    return _hash(hash_leaf, _hashed(entry))


def _hash(make, members):
    """None if a value is one that nothing can have been recorded with."""
    return None if InvalidValue in map(type, members.values()) else make(encode_canonical(members))
