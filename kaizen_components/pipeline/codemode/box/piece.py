"""Run one piece of code in its own process; record its value, output, error and time."""

from __future__ import annotations

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
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...gates.tests.box import imports
from . import family

OUTPUT_CHARS = 2_000
TEXT_CHARS = 500
SENT_BYTES = 100_000
MEMORY_BYTES = 1 << 30  # below the limit of the sandbox, so that only this code gets a MemoryError
PAUSE_S = 0.02
NAME = "<code>"
TIMEOUT, EXITED, KILLED, MEDDLED = "Timeout", "Exited", "Killed", "Meddled"


def build_failure(error_type: str, error: str, ms: float = 0.0, stdout: str = "") -> dict[str, Any]:
    """Return a result without a value."""
    return {
        "success": False,
        "output": "",
        "cut": False,
        "stdout": stdout,
        "error": error,
        "error_type": error_type,
        "ms": ms,
        "inside": False,
    }


def import_function(plan: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Import the function of the plan. Return it, or None, and a report of the import."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.chdir(plan["root"])
    sys.argv[:] = ["code"]
    paths = [os.path.normpath(os.path.join(plan["root"], path)) for path in plan["paths"]]
    imports.put_tree_first(paths)
    os.environ["TMPDIR"] = plan["tmp"]
    tempfile.tempdir = None
    try:
        function = getattr(import_module(plan["module"]), plan["name"])
    except BaseException as error:
        return None, build_failure(type(error).__name__, _read_message(error))
    return function, {"error_type": "", "error": "", "callable": callable(function)}


def run_piece(
    code: str, function: Any, plan: dict[str, Any], seconds: float, forget: Callable[[], None]
) -> dict[str, Any]:
    """Run the code in a child process and return its result; end everything that it started."""
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
        _run_child(code, {plan["name"]: function}, stdout_writer, result_writer, token)
    os.close(result_writer)
    os.close(stdout_writer)
    result_data, output, status = _watch_child(pid, result, stdout, start + seconds)
    os.close(result)
    os.close(stdout)
    ms = round((time.monotonic() - start) * 1000, 3)
    text = output.decode("utf-8", "replace")[:TEXT_CHARS]
    lines = [line[len(token) :] for line in result_data.split(b"\n")[:-1] if line.startswith(token)]
    if status is None:
        return build_failure(TIMEOUT, "It did not end within its time limit.", ms, text)
    if len(lines) == 1:
        return dict(json.loads(lines[0]), stdout=text)
    if lines:
        return build_failure(MEDDLED, "It wrote a result of its own.", ms, text)
    if os.WIFSIGNALED(status):
        says = f"Signal {os.WTERMSIG(status)} ended the process."
        return build_failure(KILLED, says, ms, text)
    says = f"The process ended with exit code {os.WEXITSTATUS(status)}."
    return build_failure(EXITED, says, ms, text)


def _watch_child(
    pid: int, result: int, stdout: int, deadline: float
) -> tuple[bytes, bytes, int | None]:
    """Return the child's result, its output, and its exit status, which is None after a timeout."""
    received = {result: bytearray(), stdout: bytearray()}
    bytes_max = {result: SENT_BYTES, stdout: 4 * TEXT_CHARS}
    readers, status = [result, stdout], None
    while status is None and time.monotonic() < deadline:
        _read_ready(readers, received, bytes_max, PAUSE_S)
        ended_pid, child_status = os.waitpid(pid, os.WNOHANG)
        status = child_status if ended_pid else None
    while (
        _read_ready(readers, received, bytes_max, 0)
        and status is not None
        and time.monotonic() < deadline
    ):
        pass
    family.end_process(pid, status is not None)
    return bytes(received[result]), bytes(received[stdout]), status


def _read_ready(
    readers: list[int], received: dict[int, bytearray], bytes_max: dict[int, int], seconds: float
) -> bool:
    """Read available data and keep at most `bytes_max`; return whether there was any data."""
    if not readers:
        time.sleep(seconds and 0.001)
        return False
    ready = select.select(readers, [], [], seconds)[0]
    for reader in ready:
        block = os.read(reader, 65_536)
        received[reader] += block[: max(0, bytes_max[reader] - len(received[reader]))]
        if not block:
            readers.remove(reader)
    return bool(ready)


def _run_child(
    code: str, namespace: dict[str, Any], stdout_writer: int, result_writer: int, token: bytes
) -> None:
    """Run the code, send its result, and exit.

    `send` binds json.dumps and os.write as defaults, because the code may patch these modules.
    """

    def send(
        event: dict[str, Any],
        dumps: Callable[..., str] = json.dumps,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        line = token + dumps(event).encode() + b"\n"
        while line:
            line = line[write(result_writer, line) :]

    try:
        os.setpgid(0, 0)
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
        os.dup2(stdout_writer, 1)
        os.close(stdout_writer)
        sys.stdout = os.fdopen(1, "w", 1, encoding="utf-8", errors="backslashreplace")
        send(_run_code(code, dict(namespace, __name__="code")))
    finally:
        os._exit(0)


def _run_code(code: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Run the code; return the value of its last line, which is an expression, or its error."""
    clock = time.perf_counter
    start = clock()
    result = build_failure("", "")
    try:
        body = ast.parse(code, NAME)
        last = ast.Expression(body.body.pop().value)  # type: ignore[attr-defined]
        exec(compile(body, NAME, "exec"), namespace)
        value = repr(eval(compile(last, NAME, "eval"), namespace))
        result.update(success=True, output=value[:OUTPUT_CHARS], cut=len(value) > OUTPUT_CHARS)
    except BaseException as error:
        frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        is_inside = NAME in frames and any(name != NAME for name in frames[frames.index(NAME) :])
        message = _read_message(error)
        result.update(error_type=type(error).__name__, error=message, inside=is_inside)
    result["ms"] = round((clock() - start) * 1000, 3)
    try:
        sys.stdout.flush()
    except Exception:
        pass  # the code closed stdout, so its output is lost
    return result


def _read_message(error: BaseException) -> str:
    try:
        return str(error)[:TEXT_CHARS].encode("utf-8", "backslashreplace").decode()
    except BaseException:
        return "(its text cannot be read)"
