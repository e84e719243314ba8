"""Run Python in a box, and see what is left of it."""

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


def boxed(folder, code, *, timeout_s=60.0, facts=None, **more):
    (folder / "facts.json").write_text(json.dumps(facts or {}))
    (folder / "try.py").write_text(BEGIN + code)
    return sandbox.run_in_sandbox(
        [find_python(), "-I", "-B", "try.py"], str(folder), timeout_s, **more
    )


def living_in(folder):
    """The processes that run in a folder, by their working directory."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{name}/cwd").startswith(str(folder)):
                found.append(name)
    return found


def soon(what, seconds=20.0):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()
