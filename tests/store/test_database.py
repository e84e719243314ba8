"""The store: created only when it must be, gated, migrated forward, refused backward, readable by anybody."""

import fcntl
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Busy, Conflict, NotFound, Refused, Unavailable
from kaizen_components.store import database, migrate
from kaizen_components.store.connection import Connection
from kaizen_components.store.gate import Gate, is_held

from ..conftest import LAUNCHER

TASK = ("--title", "t", "--summary", "s")
NEXT = database.SCHEMA_VERSION + 1


def db_path(root):
    return root / "AI" / "db" / "kaizen.db"


@pytest.mark.parametrize(
    "argv",
    [
        ("K2",), ("K3",), ("K6",), ("K7",), ("K8",), ("W9",), ("W10", "--id", "@last"), ("W12",), ("W15",), ("R0",),
        ("W14", "--id", "x"), ("W2", "--id", "@last", "--status", "done"), ("W13", "--id", "x"),
        ("W3", "--task-id", "x", "--title", "t", "--summary", "s"),
    ],
)  # fmt: skip
def test_missing_database_exits_3_and_creates_nothing(cli, root, argv):
    answer = cli(*argv, "--json")

    assert answer.exit_code == 3
    assert answer.error["code"] == "no_database" and "K1" in answer.error["next"]
    assert os.listdir(root) == []


@pytest.mark.parametrize(
    "argv",
    [("K0", "anything"), ("K11",), ("--help",), ("help", "W1"), ("W",), ("W1", "--title", "x")],
)
def test_help_and_invalid_commands_create_no_database(cli, root, argv):
    assert cli(*argv).exit_code in (0, 2)
    assert os.listdir(root) == []


def test_first_write_creates_and_announces_database(cli, root):
    first, second = (cli("W1", "--title", "t", "--summary", "s") for _ in range(2))

    assert "note: Created the database AI/db/kaizen.db." in first.err
    assert second.err == ""
    assert sorted(os.listdir(root / "AI" / "db")) == [
        "backups",
        "exports",
        "kaizen.db",
        "kaizen.db.lock",
        "manifests",
    ]


