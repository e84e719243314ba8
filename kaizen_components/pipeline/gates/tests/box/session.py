"""One pytest session in a forked child, seen from its parent: the lines it sends, and how it ended."""

import json
import os
import secrets
import select
import signal
import sys
import time

from . import child

BLOCK_BYTES = 65_536
PAUSE_S = 0.05


def run_session(asked: dict, plan: dict, key: bytearray) -> dict:
    """What was seen of the session: its lines, whether it reached its end, and lines that are not its own."""
    token = secrets.token_hex(8)
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        key[:] = bytes(len(key))  # frames above this one still hold it
        os.close(reader)
        child.run_child(asked, plan, _sender(writer, token))
    os.close(writer)
    sent, timed_out = _received(reader, pid, start + asked["timeout_s"])
    os.close(reader)
    return {
        "name": asked["name"],
        "seconds": time.monotonic() - start,
        "timed_out": timed_out,
        **_parsed(sent, token),
    }


def _sender(writer, token):
    prefix = token.encode()

    def send(**event):
        line = prefix + json.dumps(event).encode() + b"\n"
        while line:
            line = line[os.write(writer, line) :]

    return send


def _parsed(sent, token):
    events, foreign = [], 0
    for line in sent.split(b"\n")[:-1]:
        try:
            events.append(json.loads(line.removeprefix(token.encode())))
            foreign += not line.startswith(token.encode())
        except ValueError:
            foreign += 1
    ends = [event for event in events if event["kind"] == "end"]
    return {"events": events, "foreign": foreign, "end": ends[-1] if len(ends) == 1 else None}


def _received(reader, pid, deadline):
    """All that the child sends until it ends or its time is up; what it started is ended with it."""
    sent, ended, timed_out = bytearray(), False, False
    while not ended and not timed_out:
        ended = os.waitpid(pid, os.WNOHANG)[0] == pid
        timed_out = not ended and time.monotonic() > deadline
        while select.select([reader], [], [], 0 if ended else PAUSE_S)[0]:
            block = os.read(reader, BLOCK_BYTES)
            sent += block
            if not block:  # closed: all of the child is gone, or nearly
                ended = ended or os.waitpid(pid, os.WNOHANG)[0] == pid
                time.sleep(0 if ended else 0.001)
                break
            if time.monotonic() > deadline:
                break
    _end(pid, ended)
    return bytes(sent), timed_out


def _end(pid, ended):
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    if not ended:
        try:
            os.kill(pid, signal.SIGKILL)  # it may have left its group
        except ProcessLookupError:
            pass
        os.waitpid(pid, 0)
