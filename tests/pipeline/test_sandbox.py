"""What the box denies at each level, tried for real; and what a command still can do in it."""

import contextlib
import json
import os
import pathlib
import pty
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pytest

from kaizen_components.errors import NotFound, Refused, Unavailable, Usage
from kaizen_components.pipeline import bubblewrap, landlock, probe, runner, sandbox
from kaizen_components.pipeline.box import python
from kaizen_components.pipeline.limits import Limits
from kaizen_components.pipeline.watch import processes

from ..conftest import ROOT as PROJECT
from .escapes import DENIED, ESCAPES, LATE, OPEN, ROOT, STOPPED

BOXES = ("L3", "L2", "L1")
LIMITS = Limits(memory_mb=200, processes=24, file_mb=8, disk_mb=24, output_mb=8)
BEGIN = """
import fcntl, json, os, signal, socket, stat, sys, termios, time
facts = json.load(open("facts.json"))
def escaped():
    print("ESCAPED"); sys.stdout.flush()
"""


@pytest.fixture(params=BOXES)
def level(request, monkeypatch):
    """Each level that works here; on CI, all of them must."""
    return held_to(request.param, monkeypatch)


@pytest.fixture
def strongest(monkeypatch):
    return held_to("L3", monkeypatch)


def held_to(name, monkeypatch):
    if not sandbox.works(name):
        reason = f"{name} does not work here: {sandbox.why_not(name)}"
        pytest.fail(f"{reason} CI must not skip") if os.environ.get("CI") else pytest.skip(reason)
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", name)
    return name


@pytest.fixture
def folder(tmp_path):
    """A place with a space and letters beyond ASCII in its name."""
    place = tmp_path / "a träe" / "folder"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def outside(folder, monkeypatch):
    """What must not be reached: files, services, processes, a terminal."""
    with contextlib.ExitStack() as stack:
        yield _outside(folder.parent, stack, monkeypatch)


def _outside(place, stack, monkeypatch):
    for name in ("outside", "home", "env", "repo/.git/hooks", "repo/AI/db"):
        (place / name).mkdir(parents=True)
    for name in ("outside/secret", "home/.netrc", "repo/AI/db/kaizen.db"):
        (place / name).write_text("not for the box")
    token = f"kaizen-{os.getpid()}-{time.monotonic_ns()}"
    tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.setblocking(False)
    named, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    short = pathlib.Path(f"/var/tmp/{token}")  # a socket's path has 108 bytes; and /tmp is another place in the box
    named.bind(str(short))
    abstract.bind("\0" + token)
    monkeypatch.setenv("KAIZEN_ESCAPE_SECRET", "not-for-the-box")
    victim = subprocess.Popen(["sleep", "60"])
    master, slave = pty.openpty()
    for one in (tcp, udp, named, abstract):
        stack.callback(one.close)
    stack.callback(short.unlink)
    for end in (lambda: os.close(master), lambda: os.close(slave), victim.wait, victim.kill):
        stack.callback(end)
    for one in (named, abstract):
        one.listen()
    return {
        "place": place, "udp_socket": udp, "victim_process": victim,
        "facts": {
            "outside": str(place / "outside"), "secret": str(place / "outside/secret"), "home": str(place / "home"),
            "repo": str(place / "repo"), "env": str(place / "env"), "token": token, "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1], "unix": str(short), "secret_name": "KAIZEN_ESCAPE_SECRET",
            "victim": victim.pid, "parent": os.getpid(), "terminal": os.ttyname(slave), "processes": LIMITS.processes,
            "memory_mb": LIMITS.memory_mb, "file_mb": LIMITS.file_mb, "disk_mb": LIMITS.disk_mb,
        },
    }  # fmt: skip


def boxed(folder, code, *, timeout_s=60.0, facts=None, **more):
    (folder / "facts.json").write_text(json.dumps(facts or {}))
    (folder / "try.py").write_text(BEGIN + code)
    return sandbox.run([python(), "-I", "-B", "try.py"], str(folder), timeout_s, **more)


