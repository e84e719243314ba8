"""How fast it is: whole processes, calls in this process, batches, and all of that in a large database."""

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
from typing import IO, Any

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
    time_interleaved,
)

from kaizen_components.records.files.working_tree import read_working_tree

SMALL = 1_000
W1_ARGV = ("W1", *(word for name, value in W1.items() for word in (f"--{name}", value)), "--json")
COLD: dict[str, tuple[tuple[str, ...], float]] = {
    "`W1 --json`": (W1_ARGV, 2.5),
    "`K2`": (("K2",), 2.5),
    "`W10 --id @last`": (("W10", "--id", "@last"), 2.5),
    "`W12`": (("W12",), 2.5),
    "`W9`": (("W9",), 2.5),
    "`G1`": (
        (
            "G1",
            "--title",
            "WAL grows",
            "--summary",
            "A reader pins the checkpoint.",
            "--body",
            "Close it.",
        ),
        2.5,
    ),
    "`T2`": (("T2", "--name", "coverage", "--value", "0.93"), 2.5),
    "`G3`": (("G3", "--query", "checkpoint reader"), 2.5),
    "`W1 --help`": (("W1", "--help"), 6),
}
HOOKS = {  # event -> what a host sends
    "session-start": '{"hook_event_name": "SessionStart", "source": "startup"}',
    "stop": '{"hook_event_name": "Stop", "stop_hook_active": false}',
    "post-tool-use": '{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "pytest -q"}}',
}
HOOK_S_MAX = 0.3
# A child that is started by a large process inherits that one's maximum, so a small one starts it.
MAX_RSS = """
import os, resource, sys
os.waitpid(os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ), 0)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def measure_cold_start(asked: BenchOptions) -> Iterator[Row]:
    """Commands as whole processes, against an empty Python process."""
    with temporary_project(SMALL) as root:
        variants: dict[str, Callable[[], Any]] = {
            "empty": partial(launch_python, ["-c", "pass"], root)
        }
        for what, (argv, _) in COLD.items():
            variants[what] = partial(run_cold, root, *argv)
        _work_like_a_host(root)
        for event in HOOKS:
            variants[event] = partial(
                launch_python, [str(ROOT / "kaizen.py"), "hook", event], root, str(root / event)
            )
        taken = time_interleaved(variants, asked.pick(40, 5))
    for event in HOOKS:
        shown = compare_medians(taken[event], taken["empty"])[1]
        met = statistics.median(taken[event]) < HOOK_S_MAX
        yield Row(
            f"cold `hook {event}` against `python -c pass`",
            shown,
            f"< {format_ms(HOOK_S_MAX)}",
            met,
        )
    for what, (_, most) in COLD.items():
        ratio, shown = compare_medians(taken[what], taken["empty"])
        yield Row(f"cold {what} against `python -c pass`", shown, f"<= {most:g}x", ratio <= most)


def _work_like_a_host(root: pathlib.Path) -> None:
    """A repository with a claimed task that is proven: the longest way that a Stop hook goes without a refusal."""
    for event, told in HOOKS.items():
        (root / event).write_text(told)
    (root / ".gitignore").write_text("AI/\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    run_cold(root, *W1_ARGV, "--done-when", "true")
    run_cold(root, "W13", "--id", "@last", "--ttl-s", "86400")
    run_cold(root, "Q1", "--run", "--", "true")


def measure_memory(asked: BenchOptions) -> Iterator[Row]:
    """The most memory that a cold write holds."""
    with temporary_project(SMALL) as root:
        argv = [sys.executable, "-c", MAX_RSS, str(ROOT / "kaizen.py"), *W1_ARGV]
        done = subprocess.run(
            argv, env=make_environment(root), capture_output=True, check=True, text=True
        )
    unit = 1 if sys.platform == "darwin" else 1024
    megabytes = int(done.stdout.split()[-1]) * unit / 1_000_000
    yield Row("memory of a cold `W1`", f"{megabytes:.1f} MB", "<= 40 MB", megabytes <= 40)


def measure_write(asked: BenchOptions) -> Iterator[Row]:
    """A write by a process that keeps its connection, beside what the disk alone takes to keep a page."""
    with temporary_project(SMALL) as root, open(root / "page", "wb", buffering=0) as file:
        door = Door(str(root), keep_open=True)
        variants: dict[str, Callable[[], Any]] = {
            "W1": partial(door, "W1", **W1),
            "disk": partial(_keep_page, file),
        }
        taken = time_interleaved(variants, asked.pick(2_000, 200))
        door.close()
    median, high, disk = (
        statistics.median(taken["W1"]),
        percentile(taken["W1"], 99),
        statistics.median(taken["disk"]),
    )
    shown = ", ".join(
        f"{name} {format_ms(seconds)}"
        for name, seconds in (
            ("median", median),
            ("p99", high),
            ("min", min(taken["W1"])),
            ("an fsync alone", disk),
        )
    )
    yield Row("in-process `W1`", shown, "median <= 1 ms", median <= 0.001)


def _keep_page(file: IO[bytes]) -> None:
    file.write(bytes(4096))
    os.fsync(file.fileno())


def measure_tree(asked: BenchOptions) -> Iterator[Row]:
    """The hash of a repository's working tree, for a proof: the first time, and again."""
    count = asked.pick(10_000, 500)
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
        again = statistics.median(
            time_interleaved({"tree": partial(read_working_tree, folder, cache)}, 10)["tree"]
        )
    shown = f"{format_ms(again)}; the first time {format_ms(first)}"
    yield Row(f"tree hash of {count:,} files, warm", shown, "< 1 s", again < 1)


