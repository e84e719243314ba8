"""The TEST gate. Its checks run cheapest first; the first with a finding decides the verdict."""

import os
from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from ...target import protected_files
from ...verdict import Finding, Verdict
from ..conditions import find_weak_sandbox
from ..session_box import SessionBroken
from ..static import own_command
from . import (
    asserts,
    equality,
    line_coverage,
    mutation,
    new_tests,
    pytest_tools,
    regression,
    repeat,
    session,
    shadow,
)
from .baseline import Baseline, measure_baseline
from .report import SessionReport

STDERR_CHARS = 1_500


class CheckFailed(Exception):
    """A check found something."""

    def __init__(self, reason: str, says: str, findings: list[Finding]):
        super().__init__(says)
        self.reason = reason
        self.says = says
        self.findings = findings


class Judgement:
    """The commands and facts of one judgement so far."""

    def __init__(self, job: Job):
        self.job = job
        self.runs: list[sandbox.SandboxResult] = []
        self.facts: dict[str, Any] = {"checks": []}

    def record_check(self, check: str, reason: str, says: str, findings: list[Finding]) -> None:
        """Add the check to the facts; raise CheckFailed if it has findings."""
        self.facts["checks"].append(check)
        if findings:
            raise CheckFailed(reason, says, findings)


def judge_tests(job: Job) -> Verdict:
    """Run our gate, and the repository's own test command in addition or instead."""
    return own_command.judge_with_own_command(job, "test", _judge_job)


def _judge_job(job: Job) -> Verdict:
    """Run the checks in order, until one finds something or the session breaks."""
    case = Judgement(job)
    try:
        baseline = _check_before_tests(case)
        head, new = _check_outcomes(case, baseline)
        _check_meaning(case, head, new)
    except CheckFailed as failed:
        case.facts["stopped_by"] = case.facts["checks"][-1]
        return Verdict(failed.reason, failed.says, failed.findings, case.runs, case.facts)
    except SessionBroken as broken:
        case.facts["stopped_by"] = "session"
        end = broken.sandbox_run.stderr.text()[-STDERR_CHARS:]
        text = f"{broken}: exit code {broken.sandbox_run.exit_code}.\n{end}"
        runs = [*case.runs, broken.sandbox_run]
        return Verdict("check", f"{broken}.", [Finding("session", text)], runs, case.facts)
    facts = case.facts
    mutants = facts["mutants"]
    kill_summary = "no mutant possible"
    if mutants["made"]:
        kill_summary = f"{mutants['killed']} of {mutants['tried']} mutants killed"
        kill_summary += f" ({mutants['made']} possible)"
    flaky = f"; {len(facts['flaky'])} flaky tests of the base ignored" if facts["flaky"] else ""
    rate = f"{facts['coverage']:.0%} of changed lines run"
    summary = f"The tests pass and notice wrong code: {rate}, {kill_summary}{flaky}."
    return Verdict("pass", summary, [], case.runs, facts)


def _check_before_tests(case: Judgement) -> Baseline:
    """Make the checks without a session on head: sandbox, tools, files, asserts and baseline."""
    job = case.job
    case.facts["level"] = sandbox.detect_level()
    sandbox_findings = find_weak_sandbox(job)
    case.record_check("sandbox", "missing", "The sandbox is too weak.", sandbox_findings)
    system_findings = []
    if not hasattr(os, "fork"):
        text = "Test sessions are forked, which Windows does not support. Use WSL."
        system_findings = [Finding("system", text)]
    case.record_check("system", "missing", "This system cannot run the TEST gate.", system_findings)
    tools = pytest_tools.inspect_tools(job)
    case.facts["versions"] = tools.versions
    missing_tools = tools.list_missing()
    tool_findings = [pytest_tools.report_missing_tools(job, missing_tools)] if missing_tools else []
    case.record_check(
        "tools", "missing", tool_findings[0].text if tool_findings else "", tool_findings
    )
    protected_findings = protected_files.check_protected(job)
    case.record_check("protected", "check", "Protected files were changed.", protected_findings)
    shadow_findings = shadow.find_shadowing_files(job, tools.installed)
    case.record_check("shadow", "check", "New files hide other modules.", shadow_findings)
    missing_tests = [] if job.tests else [Finding("no-tests", "The change has no new test.")]
    case.record_check("new-tests", "weak", "There are no new tests.", missing_tests)
    empty_tests = asserts.find_empty_tests(job)
    case.record_check("asserts", "weak", "New tests assert nothing.", empty_tests)
    baseline = measure_baseline(job)
    case.runs += baseline.runs
    case.facts |= {
        "baseline_failed": baseline.failed,
        "flaky": baseline.flaky,
        "baseline_passed": len(baseline.passed),
    }
    doubts = [
        Finding("baseline", f"The base cannot be judged: {doubt}.") for doubt in baseline.doubts
    ]
    case.record_check("baseline", "missing", "The tests of the base cannot be judged.", doubts)
    if not job.settings.allow_failing_baseline:
        failures = [
            Finding("baseline", f"{id} already fails on the base.", id.split("::")[0])
            for id in baseline.failed
        ]
        case.record_check("baseline", "missing", "The base does not pass its own tests.", failures)
    return baseline


