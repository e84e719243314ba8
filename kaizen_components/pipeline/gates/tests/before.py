"""The new tests on the base's product code, where they must fail; remembered: neither changes between attempts."""

import hashlib
import json
import os

from ....sandbox import run as sandbox
from ...job import Job
from . import pytest_tools, session


def find_passing_before(job: Job) -> tuple[set[str], list[sandbox.SandboxResult]]:
    """The ids of new tests that pass without the change, and what was run to know it."""
    path = os.path.join(job.scratch, f"before-{_key(job)}.json") if job.scratch else ""
    if path and os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            return set(json.load(file)), []
    asked = session.plan_session(
        "new tests on base", "fresh", list(job.tests), job.settings.timeout_s
    )
    (seen,), boxed = session.run_sessions(job, [asked], hash_seed=1)
    found = {one for one, outcome in seen.outcomes.items() if outcome.kind in ("passed", "xpassed")}
    if path:
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(sorted(found), file)
        os.replace(file.name, path)
    return found, [boxed]


def _key(job):
    digest = hashlib.sha256(
        json.dumps(
            [job.base_tree, job.tools.python, pytest_tools.inspect_tools(job).versions]
        ).encode()
    )
    for path in sorted(job.tests):
        digest.update(path.encode() + b"\0")
        if os.path.isfile(os.path.join(job.head, path)):
            with open(os.path.join(job.head, path), "rb") as file:
                digest.update(file.read())
    return digest.hexdigest()[:24]
