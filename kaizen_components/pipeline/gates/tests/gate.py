"""The TEST gate: each check in turn, the cheapest first; the first that finds something decides the reason."""

import os
from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from ...target import protected
from ...verdict import Finding, Verdict
from ..static import own
from . import (
    asserts,
    before,
    cover,
    equality,
    fresh,
    mutation,
    regression,
    repeat,
    session,
    shadow,
    tooling,
)
from .baseline import Baseline, baseline
from .report import Session


class Stop(Exception):
    """A check found something."""

    def __init__(self, reason: str, says: str, findings: list[Finding]):
        super().__init__(says)
        self.reason = reason
        self.says = says
        self.findings = findings


class Case:
    """One judgement under way: what was run and what is known so far."""

    def __init__(self, job: Job):
        self.job = job
        self.runs: list[sandbox.Boxed] = []
        self.facts: dict[str, Any] = {"checks": []}

    def stop(self, check: str, reason: str, says: str, findings: list[Finding]) -> None:
        """Note that a check was made; end here if it found something."""
        self.facts["checks"].append(check)
        if findings:
            raise Stop(reason, says, findings)


def judge(job: Job) -> Verdict:
    """What our own gate says, beside or instead of the repository's own command."""
    return own.around(job, "test", _judge_job)


def _judge_job(job: Job) -> Verdict:
    """Whether the candidate passes rule 3, and if not, why and where."""
    case = Case(job)
    try:
        _judge(case)
    except Stop as stop:
        case.facts["stopped_by"] = case.facts["checks"][-1]
        return Verdict(stop.reason, stop.says, stop.findings, case.runs, case.facts)
    except session.Broken as broken:
        case.facts["stopped_by"] = "session"
        findings = [
            Finding(
                "session",
                f"{broken}: exit code {broken.boxed.exit_code}.\n{broken.boxed.stderr.text()[-1500:]}",
            )
        ]
        return Verdict("check", f"{broken}.", findings, [*case.runs, broken.boxed], case.facts)
    return Verdict("pass", _summary(case.facts), [], case.runs, case.facts)


def _judge(case: Case) -> None:
    job = case.job
    _ready(case)
    case.stop("protected", "check", "Protected files were touched.", protected.check(job))
    case.stop(
        "shadow",
        "check",
        "New files hide other modules.",
        shadow.check(job, tooling.ask(job).installed),
    )
    case.stop("new-tests", "weak", "There are no new tests.", _none_given(job))
    case.stop("asserts", "weak", "New tests assert nothing.", asserts.check(job))
    known = _baseline(case)
    passing, ran = before.passing(job)
    case.runs += ran
    head = _head(case, known)
    case.stop(
        "regression",
        "regression",
        "What passed before does not any more.",
        regression.check(known, head),
    )
    reason, findings = fresh.check(job, head, passing)
    says = "The new tests are wrong." if reason == "weak" else "New tests fail."
    case.stop("new-tests", reason, says, findings)
    _meaning(case, head, [one for ids in fresh.files(head, job).values() for one in ids])


def _ready(case):
    job = case.job
    level, least = sandbox.level(), job.settings.minimum_level
    case.facts["level"] = level
    weak = sandbox.LEVELS.index(level) < sandbox.LEVELS.index(least)
    found = (
        [Finding("sandbox", f"The sandbox here is {level}, and this repository asks for {least}.")]
        if weak
        else []
    )
    case.stop("sandbox", "missing", "The sandbox is too weak.", found)
    system = (
        []
        if hasattr(os, "fork")
        else [Finding("system", "Sessions are forked, which Windows cannot: use WSL.")]
    )
    case.stop("system", "missing", "This system cannot run the TEST gate.", system)
    tools = tooling.ask(job)
    case.facts["versions"] = tools.versions
    lacks = [tooling.missing(job, tools.lacks())] if tools.lacks() else []
    case.stop("tools", "missing", lacks[0].text if lacks else "", lacks)


