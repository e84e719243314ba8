"""The gates that a protocol can name. Tools decide their verdicts, not models."""

from typing import NamedTuple

from ..answers.context import StepContext
from ..load import load_attribute
from ..protocol import Step
from ..target.workspace import Workspace
from ..verdict import Verdict
from .conditions import add_conditions


class Gate(NamedTuple):
    """What the engine knows of a gate before it runs."""

    judge: str  # the address of a function (job) -> Verdict
    reasons: tuple[str, ...]  # possible reasons, besides `missing`
    needs: tuple[str, ...] = ()  # answers and gates that it requires
    sees: tuple[str, ...] = ()  # kinds of answers that it reads
    reads_answers: bool = False  # its function takes (step, job, context)


GATES = {
    "ready": Gate("gates.ready:judge_baseline", ("pass", "check")),
    "static": Gate(
        "gates.static.gate:judge_static",
        ("pass", "check", "regression"),
        needs=("edits",),
        sees=("edits",),
    ),
    "testing": Gate(
        "gates.tests.gate:judge_tests",
        ("pass", "check", "regression", "weak", "flaky"),
        needs=("edits", "tests"),
        sees=("edits", "tests"),
    ),
    "command": Gate(
        "gates.command:judge_command",
        ("pass", "check"),
        sees=("edits", "tests", "json", "text"),
        reads_answers=True,
    ),
    "function": Gate("codemode.gates:judge_function", ("pass", "check"), reads_answers=True),
    "execution": Gate(
        "codemode.gates:judge_execution",
        ("pass",),
        needs=("function", "snippets"),
        sees=("snippets",),
        reads_answers=True,
    ),
    "validation": Gate(
        "codemode.gates:judge_validation",
        ("pass", "check", "flaky", "weak", "reject"),
        needs=("function", "cases"),
        sees=("cases", "refined"),
        reads_answers=True,
    ),
}


def run_gate(step: Step, work: Workspace, context: StepContext) -> Verdict:
    """Run the step's gate on the candidate built from the answers; without edits, on the base."""
    edits = context.find_answer("edits")
    tests = context.find_answer("tests")
    job = work.make_job(context.spec, edits, tests) if edits else work.make_base_job()
    gate = GATES[step.gate or ""]
    check = load_attribute(gate.judge)
    return add_conditions(check(step, job, context) if gate.reads_answers else check(job), job)
