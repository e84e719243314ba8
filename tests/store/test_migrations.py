"""Files of every schema that there ever was: migrated, and verified as they were."""

import os
import sqlite3

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Integrity
from kaizen_components.records.ledger.canonical import encode_canonical
from kaizen_components.records.ledger.hashing import Frontier, hash_leaf, hash_text
from kaizen_components.store import connection, database, migrate

RECORD = {
    "id": "op_20261116T031555123Z_0f1e2d3c4b", "at": "2026-11-16T03:15:55.123Z", "actor": "agent", "test": 0,
    "op_id": "once", "payload_hash": "0" * 64, "result": "{}",
}  # fmt: skip


def db_path(root):
    return root / "AI" / "db" / "kaizen.db"


def insert(plain, table, row):
    plain.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
        [*row.values()],
    )


def make(root, version):
    """The file as an engine of this schema left it, with one record."""
    db_path(root).parent.mkdir(parents=True)
    plain = sqlite3.connect(db_path(root), isolation_level=None)
    for number, name in migrate.list_migrations()[:version]:
        text = migrate.read_migration(name)
        for statement in migrate.split_statements(text):
            plain.execute(statement)
        plain.execute(
            "INSERT INTO migration VALUES (?, ?, ?, '2026', '0')",
            (number, name, migrate.hash_migration(text)),
        )
    plain.execute(f"PRAGMA application_id = {connection.APPLICATION_ID}")
    plain.execute(f"PRAGMA user_version = {version}")
    (origin,) = plain.execute("SELECT origin FROM frontier").fetchone()
    shared = {name: RECORD[name] for name in ("at", "actor", "test")}
    entry = {
        **shared,
        "origin": origin,
        "idx": 0,
        "command": "W1",
        "kind": "op",
        "record_id": RECORD["id"],
    }
    entry["content_hash"] = hash_text(encode_canonical(RECORD))
    frontier = Frontier()
    frontier.append(hash_leaf(encode_canonical(entry)))
    insert(plain, "op", {"seq": 1, **RECORD})
    insert(plain, "log", {"seq": 1, **entry, "leaf": frontier.root()})
    plain.execute("UPDATE frontier SET size = 1, peaks = ?", (frontier.root(),))
    plain.close()


@pytest.mark.parametrize("version", range(1, database.SCHEMA_VERSION))
def test_backup_of_older_schema_verifies_without_migration(root, version):
    make(root, version)
    door = Door(str(root))
    door("K1")
    (name,) = os.listdir(root / "AI" / "db" / "backups")

    assert door("K8", file=str(root / "AI" / "db" / "backups" / name))["intact"] == 1
    assert (
        door("K8")["intact"] == 1
        and door("K1", integrity=True)["schema"] == database.SCHEMA_VERSION
    )


@pytest.mark.parametrize(
    "change", [-1, -2, 5 - database.SCHEMA_VERSION, -3 - database.SCHEMA_VERSION]
)
def test_lowered_schema_version_raises_integrity(root, change):
    make(root, database.SCHEMA_VERSION)
    lower(root, change)
    before = db_path(root).read_bytes()
    says = (
        f"The schema version is {database.SCHEMA_VERSION + change}, but the table migration lists"
    )
    door = Door(str(root))
    for call in (("K1", {}), ("W1", {"title": "t", "summary": "s"})):
        with pytest.raises(Integrity) as caught:
            door(call[0], **call[1])
        assert caught.value.code == "migration_failed" and says in caught.value.why
    with pytest.raises(Integrity) as caught:
        door("K8", file=str(db_path(root)))

    assert caught.value.code == "ledger_edit" and says in caught.value.what
    for code in ("K8", "W9", "K3"):
        with pytest.raises(Integrity) as caught:
            door(code)
        assert caught.value.code == "schema_version_changed" and says in caught.value.why
    (database_check,) = [row for row in door("K11")["checks"] if row["check"] == "database"]
    assert database_check["state"] == "fail" and says in database_check["says"]
    assert not os.path.exists(root / "AI" / "db" / "backups") or not os.listdir(
        root / "AI" / "db" / "backups"
    )
    assert db_path(root).read_bytes()[100:] == before[100:]


def lower(root, change):
    plain = sqlite3.connect(db_path(root))
    plain.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION + change}")
    plain.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM migration WHERE version > 10",
        "DROP TABLE migration",
    ],
)
def test_migration_of_file_without_its_migration_list_raises_integrity(root, statement):
    make(root, database.SCHEMA_VERSION)
    lower(root, 10 - database.SCHEMA_VERSION)
    plain = sqlite3.connect(db_path(root))
    plain.execute(statement)
    plain.commit()
    plain.close()

    with pytest.raises(Integrity):
        Door(str(root))("K1")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO frontier SELECT * FROM frontier;",
        "INSERT INTO nowhere VALUES (1);",
        "CREATE TABLE log (x);",
        "INSERT INTO plan SELECT 9, 'plan_x', at, actor, test, 'task_none', 't', 's', NULL, 'draft' FROM op;",
    ],
)
def test_failing_migration_statement_raises_integrity(root, monkeypatch, tmp_path, sql):
    make(root, 4)
    monkeypatch.setattr(migrate, "FOLDER", str(tmp_path))
    (tmp_path / "0005_refused.sql").write_text(f"-- Refused.\n{sql}\n")

    with pytest.raises(Integrity, match="cannot be migrated to schema 5") as caught:
        Door(str(root))("K1")
    assert caught.value.code == "migration_failed"
    assert not os.listdir(root / "AI" / "db" / "backups")
