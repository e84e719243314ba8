"""Run a spec against mutants of the function; a useful spec detects most of them."""

import random
from typing import Any

from ...sandbox import run as sandbox
from ..gates.tests import mutants
from ..gates.tests.mutation import MUTANTS_MAX, SHOWN_MAX, Mutation
from ..job import Job
from ..verdict import Finding
from . import evidence, session
from .cases import Spec
from .function import Function, locate_function

SLOWER = 10.0  # time limit of a case on a mutant, as a multiple of the slowest case without one
ITEM_S_MIN = 2.0


def run_mutants(
    job: Job, function: Function, spec: Spec, slowest_ms: float
) -> tuple[Mutation, sandbox.SandboxResult | None]:
    """Run the cases on mutants for at most `settings.mutation_s`, in an order fixed by the tree."""
    location = locate_function(job, function)
    lines = set(range(location.first, location.last + 1))
    all_mutants = mutants.make_mutants(location.path, location.text, lines)
    mutation = Mutation(len(all_mutants))
    random.Random(job.base_tree).shuffle(all_mutants)
    sample = all_mutants[:MUTANTS_MAX]
    if not sample:
        return mutation, None
    items = [{"id": case.id, "code": case.call} for case in spec.cases]
    item_s = max(ITEM_S_MIN, SLOWER * slowest_ms / 1000)
    # Restoring 600 files takes longer than a case, and few functions write files, so the files are
    # restored before each case (tidy) only if the cases fail without that.
    for tidy in (False, True):
        groups = [
            session.build_group(items, {location.path: text}, item_s=item_s, stop=True, tidy=tidy)
            for text in [location.text, *(mutant.text for mutant in sample)]
        ]
        seconds = job.settings.mutation_s
        runs, sandbox_run = session.run(job, function, groups, hash_seed=1, seconds=seconds)
        if not runs or not _is_complete(runs[0], spec) or _is_detected(runs[0], spec):
            continue  # the cases do not pass on the function itself
        for mutant, run in zip(
            sample, runs[1:], strict=False
        ):  # the time was too short for the others
            if _is_detected(run, spec):
                mutation.killed_count += 1
            elif _is_complete(run, spec):
                mutation.survivors.append(mutant)
        return mutation, sandbox_run
    mutation.doubts.append(
        "The cases do not pass on the function itself in the time that a mutant has."
    )
    return mutation, sandbox_run


def describe_survivors(mutation: Mutation) -> list[Finding]:
    """Return a finding for each mutant that no case detects."""
    says = "No case notices this mistake: {}. Add a case that ends differently with it."
    return [
        Finding("mutant", says.format(mutant), mutant.path, mutant.line)
        for mutant in mutation.survivors[:SHOWN_MAX]
    ]


def _is_complete(run: dict[str, Any], spec: Spec) -> bool:
    return len(run["results"]) == len(spec.cases)


def _is_detected(run: dict[str, Any], spec: Spec) -> bool:
    """Return whether the import failed, or a case that ran ended differently than expected."""
    if run["import"] and run["import"]["error_type"]:
        return True
    results = run["results"]
    return any(
        case.id in results and not evidence.is_met(results[case.id], case) for case in spec.cases
    )
