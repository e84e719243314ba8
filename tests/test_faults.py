"""Faults: many writers, kill -9, full disks, broken files, signals, forks. All processes and files are real.

Functions that fork or mount run `apart`: in a new interpreter without threads and without libsql. No
test asserts speed; limits only end what hangs. setup/nightly.sh has more writers and random kills.
"""

import contextlib
import errno
import itertools
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import EXIT_CODES, Busy, NotFound
from kaizen_components.records.ledger.anchor import AnchorFile
from kaizen_components.records.ledger.hashing import read_log_end
from kaizen_components.records.ledger.transaction import RecordWriter
from kaizen_components.store.connection import Connection
from kaizen_components.store.gate import Gate, is_held
from kaizen_components.store.place import Place

from .conftest import LAUNCHER, ROOT

TASK = {"title": "A task", "summary": "What it is about."}
W1 = ("W1", "--title", "A task", "--summary", "What it is about.")
PATIENCE_S = 60


def database(root):
    return pathlib.Path(root, "AI", "db", "kaizen.db")


def anchors(root):
    return pathlib.Path(root, "AI", "db", "manifests", "checkpoints")


def lock(root):
    return pathlib.Path(root, "AI", "db", "kaizen.db.lock")


def shell(root, *argv, limit_bytes=None, **more):
    """The command line where the fixture `cli` does not reach: its exit code, and the object that it printed."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    done = subprocess.run(
        [sys.executable, str(LAUNCHER), *argv, "--json"],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root), **more},
        cwd="/",
        capture_output=True,
        text=True,
        preexec_fn=limited if limit_bytes else None,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert bool(done.stdout) is (done.returncode == 0)
    return {"exit": done.returncode, **json.loads(done.stdout or done.stderr)}


def logged(root):
    """The record ids of the log in order, by plain SQLite; the log has no gap.

    Read-only, so that it never checkpoints. Not while this process has a door open: when one SQLite closes the file,
    the locks of the other end.
    """
    if not database(root).exists():
        return []
    with contextlib.closing(
        sqlite3.connect(database(root).as_uri() + "?mode=ro", uri=True)
    ) as plain:
        rows = plain.execute("SELECT seq, record_id FROM log ORDER BY seq").fetchall()
    assert [seq for seq, _ in rows] == list(range(1, len(rows) + 1))
    return [record_id for _, record_id in rows]


def verified(root):
    """What K8 says, after K1 has found every page, key and derived row in order."""
    with contextlib.closing(Door(str(root))) as door:
        assert set(door("K1", integrity=True)["integrity"].values()) == {"ok"}
        answer = door("K8")
    assert answer["verified"] and answer["intact"] == answer["entries"] == len(logged(root))
    return answer


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE_S} s until {what}"
        time.sleep(0.002)


# Processes

APART = """
import json, sys
from tests import test_faults
assert "libsql" not in sys.modules
json.dump(getattr(test_faults, sys.argv[1])(*json.loads(sys.argv[2])), sys.stdout)
"""


def apart(function, *args, within=()):
    """The result of a function of this module, from a new interpreter."""
    command = [
        *within,
        sys.executable,
        "-c",
        APART,
        function.__name__,
        json.dumps(args, default=str),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def born(function, *args):
    """(pid, pipe) of a forked process that runs the function; its result, or its error, comes as JSON."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = {"result": function(*args)}
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error} {getattr(error, 'why', '')}"}
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    return pid, reading


def result(pid, pipe):
    with os.fdopen(pipe) as file:
        answer = json.load(file)
    os.waitpid(pid, 0)
    assert "error" not in answer, answer["error"]
    return answer["result"]


def together(*jobs):
    """Run each (function, *args) in a process of its own, all from the same moment on; their results in order."""
    ready, go = os.pipe()

    def started(function, *args):
        os.close(go)
        os.read(ready, 1)  # ends when nobody holds the other side any more
        return function(*args)

    children = [born(started, *job) for job in jobs]
    os.close(go)
    os.close(ready)
    return [result(*child) for child in children]


def killed(when, function, *args):
    """Run function(say, *args) in a process and kill it -9: after so many seconds, or when it says that word."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:

        def say(text):
            os.write(writing, f"{text}\n".encode())

        try:
            function(say, *args)
        except BaseException as error:
            say(f"{type(error).__name__}: {error}")  # which no test takes for an id
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = []
        if isinstance(when, str):
            while said[-1:] != [when]:
                said.append(pipe.readline().strip())
                assert said[-1], "it ended without a word"
        else:
            time.sleep(when)
        os.kill(pid, signal.SIGKILL)
        said += pipe.read().splitlines()
    os.waitpid(pid, 0)
    return said


def write(root, times=1):
    """Ids of new tasks, each from a door that is opened and closed like a cold command's."""
    ids = []
    for _ in range(times):
        with contextlib.closing(Door(root)) as door:
            ids.append(door("W1", **TASK)["id"])
    return ids


