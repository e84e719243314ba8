"""Run every case of a spec twice, then against mutants of the function."""

from typing import Any

from ...sandbox import run as sandbox
from ..edits.format import quote_text
from ..job import Job
from ..verdict import Finding, Verdict
from . import evidence, execute, mutate
from .cases import Spec
from .function import Function
from .gate import fail_closed

CALL_CHARS = 200
RULES = {"reject": "requirement", "flaky": "flaky", "check": "case"}


@fail_closed
def validate_spec(job: Job, function: Function, spec: Spec, request: str) -> Verdict:
    """Run the cases of a spec twice, then on mutants.

    The verdict `reject` blames the function; `check`, `flaky` and `weak` blame the spec.
    """
    results, runs = run_cases(job, function, spec)
    by_id = {result["id"]: result for result in results}
    failing = [case for case in spec.cases if not by_id[case.id]["met"]]
    flaky = [case for case in spec.cases if not by_id[case.id]["stable"]]
    ids = {case.id for case in [*failing, *flaky]}
    facts: dict[str, Any] = {
        "cases": len(spec.cases),
        "results": results,
        "failing": [case.id for case in spec.cases if case.id in ids],
    }
    failed_requirements = [
        case for case in failing if case.source == "requirement" and case not in flaky
    ]
    for reason, cases, says in (
        ("reject", failed_requirements, "The function does not do what the requirement says"),
        ("flaky", flaky, "Cases have different results in two runs"),
        ("check", failing, "Cases fail"),
    ):
        if cases:
            findings = []
            for case in cases:
                call, got = quote_text(case.call, CALL_CHARS), by_id[case.id]["got"]
                source = "by the requirement" if reason == "reject" else f"as {case.source} showed"
                text = f"{quote_text(case.end, CALL_CHARS)} {source}; here it {got}."
                if reason == "flaky":
                    text = "had different results in two runs. Expect only what does not change."
                findings.append(Finding(RULES[reason], f"{case.id}: {call} {text}"))
            says = f"{says}: {', '.join(case.id for case in cases)}."
            return Verdict(reason, says, findings, runs, facts)
    return _judge_mutants(job, function, spec, runs, facts)


def run_cases(
    job: Job, function: Function, spec: Spec
) -> tuple[list[dict[str, Any]], list[sandbox.SandboxResult]]:
    """Run each case twice; return rows with `id`, `met`, `got`, `stable` and `ms`.

    The expected results are not copied into the sandbox.
    """
    items = [{"id": case.id, "code": case.call} for case in spec.cases]
    results, runs = execute.run_twice(job, function, items)
    return [
        {
            "id": case.id,
            "met": evidence.is_met(result, case),
            "got": evidence.describe_result(result),
            "stable": result["stable"],
            "ms": result["ms"],
        }
        for case, result in zip(spec.cases, results, strict=True)
    ], runs


def _judge_mutants(
    job: Job,
    function: Function,
    spec: Spec,
    runs: list[sandbox.SandboxResult],
    facts: dict[str, Any],
) -> Verdict:
    """Run the cases on mutants; the spec is `weak` if it detects too few of them."""
    slowest_ms = max(result["ms"] for result in facts["results"])
    mutation, sandbox_run = mutate.run_mutants(job, function, spec, slowest_ms)
    runs = [*runs, sandbox_run] if sandbox_run else runs
    facts |= {
        "mutants": mutation.made_count,
        "killed": mutation.killed_count,
        "survived": len(mutation.survivors),
        "rate": round(mutation.kill_rate, 3),
    }
    if mutation.made_count and not mutation.tried_count:
        says = f"No mutant could be tried within {job.settings.mutation_s:g} s, "
        says += "so it is unknown whether the cases detect mistakes."
        text = " ".join([says, *mutation.doubts, "Raise mutation_s in .kaizen/pipeline.toml."])
        return Verdict("missing", says, [Finding("mutants", text)], runs, facts)
    score = (
        f"{mutation.killed_count} of {mutation.tried_count} mutants of {function.name} are detected"
    )
    if mutation.kill_rate < job.settings.kill_floor:
        says = f"Only {score}; {job.settings.kill_floor:.0%} must be."
        return Verdict("weak", says, mutate.describe_survivors(mutation), runs, facts)
    return Verdict("pass", f"{len(spec.cases)} cases passed twice; {score}.", [], runs, facts)
