"""Recompute every hash of the ledger and name the first record that is not what was written.

One pass in the order of the log: each entry's place, its leaf, its record. Then what only the whole shows: the
frontier, the anchors outside the file, and the derived tables. docs/format.md describes the same checks for a
verifier in another language.
"""

import os
from collections.abc import Iterator
from typing import Any

from ..store.connection import Connection
from ..store.database import APPLICATION_ID
from .canonical import canonical
from .hashing import EMPTY_ROOT, Frontier, leaf_hash, text_hash
from .health import derived_problems, page_problems, schema_problems
from .kinds import PREFIXES

PAGE = 2_000
FINDINGS_MAX = 20
AFTER_THE_LOG = float("inf")  # the place of what concerns the file as a whole
SEQ_MIN, SEQ_MAX = -(2**63), 2**63 - 1
ENTRY = {"seq": "INTEGER", "idx": "INTEGER", "test": "INTEGER"} | dict.fromkeys(
    ("origin", "at", "actor", "command", "kind", "record_id", "content_hash", "leaf"), "TEXT"
)
FRONTIER = {"origin": "TEXT", "local": "INTEGER", "size": "INTEGER", "peaks": "TEXT"}
# Texts are read as bytes: libsql cannot hand over text that is not UTF-8, and a changed byte may make it so.
READ_AS = {
    "TEXT": "CASE typeof({0}) WHEN 'text' THEN CAST({0} AS BLOB) WHEN 'null' THEN NULL ELSE 'wrong type' END",
    "INTEGER": "CASE typeof({0}) WHEN 'integer' THEN {0} WHEN 'null' THEN NULL ELSE 'wrong type' END",
    "REAL": "CASE typeof({0}) WHEN 'real' THEN {0} WHEN 'null' THEN NULL ELSE 'wrong type' END",
}

Finding = dict[str, Any]


class Wrong(str):
    """A stored value that is of another type or no text, as it can be shown. It fits no hash."""


