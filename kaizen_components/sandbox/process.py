"""Run one command: no shell, a scrubbed environment, a time limit, bounded output, no leftovers.

The output goes to the terminal (stderr, so that stdout stays ours) while it is hashed; its head and
its tail are kept. Files, network and memory are not protected here, and a process that leaves its
session outlives the run. run.py adds that: the command line of a box, its environment, and a watch
over what the box uses.
"""

import hashlib
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ..errors import NotFound, Unavailable

KEPT_BYTES = 1_000_000  # of each stream; half from its beginning, half from its end
BLOCK_BYTES = 65_536
GRACE_S = 2.0
LOOK_S = 0.1  # between two calls of `watch`, which take about 0.2 ms each
NAP_S = 60.0  # without a `watch`; a poll takes no more than 24 days at once
TIMED_OUT = 124
PROTECTION = "no shell, scrubbed environment, time limit, output cap"

# What a tool needs to find itself, its language and its caches. Everything else may be a secret.
PASSED = frozenset((
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS",
    "LINES", "NO_COLOR", "TMPDIR", "TMP", "TEMP", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT",
    "PYENV_VERSION", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "JAVA_HOME",
    "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "NODE_PATH", "SSL_CERT_FILE",
    "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "APPDATA", "LOCALAPPDATA",
    "USERPROFILE", "PROGRAMFILES", "PROGRAMDATA", "NUMBER_OF_PROCESSORS",
))  # fmt: skip
PASSED_PREFIXES = ("LC_", "XDG_")


class ProcessResult:
    """How a run ended and what it printed."""

    def __init__(
        self,
        exit_code: int,
        timed_out: bool,
        duration_ms: int,
        stdout: "Stream",
        stderr: "Stream",
        stopped: str = "",
    ):
        self.stopped = stopped  # why `watch` had it ended
        self.exit_code = exit_code
        self.timed_out = timed_out
        self.duration_ms = duration_ms
        self.stdout = stdout
        self.stderr = stderr


