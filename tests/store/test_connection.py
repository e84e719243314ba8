"""libsql's habits stay inside `store`: each one is shown here, with what we make of it."""

import glob
import os
import sqlite3
import subprocess
import sys

import libsql
import pytest

from kaizen_components.errors import Busy, Conflict, Integrity, NotFound, Unavailable
from kaizen_components.store.connection import Connection
from kaizen_components.store.migrate import files, statements


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "some file?.db")


@pytest.fixture
def connection(path):
    opened = Connection(path, busy_timeout_s=0.1)
    opened.execute("CREATE TABLE t (seq INTEGER PRIMARY KEY, x TEXT NOT NULL UNIQUE CHECK (x <> 'no')) STRICT")
    yield opened
    opened.close()


def test_rows_come_as_dicts_in_the_order_of_the_columns(connection):
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
def test_a_refused_row_is_our_own_error(connection, sql, error):
    with pytest.raises(error):
        connection.execute(sql)


def test_a_missing_reference_is_not_found(connection):
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE u (x TEXT REFERENCES t (x)) STRICT")

    with pytest.raises(NotFound):
        connection.execute("INSERT INTO u VALUES ('nobody')")


def test_parameters_are_counted_because_libsql_does_not(connection):
    assert libsql.connect(":memory:").execute("SELECT ?", ()).fetchone() == (None,)

    with pytest.raises(AssertionError):
        connection.execute("SELECT ?", ())
    with pytest.raises(AssertionError):
        connection.execute("SELECT 1", ("extra",))


def test_values_that_libsql_would_change_never_reach_it(connection):
    raw = libsql.connect(":memory:")
    assert isinstance(raw.execute("SELECT ?", (2**63,)).fetchone()[0], float)

    for value in ("a\0b", 2**63, -(2**63) - 1):
        with pytest.raises(AssertionError):
            connection.execute("SELECT ?", (value,))


def test_text_that_is_not_utf8_is_an_integrity_error_and_not_a_panic(connection, path):
    other = sqlite3.connect(path)
    other.execute("INSERT INTO t (x) VALUES (CAST(x'ff41' AS TEXT))")
    other.commit()
    other.close()

    with pytest.raises(Integrity):
        connection.rows("SELECT x FROM t")


def test_a_locked_database_is_busy(connection, path):
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN EXCLUSIVE'); "
    )
    script += "print('locked', flush=True); sys.stdin.read()"
    # In a process of its own: file locks of one process do not exclude each other.
    other = subprocess.Popen([sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()

    with pytest.raises(Busy) as caught:
        connection.execute("INSERT INTO t (x) VALUES ('a')")
    assert caught.value.retryable
    other.communicate()


def test_a_file_that_is_no_database_is_an_integrity_error(tmp_path):
    path = tmp_path / "notes.db"
    path.write_bytes(b"just some text, long enough to be read as a header of a file" * 20)

    with pytest.raises(Integrity):
        connection = Connection(str(path), read_only=True)
        connection.value("SELECT count(*) FROM sqlite_master")


def test_a_reader_cannot_write(connection, path):
    reader = Connection(path, read_only=True)

    with pytest.raises(Unavailable):
        reader.execute("INSERT INTO t (x) VALUES ('a')")
    reader.close()


def test_a_reader_does_not_create_a_file(tmp_path):
    with pytest.raises(Unavailable):
        Connection(str(tmp_path / "nothing.db"), read_only=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["plain.db", "a b.db", "per%cent.db", "que?ry.db", "ha#sh.db", "ünï 日本.db", "it's.db"]
)
def test_a_reader_opens_a_file_of_any_name(tmp_path, name):
    writer = Connection(str(tmp_path / name))
    writer.execute("CREATE TABLE t (x TEXT) STRICT")
    writer.close()
    reader = Connection(str(tmp_path / name), read_only=True)

    assert reader.value("SELECT name FROM sqlite_master") == "t"
    reader.close()


def test_closing_twice_is_harmless_and_a_closed_connection_is_not_used(connection):
    connection.close()
    connection.close()

    with pytest.raises(AssertionError):
        connection.execute("SELECT 1")


def test_libsqls_own_script_call_hides_errors_so_we_split_statements():
    raw = libsql.connect(":memory:", isolation_level=None)
    raw.executescript("CREATE TABLE a (x); INSERT INTO nowhere VALUES (1); CREATE TABLE b (x);")

    assert raw.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)


def test_a_migration_file_is_split_into_whole_statements():
    folder = os.path.dirname(sys.modules["kaizen_components.store.migrate"].FOLDER)
    for _, name in files():
        with open(os.path.join(folder, "migrations", name), encoding="utf-8") as file:
            text = file.read()
        assert text.startswith("-- "), "a migration opens with the reason for it"
        assert all(sqlite3.complete_statement(one) for one in statements(text))


@pytest.mark.parametrize("text", ["CREATE TABLE a (x)", "CREATE TABLE a (x); -- why", "CREATE TABLE a (x); SELECT 1;"])
def test_an_unfinished_or_hidden_statement_is_our_own_mistake(text):
    with pytest.raises(AssertionError):
        list(statements(text))


def test_without_click_a_question_for_help_is_answered_with_how_to_install_it(tmp_path):
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


def test_an_old_python_gets_one_line():
    olds = [
        path
        for version in ("3.8", "3.9", "3.10")
        for path in glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))
    ]
    if not olds:
        pytest.skip("no older Python is installed")
    launcher = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "kaizen.py")
    for old in olds:
        done = subprocess.run([old, launcher, "K1"], capture_output=True, text=True)
        assert (
            done.returncode == 2
            and done.stderr.startswith("Kaizen needs Python 3.11")
            and "Traceback" not in done.stderr
        )


def test_without_the_driver_the_answer_is_how_to_install_it(tmp_path):
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
def test_a_large_integer_stays_one(connection, number):
    assert libsql.connect(":memory:").execute("SELECT typeof(?)", (2**31,)).fetchone() == ("real",)
    connection.execute("INSERT INTO t (seq, x) VALUES (?, ?)", (number, "a"))

    assert connection.rows("SELECT seq, typeof(seq) AS kind FROM t WHERE seq = ?", (number,)) == [
        {"seq": number, "kind": "integer"}
    ]
    assert connection.tuples("SELECT ?, typeof(?), ?", ("b", number, "c")) == [("b", "integer", "c")]
