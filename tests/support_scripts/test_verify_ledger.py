"""The stand-alone verifier finds every change of a database; `K8` says which kind of tampering it was.

The databases are changed through Python's own sqlite3, without the triggers.
"""

import contextlib
import io
import json
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
from collections import Counter, defaultdict
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Integrity
from kaizen_components.records.kinds import KINDS

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "support_scripts"))

import verify_ledger as verifier  # noqa: E402
from every_kind import record_every_kind, record_run  # noqa: E402

SCRIPT = REPO / "support_scripts" / "verify_ledger.py"
DATABASE, ANCHORS = Path("AI", "db", "kaizen.db"), Path("AI", "db", "manifests", "checkpoints")
EMPTY_ROOT = sha256().hexdigest()
OTHER_ORIGIN = "kaizen.local/0123456789abcdef"


# Databases


def kaizen(root, code, **options):
    with contextlib.closing(Door(str(root))) as door:
        return door(code, **options)


def start_task(root, title, **more):
    return kaizen(root, "W1", title=title, summary=f"{title}, in short.", **more)["id"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """`now` has every kind of record of work and a purge; `older` is the same database before its last two commits."""
    folder = tmp_path_factory.mktemp("made")
    root = folder / "now"
    root.mkdir()
    first = start_task(
        root, 'A "quoted" täsk', body="Tab\t, line\nand \x7f.", done_when=["pytest -q"]
    )
    kaizen(root, "W2", id=first, status="active", note="Begun.")
    kaizen(root, "W3", task_id=first, title="A plan", summary="Two steps.")
    kaizen(root, "W4", id="@last", status="active")
    kaizen(root, "W5", task_id=first, title="Ask", summary="Look.", payload_json={"a": 1.5})
    kaizen(root, "W6", id="@last", summary="Seen.")
    second = start_task(root, "Second", op_id="once")
    kaizen(root, "W11", id=second, kind="blocks", target_id=first)
    kaizen(root, "W13", id=second)
    start_task(root, "Rehearsal", test=True)
    kaizen(root, "K7")
    shutil.copytree(root, folder / "older")
    start_task(root, "Third")
    start_task(root, "Fourth")
    return SimpleNamespace(now=root, older=folder / "older")


@pytest.fixture
def root(made, tmp_path):
    return copy_of(made.now, tmp_path)


def copy_of(root, folder):
    return Path(shutil.copytree(root, folder / "a copy", dirs_exist_ok=True))


# Changing them behind the engine's back


@contextlib.contextmanager
def opened(path):
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA ignore_check_constraints = ON")
        yield db
    finally:
        db.close()


def drop_triggers(db):
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    return [sql for _, sql in triggers]


def places(db):
    """Where each kind stands first, as names for the SQL below."""
    first = dict(db.execute("SELECT kind, min(seq) FROM log GROUP BY kind"))
    last = db.execute("SELECT max(seq) FROM log").fetchone()[0]
    purged = db.execute("SELECT seq FROM log WHERE test = 1").fetchone()
    return first | {"last": last, "purged": purged and purged[0], "origin": OTHER_ORIGIN}


def change(root, *statements):
    """Run the statements without triggers, and put the triggers back, so that only the data tells."""
    with opened(root / DATABASE) as db:
        triggers, at = drop_triggers(db), places(db)
        for statement in statements:
            if callable(statement):
                statement(db)
            else:
                db.execute(statement.format(**at))
        for sql in triggers:
            with contextlib.suppress(sqlite3.OperationalError):  # its table was dropped
                db.execute(sql)


def swap(table, columns, one, other):
    def swapped(db):
        db.row_factory = sqlite3.Row
        both = f"WHERE seq IN ({one}, {other})".format(**places(db))
        left, right = (dict(row) for row in db.execute(f"SELECT * FROM {table} {both}").fetchall())
        db.execute(f"DELETE FROM {table} {both}")
        for row, its in ((left, right), (right, left)):
            new = row | {column: its[column] for column in columns.split(", ")}
            db.execute(
                f"INSERT INTO {table} VALUES ({', '.join('?' * len(new))})", tuple(new.values())
            )
        db.row_factory = None

    return swapped


def close_up(db):
    """Remove the first packet's result and its entry, and move everything after it up."""
    gone = places(db)["packet_result"]
    for table in [name for (name,) in db.execute("SELECT DISTINCT kind FROM log")] + [
        "log",
        "task_state",
    ]:
        db.execute(f"DELETE FROM {table} WHERE seq = {gone}")
        db.execute(f"UPDATE {table} SET seq = seq - 1 WHERE seq > {gone}")


def hide_from_an_index(db):
    """The index has no row before 1000, and its definition says nothing of it: whoever asks by actor finds none."""
    for step in ("sql || ' WHERE seq > 1000'", "substr(sql, 1, length(sql) - 17)"):
        db.execute("PRAGMA writable_schema = ON")
        db.execute(f"UPDATE sqlite_master SET sql = {step} WHERE name = 'task_actor'")
        db.execute("PRAGMA writable_schema = RESET")
        if "sql ||" in step:
            db.execute("REINDEX task_actor")


def set_strict(sql):
    """Return a step that rewrites the declaration of the table task."""

    def set_it(db):
        db.execute("PRAGMA writable_schema = ON")
        db.execute(f"UPDATE sqlite_master SET sql = {sql} WHERE name = 'task'")
        db.execute("PRAGMA writable_schema = RESET")

    return set_it


def places_of(root):
    with opened(root / DATABASE) as db:
        return places(db)


def canonical(row):
    """Good enough for what these tests write, and not the verifier's own."""
    present = {name: value for name, value in row.items() if value is not None}
    return json.dumps(present, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def peaks_of(leaves):
    """By the recursive definition of RFC 6962, one complete subtree for each 1 bit."""

    def tree(part):
        if len(part) == 1:
            return part[0]
        half = len(part) // 2
        return sha256(b"\1" + tree(part[:half]) + tree(part[half:])).digest()

    peaks, start = [], 0
    for bit in reversed(range(len(leaves).bit_length())):
        if len(leaves) >> bit & 1:
            peaks.append(tree(leaves[start : start + (1 << bit)]).hex())
            start += 1 << bit
    return " ".join(peaks)


def rewrite(db):
    """What somebody does who knows the format: recompute every hash, renumber the log and fix the frontier."""
    db.row_factory = sqlite3.Row
    sizes = Counter()
    for entry in map(dict, db.execute("SELECT * FROM log ORDER BY seq").fetchall()):
        row = db.execute(f"SELECT * FROM {entry['kind']} WHERE seq = ?", (entry["seq"],)).fetchone()
        if row:
            values = dict(row)
            del values["seq"]
            entry |= {"content_hash": sha256(canonical(values)).hexdigest(), "test": values["test"]}
            entry |= {"at": values["at"], "actor": values["actor"], "record_id": values["id"]}
        entry["idx"] = sizes[entry["origin"]]
        sizes[entry["origin"]] += 1
        db.execute(
            f"UPDATE log SET {', '.join(f'{k} = :{k}' for k in entry)} WHERE seq = :seq", entry
        )
    db.row_factory = None
    rewrite_leaves(db)


def rewrite_leaves(db):
    """Only what is made from the log itself: its leaves and the frontier."""
    db.row_factory = sqlite3.Row
    leaves = defaultdict(list)
    for entry in map(dict, db.execute("SELECT * FROM log ORDER BY seq").fetchall()):
        leaf = sha256(
            b"\0" + canonical({k: v for k, v in entry.items() if k not in ("seq", "leaf")})
        ).digest()
        leaves[entry["origin"]].append(leaf)
        db.execute("UPDATE log SET leaf = ? WHERE seq = ?", (leaf.hex(), entry["seq"]))
    for origin, of in leaves.items():
        db.execute(
            "UPDATE frontier SET size = ?, peaks = ? WHERE origin = ?",
            (len(of), peaks_of(of), origin),
        )
    db.row_factory = None


# The two verdicts


def verify(path, *options):
    """The exit code and what it printed, as JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = verifier.main([str(path), "--json", *map(str, options)])
    return code, json.loads(out.getvalue())


def assert_in_order(root):
    assert verify(root / DATABASE)[0] == 0
    assert kaizen(root, "K8")["verified"]


def find_problem(root):
    """Return what K8 says first, after the verifier has found something too."""
    code, report = verify(root / DATABASE)
    assert (code, report["ok"], len(report["findings"])) == (7, False, 1)
    with pytest.raises(Integrity) as caught:
        kaizen(root, "K8")
    return caught.value.findings[0]


def assert_found(root, problem):
    assert find_problem(root)["problem"] == problem


def command_line(*arguments, cwd=None):
    """The script as a user runs it, where nothing of the project can be imported (-I)."""
    command = [sys.executable, "-I", SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, encoding="utf-8")


# In order


def test_valid_database_prints_one_line_and_exits_0(root, tmp_path):
    ran = command_line(root / DATABASE, cwd=tmp_path)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.fullmatch(
        r"In order: 14 entries, 13 records, 1 purged, root [0-9a-f]{64}, 13 anchors\.\n", ran.stdout
    )


def test_json_report_agrees_with_k8(root):
    code, report = verify(root / DATABASE)
    engine = kaizen(root, "K8")

    assert (code, report.pop("ok"), report.pop("findings")) == (0, True, [])
    assert report == {"records": engine["intact"]} | {
        name: engine[name] for name in ("entries", "purged", "root", "anchors", "damaged_anchors")
    }


def test_empty_database_has_the_empty_root_hash(tmp_path):
    kaizen(tmp_path, "K1")

    code, report = verify(tmp_path / DATABASE)

    assert (code, report["entries"], report["root"], report["anchors"]) == (0, 0, EMPTY_ROOT, 0)


@pytest.mark.parametrize("name", ["with a space", "100% #1 %20", "täsk"])
def test_database_in_unusual_folder_name_is_verified(made, tmp_path, name):
    shutil.copytree(made.now, tmp_path / name)

    assert verify(tmp_path / name / DATABASE)[0] == 0


def test_relative_path_counts_from_the_working_directory(root):
    assert command_line(DATABASE.name, cwd=root / DATABASE.parent).returncode == 0


def test_verifier_reads_commits_in_the_wal(root):
    with opened(root / DATABASE) as reader:
        reader.execute("BEGIN")
        # Keep the engine from emptying the -wal; in this process it would end the lock.
        reader.execute("SELECT count(*) FROM log").fetchone()
        command = [sys.executable, REPO / "kaizen.py", "W1", "--title", "More", "--summary", "s"]
        subprocess.run(command, env={**os.environ, "KAIZEN_REPO_ROOT": str(root)}, check=True)
        assert Path(f"{root / DATABASE}-wal").stat().st_size

        assert verify(root / DATABASE)[1]["entries"] == 15


def test_verifier_changes_no_file(root):
    before = [(root / path).read_bytes() for path in (DATABASE, ANCHORS)]

    verify(root / DATABASE)

    assert [(root / path).read_bytes() for path in (DATABASE, ANCHORS)] == before


def test_new_column_keeps_old_hashes_valid(root):
    change(root, "ALTER TABLE plan ADD COLUMN weight REAL")

    assert verify(root / DATABASE)[0] == 0


def test_real_and_integer_columns_are_hashed_as_numbers(root):
    change(root, "ALTER TABLE plan ADD COLUMN weight REAL", "UPDATE plan SET weight = 0.1", rewrite)
    (root / ANCHORS).unlink()

    assert verify(root / DATABASE)[0] == 0


def test_logs_of_two_origins_pass_verification(root):
    change(
        root,
        "UPDATE log SET origin = '{origin}', idx = idx + 100 WHERE seq % 3 = 0",
        "INSERT INTO frontier VALUES ('{origin}', 0, 0, '')",
        rewrite,
    )
    (root / ANCHORS).unlink()

    assert_in_order(root)


def test_memory_of_verifier_stays_below_database_size(tmp_path):
    body = "A long body. " * 300
    lines = [
        json.dumps({"command": "W1", "args": {"title": f"T{n}", "summary": "S", "body": body}})
        for n in range(1500)
    ]
    (tmp_path / "batch.jsonl").write_text("\n".join(lines))
    kaizen(tmp_path, "K5", file=str(tmp_path / "batch.jsonl"))

    tracemalloc.start()
    code, report = verify(tmp_path / DATABASE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (code, report["entries"]) == (0, 1500)
    assert peak < len(body) * 1500 / 10


# Numbers and hashes


FLOATS = {  # RFC 8785, appendix B
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


def test_floats_are_printed_as_ecmascript_does():
    for bits, printed in FLOATS.items():
        number = struct.unpack(">d", bytes.fromhex(bits))[0]
        assert verifier.format_ecmascript(number) == printed


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_hashing_infinity_or_nan_is_refused(number):
    with pytest.raises(ValueError, match="no such number"):
        verifier.format_ecmascript(number)


def test_format_document_example_has_its_hash():
    document = (REPO / "docs" / "format.md").read_text(encoding="utf-8")
    printed = next(
        line.strip() for line in document.splitlines() if line.startswith('    {"actor"')
    )
    values = {
        name: item.encode() if isinstance(item, str) else item
        for name, item in json.loads(printed).items()
    }

    content = verifier.encode_canonical(
        verifier.name_members([*values, "body"]), values | {"body": None}
    )

    assert content.decode() == printed
    assert f"`{sha256(content).hexdigest()}`" in document


# Every value


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """A database with a record of every kind, each short."""
    return recorded(tmp_path_factory.mktemp("every"), record_every_kind)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A database with a run and little else: its records are long, and each change looks at everything."""
    return recorded(tmp_path_factory.mktemp("runs"), record_run)


def recorded(root, record):
    door = Door(str(root))
    record(door, root)
    door.close()
    return root


@pytest.fixture(scope="module")
def memories(made, every, runs):
    """Each in memory and without triggers: thousands of changes are tried on it, one after the other."""
    opened_ones = [in_memory(made.older), in_memory(every), in_memory(runs)]
    yield opened_ones
    for memory in opened_ones:
        memory.db.close()


def in_memory(root):
    db = sqlite3.connect(":memory:", isolation_level=None)
    with opened(root / DATABASE) as source:
        source.backup(db)
    drop_triggers(db)
    db.execute("PRAGMA ignore_check_constraints = ON")
    db.text_factory = bytes
    anchors = verifier.read_anchors(root / ANCHORS)
    assert not verifier.Verifier(db, anchors).run().findings
    columns = {kind: verifier.columns_by_name(db, kind) for kind in ("table", "view")}
    return SimpleNamespace(db=db, anchors=anchors, columns=columns)


@pytest.fixture
def memory(request, memories):
    """The database that has this table filled."""
    table = request.node.callspec.params["table"]
    return memories[2 if table in RUNS else table in OTHERS]


def is_found(memory, sql, *values):
    """Change it, look, and take the change back. It is a value that changes, so columns are asked for once."""
    memory.db.execute("BEGIN")
    try:
        assert memory.db.execute(sql, values).rowcount == 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(verifier, "columns_by_name", lambda db, kind: memory.columns[kind])
            return bool(verifier.Verifier(memory.db, memory.anchors).run().findings)
    finally:
        memory.db.execute("ROLLBACK")


WORK = [
    *(
        "task",
        "task_revision",
        "task_link",
        "lease",
        "plan",
        "plan_revision",
        "packet",
        "packet_result",
    ),
    *("op", "purge", "log", "frontier"),
]
OTHERS = [kind for kind in KINDS if kind not in WORK]
RUNS = ("run", "run_event", "log")  # each row of the log has the same columns, whatever it is about
TABLES = [*WORK, *OTHERS]


def values_of(db, table):
    """Each value of the table: its column, the row and the value."""
    columns = [
        name.decode() for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))
    ]
    for row in db.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall():
        yield from ((column, row[0], value) for column, value in zip(columns, row[1:], strict=True))