def got_out(seen, outside):
    """By its own word, or by what it left outside."""
    shared = pathlib.Path("/dev/shm") / outside["facts"]["token"]
    left = [
        name for name in ("outside/written", "repo/.git/hooks/x", "env/evil.pth") if (outside["place"] / name).exists()
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
    """The outcomes that the table allows on this machine, to this user."""
    said = escape.expected[level]
    if os.getuid() == 0:
        said = {ROOT: OPEN, LATE: STOPPED}.get(said, said)
    else:
        said = DENIED if said in (ROOT, LATE) else said
        if level == "L1" and any(word in escape.name for word in OFTEN_CLOSED_TO_USERS):
            return {said, DENIED}
    if level == "L2" and landlock.version() < 6 and any(word in escape.name for word in NEW_IN_LINUX_6_12):
        return {OPEN}
    return {said}


def attempt(escape, folder, outside):
    """What became of it: denied, stopped, or not denied."""
    seen = boxed(
        folder, escape.code, timeout_s=2 if "outlive" in escape.name else 60, facts=outside["facts"], limits=LIMITS,
        reads=(outside["facts"]["env"],),
    )  # fmt: skip
    if "daemon" in escape.name:
        time.sleep(2.5)
    if got_out(seen, outside) or (folder / "alive").exists():
        return OPEN, seen
    return STOPPED if seen.stopped else DENIED, seen


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda one: one.name.replace(" ", "-"))
def test_a_way_out_is_denied_or_not_as_the_table_says(escape, level, folder, outside):
    became, seen = attempt(escape, folder, outside)

    assert became in expected(escape, level), (seen.exit_code, seen.stopped, seen.stderr.text()[-1500:])
    assert seen.timed_out == ("outlive" in escape.name)
    assert seen.level == level


UNBOXED_TOO = ("environment", "flood", "outlive", "temporary")  # the runner scrubs, caps and ends without any box


@pytest.mark.parametrize(
    "escape",
    [one for one in ESCAPES if one.is_everywhere_denied and not any(word in one.name for word in UNBOXED_TOO)],
    ids=lambda one: one.name.replace(" ", "-"),
)
def test_a_way_out_that_each_level_closes_is_one_without_a_box(escape, folder, outside, monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L0")

    assert attempt(escape, folder, outside)[0] == OPEN


def test_the_page_shows_the_table_of_the_tests():
    page = (PROJECT / "docs/sandbox.md").read_text()

    assert page.partition("<!-- escapes -->\n")[2].partition("<!-- /escapes -->")[0].strip() == table()


def table():
    rows = ["| attempt | L3 | L2 | L1 |", "|---|---|---|---|"]
    return "\n".join(
        rows + [f"| {one.name} | {' | '.join(one.expected[level] for level in BOXES)} |" for one in ESCAPES]
    )


def test_every_way_out_is_denied_or_stopped_at_the_strongest_level():
    assert {escape.expected["L3"] for escape in ESCAPES} == {DENIED, STOPPED}


BOMB = """
print("begun"); sys.stdout.flush()
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_a_fork_bomb_is_contained_and_gone_afterwards(strongest, folder, monkeypatch):
    counts, real = [], runner.run

    def counted(argv, cwd, timeout_s, *, watch, **more):
        def look(pid, size):
            counts.append(len(processes(pid)))
            return watch(pid, size)

        return real(argv, cwd, timeout_s, watch=look, **more)

    monkeypatch.setattr(runner, "run", counted)
    seen = boxed(folder, BOMB, timeout_s=3, limits=Limits(processes=40))

    assert seen.timed_out and seen.stopped == "" and seen.stdout.text() == "begun\n", seen.stderr.text()
    assert 20 < max(counts) <= 40 + 2  # bubblewrap's own two are outside of the limit
    assert living_in(folder) == []


def test_a_daemon_is_gone_when_the_run_is_over(strongest, folder):
    boxed(folder, "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n")

    assert living_in(folder) == []


def living_in(folder):
    """The processes that run in a folder, by their working directory."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{name}/cwd").startswith(str(folder)):
                found.append(name)
    return found


