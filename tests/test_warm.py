"""A command that is forked from a warm process behaves like any other."""

import json
import os
import signal
import subprocess
import sys
import time

from . import warm


def given(root):
    return {**os.environ, "KAIZEN_REPO_ROOT": str(root)}


def test_warm_command_uses_folder_and_stdin_of_caller(root, tmp_path):
    made = warm.run(["W1", "--title", "t", "--summary-file", "words.txt"], given(root), tmp_path)
    assert (made.returncode, made.stdout) == (3, b"") and b"words.txt" in made.stderr

    (tmp_path / "words.txt").write_text("Said in a file.")
    assert (
        warm.run(
            ["W1", "--title", "t", "--summary-file", "words.txt"], given(root), tmp_path
        ).returncode
        == 0
    )
    assert (
        warm.run(
            ["W1", "--title", "t", "--summary-file", "-"], given(root), tmp_path, b"Said here."
        ).returncode
        == 0
    )
    warm.run(
        ["W1", "--title", "t", "--summary", "s"], {**given(root), "KAIZEN_ACTOR": "ada"}, tmp_path
    )
    listed = json.loads(warm.run(["W9", "--json"], given(root), tmp_path).stdout)["records"]
    assert [task["actor"] for task in listed] == ["ada", "agent", "agent"]


def test_warm_command_passes_on_signal_and_exit_code(root):
    dies = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert warm.run(["W9"], given(root), root, first=dies).returncode == -signal.SIGKILL
    fails = warm.run(["W9"], given(root), root, first="1 / 0")
    assert fails.returncode == 1 and b"ZeroDivisionError" in fails.stderr
    assert warm.run(["W9"], given(root), root, first="import sys; sys.exit(9)").returncode == 9


def test_killing_warm_launcher_ends_its_command(root):
    words = [
        sys.executable,
        warm.__file__,
        "Q1",
        "--run",
        "--",
        "sh",
        "-c",
        "echo $PPID > pid; sleep 60",
    ]
    launcher = subprocess.Popen(words, cwd=root, env={**given(root), warm.SERVER: warm.server()})
    until(lambda: (root / "pid").exists() and (root / "pid").read_text().strip())
    launcher.kill()

    command = int((root / "pid").read_text())
    assert launcher.wait() == -signal.SIGKILL
    until(lambda: is_gone(command))


def until(happens):
    deadline = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_gone(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
