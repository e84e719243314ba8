"""Measure the speed of processes, calls and batches, also in a large database."""

import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench_world import (
    ROOT,
    W1,
    BenchOptions,
    Door,
    Row,
    compare_medians,
    count_records,
    format_ms,
    large_project,
    launch_python,
    make_environment,
    make_task,
    percentile,
    run_cold,
    save_batch,
    temporary_project,
    time_call,
    time_interleaved,
)

from kaizen_components.records.files.working_tree import read_working_tree

Calls = dict[str, Callable[[], Any]]

SMALL = 1_000
W1_ARGV = ("W1", *(word for name, value in W1.items() for word in (f"--{name}", value)), "--json")
G1_ARGV = (
    "G1", "--title", "WAL grows", "--summary", "A reader pins the checkpoint.", "--body",
    "Close it.",
)  # fmt: skip
COLD: dict[str, tuple[tuple[str, ...], float]] = {
    "`W1 --json`": (W1_ARGV, 2.5),
    "`K2`": (("K2",), 2.5),
    "`W10 --id @last`": (("W10", "--id", "@last"), 2.5),
    "`W12`": (("W12",), 2.5),
    "`W9`": (("W9",), 2.5),
    "`G1`": (G1_ARGV, 2.5),
    "`T2`": (("T2", "--name", "coverage", "--value", "0.93"), 2.5),
    "`G3`": (("G3", "--query", "checkpoint reader"), 2.5),
    "`W1 --help`": (("W1", "--help"), 6),
}
HOOKS = {  # event -> what a host sends
    "session-start": '{"hook_event_name": "SessionStart", "source": "startup"}',
    "stop": '{"hook_event_name": "Stop", "stop_hook_active": false}',
    "post-tool-use": (
        '{"hook_event_name": "PostToolUse", "tool_name": "Bash", '
        '"tool_input": {"command": "pytest -q"}}'
    ),
}
HOOK_S_MAX = 0.3
# A child inherits the memory maximum of its parent, so a small process starts the command.
MAX_RSS = """
import os, resource, sys
os.waitpid(os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ), 0)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def measure_cold_start(options: BenchOptions) -> Iterator[Row]:
    """Compare the time of commands in new processes with that of an empty Python process."""
    with temporary_project(SMALL) as root:
        calls: Calls = {"empty": partial(launch_python, ["-c", "pass"], root)}
        for what, (argv, _) in COLD.items():
            calls[what] = partial(run_cold, root, *argv)
        # With a claimed and proven task, a Stop hook does the most work without refusing the stop.
        for event, message in HOOKS.items():
            (root / event).write_text(message)
        (root / ".gitignore").write_text("AI/\n")
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        run_cold(root, *W1_ARGV, "--done-when", "true")
        run_cold(root, "W13", "--id", "@last", "--ttl-s", "86400")
        run_cold(root, "Q1", "--run", "--", "true")
        for event in HOOKS:
            argv = (str(ROOT / "kaizen.py"), "hook", event)
            calls[event] = partial(launch_python, argv, root, str(root / event))
        times = time_interleaved(calls, options.pick(40, 5))
    for event in HOOKS:
        measured = compare_medians(times[event], times["empty"])[1]
        met = statistics.median(times[event]) < HOOK_S_MAX
        what = f"cold `hook {event}` against `python -c pass`"
        yield Row(what, measured, f"< {format_ms(HOOK_S_MAX)}", met)
    for what, (_, most) in COLD.items():
        ratio, measured = compare_medians(times[what], times["empty"])
        yield Row(f"cold {what} against `python -c pass`", measured, f"<= {most:g}x", ratio <= most)


def measure_memory(options: BenchOptions) -> Iterator[Row]:
    """Measure the most memory that a cold write uses."""
    with temporary_project(SMALL) as root:
        megabytes, _ = measure_process(root, *W1_ARGV)
    yield Row("memory of a cold `W1`", f"{megabytes:.1f} MB", "<= 40 MB", megabytes <= 40)


def measure_process(root: pathlib.Path, *argv: str) -> tuple[float, str]:
    """Run a command in a new process; return its maximum memory in megabytes, and its stderr."""
    words = [sys.executable, "-c", MAX_RSS, str(ROOT / "kaizen.py"), *argv]
    env = make_environment(root)
    result = subprocess.run(words, env=env, capture_output=True, check=True, text=True)
    unit = 1 if sys.platform == "darwin" else 1024
    return int(result.stdout.split()[-1]) * unit / 1_000_000, result.stderr


def measure_write(options: BenchOptions) -> Iterator[Row]:
    """Measure a write on an open connection, and an fsync of one page to compare it with."""
    with temporary_project(SMALL) as root, open(root / "page", "wb", buffering=0) as file:
        door = Door(str(root), keep_open=True)

        def sync_page() -> None:
            file.write(bytes(4096))
            os.fsync(file.fileno())

        calls: Calls = {"W1": partial(door, "W1", **W1), "disk": sync_page}
        times = time_interleaved(calls, options.pick(2_000, 200))
        door.close()
    median, writes = statistics.median(times["W1"]), times["W1"]
    measured = (
        f"median {format_ms(median)}, p99 {format_ms(percentile(writes, 99))}, "
        f"min {format_ms(min(writes))}, an fsync alone {format_ms(statistics.median(times['disk']))}"
    )
    yield Row("in-process `W1`", measured, "median <= 1 ms", median <= 0.001)


def measure_tree(options: BenchOptions) -> Iterator[Row]:
    """Measure how long hashing a working tree takes, the first time and with a cache."""
    count = options.pick(10_000, 500)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            path = pathlib.Path(folder, f"f{number % 100}", f"{number}.py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{number}\n" * 200)
        subprocess.run(["git", "init", "-q", folder], check=True)
        time.sleep(2.5)  # or the cache would not trust files that have just been written
        cache = os.path.join(folder, "AI", "work", "tree-cache.json")
        start = time.perf_counter()
        read_working_tree(folder, cache)
        first = time.perf_counter() - start
        again = statistics.median(time_call(partial(read_working_tree, folder, cache), 10))
    measured = f"{format_ms(again)}; the first time {format_ms(first)}"
    yield Row(f"tree hash of {count:,} files, warm", measured, "< 1 s", again < 1)


def measure_batch(options: BenchOptions) -> Iterator[Row]:
    """Measure K5 through the command line, from start to end of the process."""
    count = options.pick(5_000, 500)
    with temporary_project(1) as root, tempfile.TemporaryDirectory() as folder:
        path = save_batch([make_task(random.Random(number)) for number in range(count)], folder)
        times = time_call(partial(run_cold, root, "K5", "--file", path), options.pick(5, 1))
    rate = count / statistics.median(times)
    measured = f"{rate:,.0f} records/s (best {count / min(times):,.0f})"
    yield Row(f"`K5`, {count:,} `W1` lines", measured, ">= 2,000 records/s", rate >= 2_000)


def measure_scale(options: BenchOptions) -> Iterator[Row]:
    """Measure the same calls in a large and in a small database."""
    at = f"at {options.records:,} records against {SMALL:,}"
    with large_project(options) as large, temporary_project(SMALL) as small:
        doors = {root: Door(str(root), keep_open=True) for root in (large, small)}
        for code, call_options in {"W1": W1, "W12": {}, "W9": {}, "W10": {"id": "@last"}}.items():
            calls = {str(root): partial(door, code, **call_options) for root, door in doors.items()}
            times = time_interleaved(calls, options.pick(300, 30))
            is_promise = code in ("W1", "W12")
            yield _compare_sizes(f"in-process `{code}` {at}", list(times.values()), is_promise)
        calls = {str(root): partial(door, "W12") for root, door in doors.items()}
        times = time_interleaved(
            calls, options.pick(300, 30), lambda root: doors[pathlib.Path(root)]("W1", **W1)
        )
        what = f"in-process `W12`, its cache emptied by a write, {at}"
        yield _compare_sizes(what, list(times.values()), False)
        for door in doors.values():
            door.close()

        commands = {"W1": W1_ARGV, "W12": ("W12",), "W9": ("W9",), "W10": ("W10", "--id", "@last")}
        cold: Calls = {
            f"{code} {root}": partial(run_cold, root, *argv)
            for code, argv in commands.items()
            for root in (large, small)
        }
        times = time_interleaved(cold, options.pick(30, 5))
        for code in commands:
            both = [times[f"{code} {root}"] for root in (large, small)]
            yield _compare_sizes(f"cold `{code}` {at}", both, code in ("W1", "W12"))

        door = Door(str(large), keep_open=True)
        records, start = count_records(door), time.perf_counter()
        door("K8")
        seconds = time.perf_counter() - start
        measured = f"{records / seconds:,.0f} records/s, {seconds:.0f} s"
        yield Row(f"`K8`, {records:,} records", measured)
        size_bytes = os.path.getsize(door.store.place.database)
        measured = f"{size_bytes / 1e6:,.0f} MB, {size_bytes / records:.0f} bytes a record"
        yield Row(f"database of {records:,} records", measured)
        door.close()


def _compare_sizes(what: str, times: list[list[float]], is_promise: bool) -> Row:
    large, small = times
    ratio, measured = compare_medians(large, small)
    met = ratio <= 1.3 and statistics.median(large) <= 0.1
    return Row(what, measured, "<= 1.3x, <= 100 ms", met) if is_promise else Row(what, measured)
