"""strace fails each read, write and flush of the database once: no acknowledged record is lost, no file damaged."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

from kaizen_components.call import Door

from ..conftest import LAUNCHER, find_tool

WRITE = ("W1", "--title", "Second", "--summary", "Written while a disk fails.")
LIST = ("W9",)


def run_traced(root, argv, name, call, fault=""):
    """Run a command under strace. Return its exit code, its answer and the traced calls on the file `name`."""
    trace = root / "trace"
    inject = ["-e", f"inject={call}:{fault}"] if fault else []
    command = [
        find_tool("strace"),
        "-f",
        "--seccomp-bpf",
        "-o",
        str(trace),
        "-P",
        str(root / "AI/db" / name),
    ]
    command += ["-e", f"trace={call}", *inject, sys.executable, str(LAUNCHER), *argv, "--json"]
    environment = {**os.environ, "KAIZEN_REPO_ROOT": str(root)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return (
        done.returncode,
        json.loads(done.stdout or done.stderr),
        re.findall(rf"\b{call}\(.*", trace.read_text()),
    )


def check_nothing_lost(root, acknowledged):
    """Check the file with stock SQLite and with K8."""
    with contextlib.closing(sqlite3.connect(root / "AI/db/kaizen.db")) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert acknowledged <= {row[0] for row in plain.execute("SELECT id FROM task")}
    with contextlib.closing(Door(str(root))) as door:
        assert door("K8")["verified"]


def run_with_every_fault(seed, folder, argv, name, call, error):
    """Fail the first call, then the second, and so on. Return each exit code with its answer."""
    project, acknowledged = seed
    root = folder / "project"
    answers = []
    while True:
        shutil.copytree(project, root)
        exit_code, answer, calls = run_traced(
            root, argv, name, call, f"error={error}:when={len(answers) + 1}"
        )
        if not any("INJECTED" in line for line in calls):
            return answers
        check_nothing_lost(
            root, acknowledged | ({answer["id"]} if exit_code == 0 and argv == WRITE else set())
        )
        answers.append((exit_code, answer))
        shutil.rmtree(root)


@pytest.fixture(scope="module")
def seed(tmp_path_factory):
    """A project with one task, and the set of its id."""
    root = tmp_path_factory.mktemp("seed")
    with contextlib.closing(Door(str(root))) as door:
        return root, {door("W1", title="First", summary="On a sound disk.")["id"]}


@pytest.fixture(scope="module")
def seed_with_wal(tmp_path_factory, seed):
    """The same with a second task that a killed writer left in the WAL."""
    root = tmp_path_factory.mktemp("leftover")
    shutil.copytree(seed[0], root, dirs_exist_ok=True)
    code = (
        "import os, sys\nfrom kaizen_components.call import Door\ndoor = Door(sys.argv[1], keep_open=True)\n"
        "print(door('W1', title='Left', summary='In the WAL.')['id'], flush=True)\nos._exit(9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], cwd=LAUNCHER.parent, capture_output=True, text=True
    )
    assert (root / "AI/db/kaizen.db-wal").stat().st_size
    return root, seed[1] | {done.stdout.strip()}


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("call", ["pread64", "pwrite64", "fsync"])
@pytest.mark.parametrize("name", ["kaizen.db", "kaizen.db-wal"])
def test_disk_fault_during_write_loses_nothing(seed, tmp_path, name, call, error):
    answers = run_with_every_fault(seed, tmp_path, WRITE, name, call, error)

    assert answers, f"no {call} of {name} failed"
    refusals = [answer for exit_code, answer in answers if exit_code]
    assert {(answer["code"], answer["retryable"]) for answer in refusals} <= {
        ("disk_error", True),
        ("disk_full", False),
    }
    assert {exit_code for exit_code, _ in answers} <= {0, 5}


@pytest.mark.parametrize("argv", [WRITE, LIST], ids=["write", "read"])
@pytest.mark.parametrize("name", ["kaizen.db", "kaizen.db-wal"])
def test_read_error_on_leftover_wal_loses_nothing(seed_with_wal, tmp_path, name, argv):
    answers = run_with_every_fault(seed_with_wal, tmp_path, argv, name, "pread64", "EIO")

    assert answers, f"no read of {name} failed"
    assert {exit_code for exit_code, _ in answers} <= {0, 5}
    assert {answer["code"] for exit_code, answer in answers if exit_code} <= {"disk_error"}
