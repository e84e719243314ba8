"""The engine runs the spec: every case twice, then against small mistakes in the function that a case must notice."""

from typing import Any

from ...sandbox import run as sandbox
from ..edits.format import quote_text
from ..job import Job
from ..verdict import Finding, Verdict
from . import evidence, execute, mutate
from .cases import Case, Spec
from .function import Function
from .gate import fail_closed

CALL_CHARS = 200
RULES = {"reject": "requirement", "flaky": "flaky", "check": "case"}


@fail_closed
def validate_spec(job: Job, function: Function, spec: Spec, request: str) -> Verdict:
    """`reject` where the function does not do what the request says; `check`, `flaky` and `weak` are for the spec."""
    results, runs = run_cases(job, function, spec)
    facts: dict[str, Any] = {"cases": len(spec.cases), "results": results}
    failing = [case for case in spec.cases if not results_of(results, case)["met"]]
    flaky = [case for case in spec.cases if not results_of(results, case)["stable"]]
    facts["failing"] = sorted({case.id for case in [*failing, *flaky]}, key=lambda id: int(id[1:]))
    broken = [case for case in failing if case.source == "requirement" and case not in flaky]
    if broken:
        return _verdict(
            "reject",
            "The function does not do what the requirement says",
            broken,
            results,
            runs,
            facts,
        )
    if flaky:
        return _verdict(
            "flaky", "Cases end differently from run to run", flaky, results, runs, facts
        )
    if failing:
        return _verdict("check", "Cases fail", failing, results, runs, facts)
    return _mutated(job, function, spec, runs, facts)


def run_cases(
    job: Job, function: Function, spec: Spec
) -> tuple[list[dict[str, Any]], list[sandbox.SandboxResult]]:
    """What became of each case in two runs: `met`, `got`, `stable`, `ms`. What is expected stays on this side."""
    results, runs = execute.run_twice(
        job, function, [{"id": case.id, "code": case.call} for case in spec.cases]
    )
    return [_told(case, result) for case, result in zip(spec.cases, results, strict=True)], runs


def results_of(results: list[dict[str, Any]], case: Case) -> dict[str, Any]:
    return next(one for one in results if one["id"] == case.id)


def _told(case, result):
    return {
        "id": case.id, "met": evidence.is_met(result, case), "got": evidence.describe_result(result), "stable": result["stable"],
        "ms": result["ms"],
    }  # fmt: skip


def _verdict(reason, says, cases, results, runs, facts):
    found = [
        Finding(RULES[reason], _sentence(reason, case, results_of(results, case)["got"]))
        for case in cases
    ]
    return Verdict(reason, f"{says}: {', '.join(case.id for case in cases)}.", found, runs, facts)


def _sentence(reason, case, got):
    call = quote_text(case.call, CALL_CHARS)
    if reason == "flaky":
        return f"{case.id}: {call} ended differently in two runs. Ask for what does not change."
    by = "by the requirement" if reason == "reject" else f"as {case.source} showed"
    return f"{case.id}: {call} {quote_text(case.end, CALL_CHARS)} {by}; here it {got}."


def _mutated(job, function, spec, runs, facts):
    found, boxed = mutate.run_mutants(
        job, function, spec, max(one["ms"] for one in facts["results"])
    )
    runs = [*runs, *([boxed] if boxed else [])]
    facts |= {
        "mutants": found.made_count,
        "killed": found.killed_count,
        "survived": len(found.survivors),
        "rate": round(found.kill_rate, 3),
    }
    if found.made_count and not found.tried_count:
        says = f"No mistake could be tried within {job.settings.mutation_s:g} s, so the cases prove nothing yet."
        text = " ".join([says, *found.doubts, "Raise mutation_s in .kaizen/pipeline.toml."])
        return Verdict("missing", says, [Finding("mutants", text)], runs, facts)
    said = (
        f"{found.killed_count} of {found.tried_count} small mistakes in {function.name} are noticed"
    )
    if found.kill_rate < job.settings.kill_floor:
        return Verdict(
            "weak",
            f"Only {said}; {job.settings.kill_floor:.0%} must be.",
            mutate.describe_survivors(found),
            runs,
            facts,
        )
    return Verdict("pass", f"{len(spec.cases)} cases hold, twice; {said}.", [], runs, facts)