def test_a_command_gets_only_the_environment_that_it_needs(level, folder, monkeypatch):
    monkeypatch.setenv("KAIZEN_LLM_API_KEY", "not-for-the-box")
    seen = boxed(folder, "print(json.dumps(dict(os.environ)))", variables={"PYTHONHASHSEED": "7"})

    given = json.loads(seen.stdout.text())
    allowed = {"PATH", "LANG", "TZ", "HOME", "TMPDIR", "PYTHONHASHSEED", "PWD", "LC_CTYPE"}
    assert set(given) <= allowed and given["PYTHONHASHSEED"] == "7" and given["PWD"] == str(folder)


def test_it_writes_to_its_folder_its_home_and_its_temporary_place(level, folder):
    code = """
import pathlib, tempfile
(pathlib.Path.home() / "x").write_text("1")
tempfile.NamedTemporaryFile().write(b"1")
pathlib.Path("sub dir").mkdir()
pathlib.Path("sub dir/é.txt").write_text("made")
import multiprocessing
multiprocessing.Lock()
"""
    token = f"home-{os.getpid()}-{time.monotonic_ns()}"
    seen = boxed(folder, code.replace('"x"', repr(token)))

    assert seen.exit_code == 0, seen.stderr.text()
    made = folder / "sub dir" / "é.txt"
    assert made.read_text() == "made" and made.stat().st_uid == os.getuid()
    assert list(pathlib.Path(tempfile.gettempdir()).glob(f"kaizen-box-*/home/{token}")) == []


def test_its_own_loopback_works_at_the_strongest_level(strongest, folder):
    code = "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()).close(); print('met')"

    assert boxed(folder, code).stdout.text() == "met\n"


def test_a_target_environment_and_its_pytest_work_in_the_box(level, folder):
    (folder / "test_it.py").write_text(
        "import socket, threading\n\ndef test_it(tmp_path):\n    (tmp_path / 'x').write_text('1')\n"
    )
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n0",
        "--junitxml=out/report.xml",
        "test_it.py",
    ]
    seen = sandbox.run(argv, str(folder), 120, reads=(sys.prefix, sys.base_prefix))

    assert seen.exit_code == 0, seen.stdout.text() + seen.stderr.text()
    assert 'tests="1"' in (folder / "out/report.xml").read_text()


def test_node_runs_within_the_memory_limit(level, folder, tool):
    seen = sandbox.run([tool("node"), "-e", "console.log(1 + 1)"], str(folder), 60)

    assert seen.stdout.text() == "2\n", seen.stderr.text()


def test_a_setuid_file_from_the_box_is_none_when_it_comes_back(strongest, folder):
    seen = boxed(folder, "open('evil', 'w').close(); os.chmod('evil', 0o6755)")

    assert seen.exit_code == 0, seen.stderr.text()
    if os.getuid() == 0:
        assert (folder / "evil").stat().st_mode & 0o6000 == 0


def test_no_capability_is_left_in_the_box(strongest, folder):
    seen = boxed(folder, "print(open('/proc/self/status').read())")

    for name in ("CapPrm", "CapEff", "CapAmb"):
        assert f"{name}:\t0000000000000000" in seen.stdout.text()


def test_the_proof_names_level_box_and_limits(level, folder):
    seen = boxed(folder, "", timeout_s=600)

    assert seen.protection.startswith(level) and "2048 MB, 256 processes, 600 s" in seen.protection
    assert ("KAIZEN_SANDBOX_MAX" in seen.protection) == (level != "L3")
    if level == "L3":
        assert "bubblewrap 0." in seen.protection and "no network" in seen.protection


def test_what_ended_a_run_is_said(level, folder):
    seen = boxed(folder, "while True: sys.stdout.write('x' * 65536)", limits=LIMITS)

    assert seen.stopped == "it wrote more than 8 MB of output"
    assert len(seen.stdout.text()) < 1_100_000 and seen.exit_code == 137


def test_a_level_that_is_not_there_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")

    assert sandbox.require("L1") == "L1"
    with pytest.raises(Unavailable) as refused:
        sandbox.require("L3")
    assert "KAIZEN_SANDBOX_MAX" in refused.value.next and "L1" in refused.value.what


