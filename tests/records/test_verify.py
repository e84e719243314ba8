"""K8 finds every kind of tampering, says which it was, and names the first bad record."""

import os
import shutil
import sqlite3

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Integrity, Refused
from kaizen_components.records.ledger import anchor
from kaizen_components.records.ledger.canonical import encode_canonical
from kaizen_components.records.ledger.hashing import Frontier, hash_leaf, hash_text

ENTRY = ("origin", "idx", "at", "actor", "command", "kind", "record_id", "test", "content_hash")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A small database with records of work; test_verify_ledger.py tries each kind of tampering."""
    root = tmp_path_factory.mktemp("ledger")
    door = Door(str(root), keep_open=True)
    one = door(
        "W1", title="One", summary='Ünïcode and "quotes"', body="B\n\tody", done_when=["true"]
    )["id"]
    two = door("W1", title="Two", summary="s", depends_on=[one], op_id="op")["id"]
    door("W1", title="Trial", summary="s", test=True)
    door("W2", id=one, status="active", note="n")
    door("W3", task_id=one, title="Plan", summary="s")
    door("W4", id="@last", status="active")
    door("W5", task_id=two, title="Ask", summary="s", payload_json={"n": 1.5})
    door("W6", id="@last", summary="Answer")
    door("W13", id=two)
    door("K7")
    door("W1", title="Last", summary="s")
    door.close()
    return root


@pytest.fixture
def ledger(original, tmp_path):
    """A copy to tamper with: `sql` runs with the triggers gone, `verify` is K8."""
    return Tampered(original, tmp_path / "copy")


class Tampered:
    def __init__(self, original, root):
        shutil.copytree(original, root)
        self.root = root
        self.path = root / "AI" / "db" / "kaizen.db"
        self.anchors = root / "AI" / "db" / "manifests" / "checkpoints"

    def sql(self, *statements):
        plain = sqlite3.connect(self.path)
        changed = " ".join(str(one) for one in statements)
        triggers = plain.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND instr(?, tbl_name)",
            (changed,),
        ).fetchall()
        for name, _ in triggers:
            plain.execute(f"DROP TRIGGER {name}")
        found = None
        for statement in statements:
            found = (
                plain.execute(*statement)
                if isinstance(statement, tuple)
                else plain.execute(statement)
            )
            found = found.fetchall()
        for _, text in triggers:
            plain.execute(text)
        plain.commit()
        plain.close()
        return found

    def verify(self):
        door = Door(str(self.root))
        try:
            return door("K8")
        finally:
            door.close()

    def problem(self):
        with pytest.raises(Integrity) as caught:
            self.verify()
        return caught.value

    def rehash(self):
        """Recompute all hashes after tampering, as somebody who knows the format would."""
        frontier = Frontier()
        for row in self.sql("SELECT seq, " + ", ".join(ENTRY) + " FROM log ORDER BY seq"):
            entry = dict(zip(ENTRY, row[1:], strict=True))
            record = self.record(entry["kind"], row[0])
            if record:
                entry["content_hash"] = hash_text(encode_canonical(record))
            leaf = hash_leaf(encode_canonical(entry))
            self.sql(
                (
                    "UPDATE log SET content_hash = ?, leaf = ? WHERE seq = ?",
                    (entry["content_hash"], leaf, row[0]),
                )
            )
            frontier.append(leaf)
        self.sql(
            ("UPDATE frontier SET size = ?, peaks = ?", (frontier.size, " ".join(frontier.peaks)))
        )

    def record(self, kind, seq):
        plain = sqlite3.connect(self.path)
        plain.row_factory = sqlite3.Row
        row = plain.execute(f"SELECT * FROM {kind} WHERE seq = ?", (seq,)).fetchone()
        plain.close()
        columns = row.keys() if row else ()
        return {name: row[name] for name in columns if name != "seq" and row[name] is not None}


def test_unchanged_ledger_verifies_without_warning(ledger):
    report = ledger.verify()

    assert report["verified"] and report["entries"] == report["intact"] + report["purged"]
    assert report["purged"] == 1
    assert report["anchors"] > 5 and report["warning"] is None


def test_verify_names_edited_record(ledger):
    ledger.sql("UPDATE task SET title = 'Changed' WHERE seq = 1")
    found = ledger.problem()

    assert found.code == "ledger_edit" and found.exit_code == 7
    assert (
        ledger.sql("SELECT id FROM task WHERE seq = 1")[0][0] in found.why
        and "log index 0" in found.why
    )


def test_verify_names_first_of_several_edited_records(ledger):
    ledger.sql(
        "UPDATE packet SET title = 'x'",
        "UPDATE task SET title = 'x'",
        "UPDATE plan SET title = 'x'",
    )
    found = ledger.problem()

    assert "log index 0" in found.why and f"{len(found.findings)} findings" in found.why
    assert [f["log_index"] for f in found.findings] == sorted(
        f["log_index"] for f in found.findings
    )


def test_dropped_table_and_wrong_application_id_are_refused(ledger):
    for statement, error in (("DROP TABLE log", Integrity), ("PRAGMA application_id = 7", Refused)):
        plain = sqlite3.connect(ledger.path)
        plain.execute(statement)
        plain.commit()
        plain.close()
        with pytest.raises(error):
            ledger.verify()


def test_removed_record_with_recomputed_hashes_is_reported_as_edit(ledger):
    ledger.sql("DELETE FROM packet_result", "DELETE FROM log WHERE kind = 'packet_result'")
    gone = next(n for n in range(1, 99) if not ledger.sql(f"SELECT 1 FROM log WHERE seq = {n}"))
    for table in ("log", "lease", "purge", "task", "task_state"):
        rows = ledger.sql(f"SELECT seq FROM {table} WHERE seq > {gone} ORDER BY seq")
        for (seq,) in rows:
            more = ", idx = idx - 1" if table == "log" else ""
            ledger.sql(f"UPDATE {table} SET seq = {seq - 1}{more} WHERE seq = {seq}")
    ledger.rehash()
    found = ledger.problem()

    assert found.code == "ledger_edit" and f"log index {gone - 1}" in found.why


def test_anchors_reveal_rewritten_history(ledger):
    ledger.sql("UPDATE task SET title = 'Rewritten' WHERE seq = 1", "DELETE FROM task_state",
               "INSERT INTO task_state SELECT * FROM task_fold")  # fmt: skip
    ledger.rehash()
    found = ledger.problem()

    assert found.code == "ledger_edit" and "log index 0" in found.why and "anchor" in found.what


def test_later_writes_do_not_hide_rewritten_history(ledger):
    ledger.sql("UPDATE task SET title = 'Rewritten' WHERE seq = 1")
    ledger.rehash()
    door = Door(str(ledger.root))
    door("W1", title="Honest", summary="s")
    door.close()
    found = ledger.problem()

    assert any("run K8" in note for note in door.store.notes)
    assert found.code == "ledger_edit" and "log index 0" in found.why


def test_two_later_entries_do_not_hide_rollback(ledger, tmp_path):
    shutil.copy(ledger.path, tmp_path / "older.db")
    door = Door(str(ledger.root))
    door("W1", title="Lost", summary="s")
    door.close()
    shutil.copy(tmp_path / "older.db", ledger.path)
    door = Door(str(ledger.root))
    door("W1", title="Later", summary="s", op_id="two entries")
    door.close()

    assert ledger.problem().code == "ledger_rollback"


@pytest.mark.parametrize(
    "statement, name",
    [
        ("DROP TRIGGER task_no_update", "trigger task_no_update"),
        ("DROP INDEX task_actor", "index task_actor"),
        ("CREATE TRIGGER mine AFTER INSERT ON task BEGIN SELECT 1; END", "trigger mine"),
        (
            "CREATE TABLE mine (seq INTEGER PRIMARY KEY, id TEXT, at TEXT, actor TEXT, test INTEGER)",
            "table mine",
        ),
        ("DROP VIEW packet_current", "view packet_current"),
        ("CREATE UNIQUE INDEX mine ON lease (actor)", "index mine"),
        ("CREATE INDEX mine ON task_state (rev)", "index mine"),
        ("CREATE TABLE mine_state (seq INTEGER PRIMARY KEY)", "table mine_state"),
    ],
)
def test_verify_names_changed_schema_object(ledger, statement, name):
    plain = sqlite3.connect(ledger.path)
    plain.execute(statement)
    plain.commit()
    plain.close()

    assert name in ledger.problem().what
    with pytest.raises(Integrity, match="schema"):
        Door(str(ledger.root))("K1", integrity=True)


def test_verify_accepts_foreign_table_and_index(ledger):
    plain = sqlite3.connect(ledger.path)
    plain.execute("CREATE TABLE mine (x UNIQUE)")
    plain.execute("CREATE INDEX mine_x ON mine (x)")
    plain.close()

    assert ledger.verify()["verified"] and Door(str(ledger.root))("K1", integrity=True)


def test_verify_names_changed_view(ledger):
    plain = sqlite3.connect(ledger.path)
    (sql,) = plain.execute("SELECT sql FROM sqlite_master WHERE name = 'packet_current'").fetchone()
    plain.execute("DROP VIEW packet_current")
    plain.execute(sql.replace("'open'", "'completed'"))
    plain.commit()
    plain.close()

    assert "view packet_current" in ledger.problem().what


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM frontier",
        "UPDATE frontier SET local = 0",
        "UPDATE frontier SET peaks = 'zz'",
        "UPDATE frontier SET peaks = ''",
    ],
)
def test_damaged_hash_frontier_raises_integrity_in_every_command(ledger, statement):
    ledger.sql(statement)
    door = Door(str(ledger.root))
    for call in (("K8", {}), ("K1", {}), ("K6", {}), ("W1", {"title": "t", "summary": "s"})):
        with pytest.raises(Integrity):
            door(call[0], **call[1])

    assert door("K11")["healthy"] is False
    door.close()


def test_anchors_reveal_reordered_history(ledger):
    columns = "at, actor, command, kind, record_id, test, content_hash"
    one, two = ledger.sql(
        f"SELECT {columns} FROM log WHERE record_id GLOB 'task_*' AND test = 0 ORDER BY seq LIMIT 2"
    )
    first, second = (row[0] for row in ledger.sql("SELECT seq FROM task ORDER BY seq LIMIT 2"))
    for seq, row in ((first, two), (second, one)):
        ledger.sql(
            (f"UPDATE log SET ({columns}) = (?, ?, ?, ?, ?, ?, ?) WHERE seq = ?", (*row, seq))
        )
    ledger.sql(
        f"UPDATE task SET seq = 900 WHERE seq = {first}",
        f"UPDATE task SET seq = {first} WHERE seq = {second}",
        f"UPDATE task SET seq = {second} WHERE seq = 900",
        "DELETE FROM task_state",
        "INSERT INTO task_state SELECT * FROM task_fold",
    )
    ledger.rehash()

    assert ledger.problem().code == "ledger_reordering"


def test_restored_older_file_is_reported_as_rollback(ledger, tmp_path):
    older = tmp_path / "older.db"
    shutil.copy(ledger.path, older)
    door = Door(str(ledger.root))
    door("W1", title="Lost", summary="s")
    door.close()
    shutil.copy(older, ledger.path)
    found = ledger.problem()
    assert found.code == "ledger_rollback" and "older copy" in found.what

    door = Door(str(ledger.root))
    for _ in range(3):
        door("W1", title="Written since", summary="s")
    door.close()
    assert ledger.problem().code == "ledger_rollback", "writing on does not hide it"


def test_verification_without_anchors_returns_warning(ledger):
    os.unlink(ledger.anchors)

    assert "cannot be seen" in ledger.verify()["warning"]


def test_unreadable_anchors_are_counted(ledger):
    with open(ledger.anchors, "ab") as file:
        file.write(b"cut off")
    assert ledger.verify()["damaged_anchors"] == 1


def test_ledger_without_its_last_anchor_verifies(ledger):
    anchors, _ = anchor.read_anchors(str(ledger.anchors))
    origin, *_ = anchors[-2]
    text = ledger.anchors.read_bytes()
    ledger.anchors.write_bytes(text[: text.rindex(origin.encode())])

    assert ledger.verify()["verified"]


def every_value(ledger):
    tables = [
        "log",
        "op",
        "purge",
        "task",
        "task_revision",
        "task_link",
        "lease",
        "plan",
        "plan_revision",
        "packet",
    ]
    for table in [*tables, "packet_result"]:
        for column in [row[1] for row in ledger.sql(f"PRAGMA table_info({table})")]:
            for seq, kind, value in ledger.sql(
                f"SELECT seq, typeof({column}), CAST({column} AS BLOB) FROM {table} WHERE {column} IS NOT NULL"
            ):
                yield table, column, seq, kind, value


def test_verify_finds_one_changed_byte_per_value(ledger):
    """One byte a value here; bench.py and the stand-alone verifier's tests flip every byte."""
    tried = 0
    pristine = ledger.path.read_bytes()
    for table, column, seq, kind, value in list(every_value(ledger)):
        if kind == "text":
            changed = bytes([value[0] ^ 1]) + value[1:]
            statement = (
                f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE seq = ?",
                (changed, seq),
            )
        else:
            statement = (f"UPDATE {table} SET {column} = {column} + 1000 WHERE seq = ?", (seq,))
        ledger.sql("PRAGMA ignore_check_constraints = ON", statement)
        assert ledger.problem().exit_code == 7, (table, column, seq)
        ledger.path.write_bytes(pristine)
        tried += 1

    assert tried > 200


