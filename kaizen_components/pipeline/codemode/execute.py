"""Run each snippet alone, with a time limit, and twice, to find results that differ."""

from typing import Any

from ...sandbox import run as sandbox
from ..gates.session_box import SessionBroken
from ..job import Job
from ..verdict import Verdict
from . import session
from .box.piece import KILLED, TIMEOUT, build_failure
from .function import Function
from .gate import fail_closed
from .literals import is_same_value

NOT_RUN = "NotRun"
NO_EVIDENCE = frozenset((TIMEOUT, KILLED, NOT_RUN, "Exited", "Meddled", "MemoryError"))
SEEDS = (1, 2)


@fail_closed
def execute_snippets(job: Job, function: Function, snippets: list[dict[str, Any]]) -> Verdict:
    """Run the snippets twice. The verdict is `pass` if they ran; later steps judge the results."""
    results, runs = run_twice(job, function, snippets)
    failures = sum(not result["success"] for result in results)
    unstable = [result["id"] for result in results if not result["stable"]]
    says = f"{len(results)} snippet{'s' * (len(results) != 1)} ran twice: "
    says += f"{len(results) - failures} gave a value, {failures} ended in an error"
    says += f"; {', '.join(unstable)} differed between the two runs." if unstable else "."
    return Verdict("pass", says, [], runs, {"results": results, "unstable": unstable})


def add_code(snippets: list[dict[str, Any]], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each result together with the description and code of its snippet."""
    by_id = {snippet["id"]: snippet for snippet in snippets}
    no_snippet = {"description": "", "code": ""}
    return [{**by_id.get(result["id"], no_snippet), **result} for result in results]


def run_twice(
    job: Job, function: Function, items: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[sandbox.SandboxResult]]:
    """Run the items in two processes with different hash seeds.

    Return the first result of each item, in order; its `stable` says if the second was equal.
    """
    items = [{"id": item["id"], "code": item["code"]} for item in items]
    runs: list[sandbox.SandboxResult] = []
    first_results, second_results = (_run_once(job, function, items, seed, runs) for seed in SEEDS)
    results = []
    for item in items:
        first, second = first_results[item["id"]], second_results[item["id"]]
        # Only the value or the kind of error counts: messages and prints may contain a time.
        is_stable = (
            first["error_type"] == second["error_type"] != NOT_RUN
            and first["cut"] == second["cut"]
            and is_same_value(first["output"], second["output"])
        )
        results.append({"id": item["id"], **first, "stable": is_stable})
    return results, runs


def _run_once(
    job: Job,
    function: Function,
    items: list[dict[str, Any]],
    seed: int,
    runs: list[sandbox.SandboxResult],
) -> dict[str, dict[str, Any]]:
    """Return the results by id. If an item breaks the sandbox, find it by running each half."""
    try:
        (group,), sandbox_run = session.run(
            job, function, [session.build_group(items)], hash_seed=seed
        )
    except SessionBroken as broken:
        runs.append(broken.sandbox_run)
        if len(items) == 1:
            why = broken.sandbox_run.stopped or "It ended the whole sandbox."
            return {items[0]["id"]: build_failure(KILLED, why)}
        middle = len(items) // 2
        return {
            **_run_once(job, function, items[:middle], seed, runs),
            **_run_once(job, function, items[middle:], seed, runs),
        }
    runs.append(sandbox_run)
    missing_result = build_failure(NOT_RUN, "The time for all snippets was over.")
    import_result = group["import"]
    if import_result and import_result["error_type"]:
        missing_result = build_failure(
            import_result["error_type"], f"The import failed: {import_result['error']}"
        )
    return {item["id"]: group["results"].get(item["id"], missing_result) for item in items}


def explain_unusable(result: dict[str, Any]) -> str:
    """Return why a result cannot serve as evidence; "" if it can."""
    if result["error_type"] in NO_EVIDENCE:
        return f"ended with {result['error_type']}, which depends on the machine"
    if not result["stable"]:
        return "had another result in the second run"
    if result["cut"]:
        return "has more output than is recorded; return a part of it, or its length"
    return ""