class Verification:
    """`run` gives the findings in the order of the log; none means that everything is as it was written."""

    def __init__(self, connection: Connection, anchors: list[tuple[str, int, str]], is_copy: bool = False):
        self.connection = connection
        self.anchors = anchors
        self.is_copy = is_copy  # a backup is older than the newest anchor, and that is all right
        self.findings: list[Finding] = []
        self.places: list[float] = []  # of the findings, in the order of the log
        self.frontiers: dict[str, Frontier] = {}
        self.records = 0
        self.entries = 0
        self.purged: set[str] = set()
        self.tables = self._tables()

    def run(self) -> list[Finding]:
        self.connection.execute("BEGIN")  # one snapshot, whatever others write meanwhile
        try:
            if self.connection.value("PRAGMA application_id") != APPLICATION_ID:
                self._found("edit", "The file is not marked as a Kaizen database.")
            self._check_schema()
            self._check_length()
            stored = {row["origin"]: row for row in self._read("frontier", FRONTIER, "ORDER BY origin")}
            self._read_purged()
            last_seq = self._walk_log()
            self._check_sizes(stored)
            self._check_strays(last_seq)
            if not self.findings:
                self._check_frontiers(stored)
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
        for says in schema_problems(self.connection)[:1]:
            self._found("edit", says)

    def _check_length(self):
        """SQLite takes what is missing of the last page for zeros."""
        path = self.connection.tuples("PRAGMA database_list")[0][2]
        if path and os.path.getsize(path) % self.connection.value("PRAGMA page_size"):
            self._found("edit", "The file ends in the middle of a page.")

    # One pass over the log

    def _walk_log(self) -> int:
        seq = 0
        for page in self._pages():
            rows = {kind: self._rows(kind, page[0]["seq"], page[-1]["seq"]) for kind in self.tables}
            for entry in page:
                if not self._check_place(entry, seq + 1) or len(self.findings) >= FINDINGS_MAX:
                    return entry["seq"]
                seq = entry["seq"]
                leaf = self._check_leaf(entry)
                self._check_record(entry, rows.get(entry["kind"], {}).pop(seq, None))
                self.frontiers[entry["origin"]].append(leaf)
                self.entries += 1
            for kind, left in rows.items():
                for at, row in left.items():
                    self._found_stray(kind, at, row)
        return seq

    def _pages(self) -> Iterator[list[dict[str, Any]]]:
        first = SEQ_MIN
        while page := list(self._read("log", ENTRY, f"WHERE seq >= ? ORDER BY seq LIMIT {PAGE}", (first,))):
            yield page
            if page[-1]["seq"] == SEQ_MAX:
                return
            first = page[-1]["seq"] + 1

    def _check_place(self, entry, expected_seq):
        """The entry stands where the one before it says; False if the rest cannot be judged."""
        frontier = self.frontiers.setdefault(str(entry["origin"]), Frontier())
        if entry["seq"] == expected_seq and entry["idx"] == frontier.size:
            return True
        missing = frontier.size
        elsewhere = self.connection.value("SELECT count(*) FROM log WHERE idx = ?", (missing,))
        if _leaf(entry) != entry["leaf"]:
            self._check_leaf(entry)  # the entry was changed, not its place
        elif elsewhere and entry["seq"] == expected_seq:
            self._found("reordering", f"Log entry {entry['idx']} stands where entry {missing} belongs.", entry=entry)
        elif entry["seq"] < expected_seq or elsewhere:
            self._found("insertion", f"Log entry {entry['idx']} stands at a place of its own.", entry=entry)
        else:
            kind, record_id = self._record_at(expected_seq)
            says = f"Log entry {missing} is missing."
            self._found("deletion", says, kind, record_id, index=missing, seq=expected_seq)
        return False

    def _check_leaf(self, entry):
        """The leaf as it should be; whether the stored one is the same is noted."""
        leaf = _leaf(entry)
        if leaf != entry["leaf"]:
            problem = "edit" if self.findings else self._why_another_leaf(entry)
            self._found(problem, f"Log entry {entry['idx']} does not have its leaf hash.", entry=entry)
        return leaf or EMPTY_ROOT

    def _why_another_leaf(self, entry):
        """Was this entry, or its content, at another place when its leaf was made?"""
        own = _hashed(entry)
        for page in self._pages():
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
        if kind not in self.tables:
            return self._found("edit", f"Log entry {entry['idx']} names an unknown kind.", entry=entry)
        if row is None:
            if entry["test"] == 1 and record_id in self.purged:
                return None
            where = self.connection.value(f"SELECT seq FROM {kind} WHERE id = ?", (_plain(record_id),))
            problem, says = ("reordering", "stands elsewhere") if where is not None else ("deletion", "is missing")
            return self._found(problem, f"{kind} {record_id} {says}.", entry=entry)
        self.records += 1
        if row.get("id") != record_id and self.connection.value(
            f"SELECT 1 FROM {kind} WHERE id = ? AND seq <> ?", (_plain(record_id), entry["seq"])
        ):
            return self._found("reordering", f"{kind} {row.get('id')} stands where {record_id} belongs.", entry=entry)
        same = all(row.get(name) == entry[name] for name in ("at", "actor", "test"))
        if not same or _hash(text_hash, row) != entry["content_hash"]:
            return self._found("edit", f"{kind} {record_id} is not what was recorded.", entry=entry)
        if record_id in self.purged and entry["test"] == 1:
            return self._found("insertion", f"{kind} {record_id} was purged, and stands there again.", entry=entry)
        return None

    # What only the whole shows

    def _check_sizes(self, stored):
        if self.frontiers and not self.findings and set(self.frontiers) - set(stored):
            self._found("edit", "The frontier names another origin than the log.")
        if any(type(row["size"]) is not int or type(row["peaks"]) is not str for row in stored.values()):
            self._found("edit", "The frontier has values of another type.")
            return
        for origin, row in stored.items():
            size = self.frontiers.get(origin, Frontier()).size
            if size < row["size"] and not self.findings:
                self._found(
                    "truncation", f"The log ends after {size} of {row['size']} entries.", index=size,
                )  # fmt: skip
            elif size > row["size"] and not self.findings:
                self._found("insertion", f"The log has entries beyond its {row['size']}.", index=row["size"])

    def _check_strays(self, last_seq):
        """Records before the first or after the last entry of the log."""
        for kind in self.tables:
            for low, high in ((SEQ_MIN, 0), (min(last_seq, SEQ_MAX - 1) + 1, SEQ_MAX)):
                for at, row in self._rows(kind, low, high, 1).items():
                    if not self.findings:
                        self._found_stray(kind, at, row)

    def _found_stray(self, kind, at, row):
        self._found("insertion", f"{kind} {row.get('id')} has no log entry.", kind, row.get("id"), seq=at)

    def _check_frontiers(self, stored):
        for origin in sorted(set(self.frontiers) | set(stored)):
            frontier, row = self.frontiers.get(origin, Frontier()), stored.get(origin)
            if row is None or row["peaks"] != " ".join(frontier.peaks):
                self._found("edit", f"The stored frontier of {origin} does not fit its log.", index=frontier.size - 1)
            elif not frontier.size and row["local"] != 1:
                self._found("insertion", f"There is a frontier of {origin}, and no log.")
        if [row["local"] for row in stored.values()].count(1) != 1:
            self._found("edit", "The frontier of this database is not marked.", index=-1)

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
                return self._found("edit", "The anchor of the empty log is not that of an empty log.", index=0)
            growing, open_since, before = Frontier(), None, Frontier()
            for page in self._pages() if wanted else ():
                for entry in page:
                    if entry["origin"] != origin:
                        continue
                    if open_since is None:  # the first entry that no anchor has confirmed yet
                        open_since, before = entry, growing.copy()
                    growing.append(entry["leaf"])
                    if growing.size not in wanted:
                        continue
                    if wanted[growing.size] != {growing.root()}:
                        return self._anchor_broken(open_since, entry, before, wanted[growing.size], mine)
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
        for page in self._pages():
            for other in page:
                if other["idx"] > entry["idx"]:
                    trial = before.copy()
                    trial.append(_leaf({**other, "idx": entry["idx"]}))
                    if trial.root() in roots:
                        return True
        return False

    def _check_derived(self):
        """`x_state` is what `x_fold` computes from the records, row by row."""
        for says in derived_problems(self.connection)[:1]:
            self._found("edit", says)

    def _check_indexes(self):
        """What is read through an index is what the table has."""
        for says in page_problems(self.connection)[:1]:
            self._found("edit", f"SQLite finds the file damaged: {says}.")

    # Reading rows

    def _tables(self):
        tables = {}
        for kind in PREFIXES:
            columns = self.connection.tuples(f"SELECT name, type FROM pragma_table_info('{kind}')")
            if columns:
                tables[kind] = {name: sort for name, sort in columns if name != "seq"}
        return tables

    def _rows(self, kind, low, high, limit=PAGE * 2):
        """seq -> the record as its canonical JSON has it."""
        chosen = f"WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT {limit}"
        found = self._read(kind, {"seq": "INTEGER", **self.tables[kind]}, chosen, (low, high))
        return {row.pop("seq"): {name: value for name, value in row.items() if value is not None} for row in found}

    def _record_at(self, seq):
        """(kind, id) of the record at this place, if there is one."""
        for kind in self.tables:
            for row in self._rows(kind, seq, seq).values():
                return kind, row.get("id")
        return None, None

    def _read(self, table, columns, chosen, values=()) -> Iterator[dict[str, Any]]:
        """Rows with what cannot be right as `Wrong`."""
        wanted = ", ".join(READ_AS[sort].format(name) for name, sort in columns.items())
        for row in self.connection.tuples(f"SELECT {wanted} FROM {table} {chosen}", values):
            yield dict(zip(columns, map(_value, row), strict=True))

    def _read_purged(self):
        import json

        for (raw,) in self.connection.tuples("SELECT CAST(records AS BLOB) FROM purge"):
            try:
                self.purged.update(json.loads(raw))
            except (ValueError, TypeError, RecursionError):
                pass  # not what was recorded: the walk over the log says so

    def _found(self, problem, says, kind=None, record_id=None, entry=None, index=None, seq=None):
        if entry:
            kind, record_id, index, seq = entry["kind"], entry["record_id"], entry["idx"], entry["seq"]
        self.places.append(AFTER_THE_LOG if seq is None else seq)
        self.findings.append(
            {"problem": problem, "says": says, "kind": kind, "record_id": record_id, "log_index": index}
        )


def _hashed(entry):
    """The members of an entry that its leaf is made from."""
    return {name: value for name, value in entry.items() if name not in ("seq", "leaf")}


def _entries(count):
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _leaf(entry):
    return _hash(leaf_hash, _hashed(entry))


def _hash(make, members):
    """None if a value is one that nothing can have been recorded with."""
    return None if Wrong in map(type, members.values()) else make(canonical(members))


def _value(raw):
    """A value as READ_AS gives it: bytes are text, and text says that the type is wrong."""
    if type(raw) is bytes:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return Wrong(raw.decode("utf-8", "backslashreplace"))
    if type(raw) is str or (type(raw) is float and raw - raw != 0):
        return Wrong(raw)
    return raw


def _plain(record_id):
    return str(record_id).replace("\0", "")