def test_plain_sqlite_sees_wal_mode_and_append_only_triggers(kaizen, root):
    kaizen("W1", title="t", summary="s")
    kaizen.close()
    plain = sqlite3.connect(db_path(root))

    assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert plain.execute("PRAGMA application_id").fetchone() == (0x4B41495A,)
    assert plain.execute("SELECT title FROM task_current").fetchall() == [("t",)]
    for sql in (
        "UPDATE task SET title = 'x'",
        "DELETE FROM task",
        "UPDATE log SET actor = 'x'",
        "DELETE FROM log",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            plain.execute(sql)


def test_new_database_and_its_backup_have_small_pages(kaizen, root):
    kaizen("W1", title="t", summary="s")
    backup = root / kaizen("K3")["backup"]
    kaizen.close()

    for path in (db_path(root), backup):
        assert sqlite3.connect(path).execute("PRAGMA page_size").fetchone() == (
            database.PAGE_BYTES,
        )


def test_existing_database_keeps_its_page_size(kaizen, root):
    kaizen("W1", title="t", summary="s")
    kaizen.close()
    plain = sqlite3.connect(db_path(root), isolation_level=None)
    for sql in ("PRAGMA journal_mode = DELETE", "PRAGMA page_size = 4096", "VACUUM"):
        plain.execute(sql).fetchall()
    plain.close()

    kaizen("W1", title="u", summary="s")
    assert kaizen.store.reader().value("PRAGMA page_size") == 4096
    assert kaizen("K8")["status"] == "OK"


def test_writer_uses_wal_full_sync_and_foreign_keys(door):
    door("K1")
    with door.store.begin_write_transaction() as connection:
        assert connection.value("PRAGMA synchronous") == 2
        assert connection.value("PRAGMA foreign_keys") == 1
        assert connection.value("PRAGMA journal_mode") == "wal"
        assert connection.value("PRAGMA mmap_size") == 0


# Migrations


def test_schema_version_equals_number_of_newest_migration():
    numbers = [number for number, _ in migrate.list_migrations()]

    assert numbers == list(range(1, database.SCHEMA_VERSION + 1))


@pytest.fixture
def next_version(monkeypatch, tmp_path):
    """An engine with one more migration than this one."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.FOLDER, folder)
    (folder / f"{NEXT:04d}_more.sql").write_text(
        "-- One more.\nALTER TABLE task ADD COLUMN colour TEXT;\n"
    )

    def use(text=None):
        if text:
            (folder / f"{NEXT:04d}_more.sql").write_text(text)
        monkeypatch.setattr(migrate, "FOLDER", str(folder))
        monkeypatch.setattr(database, "SCHEMA_VERSION", NEXT)

    return use


def test_first_write_backs_up_and_migrates_old_database(root, next_version):
    old = Door(str(root))
    before = old("W1", title="t", summary="s")
    next_version()
    new = Door(str(root))
    new("W1", title="u", summary="s")

    backups = os.listdir(root / "AI" / "db" / "backups")
    assert len(backups) == 1 and backups[0].startswith(f"before-migration-{NEXT - 1}-")
    kept = sqlite3.connect(root / "AI" / "db" / "backups" / backups[0])
    assert kept.execute("PRAGMA user_version").fetchone() == (NEXT - 1,)
    assert kept.execute("SELECT id FROM task").fetchall() == [(before["id"],)]
    assert any("Backed up" in note for note in new.store.notes)
    assert new("K8")["verified"], "a new nullable column changes no old hash"
    assert new("K2")["schema"] == NEXT


def test_read_of_old_database_is_refused_until_k1_migrates(root, next_version):
    Door(str(root))("W1", title="t", summary="s")
    next_version()
    new = Door(str(root))

    with pytest.raises(Refused, match="needs"):
        new("W9")
    assert new("K2")["state"] == "older"
    new("K1")
    assert len(new("W9")["records"]) == 1


def test_failed_migration_changes_nothing(root, next_version):
    Door(str(root))("W1", title="t", summary="s")
    before = db_path(root).read_bytes()
    next_version("-- Broken.\nCREATE TABLE fine (x TEXT);\nINSERT INTO nowhere VALUES (1);\n")

    with pytest.raises(Exception, match="lacks a part"):
        Door(str(root))("W1", title="u", summary="s")
    plain = sqlite3.connect(db_path(root))
    assert plain.execute("PRAGMA user_version").fetchone() == (NEXT - 1,)
    assert plain.execute("SELECT count(*) FROM sqlite_master WHERE name = 'fine'").fetchone() == (
        0,
    )
    assert len(before) == db_path(root).stat().st_size
    assert not os.listdir(root / "AI" / "db" / "backups")


def test_failed_second_migration_keeps_and_names_backup(root, next_version, monkeypatch):
    Door(str(root))("W1", title="t", summary="s")
    next_version()
    (pathlib.Path(migrate.FOLDER) / f"{NEXT + 1:04d}_broken.sql").write_text(
        "INSERT INTO nowhere VALUES (1);\n"
    )
    monkeypatch.setattr(database, "SCHEMA_VERSION", NEXT + 1)
    new = Door(str(root))

    with pytest.raises(Exception, match="lacks a part"):
        new("W1", title="u", summary="s")
    (backup,) = os.listdir(root / "AI" / "db" / "backups")
    assert f"AI/db/backups/{backup}" in new.store.notes[0]
    assert "Migrated" in new.store.notes[1]
    assert new("K2")["schema"] == NEXT


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), Unavailable("disk_error", "The disk failed.", "", "")]
)
def test_backup_remains_if_commit_of_migration_is_uncertain(root, next_version, monkeypatch, error):
    Door(str(root))("W1", title="t", summary="s")
    next_version()
    apply = migrate._apply

    def applied_and_interrupted(*args):
        apply(*args)
        raise error

    monkeypatch.setattr(migrate, "_apply", applied_and_interrupted)
    with pytest.raises(type(error)):
        Door(str(root))("W1", title="u", summary="s")

    assert len(os.listdir(root / "AI" / "db" / "backups")) == 1


def test_older_engine_leaves_newer_database_unchanged(cli, root):
    cli("W1", "--title", "t", "--summary", "s")
    plain = sqlite3.connect(db_path(root))
    plain.execute("PRAGMA user_version = 99")
    plain.commit()
    plain.close()
    before = db_path(root).read_bytes()
    for argv in (
        ("W1", "--title", "u", "--summary", "s"),
        ("W9",),
        ("K1",),
        ("K8",),
        ("K3",),
        ("K6",),
    ):
        answer = cli(*argv, "--json")
        assert (answer.exit_code, answer.error["code"]) == (1, "database_is_newer")

    run = cli("Q1", "--title", "t", "--run", "--", sys.executable, "-c", "open('ran', 'w')")
    assert run.exit_code == 1 and not (root / "ran").exists()
    assert cli("K2", "--json").json["state"] == "newer"
    assert "newer" in cli("K11").out
    assert db_path(root).read_bytes() == before


def test_foreign_database_is_refused_and_unchanged(cli, root):
    db_path(root).parent.mkdir(parents=True)
    plain = sqlite3.connect(db_path(root))
    plain.execute("CREATE TABLE theirs (x)")
    plain.commit()
    plain.close()
    before = db_path(root).read_bytes()
    for argv in (("W1", "--title", "u", "--summary", "s"), ("W9",), ("K1",), ("K8",)):
        answer = cli(*argv, "--json")
        assert (answer.exit_code, answer.error["code"]) == (1, "not_kaizen")

    assert db_path(root).read_bytes() == before


def test_first_write_turns_empty_file_into_database(cli, root):
    db_path(root).parent.mkdir(parents=True)
    db_path(root).touch()

    assert cli("W1", "--title", "u", "--summary", "s").exit_code == 0
    assert cli("K8").exit_code == 0


@pytest.mark.parametrize(
    "argv", [("K5",), ("W1", "--title", "t", "--summary", "s", "--parent", "nope")]
)
def test_failed_first_write_leaves_no_files(cli, root, argv):
    answer = cli(*argv, "--json", stdin=b"garbage")

    assert answer.exit_code in (2, 3) and "notes" not in answer.error
    assert list(root.iterdir()) == []
    assert cli("W9", "--json").error["code"] == "no_database"
    assert cli("W1", "--title", "t", "--summary", "s").exit_code == 0
    assert cli("K8").exit_code == 0


@pytest.mark.parametrize(
    "argv",
    [
        ("W1", "--title", "t", "--summary", "s", "--parent", "no"),
        ("W9",),
        ("K2",),
        ("K6",),
        ("K7",),
        ("K8",),
    ],
)
def test_empty_file_exits_3_and_stays_empty(cli, root, argv):
    db_path(root).parent.mkdir(parents=True)
    db_path(root).touch()

    assert cli(*argv).exit_code == 3
    assert [path.name for path in db_path(root).parent.iterdir()] == ["kaizen.db"] and not db_path(
        root
    ).stat().st_size
    assert cli("K1", "--json").json["created"] is True


def test_failed_first_write_keeps_link_and_removes_target(cli, root):
    db_path(root).parent.mkdir(parents=True)
    (root / "shared").mkdir()
    db_path(root).symlink_to(root / "shared" / "k.db")

    assert cli("W1", "--title", "t", "--summary", "s", "--parent", "no").exit_code == 3
    assert db_path(root).is_symlink() and list((root / "shared").iterdir()) == []
    assert cli("W1", "--title", "t", "--summary", "s").exit_code == 0
    assert db_path(root).is_symlink() and cli("K8").exit_code == 0


def test_interrupt_after_first_commit_keeps_record(root, monkeypatch):
    door = Door(str(root), keep_open=True)
    commit = Connection.commit

    def strike(self):
        if isinstance(self, Connection):
            commit(self)
        raise KeyboardInterrupt

    for owner, name in ((Connection, "commit"), (database.Store, "open_writer")):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(owner, name, strike)
            door("W1", title=name, summary="s")
    door.close()

    assert [row["title"] for row in Door(str(root))("W9")["records"]] == ["commit"]


def test_deleted_database_is_reported_as_missing(cli, root):
    cli("W1", "--title", "t", "--summary", "s")
    db_path(root).unlink()
    read, made = cli("W9"), cli("K1")

    assert read.exit_code == 3 and "The database is missing." in read.err and "backup" in read.err
    assert made.exit_code == 0 and "another database, which is gone" in made.err
    assert cli("K8").exit_code == 7


def test_read_with_missing_root_folder_exits_3(cli, tmp_path):
    answer = cli("W9", "--json", env={"KAIZEN_REPO_ROOT": str(tmp_path / "typo")})

    assert (answer.exit_code, answer.error["code"]) == (3, "no_root")


def test_wrong_schema_version_fails_migration_without_backup(cli, root):
    cli("W1", "--title", "t", "--summary", "s")
    plain = sqlite3.connect(db_path(root))
    plain.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION - 1}")
    plain.close()
    answer = cli("K1", "--json")

    assert (answer.exit_code, answer.error["code"]) == (7, "migration_failed")
    assert not os.listdir(root / "AI" / "db" / "backups"), (
        "nothing was migrated, so no backup of it stays"
    )


@pytest.mark.parametrize(
    "argv", [("W9",), ("K8",), ("K2",), ("W1", "--title", "t", "--summary", "s")]
)
def test_schema_version_0_with_tables_raises_integrity(cli, root, argv):
    cli("W1", "--title", "t", "--summary", "s")
    plain = sqlite3.connect(db_path(root))
    plain.execute("PRAGMA user_version = 0")
    plain.close()
    answer = cli(*argv, "--json")

    assert answer.exit_code == 7 and "AI/db/backups" in answer.error["next"], answer
    doctor = Door(str(root))("K11")
    assert doctor["healthy"] is False and any(
        "has tables" in row["says"] for row in doctor["checks"]
    )


def test_failed_first_write_keeps_existing_folders(cli, root):
    (root / "AI" / "db" / "exports").mkdir(parents=True)
    (root / "AI" / "note.md").write_text("mine")

    assert cli("W1", "--title", "t", "--summary", "s", "--parent", "nope").exit_code == 3
    assert [path.name for path in sorted(root.rglob("*"))] == ["AI", "db", "exports", "note.md"]


def test_write_does_not_create_missing_root(cli, tmp_path):
    answer = cli(
        "W1",
        "--title",
        "t",
        "--summary",
        "s",
        "--json",
        env={"KAIZEN_REPO_ROOT": str(tmp_path / "typo")},
    )

    assert (answer.exit_code, answer.error["code"]) == (3, "no_root")
    assert not (tmp_path / "typo").exists()


def test_newer_database_and_its_wal_stay_unchanged(cli, root):
    cli("W1", "--title", "t", "--summary", "s")
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA user_version = 99'); c.commit(); "
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(db_path(root))], check=True)
    wal = db_path(root).with_name("kaizen.db-wal")
    before = (db_path(root).read_bytes(), wal.read_bytes())
    answer = cli("W1", "--title", "t", "--summary", "s", "--json")

    assert answer.error["code"] == "database_is_newer"
    assert (db_path(root).read_bytes(), wal.read_bytes()) == before and before[1]


def test_long_lived_process_notices_replaced_or_newer_file(door, root):
    door("W1", title="First", summary="s")
    other = Door(str(root))
    other("K3", out=str(root / "copy.db"))
    other.close()
    os.replace(root / "copy.db", db_path(root))
    for ending in ("-wal", "-shm"):
        if os.path.exists(str(db_path(root)) + ending):
            os.unlink(str(db_path(root)) + ending)
    made = door("W1", title="After", summary="s")["id"]
    assert door("W9")["records"][0]["id"] == made
    assert Door(str(root))("W9")["records"][0]["id"] == made

    script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA user_version = 99'); c.commit()"
    subprocess.run([sys.executable, "-c", script, str(db_path(root))], check=True)
    with pytest.raises(Refused):
        door("W1", title="Too late", summary="s")


COPY = "import sqlite3, sys; a, b = map(sqlite3.connect, sys.argv[1:]); a.backup(b); a.close(); b.close()"


def test_first_write_after_restored_copy_exits_busy(door, root, monkeypatch, tmp_path):
    """An older copy is restored after the end of the log was read and before BEGIN."""

    def copy(one, other):  # in a process of its own: locks of one process do not exclude each other
        subprocess.run([sys.executable, "-c", COPY, one, other], check=True)

    door("W1", title="One", summary="s")
    copy(db_path(root), tmp_path / "older.db")
    door("W1", title="Two", summary="s")
    asked = Connection.read_data_version

    def overtaken(connection):
        version = asked(connection)
        copy(tmp_path / "older.db", db_path(root))
        return version

    monkeypatch.setattr(Connection, "read_data_version", overtaken)
    with pytest.raises(Busy) as caught:
        door("W1", title="Three", summary="s")
    monkeypatch.undo()

    assert caught.value.code == "log_moved" and caught.value.retryable
    assert door("W1", title="Three", summary="s")["log_index"] == 1
    assert [row["title"] for row in door("W9")["records"]] == ["Three", "One"]


def test_first_write_that_violates_constraint_leaves_no_files(root):
    store = database.Store(str(root))
    with pytest.raises(Conflict), store.begin_write_transaction() as connection:
        connection.insert("task", {"seq": 1})
    store.close()

    assert list(root.iterdir()) == [] and store.notes == []


def test_non_utf8_text_in_database_exits_7(cli, root):
    cli("W1", "--title", "t", "--summary", "s")
    plain = sqlite3.connect(db_path(root))
    plain.execute("DROP TRIGGER task_no_update")
    plain.execute("UPDATE task SET title = CAST(x'ff41' AS TEXT)")
    plain.commit()
    plain.close()

    for code in ("W9", "K8"):
        answer = cli(code, "--json")
        assert answer.exit_code == 7 and answer.error["status"] == "ERROR"


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "soon"])
def test_invalid_busy_timeout_is_ignored(cli, value):
    assert (
        cli("W1", "--title", "t", "--summary", "s", env={"KAIZEN_BUSY_TIMEOUT_S": value}).exit_code
        == 0
    )


def test_non_utf8_path_is_refused(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    done = subprocess.run(
        [sys.executable, str(LAUNCHER), "K1", "--json"], env={**os.environ, "KAIZEN_REPO_ROOT": os.fsdecode(folder)},
        capture_output=True,
    )  # fmt: skip

    assert done.returncode == 5 and b"path_not_utf8" in done.stderr


# The gate


def test_writer_waits_for_lock_then_exits_busy(cli, root):
    cli("K1")
    with open(root / "AI" / "db" / "kaizen.db.lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        started = time.monotonic()
        answer = cli(
            "W1", "--title", "t", "--summary", "s", "--json", env={"KAIZEN_BUSY_TIMEOUT_S": "0.3"}
        )
        waited = time.monotonic() - started
        assert cli("W9").exit_code == 0, "readers do not queue"

    assert answer.exit_code == 6
    assert answer.error["code"] == "busy" and answer.error["retryable"] is True
    assert waited >= 0.3
    assert cli("W1", "--title", "t", "--summary", "s").exit_code == 0


def test_second_thread_waits_for_lock_of_first(tmp_path, monkeypatch):
    path = str(tmp_path / "lock")
    monkeypatch.setenv("KAIZEN_BUSY_TIMEOUT_S", "0.2")
    outcome = []

    def try_it():
        try:
            with Gate(path):
                outcome.append("in")
        except Busy:
            outcome.append("busy")

    with Gate(path):
        assert is_held(path)
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()

    assert outcome == ["busy", "in"]
    assert not is_held(path)


def test_database_locked_by_another_program_exits_busy(cli, root):
    cli("K1")
    plain = sqlite3.connect(db_path(root), isolation_level=None)
    plain.execute("BEGIN IMMEDIATE")
    answer = cli(
        "W1", "--title", "t", "--summary", "s", "--json", env={"KAIZEN_BUSY_TIMEOUT_S": "0.3"}
    )
    plain.close()

    assert answer.exit_code == 6


# Folders that cannot be written


@pytest.fixture
def read_only(root, tool):
    """`read_only(argv…)`: a command on a project whose files may be read and not written."""
    door = Door(str(root))
    door("W1", title="Readable", summary="s")
    door.close()
    as_user = (
        [tool("setpriv"), "--bounding-set=-dac_override,-dac_read_search"]
        if os.getuid() == 0
        else []
    )

    def run(*argv, folder=root, closed=None, **env):
        for path in [*folder.rglob("*"), folder]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        if closed:
            (folder / closed).chmod(0)
        try:
            return subprocess.run(
                [*as_user, sys.executable, str(LAUNCHER), *argv],
                env={**os.environ, "KAIZEN_REPO_ROOT": str(folder), **env},
                capture_output=True,
                text=True,
                timeout=60,
            )
        finally:
            (folder / (closed or "")).chmod(0o755)
            for path in [folder, *folder.rglob("*")]:
                path.chmod(0o755)

    return run


def test_read_only_folder_with_held_lock_exits_busy(read_only, root):
    with Gate(str(root / "AI" / "db" / "kaizen.db.lock")):
        busy, doctor = read_only("W9", KAIZEN_BUSY_TIMEOUT_S="0.3"), read_only("K11")

    assert busy.returncode == 6 and "Another process is writing" in busy.stderr
    assert doctor.returncode == 0 and "another process is writing" in doctor.stdout
    assert read_only("W9").returncode == 0


@pytest.mark.parametrize("code", ["K2", "K8", "W1"])
def test_unknown_sqlite_file_format_exits_7(cli, root, code):
    Door(str(root))("W1", title="t", summary="s")
    data = bytearray(db_path(root).read_bytes())
    data[47] = 5  # the schema format of the header, of which SQLite knows up to 4
    db_path(root).write_bytes(data)

    assert cli(code, *(("--title", "t", "--summary", "s") if code == "W1" else ())).exit_code == 7


@pytest.mark.parametrize(
    "argv", [("K8",), ("K1", "--integrity"), ("K1", "--reindex"), ("W1", *TASK)]
)
def test_damaged_search_index_exits_7(cli, root, argv):
    cli("W1", *TASK)
    plain = sqlite3.connect(db_path(root))
    plain.execute("UPDATE search_config SET v = 99 WHERE k = 'version'")
    plain.commit()
    plain.close()

    assert cli(*argv).exit_code == 7


def test_read_only_folder_allows_reads_and_refuses_writes(read_only):
    listed, verified, doctor = read_only("W9"), read_only("K8"), read_only("K11")
    refused = read_only("W1", "--title", "t", "--summary", "s")

    assert listed.returncode == 0 and "Readable" in listed.stdout, listed.stderr
    assert verified.returncode == 0, verified.stderr
    assert doctor.returncode == 0 and "is read-only" in doctor.stdout
    assert refused.returncode == 5 and "writable" in refused.stderr


def test_digest_in_read_only_folder_is_not_recorded(read_only):
    digest, hook = read_only("R0"), read_only("R0", "--format", "hook")

    assert digest.returncode == hook.returncode == 0
    assert digest.stdout.startswith("# Kaizen digest") and "not recorded" in digest.stderr
    assert hook.stdout.startswith('{"hookSpecificOutput"') and hook.stderr == ""


@pytest.mark.parametrize("closed", ["AI", "AI/db"])
def test_unreadable_data_folder_exits_permission_denied(read_only, closed):
    listed, written = (
        read_only("W9", closed=closed),
        read_only("W1", "--title", "t", "--summary", "s", closed=closed),
    )
    doctor = read_only("K11", "--json", closed=closed)

    assert listed.returncode == written.returncode == 5
    assert "Permission denied" in listed.stderr and "`K1`" not in listed.stderr + written.stderr
    assert (
        json.loads(doctor.stdout)["healthy"] is False and "there is none yet" not in doctor.stdout
    )


def test_new_database_in_read_only_folder_is_refused(read_only, tmp_path):
    (tmp_path / "empty").mkdir()
    refused = read_only("K1", "--json", folder=tmp_path / "empty")
    doctor = read_only("K11", folder=tmp_path / "empty")

    assert refused.returncode == 5 and "folder_not_writable" in refused.stderr
    assert doctor.returncode == 0 and "cannot be created" in doctor.stdout


def test_missing_database_raises_not_found_in_python(tmp_path):
    with pytest.raises(NotFound):
        Door(str(tmp_path))("W9")
