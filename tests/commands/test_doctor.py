"""K11 answers in every state of the project. tests/test_faults.py has the broken files."""

import os
import shutil
import subprocess
import sys

import pytest

from kaizen_components.sandbox import bubblewrap
from kaizen_components.sandbox import run as sandbox

from ..conftest import ROOT


def checks(answer):
    return {row["check"]: row for row in answer["checks"]}


def test_doctor_reports_no_failure_in_healthy_project(kaizen):
    kaizen("W1", title="t", summary="s")
    answer = kaizen("K11")

    assert answer["healthy"] is True
    assert {row["state"] for row in answer["checks"]} <= {"ok", "warn"}
    assert "1 log entries" in checks(answer)["database"]["says"]


def test_doctor_calls_empty_folder_healthy_with_next_step(kaizen, root):
    answer = kaizen("K11")

    assert answer["healthy"] is True
    assert "K1" in checks(answer)["database"]["next"]
    assert os.listdir(root) == []


def test_doctor_fails_on_database_older_than_checkpoint(kaizen, root):
    kaizen("W1", title="t", summary="s")
    kaizen.close()
    shutil.copy(root / "AI/db/kaizen.db", root / "older.db")
    kaizen("W1", title="t", summary="s")
    kaizen.close()
    shutil.copy(root / "older.db", root / "AI/db/kaizen.db")
    answer = kaizen("K11")

    assert answer["healthy"] is False
    assert (
        checks(answer)["anchors"]["state"] == "fail" and "K8" in checks(answer)["anchors"]["next"]
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a lock of SQLite's")
def test_doctor_names_program_that_bypasses_lock(kaizen, root):
    kaizen("W1", title="t", summary="s")
    assert checks(kaizen("K11"))["lock"]["says"] == "no process is writing"
    script = (
        "import sqlite3, sys; raw = sqlite3.connect(sys.argv[1], isolation_level=None); raw.execute('BEGIN IMMEDIATE');"
        "print(flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(root / "AI/db/kaizen.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    other.stdout.readline()
    row = checks(kaizen("K11"))["lock"]
    other.communicate(b"\n")

    assert row["state"] == "warn" and f"process {other.pid} " in row["says"]
    assert checks(kaizen("K11"))["lock"]["says"] == "no process is writing"


def test_doctor_names_missing_packages_with_install_step(root):
    script = (
        "import sys; sys.modules['libsql'] = sys.modules['libsql_experimental'] = sys.modules['click'] = None\n"
        "from kaizen_components.args import main; sys.exit(main(['K11', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root), "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "libsql and click" in done.stdout and "setup/setup.sh" in done.stdout


def test_doctor_names_missing_root_folder(cli, tmp_path):
    answer = cli("K11", "--json", env={"KAIZEN_REPO_ROOT": str(tmp_path / "nowhere")})

    assert answer.exit_code == 0
    assert checks(answer.json)["root"]["state"] == "fail"


def test_doctor_advises_unsetting_variable_that_limits_sandbox(kaizen, monkeypatch, tool):
    tool("bwrap")
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")
    row = checks(kaizen("K11"))["sandbox"]

    assert row["state"] == "warn" and row["says"].startswith("L1: ")
    assert row["next"] == "Unset KAIZEN_SANDBOX_MAX."


@pytest.mark.parametrize("level", ["L3", "L1"])
def test_doctor_gives_install_command_for_missing_bubblewrap(kaizen, monkeypatch, level):
    monkeypatch.setattr(sandbox, "_ways", {})
    monkeypatch.setattr(bubblewrap, "PLACES", "/nowhere")
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", level)
    row = checks(kaizen("K11"))["sandbox"]

    assert row["state"] == "warn" and row["says"].endswith(": bubblewrap is not installed.")
    assert row["next"] == "For level L3 install bubblewrap: apt install bubblewrap"


def test_doctor_shows_bubblewrap_version_of_strongest_sandbox(kaizen, tool):
    tool("bwrap")
    row = checks(kaizen("K11"))["sandbox"]

    assert row["state"] == "ok" and row["says"].startswith("L3, bubblewrap ")