# Many at once


def write_at_once(root, processes, times):
    return together(*[(write, root, times)] * processes)


def test_eight_concurrent_writers_lose_no_record(root):
    ids = [one for many in apart(write_at_once, root, 8, 10) for one in many]

    assert len(set(ids)) == len(ids) == 80
    assert set(logged(root)) == set(ids)
    answer = verified(root)
    assert (answer["entries"], answer["anchors"], answer["damaged_anchors"]) == (80, 80, 0)


def be_refused(root, times):
    """Each time the parent is unknown: the folders are made, and taken back."""
    for _ in range(times):
        with contextlib.closing(Door(root)) as door, contextlib.suppress(NotFound):
            door("W1", **TASK, parent="task_nowhere")
    return []


def write_behind(root, seconds):
    time.sleep(seconds)
    return write(root)


def first_writes_at_once(root):
    delays = [random.uniform(0, 0.2) for _ in range(4)]
    return together(
        *[(be_refused, root, 4)] * 4, *[(write_behind, root, delay) for delay in delays]
    )


def test_concurrent_first_writes_create_one_database(root):
    acknowledged = [one for ids in apart(first_writes_at_once, root) for one in ids]

    assert sorted(logged(root)) == sorted(acknowledged) and len(acknowledged) == 4
    assert verified(root)["entries"] == 4
    assert anchors(root).read_text().count("\n\n") == 4
    assert {"backups", "exports", "manifests"} <= {
        path.name for path in database(root).parent.iterdir()
    }


def write_with_op_id(root):
    with contextlib.closing(Door(root)) as door:
        return door("W1", **TASK, op_id="the-same")


def write_the_same_at_once(root, processes):
    return together(*[(write_with_op_id, root)] * processes)


def test_same_op_id_in_16_processes_makes_one_record(root):
    answers = apart(write_the_same_at_once, root, 16)

    assert len({answer["id"] for answer in answers}) == 1
    assert sorted(answer.get("replayed", False) for answer in answers) == [False] + [True] * 15
    assert len(logged(root)) == 2, "the task and its op"
    verified(root)


def write_until(root, stop):
    ids = []
    while not os.path.exists(stop):
        ids += write(root)
    return ids


def back_up(root, stop, times):
    """Backups, and a manifest beside each, with writes between them."""
    copies, manifests = [], []
    try:
        for _ in range(times):
            size = len(logged(root))
            until(lambda size=size: len(logged(root)) > size, "others have written")
            with contextlib.closing(Door(root)) as door:
                copies.append(door("K3"))
                manifests.append(door("K6"))
    finally:
        pathlib.Path(stop).touch()
    return copies, manifests


def back_up_beside_writers(root, stop, writers, times):
    together((write, root))
    return together((back_up, root, stop, times), *[(write_until, root, stop)] * writers)


def test_backups_during_writes_are_complete_and_grow(root, tmp_path):
    (copies, manifests), *written = apart(back_up_beside_writers, root, tmp_path / "stop", 4, 5)

    assert all(written), "each of the writers got its turns"
    for copy in copies:
        assert Door(str(root))("K8", file=str(root / copy["backup"]))["verified"]
    for facts in (copies, manifests):
        entries = [one["entries"] for one in facts]
        sizes = [one["file"]["bytes"] for one in facts]
        assert entries == sorted(set(entries)) and sizes == sorted(sizes)
    assert verified(root)["entries"] == 1 + sum(map(len, written))


def write_and_tell(root, times, done):
    try:
        return write(root, times)
    finally:
        pathlib.Path(done).touch()


def read_until(root, keep_open, code, done):
    """Read again and again. What a reader counts never shrinks, and what K8 reads always fits together."""
    before, over = 0, False
    door = Door(root)
    while not over:
        over = all(map(os.path.exists, done))
        found = door("K8") if code == "K8" else door(code, limit=10_000)
        size = found["entries"] if code == "K8" else found["count"]
        assert size >= before and found.get("verified", True)
        before = size
        if not keep_open:
            door.close()
    door.close()
    return before


def read_beside_writers(root, folder, writers, times):
    together((write, root))
    done = [os.path.join(folder, f"done {number}") for number in range(writers)]
    readers = [
        (read_until, root, keep, code, done)
        for code in ("W9", "W12", "K8")
        for keep in (False, True)
    ]
    answers = together(*readers, *((write_and_tell, root, times, one) for one in done))
    return answers[: len(readers)]


def test_readers_beside_four_writers_never_fail(root, tmp_path):
    last_reads = apart(read_beside_writers, root, tmp_path, 4, 50)

    assert last_reads == [201] * 6
    assert verified(root)["entries"] == 201


# kill -9


# The calls of one write that may change a file: the process dies before each of them.
STEPS = [(Connection, "execute"), (Connection, "flush"), (Connection, "close")]
STEPS += [(AnchorFile, "append"), (Gate, "close"), (Place, "make_folders")]


