"""How the tests end before the change: run twice, with two hash seeds and once under coverage; remembered."""

import hashlib
import json
import os
from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from . import pytest_tools, session
from .report import SessionReport

SAYS_CHARS_MAX = 300
FIELDS = ("passed", "failed", "flaky", "skipped", "hooks", "changed", "doubts")


class Baseline:
    """Test ids of the base by how they ended. What differs between the two runs is flaky and nothing else."""

    def __init__(self, **found: Any):
        self.passed: list[str] = found["passed"]
        self.failed: list[str] = found["failed"]  # also files that could not be collected
        self.flaky: list[str] = found["flaky"]
        self.skipped: list[str] = found["skipped"]
        self.hooks: list[str] = found["hooks"]  # hook functions that the base itself brings
        self.changed: list[str] = found[
            "changed"
        ]  # parts of the framework that the base itself patches
        self.doubts: list[str] = found["doubts"]  # why its report is not believed
        self.runs: list[sandbox.SandboxResult] = []  # empty when it was remembered

    @property
    def is_sound(self) -> bool:
        return not self.failed and not self.doubts


def measure_baseline(job: Job) -> Baseline:
    """The base's tests, from job.scratch if the same base was judged with the same tools before."""
    path = os.path.join(job.scratch, f"baseline-{_key(job)}.json") if job.scratch else ""
    if path and os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            return Baseline(**json.load(file))
    found = _measured(job)
    if path and not found.doubts:  # what could not be judged may be judged next time
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({name: getattr(found, name) for name in FIELDS}, file)
        os.replace(file.name, path)
    return found


def _key(job):
    parts = [
        job.base_tree,
        job.tools.python,
        job.tools.paths,
        pytest_tools.inspect_tools(job).versions,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _measured(job):
    if lacks := pytest_tools.inspect_tools(job).list_missing():
        return _nothing([], pytest_tools.report_missing_tools(job, lacks).text)
    seen: list[SessionReport] = []
    runs: list[sandbox.SandboxResult] = []
    doubts: list[str] = []
    product = [
        path
        for path in job.changed
        if path.endswith(".py") and os.path.isfile(os.path.join(job.base, path))
    ]
    for seed, cover in ((1, []), (2, product or ["none.py"])):
        asked = session.plan_session(
            f"base {seed}", "base", [], job.settings.timeout_s, cover=cover
        )
        try:
            (one,), boxed = session.run_sessions(job, [asked], hash_seed=seed)
        except session.SessionBroken as broken:
            last = broken.boxed.stderr.text().strip().splitlines()[-1:]
            return _nothing(
                [*runs, broken.boxed], ": ".join([session.NO_REPORT, *last])[:SAYS_CHARS_MAX]
            )
        seen.append(one)
        runs.append(boxed)
        doubts += one.doubts()
    found = _compared(seen[0], seen[1], doubts)
    found.runs = runs
    return found


def _compared(first: SessionReport, second: SessionReport, doubts: list[str]) -> Baseline:
    ids = (
        first.outcomes.keys() | second.outcomes.keys() | first.broken.keys() | second.broken.keys()
    )
    kinds: dict[str, str] = {}
    for one in ids:
        ends = {_kind(seen, one) for seen in (first, second)}
        kinds[one] = ends.pop() if len(ends) == 1 else "flaky"
    by = {
        kind: sorted(one for one in ids if kinds[one] == kind)
        for kind in ("passed", "failed", "flaky", "skipped")
    }
    return Baseline(
        **by, doubts=sorted(set(doubts)), hooks=sorted({*first.hooks, *second.hooks}),
        changed=sorted({*first.changed, *second.changed}),
    )  # fmt: skip


def _kind(seen, one):
    outcome = seen.outcomes.get(one) or seen.broken.get(one)
    kind = outcome.kind if outcome else "missing"
    return {
        "xpassed": "passed",
        "xfailed": "skipped",
        "error": "failed",
        "rewritten": "failed",
    }.get(kind, kind)


def _nothing(runs, doubt):
    found = Baseline(**{name: [doubt] if name == "doubts" else [] for name in FIELDS})
    found.runs = runs
    return found
