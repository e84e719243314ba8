"""How fast search is over a large database whose words are spread as in real texts."""

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench_world import (
    VOCABULARY,
    WORDS,
    BenchOptions,
    Door,
    Row,
    format_ms,
    large_project,
    percentile,
    run_cold,
    time_interleaved,
)

RARE, SELDOM, OFTEN = VOCABULARY[15_000], VOCABULARY[1_500:1_504], WORDS[:5]
QUERIES = {
    "one rare word": RARE,
    "one common word": OFTEN[0],
    "four seldom words": " ".join(SELDOM),
    "five common words": " ".join(OFTEN),
    "a rare, two seldom and two common words": " ".join([RARE, *SELDOM[:2], *OFTEN[:2]]),
    "a phrase of common words": f'"{OFTEN[0]} {OFTEN[1]}"',
    "a common word that must be there": f"+{OFTEN[0]} {SELDOM[0]}",
}


def measure_search(asked: BenchOptions) -> Iterator[Row]:
    """Ranked search over records that all have text, half of them tasks and half gotchas."""
    with large_project(asked, only_searched=True) as root:
        door = Door(str(root), keep_open=True)
        for what, query in QUERIES.items():
            variants: dict[str, Callable[[], Any]] = {"G3": partial(door, "G3", query=query)}
            taken = time_interleaved(variants, asked.pick(30, 3))["G3"]
            median = statistics.median(taken)
            shown = f"median {format_ms(median)}, p99 {format_ms(percentile(taken, 99))}"
            yield Row(
                f"search in {asked.records:,} records: {what}", shown, "<= 50 ms", median <= 0.05
            )
        door.close()
        taken = time_interleaved(
            {"G3": partial(run_cold, root, "G3", "--query", RARE)}, asked.pick(20, 3)
        )["G3"]
        yield Row(
            f"cold `G3` in {asked.records:,} records",
            f"median {format_ms(statistics.median(taken))}",
        )
