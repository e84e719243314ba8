"""The engine runs the snippets: each alone, in time, and twice, so that what cannot be relied on is known."""

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
    """Always a pass where they could be run: what they show is for others to judge."""
    results, runs = run_twice(job, function, snippets)
    failures = sum(not one["success"] for one in results)
    unstable = [one["id"] for one in results if not one["stable"]]
    says = f"{len(results)} snippet{'s' * (len(results) != 1)} ran twice: "
    says += f"{len(results) - failures} gave a value, {failures} ended in an error"
    says += f"; {', '.join(unstable)} differed between the two runs." if unstable else "."
    return Verdict("pass", says, [], runs, {"results": results, "unstable": unstable})


def add_code(snippets: list[dict[str, Any]], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each result with the snippet that it is of, as prompts and later steps want them."""
    by_id = {one["id"]: one for one in snippets}
    return [{**by_id.get(one["id"], {"description": "", "code": ""}), **one} for one in results]


def run_twice(
    job: Job, function: Function, items: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[sandbox.SandboxResult]]:
    """What became of each piece of code, in order, and whether that was the same in another process."""
    asked = [{"id": one["id"], "code": one["code"]} for one in items]
    runs: list[sandbox.SandboxResult] = []
    first, second = (_run_once(job, function, asked, seed, runs) for seed in SEEDS)
    return [
        {"id": one["id"], **first[one["id"]], "stable": _same(first[one["id"]], second[one["id"]])}
        for one in asked
    ], runs


def _run_once(job, function, items, seed, runs):
    """By id; where the box breaks, it is halved until the one that breaks it is alone."""
    try:
        (seen,), boxed = session.run(job, function, [session.build_group(items)], hash_seed=seed)
    except SessionBroken as broken:
        runs.append(broken.boxed)
        if len(items) == 1:
            return {
                items[0]["id"]: failed(
                    KILLED, broken.boxed.stopped or "It ended the whole sandbox."
                )
            }
        half = len(items) // 2
        return {
            **_run_once(job, function, items[:half], seed, runs),
            **_run_once(job, function, items[half:], seed, runs),
        }
    runs.append(boxed)
    late = failed(NOT_RUN, "The time for all of them was over.")
    if seen["import"] and seen["import"]["error_type"]:
        late = failed(seen["import"]["error_type"], f"The import failed: {seen['import']['error']}")
    return {one["id"]: seen["results"].get(one["id"], late) for one in items}


def _same(one, other):
    """By the value or the kind of error, which is what a case can expect; words and prints may have a time in them."""
    if one["error_type"] == NOT_RUN or one["error_type"] != other["error_type"]:
        return False
    return one["cut"] == other["cut"] and is_same_value(one["output"], other["output"])


def explain_unusable(result: dict[str, Any]) -> str:
    """Why a result is no evidence, in words; "" if it is."""
    if result["error_type"] in NO_EVIDENCE:
        return f"ended with {result['error_type']}, which depends on the machine"
    if not result["stable"]:
        return "was different the second time"
    if result["cut"]:
        return "has more output than is recorded; look at a part of it, or at its length"
    return ""
