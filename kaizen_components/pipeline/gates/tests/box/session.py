"""Run one pytest session in a forked child, and collect the events that it sends."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import sys
import time
from typing import Any

from . import child

BLOCK_BYTES = 65_536
PAUSE_S = 0.05


def run_session(options: dict[str, Any], plan: dict[str, Any], key: bytearray) -> dict[str, Any]:
    """Return the session's events, its end event if it sent one, and the number of forged lines."""
    token = secrets.token_hex(8).encode()
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        key[:] = bytes(len(key))  # the callers' frames still hold it
        os.close(reader)

        def send(**event: Any) -> None:
            line = token + json.dumps(event).encode() + b"\n"
            while line:
                line = line[os.write(writer, line) :]

        child.run_child(options, plan, send)
    os.close(writer)
    data, timed_out = _receive(reader, pid, start + options["timeout_s"])
    os.close(reader)
    seconds = time.monotonic() - start
    events, foreign = [], 0
    for line in data.split(b"\n")[:-1]:
        is_ours = line.startswith(token)
        try:
            events.append(json.loads(line[len(token) :] if is_ours else line))
            foreign += not is_ours
        except ValueError:
            foreign += 1
    ends = [event for event in events if event["kind"] == "end"]
    end = ends[-1] if len(ends) == 1 else None
    facts = {"name": options["name"], "seconds": seconds, "timed_out": timed_out}
    return {**facts, "events": events, "foreign": foreign, "end": end}


def _receive(reader: int, pid: int, deadline: float) -> tuple[bytes, bool]:
    """Return the bytes that the child sends and whether its time ran out; kill its processes."""
    data = bytearray()
    has_ended = timed_out = False
    while not has_ended and not timed_out:
        has_ended = os.waitpid(pid, os.WNOHANG)[0] == pid
        timed_out = not has_ended and time.monotonic() > deadline
        while select.select([reader], [], [], 0 if has_ended else PAUSE_S)[0]:
            block = os.read(reader, BLOCK_BYTES)
            data += block
            if not block:  # closed: the child has ended or is about to
                has_ended = has_ended or os.waitpid(pid, os.WNOHANG)[0] == pid
                time.sleep(0 if has_ended else 0.001)
                break
            if time.monotonic() > deadline:
                break
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    if not has_ended:
        try:
            os.kill(pid, signal.SIGKILL)  # it may have left its group
        except ProcessLookupError:
            pass
        os.waitpid(pid, 0)
    return bytes(data), timed_out
