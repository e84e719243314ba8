"""How the tests end before the change: run twice, with two hash seeds and once under coverage."""

import os
from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from .. import memo
from ..session_box import SessionBroken
from . import pytest_tools, session
from .report import SessionReport

DOUBT_CHARS_MAX = 300
FIELDS = ("passed", "failed", "flaky", "skipped", "hooks", "changed", "doubts")
SAME_KINDS = {"xpassed": "passed", "xfailed": "skipped", "error": "failed", "rewritten": "failed"}


class Baseline:
    """Test ids of the base by how they ended; flaky are those that ended in two ways."""

    def __init__(self, runs: list[sandbox.SandboxResult], **fields: list[str]):
        self.runs = runs  # empty when it was remembered
        self.passed = fields.get("passed", [])
        self.failed = fields.get("failed", [])  # also files that could not be collected
        self.flaky = fields.get("flaky", [])
        self.skipped = fields.get("skipped", [])
        self.hooks = fields.get("hooks", [])  # hook functions that the base itself brings
        self.changed = fields.get("changed", [])  # parts of the framework that the base patches
        self.doubts = fields.get("doubts", [])  # why its report is not believed


def measure_baseline(job: Job) -> Baseline:
    """Run the base's tests, or return what was kept for the same base and tools."""
    tools = pytest_tools.inspect_tools(job)
    parts = (job.base_tree, job.tools.python, job.tools.paths, tools.versions)
    path = memo.find_memo(job, "baseline", *parts)
    fields = memo.read_memo(path)
    if fields is not None:
        return Baseline([], **fields)
    if lacking := tools.list_missing():
        return Baseline([], doubts=[pytest_tools.report_missing_tools(job, lacking).text])
    product = [
        path
        for path in job.changed
        if path.endswith(".py") and os.path.isfile(os.path.join(job.base, path))
    ]
    reports: list[SessionReport] = []
    runs: list[sandbox.SandboxResult] = []
    for seed, cover in ((1, []), (2, product or ["none.py"])):
        plan = session.plan_session(f"base {seed}", "base", [], job.settings.timeout_s, cover=cover)
        try:
            found, boxed = session.run_sessions(job, [plan], hash_seed=seed)
        except SessionBroken as broken:
            doubt = ": ".join(filter(None, (str(broken), broken.last_line)))[:DOUBT_CHARS_MAX]
            return Baseline([*runs, broken.boxed], doubts=[doubt])
        reports += found
        runs.append(boxed)
    baseline = _compare_reports(reports[0], reports[1], runs)
    if not baseline.doubts:  # what could not be judged may be judged next time
        memo.write_memo(path, {name: getattr(baseline, name) for name in FIELDS})
    return baseline


def _compare_reports(
    first: SessionReport, second: SessionReport, runs: list[sandbox.SandboxResult]
) -> Baseline:
    fields: dict[str, Any] = {kind: [] for kind in ("passed", "failed", "flaky", "skipped")}
    ends = [{**report.uncollected, **report.outcomes} for report in (first, second)]
    for name in sorted({*ends[0], *ends[1]}):
        kinds = {end[name].kind if name in end else "missing" for end in ends}
        kinds = {SAME_KINDS.get(kind, kind) for kind in kinds}
        fields[kinds.pop() if len(kinds) == 1 else "flaky"].append(name)
    return Baseline(
        runs,
        **fields,
        doubts=sorted({*first.list_doubts(), *second.list_doubts()}),
        hooks=sorted({*first.hooks, *second.hooks}),
        changed=sorted({*first.changed, *second.changed}),
    )
