"""Tools of the benchmarks: options, rows, timing, processes, projects full of realistic records."""

import itertools
import json
import os
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kaizen_components.call import Door  # noqa: E402  (the path must be set first)

LINES_A_BATCH = 20_000
OPEN_TASKS = 4_000  # in a large database; in a small one a tenth of the tasks are open
ACTORS = ("agent", "claude", "codex", "reviewer", "nightly")
SCOPES = ("project", "engine", "docs", "tests", "setup")
WORDS_TEXT = """
cache gate ledger reader writer merge proof trace retry parser index query batch lease report stage
draft schema backup anchor digest bundle review window socket thread kernel buffer module signal
filter release
"""
WORDS = tuple(WORDS_TEXT.split())
# Words with the frequencies of real texts: a few are common, most are rare. WORDS come first.
SYLLABLES = [
    first + second
    for first in "bdfgklmnprstvz"
    for second in ("a", "e", "i", "o", "u", "ar", "en", "il")
]
RARE_WORDS = itertools.islice(itertools.product(SYLLABLES, repeat=3), 0, 900_000, 45)
VOCABULARY = [*WORDS, *("".join(parts) for parts in RARE_WORDS)]
ZIPF = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(1, len(VOCABULARY) + 1)))
W1 = {"title": "Polish the README", "summary": "Make it a strong entry point for a new session."}


class BenchOptions(NamedTuple):
    """The options of a run. With `quick` a benchmark does the same with smaller numbers."""

    records: int
    quick: bool
    keep: pathlib.Path | None

    def pick(self, usual: int, when_quick: int) -> int:
        return when_quick if self.quick else usual


class Row(NamedTuple):
    """One line of the table. A row without a promise is only for information."""

    what: str
    measured: str
    promise: str = ""
    met: bool | None = None


# Time


def time_interleaved(
    variants: Mapping[str, Callable[[], Any]], rounds: int, before: Callable[[str], Any] = bool
) -> dict[str, list[float]]:
    """Return the seconds of each call. Each round runs all variants, to spread noise evenly.

    `before` gets the name of the variant before each call; its time is not measured.
    """
    for call in variants.values():
        call()  # fill the caches
    times: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds):
        show_progress(f"round {number + 1} of {rounds}")
        for name, call in variants.items():
            before(name)
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return times


def time_call(call: Callable[[], Any], rounds: int) -> list[float]:
    return time_interleaved({"": call}, rounds)[""]


def compare_medians(times: list[float], base: list[float]) -> tuple[float, str]:
    """Return the ratio of the medians of `taken` and `base`, as a number and as text."""
    median = statistics.median(times)
    ratio = median / statistics.median(base)
    return ratio, f"{ratio:.2f}x (min {min(times) / min(base):.2f}x; {format_ms(median)})"


def percentile(times: list[float], percent: int) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)]


def format_ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds >= 0.1 else f"{seconds * 1000:.3g} ms"


def format_times(times: list[float]) -> str:
    return f"median {format_ms(statistics.median(times))}, p99 {format_ms(percentile(times, 99))}"


def show_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<60}\r", end="", file=sys.stderr, flush=True)


# Processes


def run_cold(root: pathlib.Path, *argv: str) -> None:
    """Run a command in a new process without showing its output; raise if it fails."""
    launch_python([str(ROOT / "kaizen.py"), *argv], root)


def launch_python(argv: Sequence[str], root: pathlib.Path, stdin: str = os.devnull) -> None:
    """Run Python by posix_spawn: Popen would add milliseconds to every measurement."""
    streams = ((0, stdin, os.O_RDONLY), (1, os.devnull, os.O_RDWR))
    silent = [(os.POSIX_SPAWN_OPEN, number, path, how, 0) for number, path, how in streams]
    child = os.posix_spawn(
        sys.executable, [sys.executable, *argv], make_environment(root), file_actions=silent
    )
    exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if exit_code:
        raise RuntimeError(f"{' '.join(argv[-4:])} ended with {exit_code}")


def make_environment(root: pathlib.Path) -> dict[str, str]:
    clean_env = {
        name: value for name, value in os.environ.items() if not name.startswith("KAIZEN_")
    }
    return {**clean_env, "KAIZEN_REPO_ROOT": str(root)}


# Projects


@contextmanager
def temporary_project(records: int = 0, only_searched: bool = False) -> Iterator[pathlib.Path]:
    """Make a temporary project with `records` records."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kaizen_bench_"))
    try:
        grow_project(folder, records, only_searched)
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def large_project(options: BenchOptions, only_searched: bool = False) -> Iterator[pathlib.Path]:
    """Make a project with `--records` records. With `--keep` it stays there for later runs."""
    if options.keep is None:
        with temporary_project(options.records, only_searched) as folder:
            yield folder
    else:
        folder = options.keep / f"{options.records}{'-searched' if only_searched else ''}"
        grow_project(folder, options.records, only_searched)
        yield folder


def grow_project(root: pathlib.Path, records: int, only_searched: bool = False) -> None:
    """Add records up to this number: tasks with updates, or only records that search finds."""
    root.mkdir(parents=True, exist_ok=True)
    door = Door(str(root), keep_open=True)
    while (present := count_records(door)) < records:
        show_progress(f"{present:,} of {records:,} records")
        rng = random.Random(present)
        count = min(LINES_A_BATCH, records - present)
        if only_searched:
            batch = [rng.choice((make_task, make_gotcha))(rng) for _ in range(count)]
        else:
            batch = make_batch(rng, count, min(0.1, 2 * OPEN_TASKS / records))
        with tempfile.TemporaryDirectory() as folder:
            door("K5", file=save_batch(batch, folder), actor=rng.choice(ACTORS))
    door.close()


def count_records(door: Door) -> int:
    return door.store.reader().value("SELECT count(*) FROM log") if door.store.exists() else 0


def save_batch(batch: list[dict[str, Any]], folder: str) -> str:
    path = pathlib.Path(folder, "batch.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in batch), encoding="utf-8")
    return str(path)


def make_batch(rng: random.Random, count: int, open_share: float) -> list[dict[str, Any]]:
    """Make a batch of tasks: most are closed; some stay open, depend on another, or are leased."""
    batch: list[dict[str, Any]] = []
    tasks: list[str] = []
    while len(batch) < count:
        before = [rng.choice(tasks)] if tasks and rng.random() < 0.01 else []
        batch.append(make_task(rng, depends_on=before))
        task = f"${len(batch)}.id"
        tasks.append(task)
        if rng.random() < 0.004:
            lease = {"id": task, "ttl_s": rng.choice((1, 604_800))}
            batch.append({"command": "W13", "args": lease})
            batch.append({"command": "W2", "args": {"id": task, "status": "active"}})
        if rng.random() >= open_share:
            change = {"id": task, "status": "done", "note": make_text(rng, 8)}
            batch.append({"command": "W2", "args": change})
    return batch[:count]


def make_task(rng: random.Random, **more: Any) -> dict[str, Any]:
    title, summary = make_text(rng, 5), make_text(rng, 25)
    priority = rng.choices(("critical", "high", "normal", "low"), (1, 10, 70, 19))[0]
    scope = rng.choice(SCOPES)
    args = {"title": title, "summary": summary, "scope": scope, "priority": priority, **more}
    return {"command": "W1", "args": args}


def make_gotcha(rng: random.Random) -> dict[str, Any]:
    words = {"title": 5, "summary": 15, "body": 10}
    args = {name: make_text(rng, count) for name, count in words.items()}
    return {"command": "G1", "args": args}


def make_text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(VOCABULARY, cum_weights=ZIPF, k=words))
