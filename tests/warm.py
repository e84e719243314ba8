"""Run commands in processes forked from a server that has imported the engine already.

Importing the engine takes most of a command's time, and the tests run thousands of commands. Each
one runs `main` in its own process, with its own folder, environment and streams. As a program this
is a launcher for agents: `warm.py COMMAND…` runs the command on the server that the environment
names.
"""

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import pathlib
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = "KAIZEN_WARM_SERVER"  # the environment variable with the path of its socket
FAST_GATES = "KAIZEN_TEST_GATES"  # set by the fixture `fast_gates`; the engine does not know it
TIMEOUT_S = 300
PARENT_CHECK_S = 5
PACKAGES = ("h11", "httpcore", "httpx", "jinja2", "libsql")
_server_paths: list[str] = []


def run(words, env, cwd, stdin=b"", first=""):
    """Run a command like subprocess.run of the launcher; execute the Python code `first` before it."""
    with contextlib.ExitStack() as stack:
        given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        code = _send(server(), words, env, cwd, (given, out, err), first)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(words), code, out.read(), err.read())


def server():
    """Return the socket path of this process's server, which ends with this process."""
    if not _server_paths:
        folder = tempfile.TemporaryDirectory()
        path = os.path.join(folder.name, "warm")
        command = [sys.executable, __file__, "--serve", path]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

        def stop():
            process.terminate()
            process.wait()
            folder.cleanup()

        atexit.register(stop)
        _server_paths.append(path)
    return _server_paths[0]


def _send(path, words, env, cwd, streams, first=""):
    words = [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in words]
    request = json.dumps([words, dict(env), str(cwd), first]).encode()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(TIMEOUT_S)
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                client.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):  # the server is still importing
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        fds = array.array("i", [stream.fileno() for stream in streams])
        client.sendmsg([len(request).to_bytes(4)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        client.sendall(request)
        answer = b"".join(iter(lambda: client.recv(16), b""))  # until the process has ended
        return int(answer) if answer else -signal.SIGKILL


def _serve(path):
    sys.path.insert(0, str(ROOT))
    engine = importlib.import_module("kaizen_components")
    names = [module.name for module in pkgutil.walk_packages(engine.__path__, "kaizen_components.")]
    for name in (*PACKAGES, *names):
        if not name.endswith("__main__"):
            importlib.import_module(name)
    _probe_machine()
    gc.freeze()  # so that collections in the children don't copy these pages
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        listener.settimeout(PARENT_CHECK_S)
        parent = os.getppid()
        while os.getppid() == parent:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                listener.close()
                _run_request(connection)
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _probe_machine():
    """Find the sandbox and the tools of this Python once, so that no forked process has to."""
    sandbox = importlib.import_module("kaizen_components.sandbox.run")
    toolchain = importlib.import_module("kaizen_components.pipeline.target.toolchain")
    for level in ("L1", "L2", "L3"):
        sandbox.level_works(level)
    python = toolchain.Interpreter(sys.executable, sys.executable)
    toolchain._answers[sys.executable] = toolchain.ask_interpreter(python)


def _run_request(connection):
    """Run the command in this forked process as if it had been started, and end the process."""
    head, fds, _, _ = socket.recv_fds(connection, 4, 3)
    request = b""
    while len(request) < int.from_bytes(head):
        request += connection.recv(1 << 20)
    words, env, cwd, first = json.loads(request)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    threading.Thread(target=_die_with_client, args=(connection,), daemon=True).start()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv = [str(ROOT / "kaizen.py"), *words]
    from kaizen_components.args import main

    if os.environ.get(FAST_GATES):
        importlib.import_module("tests.pipeline.fast_gates").install()
    try:
        exec(first, {})
        code = main()
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # Python itself would do this
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(str(code).encode())
    os._exit(code)  # closes the connection, which the client waits for


def _die_with_client(connection):
    """Killing the launcher kills the command."""
    if not connection.recv(1):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        _serve(sys.argv[2])
    else:
        streams = (sys.stdin, sys.stdout, sys.stderr)
        sys.exit(_send(os.environ[SERVER], sys.argv[1:], os.environ, os.getcwd(), streams))
