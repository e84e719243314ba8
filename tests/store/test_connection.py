"""libsql's habits stay inside `store`: each one is shown here, with what we make of it."""

import glob
import os
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kaizen_components.errors import Busy, Conflict, Integrity, NotFound, Unavailable
from kaizen_components.store.connection import Connection, driver_connect
from kaizen_components.store.migrate import list_migrations, split_statements


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "some file?.db")


@pytest.fixture
def connection(path):
    opened = Connection(path, busy_timeout_s=0.1)
    opened.execute(
        "CREATE TABLE t (seq INTEGER PRIMARY KEY, x TEXT NOT NULL UNIQUE CHECK (x <> 'no')) STRICT"
    )
    yield opened
    opened.close()


def test_rows_are_dicts_in_column_order(connection):
    connection.execute("INSERT INTO t (x) VALUES (?)", ("a",))

    assert connection.rows("SELECT x, seq FROM t") == [{"x": "a", "seq": 1}]
    assert connection.one("SELECT x FROM t WHERE x = ?", ("b",)) is None
    assert connection.value("SELECT count(*) FROM t") == 1


@pytest.mark.parametrize(
    "sql, error",
    [
        ("INSERT INTO t (x) VALUES ('no')", Conflict),
        ("INSERT INTO t (x) VALUES (NULL)", Conflict),
        ("INSERT INTO t (seq, x) VALUES (1, 'a'), (1, 'b')", Conflict),
    ],
)
def test_row_that_violates_constraint_raises_its_error(connection, sql, error):
    with pytest.raises(error):
        connection.execute(sql)


def test_missing_reference_raises_not_found(connection):
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE u (x TEXT REFERENCES t (x)) STRICT")

    with pytest.raises(NotFound):
        connection.execute("INSERT INTO u VALUES ('nobody')")


def test_wrong_number_of_parameters_raises_assertion_error(connection):
    assert driver_connect()(":memory:").execute("SELECT ?", ()).fetchone() == (None,)

    with pytest.raises(AssertionError):
        connection.execute("SELECT ?", ())
    with pytest.raises(AssertionError):
        connection.execute("SELECT 1", ("extra",))


def test_nul_text_and_oversized_integers_are_refused(connection):
    raw = driver_connect()(":memory:")
    assert isinstance(raw.execute("SELECT ?", (2**63,)).fetchone()[0], float)

    for value in ("a\0b", 2**63, -(2**63) - 1):
        with pytest.raises(AssertionError):
            connection.execute("SELECT ?", (value,))


def test_non_utf8_text_raises_integrity(connection, path):
    other = sqlite3.connect(path)
    other.execute("INSERT INTO t (x) VALUES (CAST(x'ff41' AS TEXT))")
    other.commit()
    other.close()

    with pytest.raises(Integrity):
        connection.rows("SELECT x FROM t")


def test_writing_to_locked_database_raises_busy(connection, path):
    script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN EXCLUSIVE'); "
    script += "print('locked', flush=True); sys.stdin.read()"
    # In a process of its own: file locks of one process do not exclude each other.
    other = subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    other.stdout.readline()

    with pytest.raises(Busy) as caught:
        connection.execute("INSERT INTO t (x) VALUES ('a')")
    assert caught.value.retryable
    other.communicate()


def test_opening_text_file_raises_integrity(tmp_path):
    path = tmp_path / "notes.db"
    path.write_bytes(b"just some text, long enough to be read as a header of a file" * 20)

    with pytest.raises(Integrity):
        connection = Connection(str(path), read_only=True)
        connection.value("SELECT count(*) FROM sqlite_master")


def test_read_only_connection_cannot_write(connection, path):
    reader = Connection(path, read_only=True)

    with pytest.raises(Unavailable):
        reader.execute("INSERT INTO t (x) VALUES ('a')")
    reader.close()


def test_reader_does_not_create_file(tmp_path):
    with pytest.raises(Unavailable):
        Connection(str(tmp_path / "nothing.db"), read_only=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["plain.db", "a b.db", "per%cent.db", "que?ry.db", "ha#sh.db", "ünï 日本.db", "it's.db"]
)
def test_reader_opens_file_names_with_special_characters(tmp_path, name):
    writer = Connection(str(tmp_path / name))
    writer.execute("CREATE TABLE t (x TEXT) STRICT")
    writer.close()
    reader = Connection(str(tmp_path / name), read_only=True)

    assert reader.value("SELECT name FROM sqlite_master") == "t"
    reader.close()


def test_closed_connection_accepts_only_another_close(connection):
    connection.close()
    connection.close()

    with pytest.raises(AssertionError):
        connection.execute("SELECT 1")


def test_libsql_connection_script_hides_errors():
    raw = driver_connect()(":memory:", isolation_level=None)
    raw.executescript("CREATE TABLE a (x); INSERT INTO nowhere VALUES (1); CREATE TABLE b (x);")

    assert raw.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)


def test_libsql_cursor_script_raises_errors():
    raw = driver_connect()(":memory:", isolation_level=None)

    with pytest.raises(ValueError, match="no such table"):
        raw.cursor().executescript(
            "CREATE TABLE a (x); INSERT INTO nowhere VALUES (1); CREATE TABLE b (x)"
        )


