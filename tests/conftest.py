"""What every test uses: its own project folder, the in-process door, the command line."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kaizen_components.call import Door  # noqa: E402

from . import warm  # noqa: E402

LAUNCHER = ROOT / "kaizen.py"

PRIVATE = (
    *(
        "KAIZEN_REPO_ROOT",
        "KAIZEN_ACTOR",
        "KAIZEN_DEBUG",
        "KAIZEN_SANDBOX_MAX",
        "NO_COLOR",
        "COLUMNS",
    ),
    *("KAIZEN_BUSY_TIMEOUT_S", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "RUST_BACKTRACE"),
)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell started us in the background; our children must still receive Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def git(root, *words):
    """Run git with a test identity."""
    identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than cores: a third of the time tests wait for disks, locks and servers."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    for name in PRIVATE:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path):
    """A project folder with a space in its name."""
    folder = tmp_path / "a project"
    folder.mkdir()
    return folder


@pytest.fixture
def door(root):
    """The door in this process, on the project's database."""
    opened = Door(str(root), keep_open=True)
    yield opened
    opened.close()


@pytest.fixture
def kaizen(door):
    """`kaizen("W1", title=…)`: the same door as the command line."""
    return door


class Answer:
    """The result of a command line."""

    def __init__(self, done):
        self.exit_code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        return json.loads(self.err)


@pytest.fixture
def cli(root):
    """`cli("W1", "--title", …)`: run `main` in a process that is forked from a warm server.

    With `cold=True`, another launcher or settings of Python, start the launcher in a new Python.
    """

    def run(*argv, stdin=b"", env=None, cwd=None, launcher=LAUNCHER, cold=False):
        environment = {name: value for name, value in os.environ.items() if name not in PRIVATE}
        environment |= {"KAIZEN_REPO_ROOT": str(root), **(env or {})}
        environment = {name: value for name, value in environment.items() if value is not None}
        cold = cold or launcher is not LAUNCHER or "KAIZEN_REPO_ROOT" not in environment
        if not cold and not any(name.startswith(("PYTHON", "LC_", "LANG")) for name in env or {}):
            return Answer(warm.run(argv, environment, cwd or root, stdin))
        command = [sys.executable, str(launcher), *argv]
        options = {"input": stdin, "env": environment, "cwd": cwd or root, "timeout": 300}
        return Answer(subprocess.run(command, capture_output=True, **options))

    return run


def find_tool(name, folder=None):
    """Its path; the test skips without it, except on CI, where set-up has installed it."""
    path = shutil.which(name, path=folder)
    if path is None:
        reason = f"{name} is not installed"
        pytest.fail(f"{reason}, and CI must not skip") if os.environ.get("CI") else pytest.skip(
            reason
        )
    return path


@pytest.fixture
def tool():
    """`tool("zsh")`: its path."""
    return find_tool
