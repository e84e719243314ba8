"""Progress: a live line on a terminal, plain lines in a pipe, and no failure without stderr."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time

import pytest

from kaizen_components.pipeline.run.progress import Progress
from kaizen_components.pipeline.verdict import Finding, Verdict

from ..conftest import ROOT

RUN = """
import sys, time
from kaizen_components.pipeline.run.progress import Progress
from kaizen_components.pipeline.verdict import Finding, Verdict
progress = Progress()
progress.begin_step("build", 2)
for _ in range(12):
    progress.count_text("x" * 100)
    time.sleep(0.1)
progress.end_step("build", 2, Verdict("check", "no", [Finding("a", "b"), Finding("c", "d")]))
progress.begin_step("review", 1)
time.sleep(0.3)
progress.close()
sys.stdout.write("done")
"""


def on_terminal(columns=80, leaves_after_s=None):
    """Run RUN on a terminal; return (stdout, the terminal's text, exit code)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", RUN], cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    seen, begun = b"", time.monotonic()
    while leaves_after_s is None or time.monotonic() < begun + leaves_after_s:
        try:
            block = os.read(ours, 65536)
        except OSError:
            break
        if not block:
            break
        seen += block
        if leaves_after_s is not None:
            break
    os.close(ours)
    out = process.communicate(timeout=60)[0]
    return out, seen.decode(), process.returncode


def test_terminal_shows_live_line_then_verdict():
    out, seen, code = on_terminal()

    assert (out, code) == (b"done", 0)
    assert re.search(r"[|/\\-] build 2  1 s  [\d,]+ characters", seen)
    assert re.search(r"\rbuild 2  check  \d+\.\d s  2 findings\r?\n", seen)
    assert "review 1  0 s" in seen and re.search(r"\r +\r$", seen)  # wiped: it did not end


def test_live_line_redraws_at_most_every_100_ms():
    _, seen, _ = on_terminal()
    seconds = float(re.search(r"check  ([\d.]+) s", seen)[1])

    assert 2 <= len(re.findall(r"[|/\\-] build 2", seen)) <= seconds * 10 + 1


@pytest.mark.parametrize("columns", [1, 5, 12])
def test_live_line_fits_a_narrow_terminal(columns):
    out, seen, code = on_terminal(columns)
    drawn = [line for line in re.split(r"[\r\n]+", seen) if line[:1] in "|/-\\" and line]

    assert (out, code) == (b"done", 0)
    assert all(len(line) < columns for line in drawn)


def test_closed_terminal_does_not_end_the_run():
    out, _, code = on_terminal(leaves_after_s=0.5)

    assert (out, code) == (b"done", 0)


def test_pipe_gets_one_plain_line_per_step():
    done = subprocess.run([sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True)

    assert (
        re.fullmatch(r"build 2  check  \d+\.\d s  2 findings\n", done.stderr)
        and done.stdout == "done"
    )


def test_progress_without_stderr_does_not_fail(monkeypatch):
    for stderr in (None, open(os.devnull, "w")):  # noqa: SIM115
        if stderr:
            stderr.close()
        monkeypatch.setattr(sys, "stderr", stderr)
        progress = Progress()
        progress.begin_step("plan", 1)
        progress.count_text("x")
        progress.end_step("plan", 1, Verdict("pass", "fine"))
        progress.close()


def test_verdict_of_step_never_begun_shows_zero_seconds(capsys):
    Progress().end_step("review", 1, Verdict("check", "no", [Finding("a", "b")]))

    assert capsys.readouterr().err == "review 1  check  0.0 s  1 finding\n"