def test_test_data_has_every_kind_of_record(memories):
    kinds = [
        {kind.decode() for (kind,) in memory.db.execute("SELECT kind FROM log")}
        for memory in memories
    ]

    assert kinds == [
        set(WORK) - {"log", "frontier"},
        set(KINDS),
        {"task", "span", "run", "run_event"},
    ]


@pytest.mark.parametrize("table", TABLES)
def test_every_flipped_byte_and_changed_number_is_found(memory, table):
    tried, missed = 0, []
    for column, row, value in values_of(memory.db, table):
        sql = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = {row}"
        for place in range(len(value) if isinstance(value, bytes) else 0):
            flipped = value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
            tried += 1
            if not is_found(memory, sql, flipped):
                missed.append((column, row, place))
        if isinstance(value, int):
            tried += 1
            if not is_raised_number_found(memory, table, column, row):
                missed.append((column, row, value))

    print(f"{table}: {tried} changes tried")
    assert missed == []
    assert tried > 50


def is_raised_number_found(memory, table, column, row):
    sql = f"UPDATE {table} SET {column} = {column} + ? WHERE rowid = {row}"
    try:
        return is_found(memory, sql, 1)
    except sqlite3.IntegrityError:  # the next number is taken
        return is_found(memory, sql, 1000)


