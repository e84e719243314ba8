"""Small mistakes in the function: a spec that means something notices most of them."""

import random

from ...sandbox import run as sandbox
from ..gates.tests import mutants
from ..gates.tests.mutation import MUTANTS_MAX, SHOWN_MAX, Mutation
from ..job import Job
from ..verdict import Finding
from . import evidence, session
from .cases import Spec
from .function import Function, locate_function

SLOWER = 10.0  # a mistake that makes a case so many times slower than the slowest never ends
LEAST_S = 2.0


def run_mutants(
    job: Job, function: Function, spec: Spec, slowest_ms: float
) -> tuple[Mutation, sandbox.SandboxResult | None]:
    """Try the mutants in an order that the tree decides, for at most settings.mutation_s."""
    found = locate_function(job, function)
    made = mutants.make_mutants(found.path, found.text, set(range(found.first, found.last + 1)))
    seen = Mutation(len(made))
    random.Random(job.base_tree).shuffle(made)
    chosen = made[:MUTANTS_MAX]
    if not chosen:
        return seen, None
    for tidy in (
        False,
        True,
    ):  # to put 600 files back takes longer than a case, and few functions write any
        said, boxed = _tried(
            job, function, found, spec, [one.text for one in chosen], slowest_ms, tidy
        )
        if said and _complete(said[0], spec) and not _noticed(said[0], spec):
            return _counted(seen, chosen, said[1:], spec), boxed
    seen.doubts.append(
        "The cases do not hold on the function itself in the time that a mistake has."
    )
    return seen, boxed


def _tried(job, function, found, spec, texts, slowest_ms, tidy):
    """The function as it is, then each mistake; what is expected stays on this side."""
    items = [{"id": case.id, "code": case.call} for case in spec.cases]
    given = {"item_s": max(LEAST_S, SLOWER * slowest_ms / 1000), "stop": True, "tidy": tidy}
    groups = [
        session.build_group(items, {found.path: text}, **given) for text in [found.text, *texts]
    ]
    return session.run(job, function, groups, hash_seed=1, seconds=job.settings.mutation_s)


def _counted(seen, chosen, said, spec):
    for mutant, one in zip(chosen, said, strict=False):  # those out of time are missing at the end
        if _noticed(one, spec):
            seen.killed_count += 1
        elif _complete(one, spec):
            seen.survivors.append(mutant)
    return seen


def _complete(said, spec):
    return len(said["results"]) == len(spec.cases)


def describe_survivors(found: Mutation) -> list[Finding]:
    """Each mistake that no case notices."""
    return [
        Finding(
            "mutant",
            f"No case notices this mistake: {one}. Add a case whose end differs with it.",
            one.path,
            one.line,
        )
        for one in found.survivors[:SHOWN_MAX]
    ]


def _noticed(said, spec):
    """A case that ends otherwise than expected; what did not run, notices nothing."""
    if said["import"] and said["import"]["error_type"]:
        return True
    results = said["results"]
    return any(
        case.id in results and not evidence.is_met(results[case.id], case) for case in spec.cases
    )