def write_and_die(root, step):
    """Write one task; kill -9 this process before the step of that number."""
    calls = itertools.count(1)

    def count_calls(function):
        def call(*args, **more):
            if next(calls) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **more)

        return call

    for owner, name in STEPS:
        setattr(owner, name, count_calls(getattr(owner, name)))
    return write(root)


def kill_at_every_step(folder, stride, is_new):
    """Kill a writer before one step after the other; the next write has to work."""
    projects = []
    for step in itertools.count(1, stride):
        root = os.path.join(folder, str(step)) if is_new else folder
        os.makedirs(root, exist_ok=True)
        pid, pipe = born(write_and_die, root, step)
        with os.fdopen(pipe) as file:
            answer = file.read()
        os.waitpid(pid, 0)
        if answer:
            break
        projects.append([root, *together((write, root))[0]])
    return projects


def test_kill_at_every_step_of_write_loses_nothing(root):
    write(str(root))
    ids = [written for _, written in apart(kill_at_every_step, root, 1, False)]

    assert len(ids) > 10 and set(ids) <= set(logged(root))
    assert len(logged(root)) <= 1 + 2 * len(ids), "a kill leaves at most one more record"
    verified(root)


def test_kill_during_database_creation_leaves_no_partial_database(tmp_path):
    projects = apart(kill_at_every_step, tmp_path, 20, True)

    assert len(projects) > 10
    for root, written in projects:
        root = pathlib.Path(root)
        assert logged(root)[-1] == written and verified(root)["entries"] in (1, 2)


def batch_for_ever(say, root, file):
    while True:
        with contextlib.closing(Door(root)) as door:
            say(door("K5", file=file)["count"])


def kill_batches(root, file, seed, rounds):
    rng = random.Random(seed)
    together((write, root))
    return [
        (killed(rng.uniform(0.05, 0.7), batch_for_ever, root, file), len(logged(root)))
        for _ in range(rounds)
    ]


def test_killed_batch_is_recorded_completely_or_not_at_all(root, tmp_path):
    file = tmp_path / "batch.jsonl"
    file.write_text(json.dumps({"command": "W1", "args": TASK}).join(["", "\n"]) * 500)

    entries_before = 1
    for acknowledged, entries in apart(kill_batches, root, file, 7, 3):
        written, rest = divmod(entries - entries_before, 500)
        assert rest == 0
        assert written - len(acknowledged) in (0, 1)
        entries_before = entries
    verified(root)


def hold_and_say(say, root):
    """Inside the gate, inside a transaction, with a record that is not committed."""
    with Door(root).store.begin_write_transaction() as connection:
        tx = RecordWriter(connection, "agent", "W1", False, read_log_end(connection))
        tx.add("task", {**TASK, "scope": "project", "priority": "normal", "status": "open"})
        say("inside")
        time.sleep(PATIENCE_S)


def kill_inside_the_gate(root):
    together((write, root))
    said = killed("inside", hold_and_say, root)
    held = is_held(str(lock(root)))
    return said, held, together((write, root))[0]


def test_killed_writer_leaves_no_lock_or_partial_record(root, monkeypatch):
    monkeypatch.setenv("KAIZEN_BUSY_TIMEOUT_S", "0")  # a stale lock would be refused at once
    said, held, written = apart(kill_inside_the_gate, root)

    assert said == ["inside"] and not held
    assert verified(root)["entries"] == 2 and logged(root)[-1:] == written


# Signals


def started(root, *argv):
    return subprocess.Popen(
        [sys.executable, str(LAUNCHER), *argv],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root), "KAIZEN_BUSY_TIMEOUT_S": "600"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    "number, exit_code", [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_signal_during_write_ends_quietly_and_records_nothing(root, tmp_path, number, exit_code):
    file = tmp_path / "batch.jsonl"
    file.write_text(json.dumps({"command": "W1", "args": TASK}).join(["", "\n"]) * 5_000)
    write(str(root))
    process = started(root, "K5", "--file", str(file))
    until(lambda: is_held(str(lock(root))), "the batch holds the gate")
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, out, err) == (exit_code, "", "")
    assert verified(root)["entries"] == 1
    assert len(write(str(root))) == 1


def is_queued(pid):
    """Does the kernel know a process that waits for a file lock? (Linux says so; elsewhere a second must do.)"""
    locks = pathlib.Path("/proc/locks")
    if not locks.exists():
        time.sleep(1.0)
        return True
    return any(
        "->" in words and str(pid) in words
        for words in map(str.split, locks.read_text().splitlines())
    )


def test_ctrl_c_while_waiting_for_lock_exits_quietly(root):
    write(str(root))
    with Gate(str(lock(root))):
        process = started(root, *W1)
        until(lambda: is_queued(process.pid), "the writer waits for the gate")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, out, err) == (130, "", "")
    assert verified(root)["entries"] == 1


