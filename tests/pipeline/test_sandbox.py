"""What a command can do in a box, its environment and limits, and errors. (test_escapes.py tries to escape.)"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

from kaizen_components.errors import NotFound, Refused, Unavailable, Usage
from kaizen_components.sandbox import bubblewrap, probe, seatbelt
from kaizen_components.sandbox import run as sandbox

from ..conftest import ROOT
from .boxes import LIMITS, list_processes_in, run_boxed, wait_until


def test_sandboxed_command_gets_only_needed_environment(level, folder, monkeypatch):
    monkeypatch.setenv("KAIZEN_LLM_API_KEY", "not-for-the-box")
    monkeypatch.setenv("TZ", "UTC+3")
    result = run_boxed(
        folder, "print(json.dumps(dict(os.environ)))", variables={"PYTHONHASHSEED": "7"}
    )

    environment = json.loads(result.stdout.text())
    allowed = {"PATH", "LANG", "TZ", "HOME", "TMPDIR", "PYTHONHASHSEED", "PWD", "LC_CTYPE"}
    assert set(environment) <= allowed and environment["PWD"] == str(folder)
    assert (environment["PYTHONHASHSEED"], environment["TZ"]) == ("7", "UTC+3")


def test_sandboxed_command_can_write_folder_home_and_tmp(level, folder):
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
    result = run_boxed(folder, code.replace('"x"', repr(token)))

    assert result.exit_code == 0, result.stderr.text()
    path = folder / "sub dir" / "é.txt"
    assert path.read_text() == "made" and path.stat().st_uid == os.getuid()
    assert list(pathlib.Path(tempfile.gettempdir()).glob(f"kaizen-box-*/home/{token}")) == []


def test_loopback_in_sandbox_works_at_level_l3(strongest, folder):
    code = "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()).close(); print('met')"

    assert run_boxed(folder, code).stdout.text() == "met\n"


def test_pytest_of_target_runs_in_sandbox(level, folder):
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
    result = sandbox.run_in_sandbox(argv, str(folder), 120, reads=(sys.prefix, sys.base_prefix))

    assert result.exit_code == 0, result.stdout.text() + result.stderr.text()
    assert 'tests="1"' in (folder / "out/report.xml").read_text()


def test_node_runs_within_the_memory_limit(level, folder, tool):
    result = sandbox.run_in_sandbox([tool("node"), "-e", "console.log(1 + 1)"], str(folder), 60)

    assert result.stdout.text() == "2\n", result.stderr.text()


def test_setuid_bit_is_removed_after_the_run(strongest, folder):
    result = run_boxed(folder, "open('evil', 'w').close(); os.chmod('evil', 0o6755)")

    assert result.exit_code == 0, result.stderr.text()
    if os.getuid() == 0:
        assert (folder / "evil").stat().st_mode & 0o6000 == 0


def test_sandboxed_process_has_no_capabilities(strongest, folder):
    result = run_boxed(folder, "print(open('/proc/self/status').read())")

    for name in ("CapPrm", "CapEff", "CapAmb"):
        assert f"{name}:\t0000000000000000" in result.stdout.text()


def test_sandboxed_process_has_limits_and_highest_oom_score(level, folder):
    code = """
