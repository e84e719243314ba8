"""The words along an axis: round steps in the unit of the values, and as many labels as fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from ...records.ledger.canonical import measure_width
from ..engine.document import format_duration
from ..engine.drawing import cut_line

TICKS = 4
LETTER = 6.4  # a broad letter at 11 px, in units of the drawing
APART = 8  # between two labels
CUT_LEAST = 5  # letters of a name that are still of use
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
    most: float, show: Callable[[Any], str], is_whole: bool
) -> tuple[float, list[tuple[float, str]]]:
    """Return the end of the axis (at or above `most`), and the value and text of each tick.

    A step is 1, 2, 2.5 or 5 times a power of ten, or a round time; counted things have no halves.
    """
    step: float
    if show is format_duration:
        step, unit, name = next((time for time in TIMES if time[0] * TICKS >= most), TIMES[-1])
    else:
        rough = most / TICKS
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * part for part in (1, 2, 2.5, 5, 10) if size * part >= rough * 0.999_999)
        if is_whole and step != int(step):
            step = max(1.0, float(math.ceil(step)))
    numbers = [round(step * at, 12) for at in range(math.ceil(most / step - 1e-9) + 1)]
    values = [int(value) if value == int(value) else value for value in numbers]
    if show is format_duration:
        return values[-1], [(value, f"{value / unit:,g} {name}") for value in values]
    texts = [show(value) for value in values]
    # Drop zeros that all of them end in: $0.50 and $1.00 rather than $0.5000 and $1.0000.
    while any("." in text for text in texts) and all(
        "." not in text or re.search(r"\.\d*0\D*$", text) for text in texts
    ):
        texts = [re.sub(r"\.?0(\D*)$", r"\1", text) if "." in text else text for text in texts]
    return values[-1], list(zip(values, texts, strict=True))


def format_exact(value: float, show: Callable[[Any], str]) -> str:
    """Format one round value by itself: 1 d rather than 24.0 h."""
    if show is not format_duration:
        return str(show(value))
    units = [
        (unit, name) for _, unit, name in reversed(TIMES) if value >= unit and value % unit == 0
    ]
    unit, name = units[0] if units else (1, "ms")
    return f"{value / unit:,g} {name}"


def measure_text(text: str) -> float:
    return LETTER * measure_width(text)


def are_ordered(labels: list[str]) -> bool:
    """Do the labels follow from each other, as dates and numbers do and names do not?"""
    return all(label[:1].isdigit() for label in labels)


def shorten_labels(labels: list[str]) -> tuple[list[str], str]:
    """Return days or weeks without their year and the year, if it is the same; else the labels."""
    dates = [DAYS.match(label) for label in labels]
    years = {match[1] if match else "" for match in dates}
    if len(years) != 1 or "" in years:
        return labels, ""
    return [label[5:] for label in labels], years.pop()


def thin_labels(labels: list[str], place: float, cuts: bool = False) -> list[tuple[int, str]]:
    """Return (position, text) of the labels that fit with `place` for each; the last is one."""
    if cuts:
        letters = int((place - APART) / LETTER)
        labels = [cut_line(label, max(letters, CUT_LEAST)) for label in labels]
    step = max(1, math.ceil((max(map(measure_text, labels)) + APART) / place))
    return [(at, labels[at]) for at in range((len(labels) - 1) % step, len(labels), step)]