@pytest.mark.parametrize("table", TABLES)
def test_setting_or_clearing_any_value_is_found(memory, table):
    missed = []
    for column, row, value in values_of(memory.db, table):
        new = b"x" if value is None else None
        with contextlib.suppress(sqlite3.IntegrityError):  # NOT NULL
            if not is_found(
                memory, f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = {row}", new
            ):
                missed.append((column, row))

    assert missed == []


def without_strict(db):
    """Remove STRICT, which refuses values of another type; a hex editor gets round it too."""
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = replace(sql, ') STRICT', ')') WHERE type = 'table'")
    db.execute("PRAGMA writable_schema = OFF")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE task SET title = CAST(title AS BLOB) WHERE seq = {task}",
        "UPDATE task SET id = CAST(id AS BLOB) WHERE seq = {task}",
        "UPDATE task SET test = x'30' WHERE seq = {task}",
        "UPDATE task_revision SET rev = 2.5",
        "UPDATE purge SET records = CAST(records AS BLOB)",
        "UPDATE log SET actor = CAST(actor AS BLOB) WHERE seq = {plan}",
        "UPDATE log SET leaf = CAST(leaf AS BLOB) WHERE seq = {plan}",
        "UPDATE log SET kind = CAST(kind AS BLOB) WHERE seq = {plan}",
        "UPDATE log SET idx = 'two' WHERE seq = {plan}",
        "UPDATE log SET test = x'30' WHERE seq = {plan}",
        "UPDATE frontier SET peaks = CAST(peaks AS BLOB)",
        "UPDATE frontier SET origin = CAST(origin AS BLOB)",
        "UPDATE task_state SET scope = CAST(scope AS BLOB) WHERE seq = {task}",
    ],
)
def test_change_of_only_the_type_fails_verification(root, statement):
    change(root, without_strict)
    assert verify(root / DATABASE)[0] == 0

    change(root, statement)

    assert verify(root / DATABASE)[0] == 7