class Stream:
    """One output stream: the hash of all of it, and its head and tail."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._head = bytearray()
        self._tail = bytearray()
        self.bytes = 0

    def take(self, block: bytes) -> None:
        self._digest.update(block)
        self.bytes += len(block)
        room = KEPT_BYTES // 2 - len(self._head)
        self._head += block[:room]
        self._tail += block[max(room, 0) :]
        if len(self._tail) > KEPT_BYTES:  # now and then, so that it is not copied for every block
            del self._tail[: -KEPT_BYTES // 2]

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    @property
    def left_out(self) -> int:
        """Return how many bytes are not kept."""
        return self.bytes - len(self._head) - len(self._tail[-KEPT_BYTES // 2 :])

    def text(self) -> str:
        """Return what is kept, with a remark on how much was left out."""
        gap = f"\n[{self.left_out:,} bytes left out]\n".encode() if self.left_out else b""
        kept = bytes(self._head) + gap + bytes(self._tail[-KEPT_BYTES // 2 :])
        return kept.decode("utf-8", "backslashreplace").replace("\0", "\\x00")


def scrub_environment() -> dict[str, str]:
    """Return the variables that a command gets; KAIZEN_PASS_ENV names more, separated by commas."""
    asked = {name.strip() for name in os.environ.get("KAIZEN_PASS_ENV", "").split(",")}
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper() in PASSED or name.upper().startswith(PASSED_PREFIXES) or name in asked
    }


def run_process(
    argv: list[str],
    cwd: str,
    timeout_s: float,
    *,
    env: dict[str, str] | None = None,
    echo: bool = True,
    watch: Callable[[int, int], str] | None = None,
) -> ProcessResult:
    """Run `argv` in `cwd` until it ends, its time is up, or Ctrl-C; end what is left of its session.

    `watch` is called now and then with the process id and the bytes written so far; if it returns a
    reason, the run is ended for it.
    """
    with DeferredSignals() as signals:
        start = time.monotonic()
        out, err = Stream(), Stream()
        timed_out, stopped, readers = False, "", []
        process = _start_process(argv, cwd, scrub_environment() if env is None else env)
        try:
            for pipe, stream in ((process.stdout, out), (process.stderr, err)):
                args = (pipe, stream, echo)
                readers.append(threading.Thread(target=_read_stream, args=args, daemon=True))
                readers[-1].start()
            signals.allow()
            stopped = _wait_for_end(process, timeout_s, watch, (out, err))
        except subprocess.TimeoutExpired:
            timed_out = True
            _signal_session(process, signal.SIGTERM)
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                pass
        finally:
            signals.hold()
            _signal_session(process, getattr(signal, "SIGKILL", signal.SIGTERM))
            process.wait()
            for reader in readers:
                reader.join(GRACE_S)  # a process that left its session may keep the pipe open
        duration_ms = round((time.monotonic() - start) * 1000)
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        code = TIMED_OUT if timed_out else code
        return ProcessResult(code, timed_out, duration_ms, out, err, stopped)


def _start_process(argv: list[str], cwd: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    place = os.path.join(cwd, argv[0]) if os.path.dirname(argv[0]) else argv[0]
    program = shutil.which(place, path=env.get("PATH"))
    if program is None:
        raise NotFound(
            "command_not_found",
            f"There is no command {argv[0][:60]!r} to run.",
            "It is neither on the PATH nor an executable file below the project.",
            "Check its spelling, or give its path, such as .venv/bin/pytest. "
            "A shell line is run as: -- bash -c '…'",
        )
    try:
        return subprocess.Popen(
            [program, *argv[1:]],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(
            "cannot_run",
            f"{argv[0][:60]!r} cannot be started.",
            str(error.strerror),
            "Run it by hand to see why.",
        ) from None


def _wait_for_end(
    process: subprocess.Popen[bytes],
    timeout_s: float,
    watch: Callable[[int, int], str] | None,
    streams: tuple[Stream, Stream],
) -> str:
    """Return "" when it ends, or the reason `watch` gives; TimeoutExpired when its time is up."""
    end, fd = time.monotonic() + timeout_s, -1
    try:
        if hasattr(os, "pidfd_open"):  # notices the end at once; Popen.wait sleeps up to 50 ms
            poll = select.poll()  # not select(), which refuses numbers past 1,024
            try:
                fd = os.pidfd_open(process.pid)
                poll.register(fd, select.POLLIN)
            except OSError:
                pass  # an older kernel
        while True:
            nap_s = max(min(LOOK_S if watch else NAP_S, end - time.monotonic()), 0)
            try:
                if fd < 0:
                    process.wait(nap_s)
                else:
                    poll.poll(nap_s * 1000)
                if process.poll() is not None:
                    return ""
            except subprocess.TimeoutExpired:
                pass
            if watch and (reason := watch(process.pid, sum(one.bytes for one in streams))):
                return reason
            if time.monotonic() >= end:
                raise subprocess.TimeoutExpired(process.args, timeout_s)
    finally:
        if fd >= 0:
            os.close(fd)


def _read_stream(pipe: Any, stream: Stream, echo: bool) -> None:
    screen = getattr(sys.stderr, "buffer", None) if echo else None
    while block := pipe.read(BLOCK_BYTES):
        stream.take(block)
        try:
            if screen:
                screen.write(block)
                screen.flush()
        except (OSError, ValueError):
            screen = None  # the terminal is gone; the run goes on


def _signal_session(process: subprocess.Popen[bytes], number: int) -> None:
    """Signal the command's group, and on Linux each process of its session that left the group."""
    if not hasattr(os, "killpg"):
        if process.poll() is None:
            process.terminate()
        return
    targets = [(os.killpg, process.pid)]
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()  # state, parent, group, session
        except OSError:
            continue
        if name.isdecimal() and len(fields) > 3 and int(fields[3]) == process.pid:
            targets.append((os.kill, int(name)))
    for send, target in targets:
        try:
            send(target, number)
        except (ProcessLookupError, PermissionError):
            pass


class DeferredSignals:
    """Hold back the signals that end us while a command is started or cleaned up after.

    Between two of those lines they would leave the command running.
    """

    def __init__(self) -> None:
        self._allowed = False
        self._received = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "DeferredSignals":
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                # What nohup ignores stays ignored.
                if number and signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if exc[0] is None:
            self.allow()

    def _receive(self, number: int, frame: object) -> None:
        self._received = number
        if self._allowed:
            self.allow()

    def allow(self) -> None:
        self._allowed = True
        if self._received == signal.SIGINT:
            raise KeyboardInterrupt
        if self._received:
            raise SystemExit(128 + self._received)

    def hold(self) -> None:
        self._allowed = False
