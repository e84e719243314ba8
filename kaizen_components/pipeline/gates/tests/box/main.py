"""The parent: run the sessions of the plan one after the other, and sign what was seen."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

from . import framework, imports, plan, session, tree

# The latter is pytest.fail, and pytest.raises where nothing was raised.
ASSERTIONS = ("AssertionError", "Failed")


def main(folder: str) -> None:
    """Run the sessions in order until the time is up, or `enough` mutants were killed or survived."""
    asked, key = plan.take_plan(folder)
    imports.clear_environment()
    import pytest  # noqa: F401  before the fork, so that each child has it at once

    if any(one["cover"] for one in asked["sessions"]):
        import coverage  # noqa: F401

    before = framework.FrameworkSnapshot()
    gc.freeze()  # what is here now is shared with every child
    trees = {
        name: tree.RestorableTree(os.path.join(folder, "trees", name)) for name in asked["trees"]
    }
    deadline, reports = time.monotonic() + asked["seconds"], []
    counts, has_assertion = {True: 0, False: 0}, False
    for one in asked["sessions"]:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        files = trees[one["tree"]]
        files.restore(one["edits"])
        is_cut, one["timeout_s"] = left < one["timeout_s"], min(one["timeout_s"], left)
        context = {**asked, "folder": folder, "root": files.root, "before": before}
        reports.append(session.run_session(one, context, key))
        if is_cut and one["fast"] and reports[-1]["timed_out"]:
            reports.pop()  # our time was up, not the mutant's
            break
        if one["name"] == "mutant":
            counts[is_killed(reports[-1])] += 1
            has_assertion = has_assertion or has_failed_assertion(reports[-1])
        if asked["enough"]:
            killed_min, survived_min = asked["enough"]
            if counts[False] >= survived_min or (has_assertion and counts[True] >= killed_min):
                break
    plan.write_report(folder, key, {"sessions": reports})


def is_killed(report: dict[str, Any]) -> bool:
    """Return whether a test failed, a file could not be collected, or the session did not end."""
    if report["timed_out"] or not report["end"]:
        return True
    events = [
        event
        for event in report["events"]
        if event["kind"] == "collect" or not event.get("own", "-")
    ]
    return any(event["outcome"] != "passed" for event in events)


def has_failed_assertion(report: dict[str, Any]) -> bool:
    """Return whether an assertion failed, and not only something crashed."""
    return any(
        event.get("type") in ASSERTIONS and not event.get("own") for event in report["events"]
    )
