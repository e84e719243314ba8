"""Choose the ticks of an axis in round steps, and as many of its labels as fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from ...records.ledger.canonical import measure_width
from ..engine.document import format_duration
from ..engine.drawing import cut_line

TICKS = 4
LETTER = 6.4  # width of a wide letter at 11 px, in units of the drawing
LABEL_GAP = 8
LETTERS_MIN = 5  # a shorter name would be useless
S, MIN, H, DAY = 1_000, 60_000, 3_600_000, 86_400_000
TIMES = [
    *((step, 1, "ms") for step in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *((step * S, S, "s") for step in (1, 2, 5, 10, 15, 30)),
    *((step * MIN, MIN, "min") for step in (1, 2, 5, 10, 15, 30)),
    *((step * H, H, "h") for step in (1, 2, 3, 6, 12)),
    *((step * size * DAY, DAY, "d") for size in (1, 10, 100, 1_000) for step in (1, 2, 5)),
]
DAYS = re.compile(r"(\d{4})-(\d\d-\d\d|W\d\d)$")


def choose_scale(
    value_max: float, show: Callable[[Any], str], is_whole: bool
) -> tuple[float, list[tuple[float, str]]]:
    """Return the end of the axis, at or above `value_max`, and (value, text) of each tick.

    A step is 1, 2, 2.5 or 5 times a power of ten, or a round time. With `is_whole`, all ticks are
    whole numbers.
    """
    step: float
    if show is format_duration:
        step, unit, name = next((time for time in TIMES if time[0] * TICKS >= value_max), TIMES[-1])
    else:
        step_min = value_max / TICKS
        power = 10.0 ** math.floor(math.log10(step_min))
        steps = (power * factor for factor in (1, 2, 2.5, 5, 10))
        step = next(step for step in steps if step >= step_min * 0.999_999)
        if is_whole and step != int(step):
            step = max(1.0, float(math.ceil(step)))
    numbers = [round(step * n, 12) for n in range(math.ceil(value_max / step - 1e-9) + 1)]
    values = [int(value) if value == int(value) else value for value in numbers]
    if show is format_duration:
        return values[-1], [(value, f"{value / unit:,g} {name}") for value in values]
    texts = [show(value) for value in values]
    # Drop the final zeros that all texts share: $0.5000 and $1.0000 become $0.5 and $1.0.
    while any("." in text for text in texts) and all(
        "." not in text or re.search(r"\.\d*0\D*$", text) for text in texts
    ):
        texts = [re.sub(r"\.?0(\D*)$", r"\1", text) if "." in text else text for text in texts]
    return values[-1], list(zip(values, texts, strict=True))


def measure_text(text: str) -> float:
    """Return the width of a label in units of the drawing."""
    return LETTER * measure_width(text)


def are_ordered(labels: list[str]) -> bool:
    """Return whether all labels are dates or numbers, which are thinned and never shortened."""
    return all(label[:1].isdigit() for label in labels)


def shorten_labels(labels: list[str]) -> tuple[list[str], str]:
    """Return (labels, year): dates lose the year that all share. For other labels, year is ""."""
    dates = [DAYS.match(label) for label in labels]
    years = {match[1] if match else "" for match in dates}
    if len(years) != 1 or "" in years:
        return labels, ""
    return [label[5:] for label in labels], years.pop()


def thin_labels(
    labels: list[str], slot_width: float, shorten: bool = False
) -> list[tuple[int, str]]:
    """Return (index, text) of evenly spaced labels that fit, including the last.

    `slot_width` is the space per label. With `shorten`, long labels are cut first.
    """
    if shorten:
        letters = int((slot_width - LABEL_GAP) / LETTER)
        labels = [cut_line(label, max(letters, LETTERS_MIN)) for label in labels]
    step = max(1, math.ceil((max(map(measure_text, labels)) + LABEL_GAP) / slot_width))
    return [(index, labels[index]) for index in range((len(labels) - 1) % step, len(labels), step)]
