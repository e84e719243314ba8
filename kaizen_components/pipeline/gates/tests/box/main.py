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

from . import framework, imports, session, tree

ASSERTIONS = (
    "AssertionError",
    "Failed",
)  # the latter is pytest.fail, and pytest.raises where nothing was raised


def main(folder: str) -> None:
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    os.unlink(file.name)
    key = bytearray.fromhex(plan.pop("key"))
    imports.clear_environment()
    import pytest  # noqa: F401  before the fork, so that each child has it at once

    if any(asked["cover"] for asked in plan["sessions"]):
        import coverage  # noqa: F401

    seen = {"versions": list_versions(), "sessions": _sessions(folder, plan, key)}
    body = json.dumps(seen).encode()
    with open(os.path.join(folder, "report.json"), "wb") as report:
        report.write(hmac.new(bytes(key), body, hashlib.sha256).hexdigest().encode() + b"\n" + body)


def _sessions(folder, plan, key):
    """All sessions in order, until the time is up or `enough` mutants were noticed or were not."""
    before = framework.FrameworkSnapshot()
    gc.freeze()  # what is here now is shared with every child
    trees = {
        name: tree.RestorableTree(os.path.join(folder, "trees", name)) for name in plan["trees"]
    }
    deadline, seen, ends, said = time.monotonic() + plan["seconds"], [], {True: 0, False: 0}, False
    for asked in plan["sessions"]:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        kept = trees[asked["tree"]]
        kept.restore(asked["edits"])
        cut, asked["timeout_s"] = left < asked["timeout_s"], min(asked["timeout_s"], left)
        seen.append(
            session.run_session(
                asked, {**plan, "folder": folder, "root": kept.root, "before": before}, key
            )
        )
        if cut and asked["fast"] and seen[-1]["timed_out"]:
            seen.pop()  # our time was up, not the mutant's
            break
        ends[is_killed(seen[-1])] += asked["name"] == "mutant"
        said = said or (asked["name"] == "mutant" and has_failed_assertion(seen[-1]))
        if plan["enough"] and (
            (said and ends[True] >= plan["enough"][0]) or ends[False] >= plan["enough"][1]
        ):
            break
    return seen


def is_killed(seen: dict) -> bool:
    """Whether a mutant was noticed: a test failed, a file could not be collected, or the session did not end."""
    if seen["timed_out"] or not seen["end"]:
        return True
    own = [
        event for event in seen["events"] if event["kind"] == "collect" or not event.get("own", "-")
    ]
    return any(event["outcome"] != "passed" for event in own)


def has_failed_assertion(seen: dict) -> bool:
    """Whether it was an assertion that failed, and not only something that crashed."""
    return any(event.get("type") in ASSERTIONS and not event.get("own") for event in seen["events"])


def list_versions() -> dict:
    names = {"python": sys.version.split()[0]}
    for package in ("pytest", "coverage"):
        try:
            names[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            names[package] = ""
    return names
