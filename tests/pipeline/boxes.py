"""Run Python in a box, and list the processes that remain."""

import contextlib
import json
import os
import time

from kaizen_components.sandbox import run as sandbox
from kaizen_components.sandbox.box import find_python
from kaizen_components.sandbox.limits import Limits

LIMITS = Limits(memory_mb=200, processes=24, file_mb=8, disk_mb=24, output_mb=8)
BEGIN = """
import fcntl, json, os, signal, socket, stat, sys, termios, time
facts = json.load(open("facts.json"))
def escaped():
    print("ESCAPED"); sys.stdout.flush()
"""


def run_boxed(folder, code, *, timeout_s=60.0, facts=None, **more):
    (folder / "facts.json").write_text(json.dumps(facts or {}))
    (folder / "try.py").write_text(BEGIN + code)
    return sandbox.run_in_sandbox(
        [find_python(), "-I", "-B", "try.py"], str(folder), timeout_s, **more
    )


def list_processes_in(folder):
    """Return the ids of processes whose working directory is in a folder."""
    pids = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{name}/cwd").startswith(str(folder)):
                pids.append(name)
    return pids


def wait_until(condition, seconds=20.0):
    """Wait until the condition holds; return whether it does."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()
