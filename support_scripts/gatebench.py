#!/usr/bin/env python3
"""Measure the TEST gate on small problems with a reference, a human bug and full tests, and print a table.

    python support_scripts/gatebench.py [--data FILE] [--limit N] [--jobs N] [--only WORDS] [--brief]

References should pass, bugs fail, and so should every cheat (gatebench_cheats) wrapped round a bug.
Exit codes: 0 every promise is met, 1 one is not, 2 usage or no data.
"""

import argparse
import collections
import io
import os
import pathlib
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import gatebench_world as world
from bench import HEAD, describe_conditions, format_row
from bench_world import Row
from gatebench_cheats import FAMILIES

from kaizen_components.pipeline.gates.tests import gate

DATA = world.ROOT.parent / "shared" / "data" / "humanevalpack_python.jsonl"
REJECTED_MAX, OVERHEAD_MAX = 0.02, 0.05
ALLOWED = "equals everything"  # the one family that no promise covers


class Result(NamedTuple):
    """One candidate judged."""

    kind: str  # reference, bug, or a family
    what: str
    problem: str
    passed: bool
    by: str  # the check that stopped it
    said: str
    wall_s: float
    commands_s: float


def list_candidates(
    problem: world.Problem, only: str, turn: int | None
) -> list[tuple[str, str, dict[str, Any]]]:
    """(kind, what, files of head), the reference first; in its turn a problem gets one cheat of each family."""
    right: dict[str, str | bytes] = {
        **world.COMMON,
        "solution.py": problem.reference,
        world.SPEC: problem.tests,
    }
    wrong = {**right, "solution.py": problem.bug}
    found: list[tuple[str, str, dict[str, Any]]] = [("reference", "", right), ("bug", "", wrong)]
    for kind, ways in FAMILIES.items():
        chosen = list(ways) if turn is None else [list(ways)[turn % len(ways)]]
        found += [(kind, what, ways[what](wrong, problem)) for what in chosen]
    return [one for one in found if any(words.strip() in one[0] for words in only.split(","))]


def judge_problem(
    problem: world.Problem, only: str, turn: int | None, python: pathlib.Path, place: pathlib.Path
) -> list[Result]:
    """All candidates of one problem, one after the other: what is known of the base is shared, as between attempts."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=place))
    base = {**world.COMMON, "solution.py": problem.stub}
    results = []
    for kind, what, files in list_candidates(problem, only, turn):
        job = world.make_job(folder, base, files, python, minimum_level="L0", timeout_s=120)
        start = time.monotonic()
        verdict = gate.judge_tests(job)
        wall_s = time.monotonic() - start
        said = "; ".join([verdict.says, *(finding.text for finding in verdict.findings[:3])])
        own_s = sum(run.duration_ms for run in verdict.runs) / 1000
        by = verdict.facts.get("stopped_by", "")
        results.append(Result(kind, what, problem.name, verdict.is_pass, by, said, wall_s, own_s))
    return results


def rows(results: list[Result]) -> list[Row]:
    by_kind = collections.defaultdict(list)
    for result in results:
        by_kind[result.kind].append(result)
    found = [_references(by_kind.pop("reference"))] if "reference" in by_kind else []
    found += [_caught(kind, ones) for kind, ones in by_kind.items()]
    return [*found, _overhead(results)]


def _references(ones: list[Result]) -> Row:
    rejected = [one for one in ones if not one.passed]
    measured = f"{len(rejected)} of {len(ones)}{_first(rejected)}"
    return Row("references rejected", measured, "<= 2 %", len(rejected) <= REJECTED_MAX * len(ones))


def _caught(kind: str, ones: list[Result]) -> Row:
    caught = [one for one in ones if not one.passed]
    name = "human bugs caught" if kind == "bug" else f"cheat: {kind}"
    promise = "" if kind == ALLOWED else "all"
    met = None if kind == ALLOWED else len(caught) == len(ones)
    return Row(name, f"{len(caught)} of {len(ones)}{_first(caught)}", promise, met)


def _first(ones: list[Result]) -> str:
    """Which check caught them first."""
    counted = collections.Counter(one.by for one in ones).most_common()
    return f" ({', '.join(f'{by} {count}' for by, count in counted)})" if counted else ""


def _overhead(results: list[Result]) -> Row:
    wall_s, own_s = sum(one.wall_s for one in results), sum(one.commands_s for one in results)
    share = wall_s / own_s - 1 if own_s else 0.0
    measured = f"{share:.1%} over {own_s:,.0f} s of {len(results):,} candidates' commands"
    return Row("the gate's own time", measured, "<= 5 %", share <= OVERHEAD_MAX)


def list_surprises(results: list[Result]) -> list[str]:
    """Each candidate that did not end as it should."""
    return [
        f"{one.problem} {one.kind} {one.what}: {one.by or 'accepted'}: {one.said[:300]}"
        for one in results
        if one.passed != (one.kind == "reference")
    ]


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the TEST gate.")
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        default=DATA,
        metavar="FILE",
        help="problems, one JSON object a line",
    )
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="only so many problems, spread over all"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="at the same time"
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="WORDS",
        help="only kinds with these words, by commas: reference, bug, a family",
    )
    parser.add_argument(
        "--brief", action="store_true", help="one cheat of each family for a problem, in turns"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    asked = parse_options(arguments)
    if not asked.data.is_file():
        print(
            f"There is no {asked.data.name} where it was looked for. Give its path with --data.",
            file=sys.stderr,
        )
        return 2
    problems = world.read_problems(asked.data)
    problems = (
        problems[:: max(1, len(problems) // asked.limit)][: asked.limit]
        if asked.limit
        else problems
    )
    screen, sys.stderr = sys.stderr, io.StringIO()  # what the tests say is in the verdicts
    with tempfile.TemporaryDirectory(prefix="gatebench-") as place:
        python = world.copy_environment(pathlib.Path(place) / "environment")
        results = _all(problems, asked, python, pathlib.Path(place), screen)
    table = rows(results)
    print("\n".join([HEAD, *(format_row(row) for row in table), "", describe_conditions()]))
    print("\n".join(list_surprises(results)), file=screen)
    return 1 if any(row.met is False for row in table) else 0


def _all(problems, asked, python, place, screen):
    results: list[Result] = []
    lock = threading.Lock()

    def one(turn, problem):
        found = judge_problem(problem, asked.only, turn if asked.brief else None, python, place)
        with lock:
            results.extend(found)
            if screen.isatty():
                print(f"\r{len(results):,} candidates", end="", file=screen, flush=True)

    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(one, range(len(problems)), problems))
    return results


if __name__ == "__main__":
    sys.exit(main())
