#!/usr/bin/env python3
"""Measure the promises of Kaizen (DESIGN, section 8) and print the table of docs/benchmarks.md.

    python support_scripts/bench.py [names…] [--records N] [--keep DIR] [--quick] [--json]

Machines are noisy, so a speed is a ratio of medians, and one run alternates between its variants.
Exit codes: 0 every promise is met, 1 one is not, 2 usage.
"""

import argparse
import compileall
import datetime
import json
import pathlib
import platform
import sys
from collections.abc import Callable, Iterator

import bench_digest
import bench_safety
import bench_search
import bench_speed
import bench_year
from bench_world import ROOT, BenchOptions, Row, show_progress

from kaizen_components import bundle

BENCHMARKS: dict[str, Callable[[BenchOptions], Iterator[Row]]] = {
    "cold": bench_speed.measure_cold_start,
    "memory": bench_speed.measure_memory,
    "write": bench_speed.measure_write,
    "batch": bench_speed.measure_batch,
    "tree": bench_speed.measure_tree,
    "scale": bench_speed.measure_scale,
    "search": bench_search.measure_search,
    "year": bench_year.measure_year,
    "digest": bench_digest.measure_digest,
    "crowd": bench_safety.measure_crowd,
    "kill": bench_safety.measure_kills,
    "flips": bench_safety.measure_flips,
}
RECORDS, RECORDS_QUICK = 1_000_000, 20_000


HEAD = "| what | measured | promise | met |\n| --- | --- | --- | --- |"


def format_row(row: Row) -> str:
    met = {True: "yes", False: "**no**", None: ""}
    return f"| {row.what} | {row.measured} | {row.promise} | {met[row.met]} |"


def describe_conditions() -> str:
    """Name the Python, the system and the date, but not the machine."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    today = datetime.datetime.now(datetime.UTC).date()
    return f"{python}, {platform.system()} {platform.machine()}, {today}"


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    lines = "\n".join(f"  {name:8} {function.__doc__}" for name, function in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        description="Measure what Kaizen promises.",
        epilog=lines,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="which benchmarks; default: all")
    large = f"size of the large database; default: {RECORDS:,}"
    parser.add_argument("--records", type=int, metavar="N", help=large)
    keep = "keep the large database here for next time"
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help=keep)
    quick = "do less of everything, to check that the benchmarks run"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(BENCHMARKS):
        names = ", ".join(sorted(unknown))
        parser.error(f"no benchmark {names}; there are {', '.join(BENCHMARKS)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse_options(arguments)
    # Compile the bytecode first, as set-up does.
    compileall.compile_dir(ROOT / "kaizen_components", quiet=1)
    bundle.write_bundle()
    records = options.records or (RECORDS_QUICK if options.quick else RECORDS)
    bench_options = BenchOptions(records, options.quick, options.keep)
    rows = []
    if not options.json:
        print(HEAD)
    for name in options.names or BENCHMARKS:
        for row in BENCHMARKS[name](bench_options):
            rows.append(row)
            show_progress("")
            if not options.json:  # print each row at once: a long run may be interrupted
                print(format_row(row), flush=True)
    if options.json:
        report = {"conditions": describe_conditions(), "rows": [row._asdict() for row in rows]}
        print(json.dumps(report))
    else:
        print(f"\n{describe_conditions()}")
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