def measure_batch(asked: BenchOptions) -> Iterator[Row]:
    """K5 through the command line, from start to end of the process."""
    count = asked.pick(5_000, 500)
    with temporary_project(1) as root, tempfile.TemporaryDirectory() as folder:
        path = save_batch([make_task(random.Random(number)) for number in range(count)], folder)
        taken = time_interleaved(
            {"K5": lambda: run_cold(root, "K5", "--file", path)}, asked.pick(5, 1)
        )["K5"]
    rate = count / statistics.median(taken)
    shown = f"{rate:,.0f} records/s (best {count / min(taken):,.0f})"
    yield Row(f"`K5`, {count:,} `W1` lines", shown, ">= 2,000 records/s", rate >= 2_000)


def measure_scale(asked: BenchOptions) -> Iterator[Row]:
    """The same calls in a large and in a small database."""
    with large_project(asked) as large, temporary_project(SMALL) as small:
        yield from _flat(large, small, f"{asked.records:,}", asked)
        yield from _flat_cold(large, small, f"{asked.records:,}", asked)
        yield from _large(large)


def _flat(
    large: pathlib.Path, small: pathlib.Path, shown_size: str, asked: BenchOptions
) -> Iterator[Row]:
    doors = {"large": Door(str(large), keep_open=True), "small": Door(str(small), keep_open=True)}
    at = f"at {shown_size} records against {SMALL:,}"
    for code, options in {"W1": W1, "W12": {}, "W9": {}, "W10": {"id": "@last"}}.items():
        variants = {name: partial(door, code, **options) for name, door in doors.items()}
        taken = time_interleaved(variants, asked.pick(300, 30))
        yield _flat_row(
            f"in-process `{code}` {at}", taken["large"], taken["small"], code in ("W1", "W12")
        )
    variants = {name: partial(door, "W12") for name, door in doors.items()}
    taken = time_interleaved(variants, asked.pick(300, 30), lambda name: doors[name]("W1", **W1))
    what = f"in-process `W12`, its cache emptied by a write, {at}"
    yield _flat_row(what, taken["large"], taken["small"], False)
    for door in doors.values():
        door.close()


def _flat_cold(
    large: pathlib.Path, small: pathlib.Path, shown_size: str, asked: BenchOptions
) -> Iterator[Row]:
    variants: dict[str, Callable[[], Any]] = {}
    commands = {"W1": W1_ARGV, "W12": ("W12",), "W9": ("W9",), "W10": ("W10", "--id", "@last")}
    for code, argv in commands.items():
        for root in (large, small):
            variants[f"{code} {root}"] = partial(run_cold, root, *argv)
    taken = time_interleaved(variants, asked.pick(30, 5))
    for code in commands:
        what = f"cold `{code}` at {shown_size} records against {SMALL:,}"
        yield _flat_row(
            what, taken[f"{code} {large}"], taken[f"{code} {small}"], code in ("W1", "W12")
        )


def _flat_row(what: str, large: list[float], small: list[float], promised: bool) -> Row:
    ratio, shown = compare_medians(large, small)
    met = ratio <= 1.3 and statistics.median(large) <= 0.1
    return Row(what, shown, "<= 1.3x, <= 100 ms", met) if promised else Row(what, shown)


def _large(root: pathlib.Path) -> Iterator[Row]:
    door = Door(str(root))
    records, start = count_records(door), time.perf_counter()
    door("K8")
    seconds = time.perf_counter() - start
    yield Row(f"`K8`, {records:,} records", f"{records / seconds:,.0f} records/s, {seconds:.0f} s")
    megabytes = os.path.getsize(door.store.place.database) / 1_000_000
    yield Row(
        f"database of {records:,} records",
        f"{megabytes:,.0f} MB, {megabytes * 1e6 / records:.0f} bytes a record",
    )
    door.close()
