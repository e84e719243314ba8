"""Commands in processes that are forked from one which has imported the pipeline already.

To import it is most of what a command of the pipeline takes, and tests start many hundreds of them. What runs is the
same `main`, in a process of its own with its own folder, environment and streams; only the start of Python is shared.
As a program this is a launcher for agents: `warm.py COMMAND…` runs it in the server that the environment names.
"""

import array
import atexit
import contextlib
import importlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = "KAIZEN_WARM_SERVER"  # the path of its socket
FAST_GATES = "KAIZEN_TEST_GATES"  # set by the fixture `fast_gates`; the engine does not know it
LONGEST_S = 300
LOOKS_S = 5  # so often the server looks whether anybody is left to serve
OURS = (
    *("commands.pipeline", "backends.chat", "reports.runs.card", "store.migrate"),
    *(
        f"pipeline.run.{name}"
        for name in ("runs", "drivers", "delivery", "replay.replay", "show", "turn", "plan")
    ),
    *(
        f"pipeline.{name}"
        for name in ("codemode.gates", "codemode.kinds", "codemode.eval_case", "prompt")
    ),
    *(f"pipeline.gates.{name}" for name in ("ready", "command", "static.gate", "tests.gate")),
    *(f"pipeline.answers.{name}" for name in ("planning", "changing", "reviewing", "contracted")),
)
IMPORTED = (
    "h11",
    "httpcore",
    "httpx",
    "jinja2",
    "libsql",
    *(f"kaizen_components.{name}" for name in OURS),
)
_started: list[str] = []


def run(words, env, cwd, stdin=b"", first=""):
    """Like subprocess.run of the launcher; `first` is Python that the process runs before the command, or instead."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        code = _ask(server(), words, env, cwd, (given, out, err), first)
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(list(words), code, out.read(), err.read())


def server():
    """Where the server of this process listens; it ends with us."""
    if not _started:
        folder = tempfile.TemporaryDirectory()
        path = os.path.join(folder.name, "warm")
        process = subprocess.Popen(
            [sys.executable, __file__, "--serve", path], stdin=subprocess.DEVNULL
        )
        atexit.register(_end, process, folder)
        _started.append(path)
    return _started[0]


def _end(process, folder):
    process.terminate()
    process.wait()
    folder.cleanup()


def _ask(path, words, env, cwd, streams, first=""):
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(LONGEST_S)
        _connect(asking, path)
        told = json.dumps([[str(word) for word in words], dict(env), str(cwd), first]).encode()
        fds = array.array("i", [stream.fileno() for stream in streams])
        asking.sendmsg([len(told).to_bytes(4)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        asking.sendall(told)
        said = b"".join(iter(lambda: asking.recv(16), b""))  # until the process is gone
        return int(said) if said else -9


def _connect(asking, path):
    """It may still be importing."""
    deadline = time.monotonic() + LONGEST_S
    while True:
        try:
            return asking.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _serve(path):
    sys.path.insert(0, str(ROOT))
    for name in IMPORTED:
        importlib.import_module(name)
    _look_around()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        listening.settimeout(LOOKS_S)
        parent = os.getppid()
        while os.getppid() == parent:
            try:
                attended, _ = listening.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                listening.close()
                return _attend(attended)
            attended.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    return 0


def _look_around():
    """Find the sandbox and the tools of this Python once, and not again in each forked process."""
    sandbox = importlib.import_module("kaizen_components.sandbox.run")
    toolchain = importlib.import_module("kaizen_components.pipeline.target.toolchain")
    for level in ("L1", "L2", "L3"):
        sandbox.level_works(level)
    place = toolchain.Interpreter(sys.executable, sys.executable)
    toolchain._known[sys.executable] = toolchain._answer(place)


def _attend(asked):
    """In the forked process: the command, as if it had been started."""
    head, fds, _, _ = socket.recv_fds(asked, 4, 3)
    told = b""
    while len(told) < int.from_bytes(head):
        told += asked.recv(1 << 20)
    words, env, cwd, first = json.loads(told)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    threading.Thread(target=_die_with, args=(asked,), daemon=True).start()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [str(ROOT / "kaizen.py"), *words]
    from kaizen_components.args import main

    if os.environ.get(FAST_GATES):
        importlib.import_module("tests.pipeline.fast_gates").install()
    try:
        exec(first, {})
        code = main()
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # as Python itself would
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    asked.sendall(str(code).encode())
    globals()["_kept"] = asked  # closed by the end of the process, which whoever asked waits for
    return code


def _die_with(asked):
    """Whoever kills the launcher means the command."""
    if not asked.recv(1):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        sys.exit(_serve(sys.argv[2]))
    sys.exit(
        _ask(
            os.environ[SERVER],
            sys.argv[1:],
            os.environ,
            os.getcwd(),
            (sys.stdin, sys.stdout, sys.stderr),
        )
    )
