"""Pytest sessions in the sandbox: their plans, the trees they run on, and their reports.

Every tree is a copy without bytecode, with the protected files of the base.
"""

import os
import secrets
import shutil
from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from ...target import protected_files
from .. import session_box
from . import pytest_config
from .report import SessionReport

LINES_SHOWN = 5  # length of the output kept from a session that ended early
Plan = dict[str, Any]


def plan_session(name: str, tree: str, select: list[str], timeout_s: float, **options: Any) -> Plan:
    """Return the plan of one session.

    `cover` names files to measure, `shuffle` is a seed, `edits` maps a path to its text, and a
    `fast` session ends at the first failure.
    """
    plan = {"name": name, "tree": tree, "select": select, "timeout_s": timeout_s, "cover": []}
    plan |= {"shuffle": "", "edits": {}, "fast": False, "cpu_s": 0, "quiet": False, **options}
    return plan | {name: f"test_{secrets.token_hex(6)}" for name in ("fails", "passes")}


def run_sessions(
    job: Job,
    sessions: list[Plan],
    *,
    hash_seed: int,
    seconds: float = 0.0,
    enough: tuple[int, int] | None = None,
) -> tuple[list[SessionReport], sandbox.SandboxResult]:
    """Run the sessions in one box, in order, until `seconds` are over.

    `enough` gives the numbers of killed and surviving mutants after which to stop early.
    """
    trees = sorted({plan["tree"] for plan in sessions})

    def prepare(folder: str) -> dict[str, Any]:
        """Copy the trees and the configuration; return the plan."""
        for name in trees:
            place = os.path.join(folder, "trees", name)
            source = job.head if name == "head" else job.base
            shutil.copytree(source, place, symlinks=True, ignore=session_box.SKIPPED_FILES)
            if name == "head":
                protected_files.restore_protected(job, place)
            if name != "base":
                protected_files.copy_new_tests(job, place)
        config = pytest_config.write_config(job.base, os.path.join(folder, "config"))
        blocked_plugins = pytest_config.list_blocked_plugins(os.path.join(folder, "config", config))
        plan: Plan = {"trees": trees, "sessions": sessions, "enough": enough}
        return {**plan, "config": config, "blocked": blocked_plugins}

    tree = job.head_tree if "head" in trees else job.base_tree
    report, sandbox_run = session_box.run_session_in_box(
        job, "gates.tests.box", prepare, tree=tree, hash_seed=hash_seed, seconds=seconds
    )
    last_lines = "\n".join(sandbox_run.stderr.text().strip().splitlines()[-LINES_SHOWN:])
    # Not strict: the last sessions may not have run.
    pairs = zip(report["sessions"], sessions, strict=False)
    return [SessionReport(facts, plan, last_lines) for facts, plan in pairs], sandbox_run
