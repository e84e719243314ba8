"""Measure a session's digest in a large database with every kind of record that it shows."""

import pathlib
import random
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench_world import (
    BenchOptions,
    Door,
    Row,
    format_ms,
    format_times,
    large_project,
    make_text,
    run_cold,
    save_batch,
    time_call,
)

FOLDERS = ("src", "src/core", "tests", "docs", "setup")
FILES = [f"{folder}/part{number}.py" for folder in FOLDERS for number in range(40)]
GIT = ("git", "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
CONCLUSIONS = (
    "VERIFIED_ACCEPTABLE",
    "VERIFICATION_FAILED",
    "NEEDS_HUMAN_DECISION",
    "ACCEPTABLE_WITH_CONCERNS",
)
VARIANTS: dict[str, dict[str, str]] = {
    "since the last one": {},
    "--since 7d": {"since": "7d"},
    "--query": {"query": "cache reader of the ledger"},
}
CLAIM = {"done_when": ["pytest -q", "ruff check ."]}


def measure_digest(options: BenchOptions) -> Iterator[Row]:
    """Measure R0 with rules, claims, verdicts, proofs, lessons, predictions and a repository."""
    size = f"{options.records:,} records"
    with large_project(options) as root:
        _fill_project(root, options.pick(1, 20))
        door = Door(str(root), keep_open=True)
        door("R0", actor="agent")
        for what, query_options in VARIANTS.items():
            times = time_call(
                partial(door, "R0", actor="agent", **query_options), options.pick(30, 3)
            )
            met = statistics.median(times) <= 0.1
            yield Row(f"in-process `R0` at {size}, {what}", format_times(times), "<= 100 ms", met)
        door.close()
        times = time_call(partial(run_cold, root, "R0"), options.pick(20, 3))
        yield Row(f"cold `R0` at {size}", f"median {format_ms(statistics.median(times))}")


def _fill_project(root: pathlib.Path, share: int) -> None:
    """Add a repository and other kinds of records on first use. `share` divides their numbers."""
    if (root / ".git").exists():
        return
    door = Door(str(root), keep_open=True)
    batch = [{"command": code, "args": args} for code, args in _list_calls(random.Random(1), share)]
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


def _list_calls(rng: random.Random, share: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield commands with their arguments, for each kind of record that a digest shows."""

    def texts(title_words: int, summary_words: int) -> dict[str, Any]:
        return {"title": make_text(rng, title_words), "summary": make_text(rng, summary_words)}

    for _ in range(max(60 // share, 2)):
        priority = rng.choices(("critical", "high", "normal"), (5, 20, 75))[0]
        yield "X1", {**texts(4, 20), "priority": priority}
    for _ in range(max(6_000 // share, 2)):
        path = rng.choice(FILES) if rng.random() < 0.5 else rng.choice(FOLDERS) + "/*.py"
        about = {"paths": [path], "evidence": ["seen"], "body": make_text(rng, 10)}
        yield rng.choice(("G1", "L1")), {**texts(5, 15), **about}
    for number in range(max(3_000 // share, 2)):
        if number % 3 == 0:
            yield "W1", texts(5, 9)
        verdict = {"conclusion": rng.choice(CONCLUSIONS), "findings": [make_text(rng, 5)]}
        yield "Q2", {"task_id": "@last", "summary": make_text(rng, 15), **verdict}
    for _ in range(max(3_000 // share, 2)):
        run = {"command": f"pytest -q {rng.choice(FILES)}", "exit_code": rng.choice((0, 0, 0, 1))}
        yield "Q1", {"title": make_text(rng, 4), **run}
    yield "I1", texts(4, 9)
    for _ in range(max(500 // share, 2)):
        guess = {"probability": round(rng.random(), 2), "deadline": f"+{rng.randint(1, 400)}d"}
        yield "I2", {"irl_id": "@last", "summary": make_text(rng, 12), **guess}
    for _ in range(max(40 // share, 2)):
        yield "W1", {**texts(5, 9), **CLAIM}
        yield "W13", {"id": "@last", "ttl_s": 604_800}
