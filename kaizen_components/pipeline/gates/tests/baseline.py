"""Run the base's tests twice, with two hash seeds and once under coverage, and compare."""

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
    """Test ids of the base, grouped by outcome. Those with two different outcomes are flaky."""

    def __init__(self, runs: list[sandbox.SandboxResult], **fields: list[str]):
        self.runs = runs  # empty if the baseline was read from a memo
        self.passed = fields.get("passed", [])
        self.failed = fields.get("failed", [])  # also files that could not be collected
        self.flaky = fields.get("flaky", [])
        self.skipped = fields.get("skipped", [])
        self.hooks = fields.get("hooks", [])  # hook functions that the base defines
        self.changed = fields.get("changed", [])  # parts of the framework that the base patches
        self.doubts = fields.get("doubts", [])  # why its reports cannot be trusted


def measure_baseline(job: Job) -> Baseline:
    """Run the base's tests, or return the stored result for the same base and tools."""
    tools = pytest_tools.inspect_tools(job)
    parts = (job.base_tree, job.tools.python, job.tools.paths, tools.versions)
    path = memo.find_memo_path(job, "baseline", *parts)
    fields = memo.read_memo(path)
    if fields is not None:
        return Baseline([], **fields)
    if missing_tools := tools.list_missing():
        return Baseline([], doubts=[pytest_tools.report_missing_tools(job, missing_tools).text])
    product_files = [
        path
        for path in job.changed
        if path.endswith(".py") and os.path.isfile(os.path.join(job.base, path))
    ]
    reports: list[SessionReport] = []
    runs: list[sandbox.SandboxResult] = []
    for seed, cover in ((1, []), (2, product_files or ["none.py"])):
        plan = session.plan_session(f"base {seed}", "base", [], job.settings.timeout_s, cover=cover)
        try:
            session_reports, sandbox_run = session.run_sessions(job, [plan], hash_seed=seed)
        except SessionBroken as broken:
            doubt = ": ".join(filter(None, (str(broken), broken.last_line)))[:DOUBT_CHARS_MAX]
            return Baseline([*runs, broken.sandbox_run], doubts=[doubt])
        reports += session_reports
        runs.append(sandbox_run)
    baseline = _compare_reports(reports[0], reports[1], runs)
    if not baseline.doubts:  # a doubtful baseline is measured again next time
        memo.write_memo(path, {name: getattr(baseline, name) for name in FIELDS})
    return baseline


def _compare_reports(
    first: SessionReport, second: SessionReport, runs: list[sandbox.SandboxResult]
) -> Baseline:
    """Return the baseline of two sessions on the same tree."""
    fields: dict[str, Any] = {kind: [] for kind in ("passed", "failed", "flaky", "skipped")}
    outcomes = [{**report.uncollected, **report.outcomes} for report in (first, second)]
    for name in sorted({*outcomes[0], *outcomes[1]}):
        kinds = {end[name].kind if name in end else "missing" for end in outcomes}
        kinds = {SAME_KINDS.get(kind, kind) for kind in kinds}
        fields[kinds.pop() if len(kinds) == 1 else "flaky"].append(name)
    return Baseline(
        runs,
        **fields,
        doubts=sorted({*first.list_doubts(), *second.list_doubts()}),
        hooks=sorted({*first.hooks, *second.hooks}),
        changed=sorted({*first.changed, *second.changed}),
    )