@pytest.mark.parametrize(
    "column, value", [("test", b"\0"), ("idx", b"\2"), ("leaf", b"x" * 64), ("kind", b"task")]
)
def test_log_value_of_another_type_is_found(ledger, column, value):
    plain = sqlite3.connect(ledger.path)
    plain.execute("DROP TRIGGER log_no_update")
    plain.execute("PRAGMA writable_schema = ON")
    plain.execute("UPDATE sqlite_master SET sql = replace(sql, ') STRICT', ')') WHERE name = 'log'")
    plain.commit()
    plain.close()
    ledger.sql(
        "PRAGMA ignore_check_constraints = ON",
        (f"UPDATE log SET {column} = ? WHERE seq = 3", (value,)),
    )

    assert ledger.problem().exit_code == 7


def test_text_changed_to_blob_is_found(ledger):
    raw = bytearray(ledger.path.read_bytes())
    title = raw.index(b"One\xc3\x9cn\xc3\xaf")  # title and summary lie side by side in the row
    header = raw.rindex(
        bytes([2 * 3 + 13]), title - 200, title
    )  # serial type of a text of three bytes
    raw[header] ^= 1
    ledger.path.write_bytes(raw)

    assert ledger.problem().exit_code == 7


def test_file_without_its_last_bytes_raises_integrity(ledger):
    ledger.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    os.truncate(ledger.path, os.path.getsize(ledger.path) - 100)

    with pytest.raises(Integrity):
        ledger.verify()
