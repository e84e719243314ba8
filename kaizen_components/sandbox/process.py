"""Run one command: no shell, a scrubbed environment, a time limit, bounded output, no leftovers.

The output is hashed and shown on stderr, so that our stdout stays clean; its ends are kept.
This module does not restrict files, network or memory, and a process that leaves its session
outlives the run. run.py adds those restrictions by a box and a watch over what it uses.
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
NAP_S = 60.0  # without a `watch`; poll() takes at most 24 days at once
TIMED_OUT = 124
PROTECTION = "no shell, scrubbed environment, time limit, output cap"

# What tools need to find their files, language and caches. Everything else may be a secret.
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
        self.stopped = stopped  # why `watch` ended the run
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
        """Hash a block and keep what fits into the head or the tail."""
        self._digest.update(block)
        self.bytes += len(block)
        room = KEPT_BYTES // 2 - len(self._head)
        self._head += block[:room]
        self._tail += block[max(room, 0) :]
        if len(self._tail) > KEPT_BYTES:  # not for every block, because it copies the tail
            del self._tail[: -KEPT_BYTES // 2]

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    @property
    def left_out(self) -> int:
        """Return how many bytes are not kept."""
        return self.bytes - len(self._head) - len(self._tail[-KEPT_BYTES // 2 :])

    def text(self) -> str:
        """Return the kept output, with a note on how much was left out."""
        gap = f"\n[{self.left_out:,} bytes left out]\n".encode() if self.left_out else b""
        text = bytes(self._head) + gap + bytes(self._tail[-KEPT_BYTES // 2 :])
        return text.decode("utf-8", "backslashreplace").replace("\0", "\\x00")


def scrub_environment() -> dict[str, str]:
    """Return the variables that a command gets; KAIZEN_PASS_ENV names more, separated by commas."""
    passed_names = {name.strip() for name in os.environ.get("KAIZEN_PASS_ENV", "").split(",")}
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper() in PASSED
        or name.upper().startswith(PASSED_PREFIXES)
        or name in passed_names
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
    """Run `argv` in `cwd` until it ends, its time is up, or Ctrl-C; then end its whole session.

    `watch` is called every LOOK_S with the process id and the bytes printed so far. If it returns a
    reason, the run is ended.
    """
    with DeferredSignals() as signals:
        start = time.monotonic()
        out, err = Stream(), Stream()
        timed_out = False
        stop_reason = ""
        readers = []
        process = _start_process(argv, cwd, scrub_environment() if env is None else env)
        try:
            for pipe, stream in ((process.stdout, out), (process.stderr, err)):
                args = (pipe, stream, echo)
                readers.append(threading.Thread(target=_read_stream, args=args, daemon=True))
                readers[-1].start()
            signals.allow()
            stop_reason = _wait_for_end(process, timeout_s, watch, (out, err))
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
        return ProcessResult(code, timed_out, duration_ms, out, err, stop_reason)


def _start_process(argv: list[str], cwd: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a program in a new session, with its output in pipes."""
    place = os.path.join(cwd, argv[0]) if os.path.dirname(argv[0]) else argv[0]
    program = shutil.which(place, path=env.get("PATH"))
    if program is None:
        raise NotFound(
            "command_not_found",
            f"The command {argv[0][:60]!r} was not found.",
            "It is neither on the PATH nor an executable file below the project.",
            "Check its spelling, or give its path, such as .venv/bin/pytest. "
            "To run a shell line, use: -- bash -c '…'",
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
            f"The command {argv[0][:60]!r} cannot be started.",
            f"The system reports: {error.strerror}.",
            "Run it by hand to see why.",
        ) from None


def _wait_for_end(
    process: subprocess.Popen[bytes],
    timeout_s: float,
    watch: Callable[[int, int], str] | None,
    streams: tuple[Stream, Stream],
) -> str:
    """Return "" when the process ends, or the reason of `watch`; raise TimeoutExpired."""
    deadline = time.monotonic() + timeout_s
    fd = -1
    try:
        if hasattr(
            os, "pidfd_open"
        ):  # notices the end at once, while Popen.wait sleeps up to 50 ms
            poll = select.poll()  # not select(), which refuses numbers past 1,024
            try:
                fd = os.pidfd_open(process.pid)
                poll.register(fd, select.POLLIN)
            except OSError:
                pass  # an older kernel
        while True:
            nap_s = max(min(LOOK_S if watch else NAP_S, deadline - time.monotonic()), 0)
            try:
                if fd < 0:
                    process.wait(nap_s)
                else:
                    poll.poll(nap_s * 1000)
                if process.poll() is not None:
                    return ""
            except subprocess.TimeoutExpired:
                pass
            if watch and (reason := watch(process.pid, sum(stream.bytes for stream in streams))):
                return reason
            if time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(process.args, timeout_s)
    finally:
        if fd >= 0:
            os.close(fd)


def _read_stream(pipe: Any, stream: Stream, echo: bool) -> None:
    """Read a pipe to its end into the stream, and show it on stderr if `echo` is set."""
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
    """Delay SIGINT, SIGTERM and SIGHUP while a command is being started or cleaned up.

    At that moment they would end us and leave the command running.
    """

    def __init__(self) -> None:
        self._allowed = False
        self._received = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "DeferredSignals":
        """Replace the handlers; only the main thread may do that."""
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                # What nohup ignores stays ignored.
                if number and signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *exc: object) -> None:
        """Restore the handlers, and act on a signal that has arrived."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if exc[0] is None:
            self.allow()

    def _receive(self, number: int, frame: object) -> None:
        self._received = number
        if self._allowed:
            self.allow()

    def allow(self) -> None:
        """Stop delaying, and act on a signal that has arrived."""
        self._allowed = True
        if self._received == signal.SIGINT:
            raise KeyboardInterrupt
        if self._received:
            raise SystemExit(128 + self._received)

    def hold(self) -> None:
        """Delay signals again."""
        self._allowed = False