def test_ctrl_c_while_importing_exits_quietly(cli, tmp_path):
    loading = tmp_path / "loading"
    loading.mkdir()
    (loading / "fcntl.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")

    answer = cli("W9", env={"PYTHONPATH": str(loading)})

    assert answer.exit_code in (130, -signal.SIGINT)
    assert "Traceback" not in answer.err


def test_ctrl_c_at_locked_database_exits_at_once(root):
    write(str(root))
    plain = sqlite3.connect(database(root), isolation_level=None)
    plain.execute("BEGIN IMMEDIATE")
    process = started(root, *W1)
    until(lambda: is_held(str(lock(root))), "the writer is inside the gate")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=5)
        assert process.returncode == 130
    finally:
        process.kill()
        process.communicate()
        plain.close()


# Full disks


@pytest.fixture
def mounts(tmp_path):
    """The words before a command whose mounts are its own and end with it; skips where that is not allowed."""
    words = (
        ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    )
    trial = [*words, "mount", "-t", "tmpfs", "none", str(tmp_path)]
    if not shutil.which("unshare") or subprocess.run(trial, capture_output=True).returncode:
        pytest.skip("this user may not mount")
    return words


def mount_small_disk(root, size="2m"):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", root], check=True)


def fill(root, leave_bytes=0):
    path = os.path.join(root, "ballast")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(descriptor, b"x" * 4096)
    except OSError as error:
        assert error.errno == errno.ENOSPC
    finally:
        os.close(descriptor)
    if leave_bytes:
        os.truncate(path, os.path.getsize(path) - leave_bytes)


def free(root):
    os.unlink(os.path.join(root, "ballast"))


def write_until_refused(root, **more):
    acknowledged = []
    while (answer := shell(root, *W1, "--body", "x" * 10_000, **more))["exit"] == 0:
        acknowledged.append(answer["id"])
        assert len(acknowledged) < 500
    return acknowledged, answer


def assert_refused_for_the_disk(answer):
    assert answer["exit"] == 5
    assert answer["code"] in ("disk_full", "disk_error")
    assert answer["what"] and "space" in answer["next"]


def fill_a_disk_by_writing(root):
    mount_small_disk(root)
    shell(root, "K1")
    fill(root, leave_bytes=300_000)
    acknowledged, refused = write_until_refused(root)
    again = shell(root, *W1, "--body", "x" * 10_000)
    reads = {code: shell(root, code) for code in ("W9", "W12", "K8", "K11")}
    free(root)
    return (
        acknowledged,
        [refused, again],
        reads,
        shell(root, *W1),
        shell(root, "K1", "--integrity"),
        shell(root, "K8"),
        logged(root),
    )


def test_full_disk_refuses_writes_and_loses_nothing(root, mounts):
    acknowledged, refused, reads, next_write, checked, after, found = apart(
        fill_a_disk_by_writing, root, within=mounts
    )

    for answer in refused:
        assert_refused_for_the_disk(answer)
    assert all(answer["exit"] == 0 for answer in reads.values())
    assert [row["id"] for row in reads["W9"]["records"]] == acknowledged[::-1][:50]
    assert reads["K8"]["verified"] and reads["K8"]["entries"] == len(acknowledged) > 0
    assert reads["K11"]["healthy"] is False
    assert [row["state"] for row in reads["K11"]["checks"] if row["check"] == "disk"] == ["fail"]
    assert next_write["exit"] == checked["exit"] == 0 and after["verified"]
    assert found == [*acknowledged, next_write["id"]]


def fill_a_quiet_disk(root):
    mount_small_disk(root)
    shell(root, *W1)
    fill(root)
    answers = {code: shell(root, code) for code in ("W9", "W12", "K2", "K8")}
    refused = shell(root, *W1)
    free(root)
    return answers, refused, shell(root, *W1), shell(root, "K8")


def test_reads_succeed_on_full_disk(root, mounts):
    answers, *_ = apart(fill_a_quiet_disk, root, within=mounts)

    assert {code: answer["exit"] for code, answer in answers.items()} == {
        "W9": 0,
        "W12": 0,
        "K2": 0,
        "K8": 0,
    }


def test_writes_fail_on_full_disk_until_space_is_freed(root, mounts):
    answers, refused, next_write, after = apart(fill_a_quiet_disk, root, within=mounts)

    assert_refused_for_the_disk(refused)
    assert all(answer["exit"] in (0, 5) for answer in answers.values())
    assert next_write["exit"] == 0
    assert after["verified"] and (after["entries"], after["anchors"]) == (2, 2)


def create_on_a_full_disk(root, leave_bytes):
    mount_small_disk(root)
    fill(root, leave_bytes)
    refused = shell(root, *W1)
    doctor, read = shell(root, "K11"), shell(root, "W9")
    free(root)
    return (
        refused,
        doctor,
        read,
        shell(root, "K1", "--integrity"),
        shell(root, *W1),
        shell(root, "K8"),
    )