def _check_outcomes(case: Judgement, baseline: Baseline) -> tuple[SessionReport, list[str]]:
    """Check how old and new tests end; return the session on head and the ids of new tests."""
    job = case.job
    passing, runs = new_tests.find_passing_before(job)
    case.runs += runs
    head = _run_head(case, baseline, [])
    files = new_tests.group_ids_by_file(head, job)
    uncollected = [path for path, ids in files.items() if not ids and path not in head.uncollected]
    if uncollected:  # pytest collects these files only by name
        head.merge_report(_run_head(case, baseline, uncollected))
    regressions = regression.find_regressions(baseline, head)
    case.record_check(
        "regression", "regression", "Tests that passed before do not now.", regressions
    )
    reason, findings = new_tests.check_new_tests(job, head, passing)
    summary = "The new tests are wrong." if reason == "weak" else "New tests fail."
    case.record_check("new-tests", reason, summary, findings)
    return head, [id for ids in new_tests.group_ids_by_file(head, job).values() for id in ids]


def _run_head(case: Judgement, baseline: Baseline, select: list[str]) -> SessionReport:
    """Run the suite and the new tests on head under coverage; check that the session is honest."""
    job = case.job
    cover = line_coverage.list_product_files(job)
    plan = session.plan_session("head", "head", select, job.settings.timeout_s, cover=cover)
    (head,), sandbox_run = session.run_sessions(job, [plan], hash_seed=1)
    case.runs.append(sandbox_run)
    doubts = [
        Finding("canary", f"The session cannot be trusted: {doubt}.")
        for doubt in head.list_doubts()
    ]
    for name in sorted({*head.changed} - {*baseline.changed}):
        text = f"The candidate changes the test framework: {name}."
        doubts.append(Finding("framework", text))
    for hook in sorted({*head.hooks} - {*baseline.hooks}):
        path = hook.split(":")[0]
        if not protected_files.matches_any(path, job.grants):
            text = f"The candidate adds a hook to pytest: {hook}."
            doubts.append(Finding("framework", text, path))
    case.record_check("canary", "check", "The test session cannot be trusted.", doubts)
    return head


def _check_meaning(case: Judgement, head: SessionReport, new: list[str]) -> None:
    """Check coverage, repetition, values that equal everything, and mutants."""
    job = case.job
    coverage = line_coverage.measure_coverage(job, head)
    case.facts |= {
        "coverage": round(coverage.line_rate, 3),
        "changed_lines": len(coverage.executable),
    }
    coverage_findings = line_coverage.check_coverage(job, coverage)
    case.record_check(
        "coverage", "weak", "Too few of the changed lines are tested.", coverage_findings
    )
    reports, sandbox_run = repeat.repeat_new_tests(job, new)
    case.runs.append(sandbox_run)
    flaky = repeat.find_flaky_tests(head, reports[:-1], new)
    case.record_check("flaky", "flaky", "New tests are flaky.", flaky)
    lies = equality.check_equality(reports[-1])
    case.record_check("equality", "check", "A value equals everything.", lies)
    mutants = mutation.run_mutants(job, head, coverage, new)
    case.runs += [mutants.sandbox_run] if mutants.sandbox_run else []
    case.facts["mutants"] = {
        "made": mutants.made_count,
        "tried": mutants.tried_count,
        "killed": mutants.killed_count,
        "asserted": mutants.asserted_count,
    }
    case.facts["survivors"] = [
        f"{mutant.path}:{mutant.line} {mutant}" for mutant in mutants.survivors
    ]
    doubts = [
        Finding("canary", f"A mutant's session cannot be trusted: {doubt}.")
        for doubt in sorted(set(mutants.doubts))
    ]
    case.record_check("canary", "check", "A test session cannot be trusted.", doubts)
    slow = []
    if mutants.made_count > mutants.tried_count == 0:
        slow = [
            Finding(
                "mutation",
                f"No mutant could be tried within {job.settings.mutation_s:g} s (mutation_s).",
            )
        ]
    case.record_check("mutation", "missing", "There was no time for mutants.", slow)
    blind = mutation.check_mutants(job, mutants)
    case.record_check("mutation", "weak", "The tests do not notice wrong code.", blind)