@pytest.mark.parametrize("table", ["task", "log"])
def test_non_utf8_text_is_reported_as_edit(root, table):
    change(root, f"UPDATE {table} SET actor = CAST(x'61ff' AS TEXT) WHERE seq = 1")

    assert_found(root, "edit")


# Each kind of tampering, by both verifiers

ENTRY = "at, actor, command, kind, record_id, test, content_hash"
PLAN = (
    "id || 'x', at, actor, test, task_id, title, summary, body, status FROM plan WHERE seq = {plan}"
)
OTHER = "CASE substr({0}, 1, 1) WHEN '0' THEN '1' ELSE '0' END || substr({0}, 2)"  # its first digit is another one
TAMPERINGS = {
    "a record is edited": ("edit", "UPDATE plan SET title = 'Another' WHERE seq = {plan}"),
    "a record's id is edited": ("edit", "UPDATE plan SET id = id || 'x' WHERE seq = {plan}"),
    "a NUL and more are put at the end of a text": (
        "edit",
        "UPDATE plan SET title = title || char(0) || 'x'",
    ),
    "a record is marked as a test": ("edit", "UPDATE task SET test = 1 WHERE seq = 1"),
    "an entry's content hash is edited": ("edit", "UPDATE log SET content_hash = leaf"),
    "a leaf is not a hash": ("edit", "UPDATE log SET leaf = 'z' || substr(leaf, 2) WHERE seq = 3"),
    "an entry's actor is edited": ("edit", "UPDATE log SET actor = 'me' WHERE seq = {plan}"),
    "an entry's kind is edited": ("edit", "UPDATE log SET kind = 'task' WHERE seq = {plan}"),
    "an entry's leaf is edited": (
        "edit",
        f"UPDATE log SET leaf = {OTHER.format('leaf')} WHERE seq = {{plan}}",
    ),
    "an entry is marked as a test": ("edit", "UPDATE log SET test = 1 WHERE seq = {plan}"),
    "the frontier's peaks are edited": (
        "edit",
        f"UPDATE frontier SET peaks = {OTHER.format('peaks')}",
    ),
    "a NUL and more are put at the end of the peaks": (
        "edit",
        "UPDATE frontier SET peaks = peaks || char(0) || 'x'",
    ),
    "rows are hidden from an index": ("edit", hide_from_an_index),
    "the frontier is deleted": ("edit", "DELETE FROM frontier"),
    "no origin is local": ("edit", "UPDATE frontier SET local = 0"),
    "derived state is edited": ("edit", "UPDATE task_state SET status = 'done' WHERE seq = {task}"),
    "derived state is deleted": ("edit", "DELETE FROM task_state WHERE seq = {task}"),
    "a purged record is put back with other words": (
        "edit",
        "INSERT INTO task SELECT {purged}, (SELECT record_id FROM log WHERE seq = {purged}), at, actor, 1, 'Other', "
        "summary, body, scope, priority, status, done_when FROM task WHERE seq = {task}",
    ),
    "a record is deleted": ("deletion", "DELETE FROM plan WHERE seq = {plan}"),
    "the last record is deleted": ("deletion", "DELETE FROM task WHERE seq = {last}"),
    "an entry is deleted": ("deletion", "DELETE FROM log WHERE seq = {plan}"),
    "the first entry is deleted": ("deletion", "DELETE FROM log WHERE seq = 1"),
    "a record is deleted with its entry": (
        "deletion",
        "DELETE FROM log WHERE seq = {plan}",
        "DELETE FROM plan WHERE seq = {plan}",
    ),
    "the purge is nested too deeply to be read": (
        "deletion",
        "UPDATE purge SET records = replace(hex(zeroblob(50000)), '00', '[')",
    ),
    "the purge no longer names a record": ("deletion", "UPDATE purge SET records = '[]'"),
    "a record without an entry is put at the end": (
        "insertion",
        f"INSERT INTO plan SELECT 1 + {{last}}, {PLAN}",
    ),
    "a record without an entry is put beside another": (
        "insertion",
        f"INSERT INTO plan SELECT {{packet}}, {PLAN}",
    ),
    "an entry is put at the first place that there is": (
        "insertion",
        f"INSERT INTO log SELECT -9223372036854775808, origin, idx + 1, {ENTRY}, leaf FROM log WHERE seq = {{last}}",
    ),
    "a frontier of nobody is added": (
        "insertion",
        "INSERT INTO frontier VALUES ('{origin}', 0, 0, '')",
    ),
    "a record without an entry is put before all": (
        "insertion",
        f"INSERT INTO plan SELECT -5, {PLAN}",
    ),
    "the frontier counts one less": ("insertion", "UPDATE frontier SET size = size - 1"),
    "an entry is put before all": ("insertion", "UPDATE log SET seq = -5 WHERE seq = {plan}"),
    "two entries swap their idx": ("reordering", swap("log", "idx", "{plan}", "{packet}")),
    "two entries swap their seq": ("reordering", swap("log", "seq", "{plan}", "{packet}")),
    "two entries swap what they say": ("reordering", swap("log", ENTRY, "{plan}", "{packet}")),
    "two entries swap all but their idx": (
        "reordering",
        swap("log", f"{ENTRY}, leaf", "{plan}", "{packet}"),
    ),
    "two records swap their seq": ("reordering", swap("task", "seq", "{task}", "{last}")),
    "two records swap their ids": ("reordering", swap("task", "id", "{task}", "{last}")),
    "a record moves to the end": ("reordering", "UPDATE plan SET seq = 1000 WHERE seq = {plan}"),
    "a record moves before all": ("reordering", "UPDATE plan SET seq = -1000 WHERE seq = {plan}"),
    "the log's tail is cut off": ("truncation", "DELETE FROM log WHERE seq > {purge}"),
    "the last entry is cut off": ("truncation", "DELETE FROM log WHERE seq = {last}"),
    "the whole log is cut off": ("truncation", "DELETE FROM log"),
    "the tail is cut off with its records": (
        "truncation",
        "DELETE FROM log WHERE seq > {purge}",
        "DELETE FROM task WHERE seq > {purge}",
        "DELETE FROM task_state WHERE seq > {purge}",
    ),
    "the frontier counts one more": ("truncation", "UPDATE frontier SET size = size + 1"),
    "a record is edited and all hashes recomputed": (
        "edit",
        "UPDATE plan SET title = 'Another'",
        rewrite,
    ),
    "the last commit is removed and all hashes recomputed": (
        "rollback",
        "DELETE FROM log WHERE seq = {last}",
        "DELETE FROM task WHERE seq = {last}",
        "DELETE FROM task_state WHERE seq = {last}",
        rewrite,
    ),
    "an entry's origin is edited": (
        "edit",
        "UPDATE log SET origin = '{origin}' WHERE seq = {plan}",
    ),
    "an entry's idx is edited": ("edit", "UPDATE log SET idx = 1000 WHERE seq = {plan}"),
    "an entry is put at the last place that there is": (
        "insertion",
        f"INSERT INTO log SELECT 9223372036854775807, origin, idx + 1, {ENTRY}, leaf FROM log WHERE seq = {{last}}",
    ),
    "an entry's seq is edited": ("insertion", "UPDATE log SET seq = 1000 WHERE seq = {plan}"),
    "the frontier's origin is edited": ("edit", "UPDATE frontier SET origin = '{origin}'"),
    "two entries swap their leaves": ("reordering", swap("log", "leaf", "{plan}", "{packet}")),
    "a table is dropped": ("edit", "DROP TABLE packet_result"),
    "another record is put where one was purged": (
        "insertion",
        "INSERT INTO task SELECT {purged}, id || 'x', at, actor, 1, title, summary, body, scope, priority, status, "
        "done_when FROM task WHERE seq = {task}",
    ),
    "a commit in the middle is removed and all hashes recomputed": (
        "edit",
        close_up,
        rewrite,
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_both_verifiers_find_each_tampering(root, name):
    problem, *statements = TAMPERINGS[name]

    change(root, *statements)

    assert_found(root, problem)


INTRUDER = "id || 'x', at, actor, 1, title, summary, body, scope, priority, status, done_when FROM task WHERE seq = 1"
# The problem, where the id of the first bad record stands before, and what is done.
NAMED = {
    "an entry is copied behind a gap": (
        "insertion",
        "SELECT id FROM plan",
        f"INSERT INTO log SELECT 1000, origin, idx, {ENTRY}, leaf FROM log WHERE seq = {{plan}}",
    ),
    "an entry is copied to the end": (
        "insertion",
        "SELECT id FROM plan",
        f"INSERT INTO log SELECT 1 + {{last}}, origin, idx, {ENTRY}, leaf FROM log WHERE seq = {{plan}}",
    ),
    "the log's tail is cut off": (
        "truncation",
        "SELECT record_id FROM log WHERE seq = 1 + {purge}",
        "DELETE FROM log WHERE seq > {purge}",
    ),
    "the log is cut off at a purged record": (
        "truncation",
        "SELECT record_id FROM log WHERE seq = 1 + {purged}",
        "DELETE FROM log WHERE seq >= {purged}",
    ),
    "entries are deleted from a purged one on": (
        "deletion",
        "SELECT record_id FROM log WHERE seq = 1 + {purged}",
        "DELETE FROM log WHERE seq IN ({purged}, {purged} + 1)",
    ),
    "derived state is edited": (
        "edit",
        "SELECT id FROM task WHERE seq = {last}",
        "UPDATE task_state SET status = 'done' WHERE seq = {last}",
    ),
    "derived state is edited here and deleted there": (
        "edit",
        "SELECT id FROM task WHERE seq = {task}",
        "DELETE FROM task_state WHERE seq = {task}",
        "UPDATE task_state SET status = 'done' WHERE seq = {last}",
    ),
    "the frontier counts one less": (
        "insertion",
        "SELECT record_id FROM log WHERE seq = {last}",
        "UPDATE frontier SET size = size - 1",
    ),
    "a record is put before all and an entry deleted": (
        "insertion",
        "SELECT id || 'x' FROM plan",
        f"INSERT INTO plan SELECT -1, {PLAN}",
        "DELETE FROM log WHERE seq = {packet}",
    ),
    "a record is put beside another and a later entry deleted": (
        "insertion",
        "SELECT id || 'x' FROM plan",
        f"INSERT INTO plan SELECT 1, {PLAN}",
        "DELETE FROM log WHERE seq = {packet}",
    ),
    "another record is put where one was purged": (
        "insertion",
        "SELECT id || 'x' FROM task WHERE seq = 1",
        f"INSERT INTO task SELECT {{purged}}, {INTRUDER}",
    ),
    "a record is moved before all and another deleted": (
        "reordering",
        "SELECT id FROM packet",
        "UPDATE packet SET seq = -1",
        "DELETE FROM plan",
    ),
    "an entry is deleted and the next one edited": (
        "edit",
        "SELECT record_id FROM log WHERE seq = 1 + {plan}",
        "DELETE FROM log WHERE seq = {plan}",
        "UPDATE log SET actor = 'me' WHERE seq = 1 + {plan}",
    ),
    "an entry's kind is edited and its leaf recomputed": (
        "edit",
        "SELECT id FROM plan",
        "UPDATE log SET kind = 'task' WHERE seq = {plan}",
        rewrite_leaves,
    ),
    "an entry's kind is edited to none that there is and its leaf recomputed": (
        "edit",
        "SELECT id FROM plan",
        "UPDATE log SET kind = 'x\"y' WHERE seq = {plan}",
        rewrite_leaves,
    ),
    "the log goes on with another origin": (
        "deletion",
        "SELECT id FROM packet",
        "UPDATE log SET origin = '{origin}' WHERE seq >= {packet}",
        rewrite_leaves,
    ),
    "the log of another origin begins in it": (
        "insertion",
        "SELECT id FROM packet",
        "UPDATE log SET origin = '{origin}' WHERE seq >= {packet}",
        rewrite,
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_k8_names_the_first_bad_record(root, name):
    problem, first, *statements = NAMED[name]
    with opened(root / DATABASE) as db:
        (record_id,) = db.execute(first.format(**places(db))).fetchone()

    change(root, *statements)
    finding = find_problem(root)

    assert (finding["problem"], finding["record_id"]) == (problem, record_id)


def test_entry_of_unknown_record_is_reported_as_edit(root):
    change(root, "UPDATE log SET record_id = 'plan_never' WHERE seq = {plan}", rewrite_leaves)
    (root / ANCHORS).unlink()

    assert_found(root, "edit")


def test_added_derived_table_is_reported_as_edit(root):
    change(root, "CREATE TABLE foo_state (seq INTEGER PRIMARY KEY)")

    assert_found(root, "edit")


@pytest.mark.parametrize("origin", [b" ", b"kaizen.local/\xff"])
def test_anchor_of_unknown_origin_is_reported_as_rollback(root, origin):
    whole = (root / ANCHORS).read_bytes()
    (root / ANCHORS).write_bytes(origin + whole[whole.index(b"\n") :] + whole)

    assert_found(root, "rollback")


@pytest.mark.parametrize(
    "between", [b"\n \n", b"\n\x0c\n", b"\r\n\r\n", b"\nsigned \xff\n\n", b"\n\n\n\n"]
)
def test_both_verifiers_separate_anchors_alike(root, between):
    whole = (root / ANCHORS).read_bytes()
    (root / ANCHORS).write_bytes(whole.replace(b"\n\n", between))
    ours, theirs = kaizen(root, "K8"), verify(root / DATABASE)[1]

    assert [ours[name] for name in ("anchors", "damaged_anchors")] == [
        theirs[name] for name in ("anchors", "damaged_anchors")
    ]


def test_raw_byte_instead_of_its_escape_is_found(root):
    start_task(root, r"A path \xff here")
    change(
        root,
        "UPDATE task SET title = CAST(x'41207061746820ff2068657265' AS TEXT) WHERE seq = {last}",
    )

    assert_found(root, "edit")


@pytest.mark.parametrize("column, value", [("title", "x'77'"), ("done_when", "7")])
def test_value_with_wrong_type_is_found(root, column, value):
    start_task(root, "wrong type", done_when=["wrong type"])
    change(
        root,
        set_strict("replace(sql, 'STRICT', '')"),
        f"UPDATE task SET {column} = {value} WHERE seq = {{last}}",
        set_strict("sql || 'STRICT'"),
    )

    assert_found(root, "edit")


def test_infinite_number_in_a_record_is_found(root):
    kaizen(root, "T1", name="run", kind="run", duration_ms=5, cost_usd=0.5)
    change(root, "UPDATE span SET cost_usd = 9e999")

    assert_found(root, "edit")


def test_restored_purged_record_is_reported_as_insertion(root):
    start_task(root, "Rehearsal", test=True)
    saved = []
    change(
        root,
        lambda db: saved.extend(
            db.execute("SELECT * FROM task ORDER BY seq DESC LIMIT 1").fetchall()
        ),
    )
    kaizen(root, "K7")
    change(
        root,
        lambda db: db.execute(
            f"INSERT INTO task VALUES ({', '.join('?' * len(saved[0]))})", saved[0]
        ),
    )

    assert_found(root, "insertion")


def test_k8_lists_findings_in_log_order(root):
    change(
        root,
        "DROP VIEW task_current",
        "UPDATE task SET title = 'Another' WHERE seq = {last}",
        f"INSERT INTO plan SELECT {{packet}}, {PLAN}",
        "DELETE FROM plan WHERE seq = {plan}",
    )
    with pytest.raises(Integrity) as caught:
        kaizen(root, "K8")

    assert [finding["kind"] for finding in caught.value.findings] == ["plan", "plan", "task", None]


def test_rewritten_batch_is_named_by_its_first_entry(root):
    lines = [
        json.dumps({"command": "W1", "args": {"title": f"T{n}", "summary": "s"}}) for n in range(5)
    ]
    (root / "lines").write_text("\n".join(lines))
    kaizen(root, "K5", file=str(root / "lines"))
    change(root, "UPDATE task SET title = 'Another' WHERE seq = {last} - 1", rewrite)
    ours, theirs = find_problem(root), verify(root / DATABASE)[1]["findings"][0]

    assert ours["log_index"] == theirs["log_index"] == places_of(root)["last"] - 5
    assert ours["record_id"] == theirs["record_id"]


@pytest.mark.parametrize("origin", ["kaizen.local/unknown", None])
def test_wrong_anchor_of_an_empty_log_is_found(root, origin):
    anchors = root / "AI" / "db" / "manifests" / "checkpoints"
    origin = origin or anchors.read_text().partition("\n")[0]
    anchors.write_text(f"{origin}\n0\n{'A' * 43}=\n\n" + anchors.read_text())

    assert find_problem(root)


def test_backup_of_empty_log_passes_verification(root):
    (root / DATABASE).unlink()
    kaizen(root, "K1")
    backup = kaizen(root, "K3")["backup"]
    start_task(root, "After it")

    assert kaizen(root, "K8", file=str(root / backup))["verified"]


@pytest.mark.parametrize("size", ["9" * 30, "٣"])
def test_anchor_with_invalid_size_counts_as_damaged(root, size):
    anchors = root / "AI" / "db" / "manifests" / "checkpoints"
    origin = anchors.read_text().partition("\n")[0]
    anchors.write_text(f"{origin}\n{size}\n{'A' * 43}=\n\n" + anchors.read_text())

    assert (
        verify(root / DATABASE)[1]["damaged_anchors"] == kaizen(root, "K8")["damaged_anchors"] == 1
    )


def test_verifier_prints_finding_with_record_and_log_index(root):
    change(root, "UPDATE plan SET title = 'Another' WHERE seq = {plan}")
    [finding] = verify(root / DATABASE)[1]["findings"]

    ran = command_line(root / DATABASE)

    place = f"plan {finding['record_id']}, log index 2"
    assert (ran.returncode, ran.stderr) == (7, "")
    assert ran.stdout == f"Not in order ({place}): {finding['says']}\n"
    assert (finding["kind"], finding["log_index"]) == ("plan", 2)
    assert re.fullmatch(r"plan_\d{8}T\d{9}Z_[0-9a-f]{10}", finding["record_id"])


@pytest.mark.parametrize(
    "statements, index",
    [
        (["DELETE FROM log WHERE seq = {plan}"], 2),
        (["DELETE FROM log WHERE seq > {purge}"], None),
        (["DELETE FROM log WHERE seq = {last}", "DELETE FROM task WHERE seq = {last}"], 13),
        (["UPDATE frontier SET size = size - 1"], 13),
        (["UPDATE task SET title = 'x' WHERE seq = {last}", "DELETE FROM plan"], 2),
        (["UPDATE plan SET title = 'Another'", rewrite], 2),
    ],
)
def test_verifier_names_the_first_bad_log_index(root, statements, index):
    change(root, *statements)

    assert verify(root / DATABASE)[1]["findings"][0]["log_index"] == index


def test_record_under_forged_purge_is_reported_as_deletion(root):
    change(
        root,
        "UPDATE purge SET records = json_insert(records, '$[#]', (SELECT id FROM plan))",
        "DELETE FROM plan",
        rewrite,
    )
    (root / ANCHORS).unlink()

    assert_found(root, "deletion")


def test_tampering_in_the_wal_is_found(root):
    with opened(root / DATABASE) as db:
        drop_triggers(db)
        file = (root / DATABASE).read_bytes()
        db.execute("UPDATE plan SET title = 'Another'")

        assert (root / DATABASE).read_bytes() == file
        assert verify(root / DATABASE)[0] == 7


# Anchors


def with_anchors_of(root, other):
    shutil.copy(other / ANCHORS, root / ANCHORS)
    return root


def test_older_file_with_newer_anchors_is_reported_as_rollback(made, tmp_path):
    root = with_anchors_of(copy_of(made.older, tmp_path), made.now)

    assert_found(root, "rollback")


@pytest.mark.parametrize("commits", [1, 2, 4])
def test_older_file_with_new_writes_is_reported_as_rollback(made, tmp_path, commits):
    root = with_anchors_of(copy_of(made.older, tmp_path), made.now)
    for number in range(commits):
        start_task(root, f"Since {number}")

    assert_found(root, "rollback")


def test_history_with_replaced_commit_is_reported_as_rollback(made, tmp_path):
    root = copy_of(made.now, tmp_path)
    start_task(root, "Undone")
    with_anchors_of(shutil.copytree(made.now, tmp_path / "again"), root)

    start_task(tmp_path / "again", "Done instead")

    assert_found(tmp_path / "again", "rollback")


def test_database_with_foreign_anchors_is_reported_as_rollback(made, tmp_path):
    start_task(tmp_path, "Of another origin")
    with_anchors_of(tmp_path, made.now)

    assert_found(tmp_path, "rollback")
    assert verify(tmp_path / DATABASE, "--copy")[0] == 7


def test_rewritten_history_without_anchors_passes_verification(root):
    change(root, "UPDATE plan SET title = 'Another'", rewrite)
    (root / ANCHORS).unlink()

    assert_in_order(root)


def test_copy_older_than_its_anchors_passes_verification(made, tmp_path):
    root = copy_of(made.now, tmp_path)
    kaizen(root, "K3", out=str(tmp_path / "a backup.db"))
    start_task(root, "After the backup")

    assert verify(tmp_path / "a backup.db", "--anchors", root / ANCHORS)[0] == 7
    assert verify(tmp_path / "a backup.db", "--anchors", root / ANCHORS, "--copy")[0] == 0


def test_copy_with_a_rewritten_history_is_found(root):
    change(root, "UPDATE plan SET title = 'Another'", rewrite)

    assert verify(root / DATABASE, "--copy")[0] == 7


def test_truncated_anchor_is_counted_as_damaged(root):
    whole = (root / ANCHORS).read_bytes()
    last = whole.rstrip().rindex(b"\n\n") + 2
    for end in range(last + 1, len(whole.rstrip())):
        (root / ANCHORS).write_bytes(whole[:end])

        code, report = verify(root / DATABASE)

        assert (code, report["anchors"], report["damaged_anchors"]) == (0, 12, 1)


@pytest.mark.parametrize(
    "line", ["", "seven", "-7", "7", "9" * 5000, "7\nAAAA", "7\n" + "A" * 44, "7\nÄ\n8"]
)
def test_unreadable_anchor_is_counted_and_next_is_read(root, line):
    whole = (root / ANCHORS).read_text()
    (root / ANCHORS).write_text(f"kaizen.local/x\n{line}\n\n{whole}", encoding="utf-8")

    code, report = verify(root / DATABASE)

    assert (code, report["anchors"], report["damaged_anchors"]) == (0, 13, 1)


def test_anchors_option_reads_anchors_from_elsewhere(root, tmp_path):
    shutil.move(root / ANCHORS, tmp_path / "kept")

    assert verify(root / DATABASE)[1]["anchors"] == 0
    assert verify(root / DATABASE, "--anchors", tmp_path / "kept")[1]["anchors"] == 13


# Files that are no database


def test_verifier_exits_3_and_creates_no_file(tmp_path):
    ran = command_line(tmp_path / "none.db")

    assert (ran.returncode, ran.stdout) == (3, "")
    assert "no such file" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_verifier_with_missing_anchors_file_exits_3(root):
    assert command_line(root / DATABASE, "--anchors", root / "none").returncode == 3


def test_verifier_given_a_folder_exits_3(tmp_path):
    assert command_line(tmp_path).returncode == 3


@pytest.mark.parametrize("arguments", [(), ("a", "b"), ("a", "--what")])
def test_verifier_with_wrong_arguments_exits_2(arguments):
    assert command_line(*arguments).returncode == 2


@pytest.mark.parametrize(
    "content", [b"", b"Not a database.\n" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_file_without_kaizen_data_fails_verification(tmp_path, content):
    (tmp_path / "file.db").write_bytes(content)

    ran = command_line(tmp_path / "file.db")

    assert (ran.returncode, ran.stderr) == (7, "")
    assert re.match(r"Not in order: the .* Kaizen database", ran.stdout)


@pytest.mark.parametrize("table", ["log", "frontier"])
def test_database_without_log_or_frontier_fails_verification(root, table):
    change(root, f"DROP TABLE {table}")

    assert verify(root / DATABASE)[0] == 7


def test_file_of_another_application_fails_verification(root):
    change(root, "PRAGMA application_id = 1")

    assert verify(root / DATABASE)[0] == 7


@pytest.mark.parametrize("version", [0, 5, -3])
def test_wrong_schema_version_fails_verification(root, version):
    change(root, f"PRAGMA user_version = {version}")

    assert verify(root / DATABASE)[0] == 7


def test_database_without_migration_table_is_reported_as_edit(root):
    change(root, "DROP TABLE migration")

    assert_found(root, "edit")


def settled(root):
    """The bytes of the database when nothing is left in the -wal."""
    with opened(root / DATABASE) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (root / DATABASE).read_bytes()


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_truncated_file_fails_verification(root, tmp_path, part):
    whole = settled(root)
    (tmp_path / "cut.db").write_bytes(whole[: int(len(whole) * part)])

    assert verify(tmp_path / "cut.db")[0] == 7


def test_verifier_of_randomly_damaged_file_exits_0_or_7(root, tmp_path):
    whole, chance = settled(root), random.Random(8785)
    for number in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 10, 100])):
            damaged[chance.randrange(len(whole) if number % 2 else 4096)] ^= 1 << chance.randrange(
                8
            )
        file = tmp_path / f"{number}.db"
        file.write_bytes(damaged)

        assert verify(file)[0] in (0, 7)