@pytest.mark.parametrize("leave_bytes", [0, 8_192, 32_768, 65_536, 131_072, 262_144])
def test_new_database_is_created_once_disk_has_space(root, mounts, leave_bytes):
    refused, doctor, read, made, written, after = apart(
        create_on_a_full_disk, root, leave_bytes, within=mounts
    )

    assert doctor["exit"] == 0 and doctor["healthy"] is False
    assert read["exit"] in (1, 3, 5)
    assert made["exit"] == written["exit"] == 0
    assert set(made["integrity"].values()) == {"ok"}
    assert after["verified"] and after["entries"] == 1
    assert_refused_for_the_disk(refused)


def test_file_size_limit_refuses_writes_and_loses_nothing(root):
    shell(root, "K1")
    limit = database(root).stat().st_size + 200_000
    acknowledged, refused = write_until_refused(root, limit_bytes=limit)

    assert_refused_for_the_disk(refused)
    assert_refused_for_the_disk(shell(root, *W1, "--body", "x" * 10_000, limit_bytes=limit))
    for code in ("W9", "W12", "K8", "K11"):
        assert shell(root, code, limit_bytes=limit)["exit"] == 0
    assert logged(root) == acknowledged
    next_write = shell(root, *W1, "--body", "x" * 10_000)
    assert next_write["exit"] == 0
    assert verified(root)["entries"] == len(acknowledged) + 1


def test_new_database_is_created_once_file_size_limit_allows(root):
    refused = shell(root, *W1, limit_bytes=100_000)
    shell(root, "K1")

    assert verified(root)["entries"] == 0
    assert_refused_for_the_disk(refused)


def checkpoints_become_a_folder(path):
    path.unlink()
    path.mkdir()


def checkpoints_reach_the_limit(path):
    with open(path, "ab") as file:
        file.write(
            b"\n" * (2_000_000 - 60 - path.stat().st_size)
        )  # blank lines are no checkpoint; 60 bytes fit


@pytest.mark.parametrize("happens", [checkpoints_become_a_folder, checkpoints_reach_the_limit])
def test_write_succeeds_with_note_if_checkpoint_fails(root, happens):
    write(str(root))
    happens(anchors(root))
    size = anchors(root).stat().st_size
    written = shell(root, *W1, limit_bytes=2_000_000)

    assert written["exit"] == 0
    assert any("checkpoint" in note for note in written["notes"])
    assert logged(root)[-1] == written["id"]
    assert anchors(root).stat().st_size == size, "no half checkpoint"
    shutil.rmtree(anchors(root)) if anchors(root).is_dir() else anchors(root).unlink()
    assert "notes" not in shell(root, *W1)
    assert (verified(root)["entries"], verified(root)["anchors"]) == (3, 1)


@pytest.mark.parametrize("code", ["K8", "K3"])
def test_unreadable_checkpoints_file_exits_with_documented_code(root, code):
    write(str(root))
    checkpoints_become_a_folder(anchors(root))
    answer = shell(root, code)

    assert answer["exit"] in (0, 5, 7)


def test_write_appends_checkpoint_after_stray_byte(root):
    write(str(root))
    anchors(root).write_bytes(b"x")

    assert "notes" not in shell(root, *W1)
    assert verified(root)["anchors"] == 1


# Broken files


def absent(path):
    shutil.rmtree(path.parent)


def missing(path):
    path.unlink()


def empty(path):
    path.write_bytes(b"")


def random_bytes(path):
    path.write_bytes(random.Random(1).randbytes(50_000))


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def header_only(path):
    os.truncate(path, 100)


def newer(path):
    with contextlib.closing(sqlite3.connect(path)) as plain:
        plain.execute("PRAGMA user_version = 99")


def folder(path):
    path.unlink()
    path.mkdir()


def foreign(path, version=0):
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as plain:
        plain.execute("CREATE TABLE theirs (x)")
        plain.execute("INSERT INTO theirs VALUES ('precious')")
        plain.execute(f"PRAGMA user_version = {version}")
        plain.commit()


BROKEN = {
    # what happened: (exit codes of W9 and K8, of W1 and K1, is it healthy, what K11 says)
    absent: (3, 0, True, "there is no database yet"),
    missing: (3, 0, False, "there is no database yet"),  # the checkpoints speak of one
    empty: (3, 0, False, "empty"),
    random_bytes: (7, 7, False, "damaged"),
    truncated: (7, 7, False, "damaged"),
    header_only: (7, 7, False, "damaged"),
    newer: (1, 1, False, "newer"),
    folder: (5, 5, False, "not a file"),
}


@pytest.fixture
def broken(root):
    """`broken(truncated)`: the project, after that has happened to its database."""

    def breaks(happens, *args):
        write(str(root), 3)
        happens(database(root), *args)
        return root

    return breaks


