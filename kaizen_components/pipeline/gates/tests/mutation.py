"""Mutants of the changed lines, run against the tests that run those lines, for as long as the time box allows."""

import math
import os
import random

from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding
from . import line_coverage, mutants, session
from .line_coverage import Coverage
from .report import SessionReport

MUTANTS_MAX = (
    60  # of one candidate; the kill rate of 60 is within 0.13 of that of all, 19 times in 20
)
SHOWN_MAX = 20
EVEN_FROM = 4
CRASHES_MIN = 2  # kills; a test that only calls the code notices a crash, and nothing else
SLOWER = 5.0  # a mutant that computes so many times as long as all tests did without it never ends
LEAST_S = 2
WAITS = 10  # times its computing time: a machine under load, or a mutant that only waits


class Mutation:
    """What became of the mutants."""

    def __init__(self, made: int):
        self.made = made
        self.killed = 0
        self.asserted = 0  # of those killed: by an assertion, not by a crash
        self.survivors: list[mutants.Mutant] = []
        self.gutted_survived: str = ""
        self.doubts: list[str] = []
        self.boxed: sandbox.SandboxResult | None = None

    @property
    def tried_count(self) -> int:
        return self.killed + len(self.survivors)

    @property
    def rate(self) -> float:
        """Of those that could be noticed: where one survived, one is taken to be no mistake at all (`>=` for `>` in a
        maximum), but not among so few that a test without meaning would gain by it."""
        even = 1 if self.survivors and self.tried_count >= EVEN_FROM else 0
        return self.killed / (self.tried_count - even) if self.tried_count else 1.0


def run_mutants(job: Job, head: SessionReport, covered: Coverage, new: list[str]) -> Mutation:
    """Try the mutants in an order that the tree decides; at most for settings.mutation_s, and no more
    than it takes to know on which side of the floor all of them are."""
    chosen, gutted, made = _chosen(job, covered)
    found = Mutation(made)
    asked, tried = _sessions(job, head, covered, new, chosen, gutted, found)
    if asked:
        seen, found.boxed = session.run_sessions(
            job,
            asked,
            hash_seed=1,
            seconds=job.settings.mutation_s,
            enough=_enough(job, found, asked),
        )
        for mutant, one in zip(
            tried, seen, strict=False
        ):  # those out of time are missing at the end
            _count(found, mutant, one, gutted)
    return found


def check_mutants(job: Job, found: Mutation) -> list[Finding]:
    """The survivors, if there are too many; or that the tests do not notice when the functions are gone."""
    if found.gutted_survived:
        text = f"The new tests pass even when {found.gutted_survived} raises at once: they show nothing."
        return [Finding("gutted", text)]
    if found.killed >= CRASHES_MIN and not found.asserted:
        return [
            Finding(
                "crashes",
                f"{found.killed} mutants crash, and none fails an assertion: they assert too little.",
            )
        ]
    if found.rate >= job.settings.kill_floor:
        return []
    return [
        Finding("mutant", f"No test notices: {one}", one.path, one.line)
        for one in found.survivors[:SHOWN_MAX]
    ]


def _chosen(job, covered):
    made, gutted = [], None
    for path in line_coverage.list_product_files(job):
        with open(os.path.join(job.head, path), encoding="utf-8", newline="") as file:
            source = file.read()
        ran = {line for where, line in covered.tests_by_line if where == path}
        gutted = (mutants.gut_functions(path, source, ran) if ran else None) or gutted
        made += mutants.make_mutants(path, source, job.changed[path])
    random.Random(job.head_tree).shuffle(made)
    return made[:MUTANTS_MAX], gutted, len(made)


def _sessions(job, head, covered, new, chosen, gutted, found):
    """A session for the gutted file and one for each mutant that some test runs; the others survive unseen."""
    first = {
        path: line_coverage.map_first_lines(os.path.join(job.head, path))
        for path in line_coverage.list_product_files(job)
    }
    cpu_s = math.ceil(max(LEAST_S, SLOWER * head.cpu_s))
    asked, tried = [], []
    for mutant in [gutted] * bool(gutted and new) + chosen:
        where = (mutant.path, first[mutant.path].get(mutant.line, mutant.line))
        if (
            mutant is not gutted
            and where in covered.executable
            and where not in covered.tests_by_line
        ):
            found.survivors.append(mutant)
            continue
        tests = new if mutant is gutted else sorted(covered.tests_by_line.get(where) or new)
        name, edits = "gutted" if mutant is gutted else "mutant", {mutant.path: mutant.text}
        limits = {"cpu_s": cpu_s, "fast": True, "quiet": True}
        asked.append(
            session.plan_session(name, "head", tests, WAITS * cpu_s, edits=edits, **limits)
        )
        tried.append(mutant)
    return asked, tried


def _enough(job, found, asked):
    """How many have to be noticed, or to get through, so that the rest of all those chosen changes nothing."""
    unseen = len(found.survivors)
    total = unseen + sum(one["name"] == "mutant" for one in asked)
    needed = math.ceil(job.settings.kill_floor * (total - (total >= EVEN_FROM)))
    return (max(needed, 1), max(total - needed + 1 - unseen, 1))


def _count(found, mutant, one, gutted):
    if one.killed:
        found.killed += mutant is not gutted
        found.asserted += mutant is not gutted and one.asserted
    elif doubts := one.doubts():
        found.doubts += doubts
    elif mutant is gutted:
        found.gutted_survived = mutant.was
    else:
        found.survivors.append(mutant)
