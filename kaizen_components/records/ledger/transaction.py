"""The objects that the engine passes to a command: `db` reads records, `tx` also writes them.

`RecordWriter.add` is the only way to make a record. It adds one row to the table of the kind and
one entry to the log, in one transaction. Reading through `tx` sees what it has added so far.
"""

from ...errors import NotFound, Usage
from ...store.connection import format_literal
from ...store.database import require_not_newer
from .. import ids
from ..kinds import KINDS
from ..search import full_text
from ..secrets.excerpt import make_excerpt
from .canonical import encode_canonical_row
from .hashing import LogEnd, hash_leaf, hash_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ...parameters import Row
    from ...store.connection import Connection

LAST_AMONG_MAX = 10  # a longer list of kinds means "any record", and @last then skips remarks
ENTRY_OF = "SELECT origin, idx, at, actor, command, content_hash, leaf FROM log WHERE seq = ?"


class RecordReader:
    """The `db` of a command: a connection, the actor and the time of the call."""

    def __init__(self, connection: "Connection", actor: str, at_ms: "int | None" = None) -> None:
        self.connection = connection
        self.actor = actor
        self.at_ms = ids.now_ms() if at_ms is None else at_ms
        self.at = ids.format_time(self.at_ms)
        self.rows = connection.rows
        self.one = connection.one
        self.value = connection.value
        self.tuples = connection.tuples

    def find(self, kind: str, ref: str) -> "Row":
        """Return the record for `ref`: an id, a unique prefix of an id, @last or @last~N."""
        table = KINDS[kind].view
        exact = self.one(f"SELECT * FROM {table} WHERE id = ?", (ref,))
        if exact:
            return exact
        row = self.one(f"SELECT * FROM {table} WHERE id = ?", (self.resolve(kind, ref),))
        assert row
        return row

    def resolve(self, kind: str, ref: str) -> str:
        """Return the id of the record that `ref` names."""
        noun = kind.replace("_", " ")
        back = ids.parse_steps_back(ref)
        if back is not None:
            newest = self._list_newest(kind, back + 1)
            if len(newest) <= back:
                raise self._no_last_error(ref, noun)
            return newest[back][1]
        sql = f"SELECT id FROM {kind} WHERE id >= ? AND id < ? ORDER BY id LIMIT 3"
        matches = [row_id for (row_id,) in self.tuples(sql, (ref, ref + "\U0010ffff"))]
        if len(matches) == 1 or (matches and matches[0] == ref):
            return matches[0]
        if not matches:
            from .reference import unknown_id_error

            raise unknown_id_error(kind, ref)
        raise Usage(
            "ambiguous_id",
            f"{make_excerpt(ref)!r} fits more than one {noun}.",
            f"These ids begin with it: {', '.join(matches)}" + (" …" if len(matches) > 2 else "."),
            "Give more characters of the id.",
        )

    def _list_newest(self, kind: str, count: int) -> "list[tuple[int, str]]":
        """Return (seq, id) of the newest records of this actor."""
        sql = f"SELECT seq, id FROM {kind} WHERE actor = ? ORDER BY seq DESC LIMIT {count}"
        return self.tuples(sql, (self.actor,))

    def _no_last_error(self, ref: str, noun: str) -> NotFound:
        return NotFound(
            "no_last_record",
            f"{ref} finds no {noun}.",
            f"The actor {self.actor!r} has recorded {'none' if ref == '@last' else 'fewer'} here.",
            "Name it by its id, or give the --actor who recorded it.",
        )

    def find_any(self, kinds: "Iterable[str]", ref: str) -> "tuple[str, Row]":
        """Return the kind and the record for `ref`; the first part of an id tells the kind."""
        kinds, word = list(kinds), ref.partition("_")[0]
        matching = [kind for kind in kinds if KINDS[kind].prefix == word]
        back = ids.parse_steps_back(ref)
        if back is not None:
            if (
                len(kinds) > LAST_AMONG_MAX
            ):  # @last should find what a proof or score is about, not another proof or score
                kinds = [kind for kind in kinds if not KINDS[kind].remark]
            newest = [
                (seq, kind, row_id)
                for kind in kinds
                for seq, row_id in self._list_newest(kind, back + 1)
            ]
            if len(newest) <= back:
                raise self._no_last_error(ref, "record of the kinds that fit here")
            _, kind, ref = sorted(newest, reverse=True)[back]
            matching = [kind]
        if not matching:
            prefixes = ", ".join(sorted(KINDS[kind].prefix + "_" for kind in kinds))
            raise NotFound(
                "unknown_id",
                f"There is no record {make_excerpt(ref)!r}.",
                f"Ids that fit here start with {prefixes}.",
                "Give the full id, or a longer prefix of it.",
            )
        return matching[0], self.find(matching[0], ref)

    def settle(self) -> None:
        """Do nothing: a read has no texts for the search index."""

    def hold_snapshot(self) -> None:
        """Read from one snapshot until `release_snapshot`."""
        self.connection.begin()

    def release_snapshot(self) -> None:
        """End the snapshot before slow work: a long snapshot keeps the WAL from shrinking."""
        self.connection.roll_back()

    def log_position(self, record: "Row") -> "Row":
        position = self.one(ENTRY_OF, (record["seq"],))
        assert position
        return position


