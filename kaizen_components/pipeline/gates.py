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
    needs: tuple[str, ...] = ()  # kinds of answers without which there is nothing to judge


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


def _command(step, job, asked):
    from . import command

    return command.judge(step, job, asked)


GATES = {
    "ready": Gate(_of("ready"), ("pass", "check")),
    "static": Gate(_of("static"), ("pass", "check", "regression"), ("edits",)),
    "testing": Gate(_testing, ("pass", "check", "regression", "weak", "flaky"), ("edits", "tests")),
    "command": Gate(_command, ("pass", "check")),
}