def test_without_bubblewrap_the_remedy_is_to_install_it(monkeypatch):
    monkeypatch.setattr(sandbox, "_found", {})
    monkeypatch.setattr(bubblewrap, "PLACES", "/nowhere")

    with pytest.raises(Unavailable) as refused:
        sandbox.require("L3")
    assert "not installed" in refused.value.why and "apt install bubblewrap" in refused.value.next


def test_a_bubblewrap_that_holds_nothing_is_not_believed(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(sandbox, "_found", {})
    monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path))

    assert not sandbox.works("L3") and sandbox.why_not("L3")


def test_the_probe_names_what_a_weak_box_lets_through():
    said = probe.tried(sandbox._limited, sandbox.MUST["L3"])

    assert said.startswith("does not hold: read, write") and "network" in said


def test_the_variable_that_lowers_the_level_knows_only_levels(monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "none")

    with pytest.raises(Usage):
        sandbox.level()


def test_the_home_folder_is_never_shown_as_a_whole(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))

    for path in (folder.parent, folder.parent.parent, "/"):
        with pytest.raises(Refused):
            sandbox.run(["true"], str(folder), 5, reads=(str(path),))


def test_a_program_that_the_box_cannot_see_is_named(folder, tmp_path):
    program = tmp_path / "tool"
    shutil.copy("/bin/true", program)

    with pytest.raises(NotFound) as refused:
        sandbox.run([str(program)], str(folder), 5)
    assert refused.value.code == "command_not_visible"
    with pytest.raises(NotFound) as refused:
        sandbox.run(["no-such-tool"], str(folder), 5)
    assert refused.value.code == "command_not_found"


def test_a_program_of_the_folder_is_run_by_its_relative_path(level, folder):
    (folder / "tool").write_text("#!/bin/sh\necho made here\n")
    (folder / "tool").chmod(0o755)

    assert sandbox.run(["./tool"], str(folder), 20).stdout.text() == "made here\n"


def test_a_folder_that_is_named_by_a_link_is_seen_by_both_names(level, folder, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x").write_text("seen")
    (tmp_path / "link").symlink_to("real")
    names = [str(tmp_path / name / "x") for name in ("link", "real")]
    seen = sandbox.run(["cat", *names], str(folder), 20, reads=(str(tmp_path / "link"),))

    assert seen.stdout.text() == "seenseen", seen.stderr.text()


LONG = """
import sys; sys.path.insert(0, {root!r})
from kaizen_components.pipeline import sandbox
sandbox.run(["sh", "-c", "echo > begun; sleep 60"], {folder!r}, 60)
"""


def test_a_box_ends_when_whoever_waits_for_it_is_killed(strongest, folder):
    waiting = subprocess.Popen([sys.executable, "-c", LONG.format(root=str(PROJECT), folder=str(folder))])
    assert soon(lambda: (folder / "begun").exists()), "it never began"
    waiting.kill()
    waiting.wait()

    assert soon(lambda: living_in(folder) == [])


def soon(what, seconds=20.0):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()


AS_SOMEBODY = """
import sys; sys.path.insert(0, {root!r})
from kaizen_components.pipeline import sandbox
seen = sandbox.run(["sh", "-c", "id -u; cat {secret} || echo closed"], {folder!r}, 30)
print(seen.level, seen.exit_code, seen.stdout.text().split())
"""


def test_an_ordinary_user_gets_the_strongest_level_too(tmp_path, tool):
    """When these tests run as root; else all of them show it."""
    if os.getuid() != 0:
        pytest.skip("these tests run as an ordinary user already")
    tool("bwrap")
    place = pathlib.Path(f"/var/tmp/kaizen-somebody-{os.getpid()}")
    place.mkdir()
    os.chown(place, 12_345, 12_345)
    (place / "secret").write_text("secret")
    (place / "folder").mkdir()
    os.chown(place / "folder", 12_345, 12_345)
    code = AS_SOMEBODY.format(root=str(PROJECT), secret=str(place / "secret"), folder=str(place / "folder"))
    somebody = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--bounding-set=-all"]
    try:
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
        command = [*somebody, "/usr/bin/python3", "-B", "-c", code]
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True)
    finally:
        shutil.rmtree(place)

    assert done.stdout.strip() == "L3 0 ['65534', 'closed']", done.stderr