import resource
kinds = {name: getattr(resource, "RLIMIT_" + name) for name in facts}
print(json.dumps({name: resource.getrlimit(kind)[1] for name, kind in kinds.items()}))
print(open("/proc/self/oom_score_adj").read())
"""
    limits = {"CORE": 0, "DATA": 200 << 20, "FSIZE": 8 << 20, "NOFILE": 1_024}
    limits["CPU"] = 61 * os.cpu_count()
    inside, score = (
        run_boxed(folder, code, limits=LIMITS, facts=limits).stdout.text().split("\n")[:2]
    )

    assert (json.loads(inside), score) == (limits, "1000")


def test_sandboxed_process_has_no_supplementary_groups(strongest, folder):
    if os.getuid() != 0:
        pytest.skip("only root can set groups")
    groups = os.getgroups()
    os.setgroups([*groups, 12_345])
    try:
        assert run_boxed(folder, "print(os.getgroups())").stdout.text() == "[]\n"
    finally:
        os.setgroups(groups)


def test_sandbox_has_its_own_namespaces(strongest, folder):
    names = ("ipc", "mnt", "net", "pid", "uts")
    code = f"print(*(os.readlink(f'/proc/self/ns/{{name}}') for name in {names}))"
    inside = run_boxed(folder, code).stdout.text().split()

    outside = [os.readlink(f"/proc/self/ns/{name}") for name in names]
    assert len(inside) == len(names) and not {*inside} & {*outside}


def test_result_names_sandbox_level_and_limits(level, folder):
    result = run_boxed(folder, "", timeout_s=600)

    assert (
        result.protection.startswith(level) and "2048 MB, 256 processes, 600 s" in result.protection
    )
    assert ("KAIZEN_SANDBOX_MAX" in result.protection) == (level != "L3")
    if level == "L3":
        assert "bubblewrap 0." in result.protection and "no network" in result.protection


def test_result_names_the_limit_that_ended_it(level, folder):
    result = run_boxed(folder, "while True: sys.stdout.write('x' * 65536)", limits=LIMITS)

    assert result.stopped == "it wrote more than 8 MB of output"
    assert len(result.stdout.text()) < 1_100_000 and result.exit_code == 137


def test_unavailable_sandbox_level_is_refused_with_remedy(monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")

    assert sandbox.require_level("L1") == "L1"
    with pytest.raises(Unavailable) as refused:
        sandbox.require_level("L3")
    assert "KAIZEN_SANDBOX_MAX" in refused.value.next and "L1" in refused.value.what


def test_remedy_without_bubblewrap_shows_install_command(monkeypatch):
    monkeypatch.setattr(sandbox, "_ways", {})
    monkeypatch.setattr(bubblewrap, "PLACES", "/nowhere")

    with pytest.raises(Unavailable) as refused:
        sandbox.require_level("L3")
    assert "not installed" in refused.value.why and "apt install bubblewrap" in refused.value.next


def test_install_command_uses_available_package_manager(monkeypatch, tmp_path):
    (tmp_path / "pacman").touch(0o755)
    monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path))

    assert bubblewrap.suggest_install() == "pacman -S bubblewrap"


def test_bubblewrap_without_isolation_is_rejected(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(sandbox, "_ways", {})
    monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path))

    assert not sandbox.level_works("L3") and sandbox.explain_level("L3")


def test_probe_lists_what_a_weak_sandbox_allows():
    report = probe.probe_box(sandbox.open_limited, sandbox.MUST["L3"])

    assert report.startswith("does not hold: read, write") and "network" in report


def test_unknown_sandbox_max_is_refused(monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "none")

    with pytest.raises(Usage):
        sandbox.detect_level()


def test_making_home_folder_visible_is_refused(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))

    for path in (folder.parent, folder.parent.parent, "/"):
        with pytest.raises(Refused):
            sandbox.run_in_sandbox(["true"], str(folder), 5, reads=(str(path),))


def test_invisible_and_missing_programs_raise_different_errors(folder, tmp_path):
    program = tmp_path / "tool"
    shutil.copy("/bin/true", program)

    with pytest.raises(NotFound) as refused:
        sandbox.run_in_sandbox([str(program)], str(folder), 5)
    assert refused.value.code == "command_not_visible"
    with pytest.raises(NotFound) as refused:
        sandbox.run_in_sandbox(["no-such-tool"], str(folder), 5)
    assert refused.value.code == "command_not_found"


def test_program_in_folder_runs_by_relative_path(level, folder):
    (folder / "tool").write_text("#!/bin/sh\necho made here\n")
    (folder / "tool").chmod(0o755)

    assert sandbox.run_in_sandbox(["./tool"], str(folder), 20).stdout.text() == "made here\n"


def test_linked_folder_is_readable_by_link_and_target(level, folder, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x").write_text("seen")
    (tmp_path / "link").symlink_to("real")
    names = [str(tmp_path / name / "x") for name in ("link", "real")]
    result = sandbox.run_in_sandbox(
        ["cat", *names], str(folder), 20, reads=(str(tmp_path / "link"),)
    )

    assert result.stdout.text() == "seenseen", result.stderr.text()


LONG = """
import sys; sys.path.insert(0, {root!r})
from kaizen_components.sandbox import run as sandbox
sandbox.run_in_sandbox(["sh", "-c", "echo > begun; sleep 60"], {folder!r}, 60)
"""


def test_sandbox_ends_when_its_parent_is_killed(strongest, folder):
    code = LONG.format(root=str(ROOT), folder=str(folder))
    environment = {**os.environ, "TMPDIR": str(folder.parent)}  # a killed parent leaves its folder
    waiting = subprocess.Popen([sys.executable, "-c", code], env=environment)
    assert wait_until(lambda: (folder / "begun").exists()), "it never began"
    waiting.kill()
    waiting.wait()

    assert wait_until(lambda: list_processes_in(folder) == [])


AS_SOMEBODY = """
import sys; sys.path.insert(0, {root!r})
from kaizen_components.sandbox import run as sandbox
result = sandbox.run_in_sandbox(["sh", "-c", "{look}"], {folder!r}, 30)
print(result.level, result.exit_code, result.stdout.text().split())
"""


def test_ordinary_user_gets_sandbox_level_l3(tmp_path, tool):
    """This needs root; otherwise all tests here run as an ordinary user."""
    if os.getuid() != 0:
        pytest.skip("these tests run as an ordinary user already")
    tool("bwrap")
    place = pathlib.Path(f"/var/tmp/kaizen-somebody-{os.getpid()}")
    place.mkdir()
    os.chown(place, 12_345, 12_345)
    (place / "secret").write_text("secret")
    (place / "folder").mkdir()
    os.chown(place / "folder", 12_345, 12_345)
    look = f"id -u; cat {place}/secret || echo closed; "
    look += (
        "for top in / /dev /etc /usr; do touch $top/x && echo $top; done; true"  # memory, unlimited
    )
    code = AS_SOMEBODY.format(root=str(ROOT), look=look, folder=str(place / "folder"))
    somebody = [
        "setpriv",
        "--reuid=12345",
        "--regid=12345",
        "--clear-groups",
        "--bounding-set=-all",
    ]
    try:
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
        command = [*somebody, "/usr/bin/python3", "-B", "-c", code]
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True)
    finally:
        shutil.rmtree(place)

    assert done.stdout.strip() == "L3 0 ['65534', 'closed']", done.stderr


def test_sandbox_output_is_captured_but_not_printed(level, folder, capfd):
    result = run_boxed(folder, "print('to be kept')")

    assert result.stdout.text() == "to be kept\n"
    assert "to be kept" not in "".join(capfd.readouterr())


def test_quote_in_path_is_escaped_in_macos_profile():
    text = seatbelt.render_profile((), ('/a "b" (allow default)',))

    assert r'(subpath "/a \"b\" (allow default)")' in text and "\n(allow default)" not in text
