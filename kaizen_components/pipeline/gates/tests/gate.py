"""The TEST gate: each check in turn, the cheapest first; the first that finds something decides the reason."""

import os
from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from ...target import protected_files
from ...verdict import Finding, Verdict
from ..static import own_command
from . import (
    asserts,
    before,
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


class CheckFailed(Exception):
    """A check found something."""

    def __init__(self, reason: str, says: str, findings: list[Finding]):
        super().__init__(says)
        self.reason = reason
        self.says = says
        self.findings = findings


class Judgement:
    """One judgement under way: what was run and what is known so far."""

    def __init__(self, job: Job):
        self.job = job
        self.runs: list[sandbox.SandboxResult] = []
        self.facts: dict[str, Any] = {"checks": []}

    def record_check(self, check: str, reason: str, says: str, findings: list[Finding]) -> None:
        """Note that a check was made; end here if it found something."""
        self.facts["checks"].append(check)
        if findings:
            raise CheckFailed(reason, says, findings)


def judge_tests(job: Job) -> Verdict:
    """What our own gate says, beside or instead of the repository's own command."""
    return own_command.judge_with_own_command(job, "test", _judge_job)


def _judge_job(job: Job) -> Verdict:
    """Whether the candidate passes rule 3, and if not, why and where."""
    case = Judgement(job)
    try:
        _judge(case)
    except CheckFailed as stop:
        case.facts["stopped_by"] = case.facts["checks"][-1]
        return Verdict(stop.reason, stop.says, stop.findings, case.runs, case.facts)
    except session.SessionBroken as broken:
        case.facts["stopped_by"] = "session"
        findings = [
            Finding(
                "session",
                f"{broken}: exit code {broken.boxed.exit_code}.\n{broken.boxed.stderr.text()[-1500:]}",
            )
        ]
        return Verdict("check", f"{broken}.", findings, [*case.runs, broken.boxed], case.facts)
    return Verdict("pass", _summary(case.facts), [], case.runs, case.facts)


def _judge(case: Judgement) -> None:
    job = case.job
    _ready(case)
    case.record_check(
        "protected", "check", "Protected files were touched.", protected_files.check_protected(job)
    )
    case.record_check(
        "shadow",
        "check",
        "New files hide other modules.",
        shadow.find_shadowing_files(job, pytest_tools.inspect_tools(job).installed),
    )
    case.record_check("new-tests", "weak", "There are no new tests.", _none_given(job))
    case.record_check("asserts", "weak", "New tests assert nothing.", asserts.find_empty_tests(job))
    known = _baseline(case)
    passing, ran = before.find_passing_before(job)
    case.runs += ran
    head = _head(case, known)
    case.record_check(
        "regression",
        "regression",
        "What passed before does not any more.",
        regression.find_regressions(known, head),
    )
    reason, findings = new_tests.check_new_tests(job, head, passing)
    says = "The new tests are wrong." if reason == "weak" else "New tests fail."
    case.record_check("new-tests", reason, says, findings)
    _meaning(
        case, head, [one for ids in new_tests.group_ids_by_file(head, job).values() for one in ids]
    )


def _ready(case):
    job = case.job
    level, least = sandbox.detect_level(), job.settings.minimum_level
    case.facts["level"] = level
    weak = sandbox.LEVELS.index(level) < sandbox.LEVELS.index(least)
    found = (
        [Finding("sandbox", f"The sandbox here is {level}, and this repository asks for {least}.")]
        if weak
        else []
    )
    case.record_check("sandbox", "missing", "The sandbox is too weak.", found)
    system = (
        []
        if hasattr(os, "fork")
        else [Finding("system", "Sessions are forked, which Windows cannot: use WSL.")]
    )
    case.record_check("system", "missing", "This system cannot run the TEST gate.", system)
    tools = pytest_tools.inspect_tools(job)
    case.facts["versions"] = tools.versions
    lacks = (
        [pytest_tools.report_missing_tools(job, tools.list_missing())]
        if tools.list_missing()
        else []
    )
    case.record_check("tools", "missing", lacks[0].text if lacks else "", lacks)


def _none_given(job):
    return [] if job.tests else [Finding("no-tests", "The change comes without a new test.")]


def _baseline(case: Judgement) -> Baseline:
    known = measure_baseline(case.job)
    case.runs += known.runs
    case.facts |= {
        "baseline_failed": known.failed,
        "flaky": known.flaky,
        "baseline_passed": len(known.passed),
    }
    doubts = [Finding("baseline", f"The base cannot be judged: {one}.") for one in known.doubts]
    case.record_check("baseline", "missing", "The tests of the base cannot be judged.", doubts)
    failing = [
        Finding("baseline", f"{one} fails on the base already.", one.split("::")[0])
        for one in known.failed
    ]
    if not case.job.settings.allow_failing_baseline:
        case.record_check("baseline", "missing", "The base does not pass its own tests.", failing)
    return known


def _head(case: Judgement, known: Baseline) -> SessionReport:
    """The whole suite and the new tests on head, under coverage, if the session can be believed."""
    head = _on_head(case, [])
    _believe(case, head, known)
    unseen = [
        path
        for path, ids in new_tests.group_ids_by_file(head, case.job).items()
        if not ids and path not in head.broken
    ]
    if unseen:  # outside of what pytest collects unless told
        more = _on_head(case, unseen)
        _believe(case, more, known)
        head.add(more)
    return head


def _on_head(case: Judgement, select: list[str]) -> SessionReport:
    job = case.job
    asked = session.plan_session(
        "head", "head", select, job.settings.timeout_s, cover=line_coverage.list_product_files(job)
    )
    (head,), boxed = session.run_sessions(job, [asked], hash_seed=1)
    case.runs.append(boxed)
    return head


def _believe(case, head, known):
    doubts = [Finding("canary", f"The session is not believed: {one}.") for one in head.doubts()]
    doubts += [
        Finding("framework", f"The candidate changes the test framework: {one}.")
        for one in sorted({*head.changed} - {*known.changed})
    ]
    doubts += [
        Finding("framework", f"The candidate takes part in reporting: {one}.", one.split(":")[0])
        for one in sorted({*head.hooks} - {*known.hooks})
        if not protected_files.matches_any(one.split(":")[0], case.job.grants)
    ]
    case.record_check("canary", "check", "The test session cannot be believed.", doubts)


def _meaning(case: Judgement, head: SessionReport, new: list[str]) -> None:
    """What the passing tests are worth: repeated, honest, covering, and noticing mutants."""
    job = case.job
    covered = line_coverage.measure_coverage(job, head)
    case.facts |= {"coverage": round(covered.rate, 3), "changed_lines": len(covered.executable)}
    case.record_check(
        "coverage",
        "weak",
        "Too few of the changed lines are tested.",
        line_coverage.check_coverage(job, covered),
    )
    seen, boxed = repeat.repeat_new_tests(job, new)
    case.runs.append(boxed)
    case.record_check(
        "flaky", "flaky", "New tests are flaky.", repeat.find_flaky_tests(head, seen[:-1], new)
    )
    case.record_check(
        "equality", "check", "A value equals everything.", equality.check_equality(seen[-1])
    )
    _mutate(case, head, covered, new)


def _mutate(case, head, covered, new):
    found = mutation.run_mutants(case.job, head, covered, new)
    case.runs += [found.boxed] if found.boxed else []
    case.facts["mutants"] = {
        "made": found.made,
        "tried": found.tried_count,
        "killed": found.killed,
        "asserted": found.asserted,
    }
    case.facts["survivors"] = [f"{one.path}:{one.line} {one}" for one in found.survivors]
    doubts = [
        Finding("canary", f"A mutant's session is not believed: {one}.")
        for one in sorted(set(found.doubts))
    ]
    case.record_check("canary", "check", "A test session cannot be believed.", doubts)
    slow = (
        [Finding("mutation", "Not one mutant was tried in settings.mutation_s.")]
        if found.made > found.tried_count == 0
        else []
    )
    case.record_check("mutation", "missing", "There was no time for mutants.", slow)
    case.record_check(
        "mutation",
        "weak",
        "The tests do not notice wrong code.",
        mutation.check_mutants(case.job, found),
    )


def _summary(facts):
    mutants = facts["mutants"]
    killed = (
        f"{mutants['killed']} of {mutants['tried']} mutants killed ({mutants['made']} possible)"
    )
    killed = killed if mutants["made"] else "no mutant possible"
    flaky = f"; {len(facts['flaky'])} flaky tests of the base left out" if facts["flaky"] else ""
    return f"The tests pass and mean something: {facts['coverage']:.0%} of changed lines run, {killed}{flaky}."
