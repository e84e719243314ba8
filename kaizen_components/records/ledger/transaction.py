"""What a command gets from the engine: `db` to read records with, `tx` to write them with.

`Write.add` is the only way a record comes into being: one row in its table, one entry in the log, one
transaction. Reading inside a write sees what that write has done so far.
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

LAST_AMONG_MAX = 10  # lessons, or records of quality, are fewer kinds than all there are
ENTRY_OF = "SELECT origin, idx, at, actor, command, content_hash, leaf FROM log WHERE seq = ?"


class RecordReader:
    """`db`: a connection plus who asks and when."""

    def __init__(self, connection, actor, at_ms=None):
        self.connection = connection
        self.actor = actor
        self.at_ms = ids.now_ms() if at_ms is None else at_ms
        self.at = ids.format_time(self.at_ms)
        self.rows = connection.rows
        self.one = connection.one
        self.value = connection.value
        self.tuples = connection.tuples

    def find(self, kind, ref):
        """The record of this kind that `ref` names: a full id, a unique prefix of one, @last or @last~N."""
        table = KINDS[kind].view
        exact = self.one(f"SELECT * FROM {table} WHERE id = ?", (ref,))
        return exact or self.one(f"SELECT * FROM {table} WHERE id = ?", (self.resolve(kind, ref),))

    def resolve(self, kind, ref):
        noun = kind.replace("_", " ")
        back = ids.parse_steps_back(ref)
        if back is not None:
            newest = self._newest(kind, back + 1)
            if len(newest) <= back:
                raise self._no_last(ref, noun)
            return newest[back]["id"]
        found = self.rows(
            f"SELECT id FROM {kind} WHERE id >= ? AND id < ? ORDER BY id LIMIT 3",
            (ref, ref + "\U0010ffff"),
        )
        if len(found) == 1 or (found and found[0]["id"] == ref):
            return found[0]["id"]
        if not found:
            from .reference import unknown_id_error

            raise unknown_id_error(kind, ref)
        raise Usage(
            "ambiguous_id",
            f"{make_excerpt(ref)!r} fits more than one {noun}.",
            "It starts the ids "
            + ", ".join(row["id"] for row in found)
            + (" …" if len(found) > 2 else "."),
            "Give more characters of the id.",
        )

    def _newest(self, kind, count):
        return self.rows(
            f"SELECT seq, id FROM {kind} WHERE actor = ? ORDER BY seq DESC LIMIT {count}",
            (self.actor,),
        )

    def _no_last(self, ref, noun):
        return NotFound(
            "no_last_record",
            f"{ref} finds no {noun}.",
            f"The actor {self.actor!r} has recorded {'none' if ref == '@last' else 'fewer'} here.",
            "Name it by its id, or give the --actor who recorded it.",
        )

    def find_any(self, kinds, ref):
        """(kind, record) that `ref` names among several kinds; the word before the first _ of an id tells which."""
        word = ref.partition("_")[0]
        fitting = [kind for kind in kinds if KINDS[kind].prefix == word]
        back = ids.parse_steps_back(ref)
        if back is not None:
            if (
                len(kinds) > LAST_AMONG_MAX
            ):  # what is said of a record is not what the next proof or score is about
                kinds = [kind for kind in kinds if not KINDS[kind].remark]
            newest = [
                (row["seq"], kind, row["id"])
                for kind in kinds
                for row in self._newest(kind, back + 1)
            ]
            if len(newest) <= back:
                raise self._no_last(ref, "record that is meant here")
            _, kind, ref = sorted(newest, reverse=True)[back]
            fitting = [kind]
        if not fitting:
            raise NotFound(
                "unknown_id",
                f"There is no such record {make_excerpt(ref)!r}.",
                "An id here starts with "
                + ", ".join(sorted(KINDS[kind].prefix + "_" for kind in kinds))
                + ".",
                "Give the whole id, or enough of its beginning.",
            )
        return fitting[0], self.find(fitting[0], ref)

    def settle(self):
        """What is still to be written before a search; a read has nothing."""

    def hold(self):
        """Read one moment until `let_go`, whatever others write meanwhile."""
        self.connection.begin()

    def let_go(self):
        """Before slow work: give up the moment that is read; held for minutes, it would keep the WAL from shrinking."""
        self.connection.roll_back()

    def log_position(self, record):
        return self.one(ENTRY_OF, (record["seq"],))


class RecordWriter(RecordReader):
    """`tx`: a read that can also add records. The engine commits; a command never does."""

    def __init__(self, connection, actor, command, test, end):
        super().__init__(connection, actor)
        self.command = command
        self.test = test
        require_not_newer(end.schema)
        self.origin, self.before, self.schema = end.origin, end.frontier, end.schema
        self.frontier = end.frontier.copy()
        self._seq = end.seq
        self._number = ids.random_number()
        self._real = False  # has it added anything that is no test record?
        self._texts: dict[
            int, list
        ] = {}  # rowid -> what the search index has, and what it is to have

    def add(self, kind, values, of=()):
        """Record one row of `kind`. `of` are the records it refers to: what refers to a test record is one."""
        declared = KINDS[kind]
        test = int(self.test or (bool(of) and any(record["test"] for record in of)))
        self._number += 1
        row = {
            "id": ids.make_id(declared.prefix, self.at, self._number),
            "at": self.at,
            "actor": self.actor,
            "test": test,
            **values,
        }
        row = {name: value for name, value in row.items() if value is not None}
        self._real = self._real or not row["test"]
        self._seq += 1
        self.connection.insert(kind, {"seq": self._seq, **row})
        if declared.derive:
            self.connection.insert(*declared.derive(self._seq, row))
        if declared.number:
            self.index(kind, self._seq, row)
        content_hash = self._log(kind, row)
        return {"seq": self._seq, **row, "hash": content_hash, "log_index": self.frontier.size - 1}

    def next_id(self, kind):
        """The id that `add` gives to the next record, for one that names itself."""
        return ids.make_id(KINDS[kind].prefix, self.at, self._number + 1)

    def _log(self, kind, row):
        entry = {
            "origin": self.origin,
            "idx": self.frontier.size,
            "at": self.at,
            "actor": self.actor,
            "command": self.command,
            "kind": kind,
            "record_id": row["id"],
            "test": row["test"],
            "content_hash": hash_text(encode_canonical_row(row)),
        }
        leaf = hash_leaf(encode_canonical_row(entry))
        self.connection.insert("log", {"seq": self._seq, **entry, "leaf": leaf})
        self.frontier.append(leaf)
        return entry["content_hash"]

    def index(self, kind, seq, row, before=None):
        """Let search find a record by the texts of `row`, and no longer by those of `before`."""
        rowid = full_text.make_rowid(kind, seq)
        if rowid not in self._texts:
            self._texts[rowid] = [before and full_text.extract_texts(kind, before), None]
        self._texts[rowid][1] = row and full_text.extract_texts(kind, row)

    def settle(self):
        """In the order of rowids, which is much the cheapest."""
        for rowid in sorted(self._texts):
            old, new = self._texts[rowid]
            if old:
                full_text.delete_texts(self.connection, rowid, old)
            if new:
                full_text.insert_texts(self.connection, rowid, new)
        self._texts.clear()

    def hold(self):
        """A write has its transaction."""

    def let_go(self):
        """A write keeps its transaction."""

    def end(self):
        """Where the log ends once this is committed."""
        return LogEnd(self.origin, self.frontier, self.schema, self._seq)

    def wrote_tests_only(self):
        return self.changed() and not self._real

    def changed(self):
        return self.frontier.size > self.before.size

    def finish(self):
        """The last statements before COMMIT."""
        self.settle()
        if self.changed():
            self.connection.later(_save(self.origin, self.before, self.frontier))


def _save(origin, before, after):
    """The new frontier in place of the one that this write began with. If another stands there, NOT NULL refuses."""
    was, now = (format_literal(" ".join(one.peaks)) for one in (before, after))
    unmoved = f"origin = {format_literal(origin)} AND size = {before.size} AND peaks = {was}"
    return f"UPDATE frontier SET size = CASE WHEN {unmoved} THEN {after.size} END, peaks = {now} WHERE local = 1"


def make_receipt(kind, row, **more):
    """What a write answers: which record there is now, and where the log has it."""
    return {
        "id": row["id"],
        "kind": kind,
        **more,
        **(
            {"test": True} if row["test"] else {}
        ),  # made with --test, or refers to such a record: K7 removes it
        "at": row["at"],
        "hash": row["hash"],
        "log_index": row["log_index"],
    }
