#!/usr/bin/env python3
"""Measure the TEST gate on small problems with a reference, a bug and full tests; print a table.

    support_scripts/gatebench.py [--data FILE] [--limit N] [--jobs N] [--only WORDS] [--brief]

A reference should pass. A bug should fail, also with each cheat of gatebench_cheats around it.
Exit codes: 0 if all promises are met, 1 if not, 2 for a usage error or missing data.
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
from typing import Any, NamedTuple, TextIO

import gatebench_world as world
from bench import HEAD, describe_conditions, format_row
from bench_world import Row
from gatebench_cheats import FAMILIES

from kaizen_components.pipeline.gates.tests import gate

DATA = world.ROOT.parent / "shared" / "data" / "humanevalpack_python.jsonl"
REJECTED_MAX, OVERHEAD_MAX = 0.02, 0.05
ALLOWED = "equals everything"  # the gate does not promise to catch this family


class Result(NamedTuple):
    """The verdict on one candidate."""

    kind: str  # reference, bug, or a family
    what: str
    problem: str
    passed: bool
    by: str  # the check that stopped the candidate
    said: str
    wall_s: float
    commands_s: float


def list_candidates(
    problem: world.Problem, only: str, turn: int | None
) -> list[tuple[str, str, dict[str, Any]]]:
    """Return (kind, name, files of head) of each candidate; with `turn`, one cheat per family."""
    right: dict[str, str | bytes] = {
        **world.COMMON,
        "solution.py": problem.reference,
        world.SPEC: problem.tests,
    }
    wrong = {**right, "solution.py": problem.bug}
    candidates: list[tuple[str, str, dict[str, Any]]] = [
        ("reference", "", right),
        ("bug", "", wrong),
    ]
    for kind, ways in FAMILIES.items():
        cheat_names = list(ways) if turn is None else [list(ways)[turn % len(ways)]]
        candidates += [(kind, what, ways[what](wrong, problem)) for what in cheat_names]
    return [row for row in candidates if any(words.strip() in row[0] for words in only.split(","))]


def judge_problem(
    problem: world.Problem, only: str, turn: int | None, python: pathlib.Path, place: pathlib.Path
) -> list[Result]:
    """Judge the candidates of a problem in turn. Measure the base once, as a run does."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=place))
    base = {**world.COMMON, "solution.py": problem.stub}
    results = []
    for kind, what, files in list_candidates(problem, only, turn):
        job = world.make_job(folder, base, files, python, minimum_level="L0", timeout_s=120)
        start = time.monotonic()
        verdict = gate.judge_tests(job)
        wall_s = time.monotonic() - start
        text = "; ".join([verdict.says, *(finding.text for finding in verdict.findings[:3])])
        own_s = sum(run.duration_ms for run in verdict.runs) / 1000
        by = verdict.facts.get("stopped_by", "")
        results.append(Result(kind, what, problem.name, verdict.is_pass, by, text, wall_s, own_s))
    return results


def judge_problems(
    problems: list[world.Problem], options: argparse.Namespace, place: pathlib.Path, screen: TextIO
) -> list[Result]:
    """Judge all problems in `options.jobs` threads, and show the progress on a terminal."""
    python = world.copy_environment(place / "environment")
    results: list[Result] = []
    lock = threading.Lock()

    def judge_one(number: int) -> None:
        turn = number if options.brief else None
        verdicts = judge_problem(problems[number], options.only, turn, python, place)
        with lock:
            results.extend(verdicts)
            if screen.isatty():
                print(f"\r{len(results):,} candidates", end="", file=screen, flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(judge_one, range(len(problems))))
    return results


def make_rows(results: list[Result]) -> list[Row]:
    """Return a row for each kind of candidate, and one for the gate's overhead."""
    by_kind = collections.defaultdict(list)
    for result in results:
        by_kind[result.kind].append(result)
    rows = []
    for kind, group in by_kind.items():
        stopped = [result for result in group if not result.passed]
        counted = collections.Counter(result.by for result in stopped).most_common()
        checks = ", ".join(f"{check} {count}" for check, count in counted)
        measured = f"{len(stopped)} of {len(group)}" + (f" ({checks})" if checks else "")
        if kind == "reference":
            met = len(stopped) <= REJECTED_MAX * len(group)
            rows.append(Row("references rejected", measured, "<= 2 %", met))
        else:
            name = "human bugs caught" if kind == "bug" else f"cheat: {kind}"
            is_caught = None if kind == ALLOWED else len(stopped) == len(group)
            rows.append(Row(name, measured, "" if kind == ALLOWED else "all", is_caught))
    wall_s, own_s = (
        sum(result.wall_s for result in results),
        sum(result.commands_s for result in results),
    )
    share = wall_s / own_s - 1 if own_s else 0.0
    measured = f"{share:.1%} over {own_s:,.0f} s of {len(results):,} candidates' commands"
    return [*rows, Row("the gate's overhead", measured, "<= 5 %", share <= OVERHEAD_MAX)]


def list_surprises(results: list[Result]) -> list[str]:
    """Return a line for each reference that was rejected and each wrong candidate that passed."""
    return [
        f"{result.problem} {result.kind} {result.what}: {result.by or 'accepted'}: {result.said[:300]}"
        for result in results
        if result.passed != (result.kind == "reference")
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure the TEST gate.")
    add = parser.add_argument
    add(
        "--data",
        type=pathlib.Path,
        default=DATA,
        metavar="FILE",
        help="problems, one JSON object per line",
    )
    add(
        "--limit",
        type=int,
        default=0,
        metavar="N",
        help="judge only N of all problems",
    )
    add(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="judge N at the same time",
    )
    add(
        "--only",
        default="",
        metavar="WORDS",
        help="judge only these kinds: reference, bug, FAMILY",
    )
    add("--brief", action="store_true", help="one cheat of each family per problem, in turn")
    options = parser.parse_args(arguments)
    if not options.data.is_file():
        print(
            f"There is no file {options.data.name}. Set its path with --data.",
            file=sys.stderr,
        )
        return 2
    problems = world.read_problems(options.data)
    if options.limit:
        problems = problems[:: max(1, len(problems) // options.limit)][: options.limit]
    screen, sys.stderr = sys.stderr, io.StringIO()  # hide output of the tests; the verdicts have it
    with tempfile.TemporaryDirectory(prefix="gatebench-") as place:
        results = judge_problems(problems, options, pathlib.Path(place), screen)
    rows = make_rows(results)
    print("\n".join([HEAD, *(format_row(row) for row in rows), "", describe_conditions()]))
    print("\n".join(list_surprises(results)), file=screen)
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
