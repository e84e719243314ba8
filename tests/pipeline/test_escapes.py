"""What the box denies at each level, tried for real; docs/sandbox.md shows the outcome."""

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
from .boxes import LIMITS, boxed, living_in, soon
from .conftest import BOXES
from .escapes import DENIED, ESCAPES, LATE, OPEN, ROOT, STOPPED


@pytest.fixture
def outside(folder, monkeypatch):
    """What must not be reached: files, services, processes, a terminal."""
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


def got_out(seen, outside):
    """Return whether it says so, or left something outside."""
    shared = pathlib.Path("/dev/shm") / outside["facts"]["token"]
    left = [
        name
        for name in ("outside/written", "repo/.git/hooks/x", "env/evil.pth")
        if (outside["place"] / name).exists()
    ]
    if shared.exists():
        shared.unlink()
        left.append("shared")
    with contextlib.suppress(BlockingIOError):
        left += [outside["udp_socket"].recv(100)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        left += [outside["victim_process"].wait(0.05)]
    return bool(left) or "ESCAPED" in seen.stdout.text()


NEW_IN_LINUX_6_12 = ("abstract", "signal", "kill")  # what Landlock learnt in version 6
OFTEN_CLOSED_TO_USERS = ("ptrace", "mount")  # by some distributions, without any box


def expected(escape, level):
    """Return the outcomes that the table allows on this machine, to this user."""
    said = escape.expected[level]
    if os.getuid() == 0:
        said = {ROOT: OPEN, LATE: STOPPED}.get(said, said)
    else:
        said = DENIED if said in (ROOT, LATE) else said
        if level == "L1" and any(word in escape.name for word in OFTEN_CLOSED_TO_USERS):
            return {said, DENIED}
    if (
        level == "L2"
        and landlock.read_landlock_version() < 6
        and any(word in escape.name for word in NEW_IN_LINUX_6_12)
    ):
        return {OPEN}
    return {said}


def attempt(escape, folder, outside):
    """Return what became of it: denied, stopped, or not denied."""
    facts = {**outside["facts"], "patience_s": 4.0 if sandbox.detect_level() != "L0" else 0.0}
    timeout_s = 1.0 if "outlive" in escape.name else 60.0
    reads = (facts["env"],)
    seen = boxed(folder, escape.code, timeout_s=timeout_s, facts=facts, limits=LIMITS, reads=reads)
    is_alive = (folder / "alive").exists
    if got_out(seen, outside) or ("daemon" in escape.name and soon(is_alive, 2.5)):
        return OPEN, seen
    return STOPPED if seen.stopped else DENIED, seen


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda one: one.name.replace(" ", "-"))
def test_escape_outcome_matches_the_table(escape, level, folder, outside, monkeypatch):
    monkeypatch.setattr(runner, "GRACE_S", 0.5)
    became, seen = attempt(escape, folder, outside)

    assert became in expected(escape, level), (
        seen.exit_code,
        seen.stopped,
        seen.stderr.text()[-1500:],
    )
    assert seen.timed_out == ("outlive" in escape.name)
    assert seen.level == level


# The runner scrubs, caps and ends without any box.
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
    counts, real = [], runner.run_process

    def counted(argv, cwd, timeout_s, *, watch, **more):
        def look(pid, size):
            counts.append(len(list_descendants(pid)))
            return watch(pid, size)

        return real(argv, cwd, timeout_s, watch=look, **more)

    monkeypatch.setattr(runner, "run_process", counted)
    seen = boxed(folder, BOMB, timeout_s=3, limits=Limits(processes=40))

    assert seen.timed_out and seen.stopped == "" and seen.stdout.text() == "begun\n", (
        seen.stderr.text()
    )
    assert 20 < max(counts) <= 40 + 2  # bubblewrap's own two are outside of the limit
    assert living_in(folder) == []


def test_daemon_ends_with_the_run(strongest, folder):
    boxed(
        folder,
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n",
    )

    assert living_in(folder) == []
