"""The gates that a protocol can name: tools decide, and nobody else."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from .asked import Asked
from .checking import own
from .conditions import noted
from .job import Job
from .protocol import Step
from .verdict import Verdict
from .work import Work


class Gate(NamedTuple):
    judge: Callable[[Step, Job, Asked], Verdict]
    reasons: tuple[str, ...]  # how it can end, besides `missing`
    needs: tuple[str, ...] = ()  # answers and gates without which there is nothing to judge
    sees: tuple[str, ...] = ()  # kinds of answers that it judges


def judge(step: Step, work: Work, asked: Asked) -> Verdict:
    """What the gate says about the candidate that the answers make; without any edits about the base."""
    build = asked.text("edits")
    job = work.job(asked.spec, build, asked.text("tests")) if build else work.untouched()
    return noted(GATES[step.gate or ""].judge(step, job, asked), job)


def _of(module: str) -> Callable[[Step, Job, Asked], Verdict]:
    """The `judge(job)` of a module; imported when it is needed, because some of them take long."""
    return lambda step, job, asked: import_module(f"{__package__}.{module}").judge(job)


def _testing(step, job, asked):
    from .testing import gate

    return own.around(job, "test", gate.judge)


def _function(step, job, asked):
    from .codemode import function
    from .kinds.exploring import function as named

    return function.judge(job, named(asked))


def _execution(step, job, asked):
    """The facts have the code beside what it gave, and times apart: those are never the same again."""
    from .codemode import execute, snippets
    from .kinds.exploring import function, results

    given = snippets.read(asked.text("snippets") or "", results(asked))
    verdict = execute.judge(job, function(asked), given)
    if verdict.passed:
        verdict.facts["results"] = execute.with_code(given, verdict.facts["results"])
    return _timed(verdict)


def _validation(step, job, asked):
    from .codemode import cases, validate
    from .kinds.exploring import function, spec_text

    text = spec_text(asked)
    verdict = validate.judge(job, function(asked), cases.read(text), asked.request)
    verdict.facts["spec"] = text
    return _timed(verdict)


def _timed(verdict):
    rows = verdict.facts.get("results", [])
    verdict.facts["ms"] = {one["id"]: one["ms"] for one in rows}
    verdict.facts["results"] = [{name: value for name, value in one.items() if name != "ms"} for one in rows]
    return verdict


def _command(step, job, asked):
    from . import command

    return command.judge(step, job, asked)


GATES = {
    "ready": Gate(_of("ready"), ("pass", "check")),
    "static": Gate(_of("static"), ("pass", "check", "regression"), ("edits",), ("edits",)),
    "testing": Gate(_testing, ("pass", "check", "regression", "weak", "flaky"), ("edits", "tests"), ("edits", "tests")),
    "command": Gate(_command, ("pass", "check"), sees=("edits", "tests", "json", "text")),
    "function": Gate(_function, ("pass", "check")),
    "execution": Gate(_execution, ("pass",), ("function", "snippets"), ("snippets",)),
    "validation": Gate(
        _validation, ("pass", "check", "flaky", "weak", "reject"), ("function", "cases"), ("cases", "refined")
    ),
}