def content(root):
    path = database(root)
    return (
        path.read_bytes() if path.is_file() else sorted(os.listdir(path)) if path.is_dir() else None
    )


def assert_doctor_says(root, healthy, says):
    answer = shell(root, "K11", KAIZEN_BUSY_TIMEOUT_S="0.5")

    assert answer["exit"] == 0 and answer["healthy"] is healthy
    assert {row["state"] for row in answer["checks"]} <= {"ok", "warn", "fail"}
    assert healthy is not any(row["state"] == "fail" for row in answer["checks"])
    for row in answer["checks"]:
        assert row["state"] == "ok" or row["next"], f"{row['check']} has a problem and no next step"
    assert says in {row["check"]: row["says"] for row in answer["checks"]}["database"]


@pytest.mark.parametrize("happens", BROKEN)
def test_doctor_explains_broken_database(broken, happens):
    root = broken(happens)
    before = content(root)

    assert_doctor_says(root, *BROKEN[happens][2:])
    assert content(root) == before


@pytest.mark.parametrize("happens", BROKEN)
def test_reading_broken_database_exits_with_documented_code(broken, happens):
    root = broken(happens)
    before = content(root)
    answers = {code: shell(root, code) for code in ("W9", "W12", "K8", "K3")}

    assert {answer["exit"] for answer in answers.values()} == {BROKEN[happens][0]}
    assert all(answer["what"] and answer["next"] for answer in answers.values())
    assert shell(root, "K2")["exit"] in EXIT_CODES.keys() - {70}
    assert content(root) == before


@pytest.mark.parametrize("argv", [W1, ("K1",)])
@pytest.mark.parametrize("happens", BROKEN)
def test_writing_to_broken_database_changes_no_byte(broken, happens, argv):
    root = broken(happens)
    before = content(root)
    answer = shell(root, *argv)

    assert answer["exit"] == BROKEN[happens][1]
    if answer["exit"]:
        assert answer["what"] and answer["next"]
        assert content(root) == before
    else:
        assert len(logged(root)) == (argv == W1)


@pytest.mark.parametrize("happens", [random_bytes, truncated])
def test_doctor_never_recommends_running_doctor(broken, happens):
    assert not [
        row for row in shell(broken(happens), "K11")["checks"] if "K11" in (row["next"] or "")
    ]


def test_doctor_recognizes_foreign_database(broken):
    root = broken(foreign)
    before = content(root)

    assert_doctor_says(root, False, "not a Kaizen database")
    assert content(root) == before


@pytest.mark.parametrize("version", [0, 2, 4])
@pytest.mark.parametrize(
    "argv", [W1, ("K1",), ("K6",), ("K7",), ("W2", "--id", "@last", "--note", "x")]
)
def test_foreign_database_is_never_written(broken, argv, version):
    root = broken(foreign, version)
    before = content(root)
    answer = shell(root, *argv)

    assert answer["exit"] in (1, 7)
    assert content(root) == before


@pytest.mark.parametrize("version", [0, 2, 4])
@pytest.mark.parametrize("code", ["W9", "K2", "K3", "K8"])
def test_reading_foreign_database_is_refused(broken, code, version):
    root = broken(foreign, version)
    before = content(root)
    answer = shell(root, code)

    assert answer["exit"] in (0, 1, 7)
    assert content(root) == before


