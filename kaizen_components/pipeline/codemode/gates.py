"""The gates of codemode, as a protocol names them: function, execution, validation."""

import re
from typing import Any

from ...errors import NotFound
from ..answers.context import StepContext
from ..job import Job
from ..protocol import Step
from ..verdict import Finding, Verdict
from . import cases, execute, session, snippets, validate
from .box.piece import TIMEOUT, build_failure
from .function import Function, locate_function
from .gate import fail_closed
from .kinds import collect_results, find_spec_text, read_function_option


def judge_function(step: Step, job: Job, context: StepContext) -> Verdict:
    return check_function(job, read_function_option(context))


def judge_execution(step: Step, job: Job, context: StepContext) -> Verdict:
    """Run the newest snippets; the facts of the verdict have their code and results."""
    items = snippets.parse_round(context.find_answer("snippets") or "", collect_results(context))
    verdict = execute.execute_snippets(job, read_function_option(context), items)
    if verdict.is_pass:
        verdict.facts["results"] = execute.add_code(items, verdict.facts["results"])
    return _split_times(verdict)


def judge_validation(step: Step, job: Job, context: StepContext) -> Verdict:
    """Run the cases of the newest spec; the facts of the verdict have its text."""
    text = find_spec_text(context)
    function, spec = read_function_option(context), cases.parse_spec(text)
    verdict = validate.validate_spec(job, function, spec, context.request)
    verdict.facts["spec"] = text
    return _split_times(verdict)


def _split_times(verdict: Verdict) -> Verdict:
    """Move the times of the results into a fact `ms`, because a replay has other times."""
    results: list[dict[str, Any]] = verdict.facts.get("results", [])
    verdict.facts["ms"] = {result["id"]: result["ms"] for result in results}
    verdict.facts["results"] = [
        {name: value for name, value in result.items() if name != "ms"} for result in results
    ]
    return verdict


@fail_closed
def check_function(job: Job, function: Function) -> Verdict:
    """Check that the function exists, and can be imported and called in the sandbox."""
    try:
        location = locate_function(job, function)
    except NotFound as error:
        text = f"{error.what} {error.why} {error.next}"
        return Verdict("check", error.what, [Finding(error.code, text)])
    (group,), sandbox_run = session.run(job, function, [session.build_group([])], hash_seed=1)
    path = location.path
    facts = {"function": str(function), "path": path, "lines": [location.first, location.last]}
    result = group["import"] or build_failure(TIMEOUT, "The import did not end.")
    if result["error_type"]:
        says = f"{function.module} cannot be imported: {result['error_type']}: {result['error']}"
        reason, next_step = "check", "Fix the module: only an importable one can be explored."
        missing_module = re.match(r"No module named '([^']+)'", result["error"])
        if missing_module and result["error_type"] == "ModuleNotFoundError":
            install = f"{job.tools.install or 'pip install'} {missing_module[1].split('.')[0]}"
            reason, next_step = "missing", f"Install it where the target's tests run: {install}"
        findings = [Finding("import", f"{says}. {next_step}", path)]
        return Verdict(reason, says, findings, [sandbox_run], facts)
    if not result["callable"]:
        says = f"{function} is not callable after its module was imported."
        return Verdict("check", says, [Finding("not-callable", says, path)], [sandbox_run], facts)
    return Verdict("pass", f"{function} is in {path} and can be called.", [], [sandbox_run], facts)
