"""The parent: reads the plan, runs its sessions one after the other, and signs what it saw.

The key of the signature is in the plan, which is deleted before any code of the target runs, and each child forgets
it: whatever a test writes over the report, it cannot sign it.
"""

import gc
import hashlib
import hmac
import json
import os
import sys
import time
from importlib import metadata

from . import intact, session, tree


def main(folder: str) -> None:
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    os.unlink(file.name)
    key = bytearray.fromhex(plan.pop("key"))
    _leave_environment()
    import coverage  # noqa: F401  before the fork, so that each child has it at once
    import pytest  # noqa: F401

    seen = {"versions": versions(), "sessions": _sessions(folder, plan, key)}
    body = json.dumps(seen).encode()
    with open(os.path.join(folder, "report.json"), "wb") as report:
        report.write(hmac.new(bytes(key), body, hashlib.sha256).hexdigest().encode() + b"\n" + body)


def _sessions(folder, plan, key):
    """All sessions in order; the ones that have no time left are not there."""
    before = intact.Snapshot()
    gc.freeze()  # what is here now is shared with every child
    trees = {name: tree.Tree(os.path.join(folder, "trees", name)) for name in plan["trees"]}
    deadline, seen = time.monotonic() + plan["seconds"], []
    for asked in plan["sessions"]:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        kept = trees[asked["tree"]]
        kept.restore(asked["edits"])
        asked["timeout_s"] = min(asked["timeout_s"], left)
        seen.append(session.run(asked, {**plan, "folder": folder, "root": kept.root, "before": before}, key))
    return seen


def _leave_environment():
    """What tells Python or pytest to do more than we say, and the folders that PYTHONPATH and `-c` put first."""
    outside = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for name in [name for name in os.environ if name.startswith(("PYTHON", "PYTEST_", "COVERAGE_", "COV_"))]:
        if name != "PYTHONHASHSEED":
            del os.environ[name]
    sys.path[:] = [path for path in sys.path if path not in ("", *outside)]


def versions() -> dict:
    names = {"python": sys.version.split()[0]}
    for package in ("pytest", "coverage"):
        try:
            names[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            names[package] = ""
    return names
