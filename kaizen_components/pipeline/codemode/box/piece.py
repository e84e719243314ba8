"""One piece of code in a process of its own: what it gives, prints and raises, and how long it takes."""

import ast
import json
import os
import secrets
import select
import shutil
import sys
import tempfile
import time
import traceback
from importlib import import_module

from ...gates.tests.box import imports
from . import family

OUTPUT_CHARS = 2_000
TEXT_CHARS = 500
SENT_BYTES = 100_000
MEMORY_BYTES = (
    1 << 30
)  # less than the box has, so that the code gets a MemoryError and the others go on
PAUSE_S = 0.02
NAME = "<code>"
TIMEOUT, EXITED, KILLED, MEDDLED = "Timeout", "Exited", "Killed", "Meddled"


def failed(error_type: str, error: str, ms: float = 0.0, stdout: str = "") -> dict:
    """A result that our side of the pipe gives."""
    return {
        "success": False, "output": "", "cut": False, "stdout": stdout, "error": error, "error_type": error_type,
        "ms": ms, "inside": False,
    }  # fmt: skip


def imported(plan: dict) -> tuple:
    """(the function, how the import ended); the function is None where it could not be had."""
    _silent()
    os.chdir(plan["root"])
    sys.argv[:] = ["code"]
    paths = [os.path.normpath(os.path.join(plan["root"], path)) for path in plan["paths"]]
    imports.put_tree_first(paths)
    os.environ["TMPDIR"] = plan["tmp"]
    tempfile.tempdir = None
    try:
        function = getattr(import_module(plan["module"]), plan["name"])
    except BaseException as error:
        return None, failed(type(error).__name__, _text(error))
    return function, {"error_type": "", "error": "", "callable": callable(function)}


def run(code: str, function, plan: dict, seconds: float, forget) -> dict:
    """Run the code in a child and say what became of it; whatever it started ends with it."""
    shutil.rmtree(plan["tmp"], ignore_errors=True)
    os.makedirs(plan["tmp"], exist_ok=True)
    token = secrets.token_hex(16).encode()
    result, result_writer = os.pipe()
    stdout, stdout_writer = os.pipe()
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        forget()
        os.close(result)
        os.close(stdout)
        _child(code, {plan["name"]: function}, stdout_writer, _sender(result_writer, token))
    os.close(result_writer)
    os.close(stdout_writer)
    sent, printed, status = _watched(pid, result, stdout, start + seconds)
    os.close(result)
    os.close(stdout)
    ms = round((time.monotonic() - start) * 1000, 3)
    return _read(sent, token, status, ms, printed.decode("utf-8", "replace")[:TEXT_CHARS])


def _read(sent, token, status, ms, printed):
    lines = [line[len(token) :] for line in sent.split(b"\n")[:-1] if line.startswith(token)]
    if status is None:
        return failed(TIMEOUT, "It did not end in its time.", ms, printed)
    if len(lines) == 1:
        return dict(json.loads(lines[0]), stdout=printed)
    if lines:
        return failed(MEDDLED, "It wrote a result of its own.", ms, printed)
    if os.WIFSIGNALED(status):
        return failed(KILLED, f"Signal {os.WTERMSIG(status)} ended the process.", ms, printed)
    return failed(
        EXITED, f"The process ended with exit code {os.WEXITSTATUS(status)}.", ms, printed
    )


def _watched(pid, result, stdout, deadline):
    """(what it sent, what it printed, its status or None if its time was up)."""
    kept = {result: bytearray(), stdout: bytearray()}
    most, open_, status = {result: SENT_BYTES, stdout: 4 * TEXT_CHARS}, [result, stdout], None
    while status is None and time.monotonic() < deadline:
        _take(open_, kept, most, PAUSE_S)
        done, said = os.waitpid(pid, os.WNOHANG)
        status = said if done else None
    while _take(open_, kept, most, 0) and status is not None and time.monotonic() < deadline:
        pass
    family.end(pid, status is not None)
    return bytes(kept[result]), bytes(kept[stdout]), status


def _take(open_, kept, most, seconds):
    """Read what is there and keep the beginning of it; whether there was anything."""
    if not open_:
        time.sleep(seconds and 0.001)
        return False
    ready = select.select(open_, [], [], seconds)[0]
    for reader in ready:
        block = os.read(reader, 65_536)
        kept[reader] += block[: max(0, most[reader] - len(kept[reader]))]
        if not block:
            open_.remove(reader)
    return bool(ready)


def _sender(writer, token):
    def send(event, dumps=json.dumps, write=os.write):
        line = token + dumps(event).encode() + b"\n"
        while line:
            line = line[write(writer, line) :]

    return send


def _child(code, namespace, stdout_writer, send):
    try:
        os.setpgid(0, 0)
        _limit()
        os.dup2(stdout_writer, 1)
        os.close(stdout_writer)
        sys.stdout = os.fdopen(1, "w", 1, encoding="utf-8", errors="backslashreplace")
        send(_result(code, dict(namespace, __name__="code")))
    finally:
        os._exit(0)


def _result(code, namespace):
    clock = time.perf_counter
    start = clock()
    said = failed("", "")
    try:
        value = repr(_value(code, namespace))
        said.update(success=True, output=value[:OUTPUT_CHARS], cut=len(value) > OUTPUT_CHARS)
    except BaseException as error:
        said.update(error_type=type(error).__name__, error=_text(error), inside=_inside(error))
    said["ms"] = round((clock() - start) * 1000, 3)
    try:
        sys.stdout.flush()
    except Exception:
        pass  # it closed it: what it printed is gone
    return said


def _value(code, namespace):
    """What the last line gives, which is an expression."""
    body = ast.parse(code, NAME)
    last = ast.Expression(body.body.pop().value)
    exec(compile(body, NAME, "exec"), namespace)
    return eval(compile(last, NAME, "eval"), namespace)


def _inside(error):
    """Whether it came from further in than the code itself."""
    frames = traceback.extract_tb(error.__traceback__)
    at = [place for place, frame in enumerate(frames) if frame.filename == NAME]
    return bool(at) and any(frame.filename != NAME for frame in frames[at[0] :])


def _text(error):
    try:
        return str(error)[:TEXT_CHARS].encode("utf-8", "backslashreplace").decode()
    except BaseException:
        return "(its text cannot be read)"


def _silent():
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)


def _limit():
    import resource

    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