LOCKS = """
import sqlite3, sys
plain = sqlite3.connect(sys.argv[1], isolation_level=None)
plain.execute("PRAGMA locking_mode = " + sys.argv[2])
plain.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locked(root):
    """`locked("NORMAL")`: another program holds the database in that locking mode, until the test ends."""
    with contextlib.ExitStack() as stack:

        def by(mode):
            write(str(root))
            command = [sys.executable, "-c", LOCKS, str(database(root)), mode]
            program = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            stack.callback(program.communicate)
            assert program.stdout.readline() == "locked\n"
            return root

        yield by


@pytest.mark.parametrize("mode, reads, healthy", [("NORMAL", 0, True), ("EXCLUSIVE", 6, False)])
def test_write_to_database_locked_by_others_exits_busy(locked, mode, reads, healthy):
    root = locked(mode)
    before = subprocess.run(
        ["cat", database(root)], capture_output=True
    ).stdout  # reading it here would end no lock

    for argv in (W1, ("K1",)):
        answer = shell(root, *argv, KAIZEN_BUSY_TIMEOUT_S="0.3")
        assert (answer["exit"], answer["retryable"]) == (6, True)
    for code in ("W9", "W12", "K8"):
        assert shell(root, code, KAIZEN_BUSY_TIMEOUT_S="0.3")["exit"] == reads
    assert_doctor_says(root, healthy, "schema" if healthy else "locked")
    assert subprocess.run(["cat", database(root)], capture_output=True).stdout == before


# Forks


def write_and_read(root, times):
    ids = write(root, times)
    with contextlib.closing(Door(root)) as door:
        return ids if door("K8")["verified"] and door("W9")["count"] else []


def fork_after_use(root, keep_open):
    door = Door(root, keep_open=keep_open)
    ids = [door("W1", **TASK)["id"]]
    assert door("W9")["count"] == 1
    children = [born(write_and_read, root, 10) for _ in range(4)]
    ids += [door("W1", **TASK)["id"] for _ in range(10)]
    ids += [one for child in children for one in result(*child)]
    assert door("W9", limit=1_000)["count"] == len(ids)
    door.close()
    return ids


@pytest.mark.parametrize("keep_open", [False, True])
def test_forked_child_writes_through_its_own_connection(root, keep_open):
    ids = apart(fork_after_use, root, keep_open)

    assert set(logged(root)) == set(ids) and len(ids) == 51
    assert verified(root)["anchors"] == 51


# Hostile surroundings


def test_records_keep_their_order_when_clock_goes_back(kaizen, root, monkeypatch):
    now = time.time_ns()
    ids = []
    for days in (0, -400, 7, -20_000):
        monkeypatch.setattr(time, "time_ns", lambda days=days: now + days * 86_400 * 10**9)
        ids.append(kaizen("W1", **TASK)["id"])
    kaizen("W2", id="@last", note="The newest is what was written last.")

    assert [row["id"] for row in kaizen("W9")["records"]] == ids[::-1]
    assert kaizen("W10", id="@last")["id"] == ids[-1] < ids[0]
    kaizen.close()
    verified(root)


@pytest.mark.parametrize(
    "spelling", ["{root}/", "{root}//AI/..", "./{name}", "../{above}/{name}/."]
)
def test_project_is_found_by_any_spelling_of_its_folder(cli, root, spelling):
    write(str(root))
    value = spelling.format(root=root, name=root.name, above=root.parent.name)

    assert (
        len(cli("W9", "--json", env={"KAIZEN_REPO_ROOT": value}, cwd=root.parent).json["records"])
        == 1
    )


def test_command_runs_in_almost_empty_environment(root):
    for env in (
        {},
        {"LANG": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ):
        done = subprocess.run(
            [sys.executable, str(LAUNCHER), "W1", "--title", "plain", "--summary-file", "-", "--json"],
            input="Grüße, 漢字".encode(), env={**env, "KAIZEN_REPO_ROOT": str(root)}, capture_output=True,
        )  # fmt: skip
        assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "OK"), done.stderr

    assert {Door(str(root))("W10", id=one)["record"]["summary"] for one in logged(root)} == {
        "Grüße, 漢字"
    }


def test_symlinked_data_folder_uses_lock_of_its_target(root, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / "AI").mkdir()
    (root / "AI" / "db").symlink_to(elsewhere)
    write(str(root))

    assert (elsewhere / "kaizen.db").is_file()
    with Gate(str(elsewhere / "kaizen.db.lock")):
        assert shell(root, *W1, KAIZEN_BUSY_TIMEOUT_S="0.2")["exit"] == 6
    verified(root)


def test_symlinked_database_uses_lock_of_its_target(root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    write(str(root))
    write(str(other))
    database(other).unlink()
    database(other).symlink_to(database(root))

    with Gate(str(lock(root))):
        assert shell(other, *W1, KAIZEN_BUSY_TIMEOUT_S="0.2")["exit"] == 6


def queue_behind_a_lock_that_is_removed(path):
    """One is inside the gate, one waits; the file is removed, a third comes. The + and - that were said after that."""
    reading, writing = os.pipe()

    def inside():
        with Gate(path):
            os.write(writing, b"+")
            time.sleep(1.0)
            os.write(writing, b"-")

    first = born(inside)
    os.read(reading, 1)
    waiting = born(inside)
    until(lambda: is_queued(waiting[0]), "the second one waits")
    os.unlink(path)
    result(*first)
    assert os.read(reading, 1) + os.read(reading, 1) == b"-+"  # the first is out, the second is in
    third = born(inside)
    for child in (waiting, third):
        result(*child)
    return os.read(reading, 9).decode()


def test_writers_take_turns_after_lock_file_removal(tmp_path):
    assert apart(queue_behind_a_lock_that_is_removed, tmp_path / "lock") == "-+-"


def test_kept_lock_reopens_replaced_lock_file(tmp_path, monkeypatch):
    monkeypatch.setenv("KAIZEN_BUSY_TIMEOUT_S", "0.1")
    path = str(tmp_path / "lock")
    gate = Gate(path, keep_open=True)
    with gate:
        os.unlink(path)

    with Gate(path), pytest.raises(Busy), gate:
        pass
    with gate:
        assert is_held(path)
    gate.close()


def test_write_to_removed_database_is_never_acknowledged(root):
    door = Door(str(root), keep_open=True)
    door("W1", **TASK)
    shutil.rmtree(root / "AI")
    try:
        acknowledged = door("W1", **TASK)["id"]
    except Exception:
        acknowledged = None
    with contextlib.suppress(Exception):
        door.close()

    assert acknowledged is None or acknowledged in logged(root)


def make_a_manifest_with_an_open_door(root):
    """A server has read and makes a manifest; then it and commands of other processes take turns."""
    door = Door(root, keep_open=True)
    ids = [door("W1", **TASK)["id"]]
    door("W9")
    door("K6")
    for _ in range(2):
        ids.append(shell(root, *W1)["id"])
        door("W9")
        ids.append(door("W1", **TASK)["id"])
    counts = [door("W9")["count"], len(shell(root, "W9")["records"])]
    door.close()
    return ids, counts


def test_manifest_counts_every_record_of_open_door(root):
    ids, counts = apart(make_a_manifest_with_an_open_door, root)

    assert counts == [len(ids)] * 2
    assert logged(root) == ids
    verified(root)


def open_a_door_per_thread(root):
    """What went wrong when four threads worked at once, each with a door of its own."""
    errors = set()

    def use():
        door = Door(root, keep_open=True)
        for _ in range(20):
            for code, values in (("W1", TASK), ("W9", {}), ("K8", {})):
                try:
                    door(code, **values)
                except Exception as error:
                    errors.add(f"{code}: {error} {getattr(error, 'why', '')}")
        door.close()

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(errors)


def test_threads_with_separate_doors_write_without_errors(root):
    assert apart(open_a_door_per_thread, root) == []
    assert verified(root)["entries"] == 80


def test_project_with_long_path_works(tmp_path):
    root = tmp_path.joinpath(*["x" * 60] * 4)
    root.mkdir(parents=True)
    write(str(root))

    assert len(str(root)) > 240
    verified(root)


def test_too_long_project_path_is_refused_with_reason(tmp_path):
    root = tmp_path.joinpath(*["x" * 60] * 9)
    root.mkdir(parents=True)

    assert shell(root, "K1")["exit"] == 5
    assert shell(root, "K11")["healthy"] is False


def test_non_utf8_folder_works_or_is_explained(cli, tmp_path):
    root = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(root)

    assert cli("K1", env={"KAIZEN_REPO_ROOT": os.fsdecode(root)}).exit_code in (0, 5)


@pytest.mark.parametrize("argv", [W1, ("W9",)])
def test_invalid_busy_timeout_falls_back_to_default(root, argv):
    write(str(root))

    assert shell(root, *argv, KAIZEN_BUSY_TIMEOUT_S="nan")["exit"] == 0


def test_missing_project_folder_is_refused(tmp_path):
    answer = shell(tmp_path / "typo", *W1)

    assert answer["exit"] in (3, 5)
    assert not (tmp_path / "typo").exists()


def test_removed_working_directory_is_explained(root, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from kaizen_components.args import main; sys.exit(main())"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, "W9", "--json"], cwd=gone, env=env, capture_output=True
    )

    assert done.returncode in (3, 5)


def kill_with_an_open_door(root):
    def work(say):
        door = Door(root, keep_open=True)
        for _ in range(5):
            say(door("W1", **TASK)["id"])
        say("done")
        time.sleep(PATIENCE_S)

    return killed("done", work)[:-1]


def read_through_a_read_only_view(root, view):
    """A kill leaves kaizen.db-wal behind; then somebody reads who may not write anywhere in the project."""
    ids = kill_with_an_open_door(root)
    mount_read_only(root, view)
    reads = {
        argv[0]: shell(view, *argv) for argv in (("W9",), ("W12",), ("K8",), ("K7", "--dry-run"))
    }
    return ids, reads, shell(view, *W1), shell(root, *W1)


def mount_read_only(root, view):
    os.mkdir(view)
    subprocess.run(["mount", "--bind", root, view], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", view], check=True)


def test_read_only_folder_with_leftover_wal_is_readable(root, tmp_path, mounts):
    ids, reads, refused, next_write = apart(
        read_through_a_read_only_view, root, tmp_path / "view", within=mounts
    )

    assert len(ids) == 5
    assert [row["id"] for row in reads["W9"]["records"]] == ids[::-1]
    assert (
        reads["W12"]["count"] == 5 and reads["K8"]["verified"] and reads["K7"]["would_remove"] == 0
    )
    assert refused["exit"] == 5
    assert next_write["exit"] == 0


def verify_through_a_read_only_view(root, view):
    """One reader who may not write, open while others write. It may be behind; it may not be wrong."""
    together((write, root, 20))
    mount_read_only(root, view)
    reader = Door(view)
    assert reader("W9")["count"] == 20
    together((write, root, 200))
    return reader("K8")["verified"]


def test_read_only_mount_verifies_without_false_damage(root, tmp_path, mounts):
    assert apart(verify_through_a_read_only_view, root, tmp_path / "view", within=mounts)
