"""Try to escape from the box at each level; docs/sandbox.md has the expected outcomes."""

import contextlib
import os
import pathlib
import pty
import socket
import subprocess
import time

import pytest

from kaizen_components.sandbox import landlock
from kaizen_components.sandbox import process as runner
from kaizen_components.sandbox import run as sandbox
from kaizen_components.sandbox.limits import Limits
from kaizen_components.sandbox.watch import list_descendants

from ..conftest import ROOT as PROJECT
from .boxes import LIMITS, list_processes_in, run_boxed, wait_until
from .conftest import BOXES
from .escapes import DENIED, ESCAPES, LATE, OPEN, ROOT, STOPPED


@pytest.fixture
def outside(folder, monkeypatch):
    """Make what a box may not reach: files, services, processes, a terminal."""
    place = folder.parent
    for name in ("outside", "home", "env", "repo/.git/hooks", "repo/AI/db"):
        (place / name).mkdir(parents=True)
    for name in ("outside/secret", "home/.netrc", "repo/AI/db/kaizen.db"):
        (place / name).write_text("not for the box")
    token = f"kaizen-{os.getpid()}-{time.monotonic_ns()}"
    # A socket's path has at most 108 bytes, and /tmp is another folder in the box.
    short = pathlib.Path(f"/var/tmp/{token}")
    monkeypatch.setenv("KAIZEN_ESCAPE_SECRET", "not-for-the-box")
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        stack.callback(short.unlink)
        for address in (str(short), "\0" + token):
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(address)
            unix.listen()
        victim = subprocess.Popen(["sleep", "60"])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        master, slave = pty.openpty()
        stack.callback(os.close, master)
        stack.callback(os.close, slave)
        facts = {
            "outside": str(place / "outside"),
            "secret": str(place / "outside/secret"),
            "home": str(place / "home"),
            "repo": str(place / "repo"),
            "env": str(place / "env"),
            "token": token,
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": str(short),
            "secret_name": "KAIZEN_ESCAPE_SECRET",
            "victim": victim.pid,
            "parent": os.getpid(),
            "terminal": os.ttyname(slave),
        }
        names = ("processes", "memory_mb", "file_mb", "disk_mb")
        facts |= {name: getattr(LIMITS, name) for name in names}
        yield {"place": place, "udp_socket": udp, "victim_process": victim, "facts": facts}


def has_escaped(result, outside):
    """Return whether the attempt printed ESCAPED or left a trace outside."""
    shared = pathlib.Path("/dev/shm") / outside["facts"]["token"]
    traces = [
        name
        for name in ("outside/written", "repo/.git/hooks/x", "env/evil.pth")
        if (outside["place"] / name).exists()
    ]
    if shared.exists():
        shared.unlink()
        traces.append("shared")
    with contextlib.suppress(BlockingIOError):
        traces += [outside["udp_socket"].recv(100)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        traces += [outside["victim_process"].wait(0.05)]
    return bool(traces) or "ESCAPED" in result.stdout.text()


NEW_IN_LINUX_6_12 = ("abstract", "signal", "kill")  # denied by Landlock from version 6 on
OFTEN_CLOSED_TO_USERS = ("ptrace", "mount")  # some distributions deny them without any box


def list_expected_outcomes(escape, level):
    """Return the outcomes that the table allows on this machine for this user."""
    outcome = escape.expected[level]
    if os.getuid() == 0:
        outcome = {ROOT: OPEN, LATE: STOPPED}.get(outcome, outcome)
    else:
        outcome = DENIED if outcome in (ROOT, LATE) else outcome
        if level == "L1" and any(word in escape.name for word in OFTEN_CLOSED_TO_USERS):
            return {outcome, DENIED}
    if (
        level == "L2"
        and landlock.read_landlock_version() < 6
        and any(word in escape.name for word in NEW_IN_LINUX_6_12)
    ):
        return {OPEN}
    return {outcome}


def attempt(escape, folder, outside):
    """Return the outcome of an attempt (denied, stopped, not denied) and its result."""
    facts = {**outside["facts"], "patience_s": 4.0 if sandbox.detect_level() != "L0" else 0.0}
    timeout_s = 1.0 if "outlive" in escape.name else 60.0
    reads = (facts["env"],)
    result = run_boxed(
        folder, escape.code, timeout_s=timeout_s, facts=facts, limits=LIMITS, reads=reads
    )
    is_alive = (folder / "alive").exists
    if has_escaped(result, outside) or ("daemon" in escape.name and wait_until(is_alive, 2.5)):
        return OPEN, result
    return STOPPED if result.stopped else DENIED, result


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda one: one.name.replace(" ", "-"))
def test_escape_outcome_matches_the_table(escape, level, folder, outside, monkeypatch):
    monkeypatch.setattr(runner, "GRACE_S", 0.5)
    outcome, result = attempt(escape, folder, outside)

    assert outcome in list_expected_outcomes(escape, level), (
        result.exit_code,
        result.stopped,
        result.stderr.text()[-1500:],
    )
    assert result.timed_out == ("outlive" in escape.name)
    assert result.level == level


# These are denied even without a box: by environment, output cap or time limit.
UNBOXED_TOO = ("environment", "flood", "outlive", "temporary")
EVERYWHERE_DENIED = [
    one
    for one in ESCAPES
    if one.is_everywhere_denied and not any(word in one.name for word in UNBOXED_TOO)
]


@pytest.mark.parametrize("escape", EVERYWHERE_DENIED, ids=lambda one: one.name.replace(" ", "-"))
def test_escape_succeeds_without_a_sandbox(escape, folder, outside, monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L0")

    assert attempt(escape, folder, outside)[0] == OPEN


def test_sandbox_page_contains_the_escape_table():
    page = (PROJECT / "docs/sandbox.md").read_text()
    rows = [[one.name, *(one.expected[level] for level in BOXES)] for one in ESCAPES]
    table = ["| attempt | L3 | L2 | L1 |", "|---|---|---|---|"]
    table += [f"| {' | '.join(row)} |" for row in rows]

    shown = page.partition("<!-- escapes -->\n")[2].partition("<!-- /escapes -->")[0]
    assert shown.strip() == "\n".join(table)


def test_level_l3_denies_or_stops_every_escape():
    assert {escape.expected["L3"] for escape in ESCAPES} == {DENIED, STOPPED}


BOMB = """
print("begun"); sys.stdout.flush()
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_fork_bomb_is_limited_and_killed(strongest, folder, monkeypatch):
    counts = []
    run_process = runner.run_process

    def run_and_count(argv, cwd, timeout_s, *, watch, **more):
        def look(pid, size):
            counts.append(len(list_descendants(pid)))
            return watch(pid, size)

        return run_process(argv, cwd, timeout_s, watch=look, **more)

    monkeypatch.setattr(runner, "run_process", run_and_count)
    result = run_boxed(folder, BOMB, timeout_s=3, limits=Limits(processes=40))

    assert result.timed_out and result.stopped == "" and result.stdout.text() == "begun\n", (
        result.stderr.text()
    )
    assert 20 < max(counts) <= 40 + 2  # the two of bubblewrap do not count
    assert list_processes_in(folder) == []


def test_daemon_started_in_sandbox_is_killed_with_run(strongest, folder):
    run_boxed(
        folder,
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n",
    )

    assert list_processes_in(folder) == []
