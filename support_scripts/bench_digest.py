"""How fast a session's digest is in a large database that has something of everything a digest tells."""

import pathlib
import random
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench_world import (
    BenchOptions,
    Door,
    Row,
    format_ms,
    large_project,
    make_text,
    percentile,
    run_cold,
    save_batch,
    time_interleaved,
)

LESSONS, VERDICTS, PROOFS, PREDICTIONS, RULES, CLAIMS = 6_000, 3_000, 3_000, 500, 60, 40
FOLDERS = ("src", "src/core", "tests", "docs", "setup")
FILES = [f"{folder}/part{number}.py" for folder in FOLDERS for number in range(40)]
GIT = ("git", "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")


def measure_digest(asked: BenchOptions) -> Iterator[Row]:
    """R0 in the large database, with rules, claims, verdicts, proofs, lessons, predictions and a repository."""
    with large_project(asked) as root:
        _furnish(root, asked.pick(1, 20))
        door = Door(str(root), keep_open=True)
        door("R0", actor="agent")
        variants: dict[str, dict[str, str]] = {
            "since the last one": {}, "--since 7d": {"since": "7d"}, "--query": {"query": "cache reader of the ledger"},
        }  # fmt: skip
        for what, options in variants.items():
            calls: dict[str, Callable[[], Any]] = {
                "R0": partial(door, "R0", actor="agent", **options)
            }
            taken = time_interleaved(calls, asked.pick(30, 3))["R0"]
            median = statistics.median(taken)
            shown = f"median {format_ms(median)}, p99 {format_ms(percentile(taken, 99))}"
            yield Row(
                f"in-process `R0` at {asked.records:,} records, {what}",
                shown,
                "<= 100 ms",
                median <= 0.1,
            )
        door.close()
        taken = time_interleaved({"R0": partial(run_cold, root, "R0")}, asked.pick(20, 3))["R0"]
        yield Row(
            f"cold `R0` at {asked.records:,} records",
            f"median {format_ms(statistics.median(taken))}",
        )


def _furnish(root: pathlib.Path, share: int) -> None:
    """Once: what a database of tasks lacks, a `share`-th of it where less will do."""
    if (root / ".git").exists():
        return
    door, rng = Door(str(root), keep_open=True), random.Random(1)
    batch = [line for make, count in KINDS.items() for line in make(rng, max(count // share, 2))]
    with tempfile.TemporaryDirectory() as folder:
        door("K5", file=save_batch(batch, folder), actor="agent")
    door.close()
    for path in FILES:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("1\n")
    (root / ".gitignore").write_text("AI/\n")
    subprocess.run([*GIT, "init", "-q", "."], cwd=root, check=True)
    for number in range(12):
        (root / FILES[number]).write_text(f"changed {number}\n")
        subprocess.run([*GIT, "add", "."], cwd=root, check=True)
        subprocess.run([*GIT, "commit", "-q", "-m", str(number)], cwd=root, check=True)
    (root / FILES[-1]).write_text("2\n")


def _rules(rng, count):
    for _ in range(count):
        priority = rng.choices(("critical", "high", "normal"), (5, 20, 75))[0]
        yield {
            "command": "X1",
            "args": {
                "title": make_text(rng, 4),
                "summary": make_text(rng, 20),
                "priority": priority,
            },
        }


def _lessons(rng, count):
    for _ in range(count):
        paths = [rng.choice(FILES) if rng.random() < 0.5 else rng.choice(FOLDERS) + "/*.py"]
        args = {
            "title": make_text(rng, 5),
            "summary": make_text(rng, 15),
            "paths": paths,
            "evidence": ["seen"],
        }
        yield {"command": rng.choice(("G1", "L1")), "args": {**args, "body": make_text(rng, 10)}}


def _verdicts(rng, count):
    conclusions = (
        "VERIFIED_ACCEPTABLE",
        "VERIFICATION_FAILED",
        "NEEDS_HUMAN_DECISION",
        "ACCEPTABLE_WITH_CONCERNS",
    )
    for number in range(count):
        if number % 3 == 0:
            yield {
                "command": "W1",
                "args": {"title": make_text(rng, 5), "summary": make_text(rng, 9)},
            }
        args = {
            "task_id": "@last",
            "conclusion": rng.choice(conclusions),
            "summary": make_text(rng, 15),
        }
        yield {"command": "Q2", "args": {**args, "findings": [make_text(rng, 5)]}}


def _proofs(rng, count):
    for _ in range(count):
        command, code = f"pytest -q {rng.choice(FILES)}", rng.choice((0, 0, 0, 1))
        yield {
            "command": "Q1",
            "args": {"title": make_text(rng, 4), "command": command, "exit_code": code},
        }


def _predictions(rng, count):
    yield {"command": "I1", "args": {"title": make_text(rng, 4), "summary": make_text(rng, 9)}}
    for _ in range(count):
        args = {
            "irl_id": "@last",
            "summary": make_text(rng, 12),
            "probability": round(rng.random(), 2),
        }
        yield {"command": "I2", "args": {**args, "deadline": f"+{rng.randint(1, 400)}d"}}


def _claims(rng, count):
    for _ in range(count):
        args = {
            "title": make_text(rng, 5),
            "summary": make_text(rng, 9),
            "done_when": ["pytest -q", "ruff check ."],
        }
        yield {"command": "W1", "args": args}
        yield {"command": "W13", "args": {"id": "@last", "ttl_s": 604_800}}


KINDS = {
    _rules: RULES, _lessons: LESSONS, _verdicts: VERDICTS, _proofs: PROOFS, _predictions: PREDICTIONS, _claims: CLAIMS,
}  # fmt: skip
