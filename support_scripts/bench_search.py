"""How fast search is over a large database whose words are spread as in real texts."""

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench_world import (
    VOCABULARY,
    WORDS,
    Asked,
    Door,
    Row,
    cold,
    interleaved,
    kept_project,
    milliseconds,
    percentile,
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


def search(asked: Asked) -> Iterator[Row]:
    """Ranked search over records that all have text, half of them tasks and half gotchas."""
    with kept_project(asked, only_searched=True) as root:
        door = Door(str(root), keep_open=True)
        for what, query in QUERIES.items():
            variants: dict[str, Callable[[], Any]] = {"G3": partial(door, "G3", query=query)}
            taken = interleaved(variants, asked.times(30, 3))["G3"]
            median = statistics.median(taken)
            shown = f"median {milliseconds(median)}, p99 {milliseconds(percentile(taken, 99))}"
            yield Row(
                f"search in {asked.records:,} records: {what}", shown, "<= 50 ms", median <= 0.05
            )
        door.close()
        taken = interleaved({"G3": partial(cold, root, "G3", "--query", RARE)}, asked.times(20, 3))[
            "G3"
        ]
        yield Row(
            f"cold `G3` in {asked.records:,} records",
            f"median {milliseconds(statistics.median(taken))}",
        )