def _none_given(job):
    return [] if job.tests else [Finding("no-tests", "The change comes without a new test.")]


def _baseline(case: Case) -> Baseline:
    known = baseline(case.job)
    case.runs += known.runs
    case.facts |= {
        "baseline_failed": known.failed,
        "flaky": known.flaky,
        "baseline_passed": len(known.passed),
    }
    doubts = [Finding("baseline", f"The base cannot be judged: {one}.") for one in known.doubts]
    case.stop("baseline", "missing", "The tests of the base cannot be judged.", doubts)
    failing = [
        Finding("baseline", f"{one} fails on the base already.", one.split("::")[0])
        for one in known.failed
    ]
    if not case.job.settings.allow_failing_baseline:
        case.stop("baseline", "missing", "The base does not pass its own tests.", failing)
    return known


def _head(case: Case, known: Baseline) -> Session:
    """The whole suite and the new tests on head, under coverage, if the session can be believed."""
    head = _on_head(case, [])
    _believe(case, head, known)
    unseen = [
        path
        for path, ids in fresh.files(head, case.job).items()
        if not ids and path not in head.broken
    ]
    if unseen:  # outside of what pytest collects unless told
        more = _on_head(case, unseen)
        _believe(case, more, known)
        head.add(more)
    return head


def _on_head(case: Case, select: list[str]) -> Session:
    job = case.job
    asked = session.asked("head", "head", select, job.settings.timeout_s, cover=cover.product(job))
    (head,), boxed = session.run(job, [asked], hash_seed=1)
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
        if not protected.matches(one.split(":")[0], case.job.granted)
    ]
    case.stop("canary", "check", "The test session cannot be believed.", doubts)


def _meaning(case: Case, head: Session, new: list[str]) -> None:
    """What the passing tests are worth: repeated, honest, covering, and noticing mutants."""
    job = case.job
    covered = cover.measure(job, head)
    case.facts |= {"coverage": round(covered.rate, 3), "changed_lines": len(covered.can_run)}
    case.stop(
        "coverage", "weak", "Too few of the changed lines are tested.", cover.check(job, covered)
    )
    seen, boxed = repeat.run(job, new)
    case.runs.append(boxed)
    case.stop("flaky", "flaky", "New tests are flaky.", repeat.check(head, seen[:-1], new))
    case.stop("equality", "check", "A value equals everything.", equality.check(seen[-1]))
    _mutate(case, head, covered, new)


def _mutate(case, head, covered, new):
    found = mutation.run(case.job, head, covered, new)
    case.runs += [found.boxed] if found.boxed else []
    case.facts["mutants"] = {
        "made": found.made,
        "tried": found.tried,
        "killed": found.killed,
        "asserted": found.asserted,
    }
    case.facts["survivors"] = [f"{one.path}:{one.line} {one}" for one in found.survived]
    doubts = [
        Finding("canary", f"A mutant's session is not believed: {one}.")
        for one in sorted(set(found.doubts))
    ]
    case.stop("canary", "check", "A test session cannot be believed.", doubts)
    slow = (
        [Finding("mutation", "Not one mutant was tried in settings.mutation_s.")]
        if found.made > found.tried == 0
        else []
    )
    case.stop("mutation", "missing", "There was no time for mutants.", slow)
    case.stop(
        "mutation", "weak", "The tests do not notice wrong code.", mutation.check(case.job, found)
    )


def _summary(facts):
    mutants = facts["mutants"]
    killed = (
        f"{mutants['killed']} of {mutants['tried']} mutants killed ({mutants['made']} possible)"
    )
    killed = killed if mutants["made"] else "no mutant possible"
    flaky = f"; {len(facts['flaky'])} flaky tests of the base left out" if facts["flaky"] else ""
    return f"The tests pass and mean something: {facts['coverage']:.0%} of changed lines run, {killed}{flaky}."