class TestQueuedRows:
    def test_query_sees_queued_rows(self, connection):
        connection.insert("t", {"seq": 1, "x": "a"})

        assert connection.value("SELECT x FROM t") == "a"

    def test_refused_row_raises_conflict_and_stores_nothing(self, connection):
        connection.begin_write(0)
        connection.insert("t", {"seq": 1, "x": "a"})
        connection.insert("t", {"seq": 2, "x": "no"})
        with pytest.raises(Conflict):
            connection.commit()
        connection.roll_back()

        assert connection.value("SELECT count(*) FROM t") == 0

    def test_rollback_discards_queued_rows(self, connection):
        connection.begin_write(0)
        connection.insert("t", {"seq": 1, "x": "a"})
        connection.roll_back()
        connection.begin_write(0)
        connection.insert("t", {"seq": 2, "x": "b"})
        connection.commit()

        assert connection.tuples("SELECT seq, x FROM t") == [(2, "b")]

    def test_new_write_rolls_back_uncommitted_one(self, connection):
        connection.begin_write(0)
        connection.insert("t", {"seq": 1, "x": "a"})
        connection.flush()
        connection.begin_write(0)
        connection.insert("t", {"seq": 2, "x": "b"})
        connection.commit()

        assert connection.tuples("SELECT seq, x FROM t") == [(2, "b")]

    def test_hundred_rows_are_stored_in_order(self, connection):
        connection.begin_write(0)
        for number in range(1, 101):
            connection.insert("t", {"seq": number, "x": f"row {number}"})
        connection.commit()

        assert connection.tuples("SELECT seq, x FROM t") == [
            (number, f"row {number}") for number in range(1, 101)
        ]

    @given(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        st.integers(-(2**63), 2**63 - 1),
    )
    @example("'; DROP TABLE v; --", 2**63 - 1)
    @example('?1 :x \\ "\n\r', -(2**63))
    @example("long " * 1_000, 2**53 + 1)
    def test_values_are_read_back_unchanged(self, text, number):
        connection = Connection(":memory:")
        connection.execute("CREATE TABLE v (a TEXT, b INTEGER, c REAL, d TEXT) STRICT")
        connection.insert("v", {"a": text, "b": number, "c": 0.1 + 0.2, "d": None})

        assert connection.tuples("SELECT * FROM v") == [(text, number, 0.1 + 0.2, None)]
        connection.close()

    @pytest.mark.parametrize("value", ["a\0b", 2**63, -(2**63) - 1])
    def test_nul_text_and_oversized_integers_are_not_inserted(self, connection, value):
        with pytest.raises(AssertionError):
            connection.insert("t", {"x": value})


def test_write_waits_for_another_programs_lock(connection, path):
    connection.rows("PRAGMA journal_mode = WAL")
    script = (
        "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "c.execute('BEGIN IMMEDIATE'); print('locked', flush=True); time.sleep(0.6); c.execute('ROLLBACK')"
    )
    other = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
    other.stdout.readline()
    connection.begin_write(0)
    connection.insert("t", {"x": "too early"})
    with pytest.raises(Busy):
        connection.commit()
    connection.begin_write(30)
    connection.insert("t", {"x": "in time"})
    connection.commit()
    other.communicate()

    assert connection.tuples("SELECT x FROM t") == [("in time",)]


def test_migration_files_are_split_into_complete_statements():
    folder = os.path.dirname(sys.modules["kaizen_components.store.migrate"].FOLDER)
    for _, name in list_migrations():
        with open(os.path.join(folder, "migrations", name), encoding="utf-8") as file:
            text = file.read()
        assert text.startswith("-- "), "a migration opens with the reason for it"
        assert all(sqlite3.complete_statement(one) for one in split_statements(text))


@pytest.mark.parametrize(
    "text", ["CREATE TABLE a (x)", "CREATE TABLE a (x); -- why", "CREATE TABLE a (x); SELECT 1;"]
)
def test_unfinished_or_second_statement_raises_assertion_error(text):
    with pytest.raises(AssertionError):
        list(split_statements(text))


def test_help_without_click_names_setup_script(tmp_path):
    script = (
        "import sys; sys.modules['click'] = None\n"
        "from kaizen_components.args import main; sys.exit(main(['W1', '--help']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(tmp_path)}, capture_output=True, text=True,
        cwd=os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
    )  # fmt: skip

    assert done.returncode == 5 and "setup/setup.sh" in done.stderr


def test_unsupported_python_prints_one_error_line():
    olds = [
        path
        for version in ("3.8", "3.9", "3.10")
        for path in glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))
    ]
    if not olds:
        pytest.skip("no older Python is installed")
    launcher = os.path.join(
        os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "kaizen.py"
    )
    for old in olds:
        done = subprocess.run([old, launcher, "K1"], capture_output=True, text=True)
        assert (
            done.returncode == 2
            and done.stderr.startswith("Kaizen needs Python 3.11")
            and "Traceback" not in done.stderr
        )


def test_missing_driver_error_names_setup_script(tmp_path):
    script = (
        "import sys; sys.modules['libsql'] = sys.modules['libsql_experimental'] = None\n"
        "from kaizen_components.args import main; sys.exit(main(['W1', '--title', 't', '--summary', 's', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(tmp_path), "PYTHONPATH": os.getcwd()},
        capture_output=True, text=True, cwd=os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
    )  # fmt: skip

    assert done.returncode == 5, done.stderr
    assert "setup/setup.sh" in done.stderr


@pytest.mark.parametrize(
    "number", [2**31 - 1, 2**31, -(2**63), -(2**31) - 1, 2**40 + 1, 2**53 + 1, 2**62 + 1, 2**63 - 1]
)
def test_large_integers_stay_integers(connection, number):
    assert driver_connect()(":memory:").execute("SELECT typeof(?)", (2**31,)).fetchone() == (
        "real",
    )
    connection.execute("INSERT INTO t (seq, x) VALUES (?, ?)", (number, "a"))

    assert connection.rows("SELECT seq, typeof(seq) AS kind FROM t WHERE seq = ?", (number,)) == [
        {"seq": number, "kind": "integer"}
    ]
    assert connection.tuples("SELECT ?, typeof(?), ?", ("b", number, "c")) == [
        ("b", "integer", "c")
    ]
