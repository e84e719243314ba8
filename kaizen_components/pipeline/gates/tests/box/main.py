"""The parent process: run the sessions of the plan in order, and sign their reports."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

from . import framework, imports, plan, session, tree

# "Failed" comes from pytest.fail, and from pytest.raises if nothing was raised.
ASSERTIONS = ("AssertionError", "Failed")


def main(folder: str) -> None:
    """Run the sessions until the time is up, or `enough` mutants were killed or survived."""
    todo, key = plan.take_plan(folder)
    imports.clear_environment()
    import pytest  # noqa: F401  before the fork, so that no child imports it again

    if any(options["cover"] for options in todo["sessions"]):
        import coverage  # noqa: F401

    framework_before = framework.FrameworkSnapshot()
    gc.freeze()  # children share these objects
    trees = {
        name: tree.RestorableTree(os.path.join(folder, "trees", name)) for name in todo["trees"]
    }
    deadline = time.monotonic() + todo["seconds"]
    reports: list[dict[str, Any]] = []
    counts = {True: 0, False: 0}  # mutants that were killed, and that survived
    has_assertion = False
    for options in todo["sessions"]:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            break
        files = trees[options["tree"]]
        files.restore(options["edits"])
        is_cut = left_s < options["timeout_s"]
        options["timeout_s"] = min(options["timeout_s"], left_s)
        context = {**todo, "folder": folder, "root": files.root, "before": framework_before}
        reports.append(session.run_session(options, context, key))
        if is_cut and options["fast"] and reports[-1]["timed_out"]:
            reports.pop()  # the session's time was up, so the report says nothing about the mutant
            break
        if options["name"] == "mutant":
            counts[is_killed(reports[-1])] += 1
            has_assertion = has_assertion or has_failed_assertion(reports[-1])
        if todo["enough"]:
            killed_min, survived_min = todo["enough"]
            if counts[False] >= survived_min or (has_assertion and counts[True] >= killed_min):
                break
    plan.write_report(folder, key, {"sessions": reports})


def is_killed(report: dict[str, Any]) -> bool:
    """Return whether a test failed, a file could not be collected, or the session did not end.

    The two tests of ours have a name in `own`, and do not count.
    """
    if report["timed_out"] or not report["end"]:
        return True
    events = [
        event
        for event in report["events"]
        if event["kind"] == "collect" or not event.get("own", "-")
    ]
    return any(event["outcome"] != "passed" for event in events)


def has_failed_assertion(report: dict[str, Any]) -> bool:
    """Return whether an assertion failed; a test that only crashed does not count."""
    return any(
        event.get("type") in ASSERTIONS and not event.get("own") for event in report["events"]
    )
