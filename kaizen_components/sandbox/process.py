"""Run one command as given: no shell, a scrubbed environment, a time limit, bounded output, and nothing left behind.

The output goes to the terminal (stderr, so that stdout stays ours) while it is hashed; the head and the tail of it
are kept. What is not protected here: files, network, memory; and a process that leaves its session outlives it.
sandbox.py does that: it gives the command line of a box, an environment, and a look at what the box uses.
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
LOOK_S = 0.1  # how often `watch` looks; a look costs about 0.2 ms
NAP_S = 60.0  # without one; a poll takes no more than 24 days at once
TIMED_OUT = 124
PROTECTION = "no shell, scrubbed environment, time limit, output cap"

# What a tool needs to find itself, its language and its caches. Everything else may be a secret.
PASSED = (
    *(
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
    ),
    *(
        "TMPDIR",
        "TMP",
        "TEMP",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "PYENV_ROOT",
        "PYENV_VERSION",
        "PYTHONPATH",
    ),
    *(
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "JAVA_HOME",
        "GOPATH",
        "GOROOT",
        "CARGO_HOME",
        "RUSTUP_HOME",
    ),
    *(
        "NVM_DIR",
        "NODE_PATH",
        "SSL_CERT_FILE",
        "SYSTEMROOT",
        "SYSTEMDRIVE",
        "COMSPEC",
        "PATHEXT",
        "WINDIR",
        "APPDATA",
    ),
    *("LOCALAPPDATA", "USERPROFILE", "PROGRAMFILES", "PROGRAMDATA", "NUMBER_OF_PROCESSORS"),
)
PASSED_PREFIXES = ("LC_", "XDG_")


class ProcessResult:
    """What was seen of a run."""

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
    """One output stream: the hash of all of it, and as much of it as is kept."""

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
        """How many bytes are not kept."""
        return self.bytes - len(self._head) - len(self._tail[-KEPT_BYTES // 2 :])

    def text(self) -> str:
        """What is kept, as text; what was left out is counted."""
        tail = bytes(self._tail[-KEPT_BYTES // 2 :])
        gap = f"\n[{self.left_out:,} bytes left out]\n".encode() if self.left_out else b""
        return (
            (bytes(self._head) + gap + tail)
            .decode("utf-8", "backslashreplace")
            .replace("\0", "\\x00")
        )


def scrub_environment() -> dict[str, str]:
    """The variables that a command gets; KAIZEN_PASS_ENV names more, separated by commas."""
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
    """Run `argv` in `cwd` and wait for it, its time limit, or Ctrl-C; what it started in its session ends with it.

    `watch` is called now and then with the process and the bytes it has written; a reason that it gives ends the run.
    """
    with DeferredSignals() as ending:
        return _run(
            argv, cwd, timeout_s, ending, scrub_environment() if env is None else env, echo, watch
        )


def _run(argv, cwd, timeout_s, ending, env, echo, watch):
    start = time.monotonic()
    out, err = Stream(), Stream()
    timed_out, stopped, readers, process = False, "", [], _started(argv, cwd, env)
    try:
        for pipe, stream in ((process.stdout, out), (process.stderr, err)):
            readers.append(threading.Thread(target=_read, args=(pipe, stream, echo), daemon=True))
            readers[-1].start()
        ending.allow()
        stopped = _wait(
            process, timeout_s, watch and (lambda: watch(process.pid, out.bytes + err.bytes))
        )
    except subprocess.TimeoutExpired:
        timed_out = True
        _end(process, signal.SIGTERM)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            pass
    finally:
        ending.hold()
        _end(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        process.wait()
        for reader in readers:
            reader.join(GRACE_S)  # a process that left its session may hold the pipe open for ever
    duration_ms = round((time.monotonic() - start) * 1000)
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return ProcessResult(
        TIMED_OUT if timed_out else code, timed_out, duration_ms, out, err, stopped
    )


def _wait(process, timeout_s, look):
    """Until it ends: "". Until a look finds a reason to end it: that. Until its time is up: TimeoutExpired."""
    end = time.monotonic() + timeout_s
    with _Exit(process) as over:
        while not over.within(min(LOOK_S if look else NAP_S, end - time.monotonic())):
            if look and (reason := look()):
                return reason
            if time.monotonic() >= end:
                raise subprocess.TimeoutExpired(process.args, timeout_s)
    return ""


class _Exit:
    """The end of a process, noticed at once where the system tells (Linux): Popen.wait sleeps up to 50 ms."""

    def __init__(self, process):
        self._process = process
        self._fd = -1

    def __enter__(self):
        if hasattr(os, "pidfd_open"):
            try:
                self._fd = os.pidfd_open(self._process.pid)
                self._poll = select.poll()
                self._poll.register(self._fd, select.POLLIN)
            except OSError:
                pass  # an older kernel
        return self

    def __exit__(self, *exc):
        if self._fd >= 0:
            os.close(self._fd)

    def within(self, seconds):
        if self._fd >= 0:
            self._poll.poll(max(seconds, 0) * 1000)  # not select(): it refuses numbers past 1,024
            return self._process.poll() is not None
        try:
            self._process.wait(max(seconds, 0))
        except subprocess.TimeoutExpired:
            return False
        return True


class DeferredSignals:
    """The signals that end us, held back while a command is being started or cleaned up after: between two lines there
    they would leave it running."""

    def __init__(self) -> None:
        self._allowed = False
        self._heard = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "DeferredSignals":
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) not in (
                    signal.SIG_IGN,
                    None,
                ):  # nohup stays so
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if exc[0] is None:
            self.allow()

    def _hear(self, number, frame):
        self._heard = number
        if self._allowed:
            self.allow()

    def allow(self) -> None:
        self._allowed = True
        if self._heard:
            raise (
                KeyboardInterrupt if self._heard == signal.SIGINT else SystemExit(128 + self._heard)
            )

    def hold(self) -> None:
        self._allowed = False


def _started(argv, cwd, env):
    program = shutil.which(
        os.path.join(cwd, argv[0]) if os.path.dirname(argv[0]) else argv[0], path=env.get("PATH")
    )
    if program is None:
        raise NotFound(
            "command_not_found",
            f"There is no command {argv[0][:60]!r} to run.",
            "It is neither on the PATH nor an executable file below the project.",
            "Check its spelling, or give its path, such as .venv/bin/pytest. A shell line is run as: -- bash -c '…'",
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


def _read(pipe, stream, echo):
    screen = getattr(sys.stderr, "buffer", None) if echo else None
    while block := pipe.read(BLOCK_BYTES):
        stream.take(block)
        try:
            if screen:
                screen.write(block)
                screen.flush()
        except (OSError, ValueError):
            screen = None  # nobody looks any more; the run goes on


def _end(process, how):
    """End the command's group, and whoever of its session has made a group of his own."""
    if not hasattr(os, "killpg"):
        if process.poll() is None:
            process.terminate()
        return
    for send, number in (
        (os.killpg, process.pid),
        *((os.kill, member) for member in _session(process.pid)),
    ):
        try:
            send(number, how)
        except (ProcessLookupError, PermissionError):
            pass


def _session(leader):
    """The processes of a session, where the system tells (Linux)."""
    members = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()  # state, parent, group, session
        except OSError:
            continue
        if name.isdecimal() and len(fields) > 3 and int(fields[3]) == leader:
            members.append(int(name))
    return members
