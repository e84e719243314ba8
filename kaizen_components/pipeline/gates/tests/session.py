"""Pytest sessions in the sandbox: the trees they run on, the plan they get, and the signed report they leave.

Every tree in the box is a copy without bytecode, in which the protected files are those of the base, whatever the
candidate did to them.
"""

import json
import os
import secrets
import shutil
import tempfile
from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from ...target import protected_files
from .. import session_box
from . import pytest_config
from .report import SessionReport

BOX = os.path.join(os.path.dirname(__file__), "box")
BEGIN = "import sys; sys.path.insert(0, sys.argv[1]); from kaizen_box.main import main; del sys.path[0]; main(sys.argv[1])"
UNSEEN = shutil.ignore_patterns("__pycache__", "*.pyc", "*.pyo", ".git")
TAKEN = 0.9  # of the time limit, so that a session that hangs still leaves a report
LINES_SHOWN = 5  # of what a session printed before it ended early
NO_REPORT = "The tests left no report that can be believed"


class SessionBroken(Exception):
    """The box did not leave a report that we signed."""

    def __init__(self, boxed: sandbox.SandboxResult):
        super().__init__(NO_REPORT)
        self.boxed = boxed


def plan_session(
    name: str, tree: str, select: list[str], timeout_s: float, **more: Any
) -> dict[str, Any]:
    """One session of a plan: `cover` files to measure, `shuffle` a seed, `edits` path -> text, `fast` to one failure"""
    fails, passes = (f"test_{secrets.token_hex(6)}" for _ in range(2))
    given = {
        "cover": [],
        "shuffle": "",
        "edits": {},
        "fast": False,
        "cpu_s": 0,
        "quiet": False,
        **more,
    }
    return {
        "name": name,
        "tree": tree,
        "select": select,
        "timeout_s": timeout_s,
        "fails": fails,
        "passes": passes,
        **given,
    }


def run_sessions(
    job: Job,
    sessions: list[dict[str, Any]],
    *,
    hash_seed: int,
    seconds: float = 0.0,
    enough: tuple[int, int] | None = None,
) -> tuple[list[SessionReport], sandbox.SandboxResult]:
    """Run the sessions in one box, in order; those that do not fit into `seconds` are left out.

    `enough` is how many mutants have to be noticed, or have to get through, for the others to change nothing.
    """
    folder = tempfile.mkdtemp(prefix="box-", dir=job.scratch or None)
    key = secrets.token_hex(32)
    try:
        _prepare(
            job,
            folder,
            sessions,
            key,
            min(seconds or job.settings.timeout_s, TAKEN * job.settings.timeout_s),
            enough,
        )
        boxed = sandbox.run_in_sandbox(
            [*job.tools.python, "-s", "-B", "-c", BEGIN, folder], folder, job.settings.timeout_s,
            tree=job.head_tree if any(one["tree"] == "head" for one in sessions) else job.base_tree,
            reads=job.tools.reads, variables={"PYTHONHASHSEED": str(hash_seed)},
        )  # fmt: skip
        return _read(folder, key, sessions, boxed), boxed
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(job, folder, sessions, key, seconds, enough):
    trees = {one["tree"] for one in sessions}
    for name in trees:
        place = os.path.join(folder, "trees", name)
        shutil.copytree(
            job.head if name == "head" else job.base, place, symlinks=True, ignore=UNSEEN
        )
        if name == "head":
            protected_files.restore_protected(job, place)
        if name != "base":
            protected_files.copy_new_tests(job, place)
    shutil.copytree(BOX, os.path.join(folder, "kaizen_box"), ignore=UNSEEN)
    settings = os.path.join(folder, "config")
    name = pytest_config.write_config(job.base, settings)
    plan = {
        "key": key, "trees": sorted(trees), "sessions": sessions, "seconds": seconds, "enough": enough,
        "paths": job.tools.paths, "config": name,
        "blocked": pytest_config.list_blocked_plugins(os.path.join(settings, name)),
    }  # fmt: skip
    with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as file:
        json.dump(plan, file)


def _read(folder, key, sessions, boxed):
    said = session_box.read_signed_report(folder, key)
    if said is None:
        raise SessionBroken(boxed)
    seen = json.loads(said)["sessions"]
    last_lines = "\n".join(boxed.stderr.text().strip().splitlines()[-LINES_SHOWN:])
    # Not strict: the last sessions may be out of time.
    return [SessionReport(one, plan, last_lines) for one, plan in zip(seen, sessions, strict=False)]
