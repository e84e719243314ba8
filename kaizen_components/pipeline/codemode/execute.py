"""Run the snippets, each alone, limited in time, and twice, to find results that differ."""

from typing import Any

from ...sandbox import run as sandbox
from ..gates.session_box import SessionBroken
from ..job import Job
from ..verdict import Verdict
from . import session
from .box.piece import KILLED, TIMEOUT, failed
from .function import Function
from .gate import fail_closed
from .literals import is_same_value

NOT_RUN = "NotRun"
NO_EVIDENCE = frozenset((TIMEOUT, KILLED, NOT_RUN, "Exited", "Meddled", "MemoryError"))
SEEDS = (1, 2)


@fail_closed
def execute_snippets(job: Job, function: Function, snippets: list[dict[str, Any]]) -> Verdict:
    """Pass if the snippets could run; later steps judge the results."""
    results, runs = run_twice(job, function, snippets)
    failures = sum(not result["success"] for result in results)
    unstable = [result["id"] for result in results if not result["stable"]]
    says = f"{len(results)} snippet{'s' * (len(results) != 1)} ran twice: "
    says += f"{len(results) - failures} gave a value, {failures} ended in an error"
    says += f"; {', '.join(unstable)} differed between the two runs." if unstable else "."
    return Verdict("pass", says, [], runs, {"results": results, "unstable": unstable})


def add_code(snippets: list[dict[str, Any]], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each result with its snippet, as prompts and later steps need them."""
    by_id = {snippet["id"]: snippet for snippet in snippets}
    empty = {"description": "", "code": ""}
    return [{**by_id.get(result["id"], empty), **result} for result in results]


def run_twice(
    job: Job, function: Function, items: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[sandbox.SandboxResult]]:
    """Return the result of each item, in order, and whether another process gave the same."""
    items = [{"id": item["id"], "code": item["code"]} for item in items]
    runs: list[sandbox.SandboxResult] = []
    first, second = (_run_once(job, function, items, seed, runs) for seed in SEEDS)
    return [
        {
            "id": item["id"],
            **first[item["id"]],
            "stable": _is_stable(first[item["id"]], second[item["id"]]),
        }
        for item in items
    ], runs


def _run_once(
    job: Job,
    function: Function,
    items: list[dict[str, Any]],
    seed: int,
    runs: list[sandbox.SandboxResult],
) -> dict[str, dict[str, Any]]:
    """Return the results by id. If the sandbox breaks, halve the items to find the culprit."""
    try:
        (group,), boxed = session.run(job, function, [session.build_group(items)], hash_seed=seed)
    except SessionBroken as broken:
        runs.append(broken.boxed)
        if len(items) == 1:
            why = broken.boxed.stopped or "It ended the whole sandbox."
            return {items[0]["id"]: failed(KILLED, why)}
        half = len(items) // 2
        return {
            **_run_once(job, function, items[:half], seed, runs),
            **_run_once(job, function, items[half:], seed, runs),
        }
    runs.append(boxed)
    missing = failed(NOT_RUN, "The time for all of them was over.")
    imported = group["import"]
    if imported and imported["error_type"]:
        missing = failed(imported["error_type"], f"The import failed: {imported['error']}")
    return {item["id"]: group["results"].get(item["id"], missing) for item in items}


def _is_stable(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Compare the value or the kind of error. Messages and prints may contain a time."""
    if first["error_type"] == NOT_RUN or first["error_type"] != second["error_type"]:
        return False
    return first["cut"] == second["cut"] and is_same_value(first["output"], second["output"])


def explain_unusable(result: dict[str, Any]) -> str:
    """Return why a result cannot be evidence, or "" if it can."""
    if result["error_type"] in NO_EVIDENCE:
        return f"ended with {result['error_type']}, which depends on the machine"
    if not result["stable"]:
        return "was different the second time"
    if result["cut"]:
        return "has more output than is recorded; look at a part of it, or at its length"
    return ""
