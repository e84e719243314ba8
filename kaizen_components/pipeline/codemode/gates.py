"""The gates of codemode, as a protocol names them: the function, its execution, its validation."""

import re
from typing import Any

from ...errors import NotFound
from ..answers.context import StepContext
from ..job import Job
from ..protocol import Step
from ..verdict import Finding, Verdict
from . import cases, execute, session, snippets, validate
from .box.piece import TIMEOUT, failed
from .function import Function, locate_function
from .gate import fail_closed
from .kinds import collect_results, find_spec_text, read_function_option


def judge_function(step: Step, job: Job, asked: StepContext) -> Verdict:
    return check_function(job, read_function_option(asked))


def judge_execution(step: Step, job: Job, asked: StepContext) -> Verdict:
    """The facts have the code beside what it gave, and times apart: those are never the same again."""
    given = snippets.parse_answer(asked.text("snippets") or "", collect_results(asked))
    verdict = execute.execute_snippets(job, read_function_option(asked), given)
    if verdict.passed:
        verdict.facts["results"] = execute.add_code(given, verdict.facts["results"])
    return _timed(verdict)


def judge_validation(step: Step, job: Job, asked: StepContext) -> Verdict:
    text = find_spec_text(asked)
    verdict = validate.validate_spec(
        job, read_function_option(asked), cases.parse_spec(text), asked.request
    )
    verdict.facts["spec"] = text
    return _timed(verdict)


def _timed(verdict):
    rows: list[dict[str, Any]] = verdict.facts.get("results", [])
    verdict.facts["ms"] = {one["id"]: one["ms"] for one in rows}
    verdict.facts["results"] = [
        {name: value for name, value in one.items() if name != "ms"} for one in rows
    ]
    return verdict


@fail_closed
def check_function(job: Job, function: Function) -> Verdict:
    """Whether the function is there, and can be imported and called in the sandbox."""
    try:
        found = locate_function(job, function)
    except NotFound as error:
        return Verdict(
            "check", error.what, [Finding(error.code, f"{error.what} {error.why} {error.next}")]
        )
    (seen,), boxed = session.run(job, function, [session.build_group([])], hash_seed=1)
    facts = {"function": str(function), "path": found.path, "lines": [found.first, found.last]}
    said = seen["import"] or failed(TIMEOUT, "The import did not end.")
    if said["error_type"]:
        says = f"{function.module} cannot be imported: {said['error_type']}: {said['error']}"
        reason, next = _unimportable(said, job)
        return Verdict(
            reason, says, [Finding("import", f"{says}. {next}", found.path)], [boxed], facts
        )
    if not said["callable"]:
        says = f"{function} is not callable once its module is imported."
        return Verdict("check", says, [Finding("not-callable", says, found.path)], [boxed], facts)
    return Verdict("pass", f"{function} is in {found.path} and can be called.", [], [boxed], facts)


def _unimportable(said, job):
    absent = re.match(r"No module named '([^']+)'", said["error"])
    if absent and said["error_type"] == "ModuleNotFoundError":
        name = absent[1].split(".")[0]
        return (
            "missing",
            f"Install it where the target's tests run: {job.tools.install or 'pip install'} {name}",
        )
    return "check", "Mend the module first: what cannot be imported cannot be explored."