class RecordWriter(RecordReader):
    """The `tx` of a command: a reader that also adds records. Only the engine commits."""

    def __init__(
        self, connection: "Connection", actor: str, command: str, test: bool, end: LogEnd
    ) -> None:
        super().__init__(connection, actor)
        self.command = command
        self.test = test
        require_not_newer(end.schema)
        self.origin, self.before, self.schema = end.origin, end.frontier, end.schema
        self.frontier = end.frontier.copy()
        self._seq = end.seq
        self._number = ids.random_number()
        self._has_real = False  # has it added a record that is not a test record?
        self._texts: dict[int, list[Any]] = {}  # rowid -> [texts in the search index, new texts]

    def add(self, kind: str, values: "Row", of: "Iterable[Row]" = ()) -> "Row":
        """Add a record that refers to the records `of`. If `of` has a test record, add one too."""
        declared = KINDS[kind]
        test = int(self.test or any(record["test"] for record in of))
        self._number += 1
        row = {
            "id": ids.make_id(declared.prefix, self.at, self._number),
            "at": self.at,
            "actor": self.actor,
            "test": test,
            **values,
        }
        row = {name: value for name, value in row.items() if value is not None}
        self._has_real = self._has_real or not row["test"]
        self._seq += 1
        self.connection.insert(kind, {"seq": self._seq, **row})
        if declared.derive:
            self.connection.insert(*declared.derive(self._seq, row))
        if declared.number:
            self.index(kind, self._seq, row)
        content_hash = hash_text(encode_canonical_row(row))
        entry = {
            "origin": self.origin,
            "idx": self.frontier.size,
            "at": self.at,
            "actor": self.actor,
            "command": self.command,
            "kind": kind,
            "record_id": row["id"],
            "test": row["test"],
            "content_hash": content_hash,
        }
        leaf = hash_leaf(encode_canonical_row(entry))
        self.connection.insert("log", {"seq": self._seq, **entry, "leaf": leaf})
        self.frontier.append(leaf)
        return {"seq": self._seq, **row, "hash": content_hash, "log_index": self.frontier.size - 1}

    def next_id(self, kind: str) -> str:
        """Return the id that `add` gives next, for a record that repeats its id in a column."""
        return ids.make_id(KINDS[kind].prefix, self.at, self._number + 1)

    def index(self, kind: str, seq: int, row: "Row | None", before: "Row | None" = None) -> None:
        """Put the texts of `row` into the search index and remove those of `before`."""
        rowid = full_text.make_rowid(kind, seq)
        if rowid not in self._texts:
            self._texts[rowid] = [before and full_text.extract_texts(kind, before), None]
        self._texts[rowid][1] = row and full_text.extract_texts(kind, row)

    def settle(self) -> None:
        """Write the waiting texts to the search index."""
        # FTS5 is by far the fastest in the order of rowids.
        for rowid in sorted(self._texts):
            old, new = self._texts[rowid]
            if old:
                full_text.delete_texts(self.connection, rowid, old)
            if new:
                full_text.insert_texts(self.connection, rowid, new)
        self._texts.clear()

    def hold_snapshot(self) -> None:
        """Do nothing: a write already reads inside its transaction."""

    def release_snapshot(self) -> None:
        """Do nothing: a write keeps its transaction."""

    def end(self) -> LogEnd:
        """Return the end that the log will have after the commit."""
        return LogEnd(self.origin, self.frontier, self.schema, self._seq)

    def wrote_tests_only(self) -> bool:
        return self.has_changes() and not self._has_real

    def has_changes(self) -> bool:
        return self.frontier.size > self.before.size

    def finish(self) -> None:
        """Prepare the last statements before COMMIT."""
        self.settle()
        if not self.has_changes():
            return
        # If another program has moved the stored frontier since this write began, the CASE gives
        # NULL, and the NOT NULL constraint makes the update fail.
        before, after = self.before, self.frontier
        peaks, new_peaks = (format_literal(" ".join(end.peaks)) for end in (before, after))
        origin = format_literal(self.origin)
        is_unmoved = f"origin = {origin} AND size = {before.size} AND peaks = {peaks}"
        self.connection.queue(
            f"UPDATE frontier SET size = CASE WHEN {is_unmoved} THEN {after.size} END, "
            f"peaks = {new_peaks} WHERE local = 1"
        )


def make_receipt(kind: str, row: "Row", **more: object) -> "Row":
    """Return the answer to a write: the record's id, its facts and its place in the log."""
    return {
        "id": row["id"],
        "kind": kind,
        **more,
        **({"test": True} if row["test"] else {}),  # K7 removes it
        "at": row["at"],
        "hash": row["hash"],
        "log_index": row["log_index"],
    }
