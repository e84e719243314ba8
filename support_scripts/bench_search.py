"""Measure search over a large database whose words are spread as in real texts."""

import statistics
from collections.abc import Iterator
from functools import partial

from bench_world import (
    VOCABULARY,
    WORDS,
    BenchOptions,
    Door,
    Row,
    format_ms,
    format_times,
    large_project,
    run_cold,
    time_call,
)

RARE, SELDOM, COMMON = VOCABULARY[15_000], VOCABULARY[1_500:1_504], WORDS[:5]
QUERIES = {
    "one rare word": RARE,
    "one common word": COMMON[0],
    "four seldom words": " ".join(SELDOM),
    "five common words": " ".join(COMMON),
    "a rare, two seldom and two common words": " ".join([RARE, *SELDOM[:2], *COMMON[:2]]),
    "a phrase of common words": f'"{COMMON[0]} {COMMON[1]}"',
    "a common word that must be there": f"+{COMMON[0]} {SELDOM[0]}",
}


def measure_search(options: BenchOptions) -> Iterator[Row]:
    """Measure ranked search over records that all have text: half tasks, half gotchas."""
    size = f"{options.records:,} records"
    with large_project(options, only_searched=True) as root:
        door = Door(str(root), keep_open=True)
        for what, query in QUERIES.items():
            times = time_call(partial(door, "G3", query=query), options.pick(30, 3))
            met = statistics.median(times) <= 0.05
            yield Row(f"search in {size}: {what}", format_times(times), "<= 50 ms", met)
        door.close()
        cold = partial(run_cold, root, "G3", "--query", RARE)
        times = time_call(cold, options.pick(20, 3))
        yield Row(f"cold `G3` in {size}", f"median {format_ms(statistics.median(times))}")
