"""Run a session in the sandbox: our own code reads a plan there and writes a signed report.

Tree, plan and code of the session share a folder, and the target's code can write to it. So a
report counts only if it is signed with the plan's key, which is deleted before that code runs.
"""

import hashlib
import hmac
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from ...sandbox import run as sandbox
from ..job import Job

PIPELINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Folders of the pipeline that are copied into the box. They import no other module of Kaizen.
BOX_CODE = (("gates", "tests", "box"), ("codemode", "box"))
BEGIN = """
import sys
sys.path.insert(0, sys.argv[1])
from kaizen_box.{}.main import main
del sys.path[0]
main(sys.argv[1])
"""
REPORT = "report.json"
SKIPPED_FILES = shutil.ignore_patterns("__pycache__", "*.pyc", "*.pyo", ".git")
SHARE_OF_TIME = 0.9  # of the time limit, so that a session that hangs still leaves a report
NO_REPORT = "The sandbox left no report with a valid signature"


class SessionBroken(Exception):
    """The session left no report with a valid signature."""

    def __init__(self, sandbox_run: sandbox.SandboxResult):
        super().__init__(NO_REPORT)
        self.sandbox_run = sandbox_run

    @property
    def last_line(self) -> str:
        """Return the last line that the session printed to stderr."""
        return "".join(self.sandbox_run.stderr.text().strip().splitlines()[-1:])[:300]


def run_session_in_box(
    job: Job,
    code: str,
    prepare: Callable[[str], dict[str, Any]],
    *,
    tree: str,
    hash_seed: int,
    seconds: float = 0.0,
) -> tuple[dict[str, Any], sandbox.SandboxResult]:
    """Run `main` of a package such as "codemode.box"; return its report, or raise SessionBroken.

    `prepare` writes the session's files into the folder and returns its plan. The session stops
    itself after `seconds`, or in time to write its report before the time limit.
    """
    folder = tempfile.mkdtemp(prefix="box-", dir=job.scratch or None)
    key = secrets.token_hex(32)
    seconds_max = SHARE_OF_TIME * job.settings.timeout_s
    try:
        plan = {
            **prepare(folder),
            "key": key,
            "paths": job.tools.paths,
            "seconds": min(seconds or seconds_max, seconds_max),
        }
        with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as file:
            json.dump(plan, file)
        for parts in BOX_CODE:
            place = os.path.join(folder, "kaizen_box", *parts)
            shutil.copytree(os.path.join(PIPELINE, *parts), place, ignore=SKIPPED_FILES)
            for depth in range(len(parts)):
                package = os.path.join(folder, "kaizen_box", *parts[:depth])
                open(os.path.join(package, "__init__.py"), "w").close()
        sandbox_run = sandbox.run_in_sandbox(
            [*job.tools.python, "-s", "-B", "-c", BEGIN.format(code), folder],
            folder,
            job.settings.timeout_s,
            tree=tree,
            reads=job.tools.reads,
            variables={"PYTHONHASHSEED": str(hash_seed)},
        )
        report = read_signed_report(folder, key)
        if report is None:
            raise SessionBroken(sandbox_run)
        return report, sandbox_run
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_signed_report(folder: str, key: str) -> dict[str, Any] | None:
    """Return the report in a folder, or None if it is missing or not signed with this key."""
    try:
        with open(os.path.join(folder, REPORT), "rb") as file:
            signature, body = file.read().split(b"\n", 1)
    except (OSError, ValueError):
        return None
    expected_signature = hmac.new(bytes.fromhex(key), body, hashlib.sha256).hexdigest().encode()
    return json.loads(body) if hmac.compare_digest(expected_signature, signature) else None
