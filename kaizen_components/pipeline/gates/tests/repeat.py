"""Repeat the new tests in another order and with another hash seed, to find flaky tests."""

from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding
from . import equality, session
from .report import SessionReport


def repeat_new_tests(job: Job, new: list[str]) -> tuple[list[SessionReport], sandbox.SandboxResult]:
    """Return the reports of the repeated sessions; the last report is of the equality probe."""
    sessions: list[tuple[str, dict[str, Any]]] = [
        (f"repeat {number}", {"shuffle": f"{job.head_tree}{number}"})
        for number in range(job.settings.repeats)
    ]
    sessions.append(("equality", {"edits": equality.add_equality_probes(job)}))
    limit_s = job.settings.timeout_s
    plans = [
        session.plan_session(name, "head", new, limit_s, quiet=True, **options)
        for name, options in sessions
    ]
    return session.run_sessions(job, plans, hash_seed=3)


def find_flaky_tests(
    head: SessionReport, repeats: list[SessionReport], new: list[str]
) -> list[Finding]:
    """Return one finding for each test that ended differently on the same tree."""
    findings = []
    for id in sorted(new):
        kinds = [report.find_kind(id) for report in (head, *repeats)]
        if len(set(kinds)) > 1:
            text = f"{id} ended differently on the same tree: {', '.join(kinds)}."
            findings.append(Finding("flaky", text, id.split("::")[0]))
    return findings
