"""Charts as geometry: the place of each mark, label and tick of a drawing. The template only draws.

Every chart has a title, named axes, a sentence that says the same (`says`) and its data as a table.
Series differ in colour and in pattern; one named like an outcome has the colour of its tone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..engine.document import Block, Tone, add_tone, format_count, table
from .axis import are_ordered, choose_scale, measure_text, shorten_labels, thin_labels

WIDTH, HEIGHT = 560, 250
# The plot is between these; half of the last label is to the right of it.
RIGHT, TOP, BOTTOM = 534, 34, 204
LEFT_LEAST, LEFT_MARGIN = 44, 26  # the margin is for the name of the axis
GAP = 0.25  # of a bar's place
DOT, DOT_SMALL, DOTS_MAX = 3, 1.5, 60
PALETTE = ("s1", "s2", "s3", "s4", "s5", "s6")
BESIDE_TONES = ("s1", "s4", "s6", "s5")  # without those that look like good, bad or a warning

Series = dict[str, list[Any]]  # name -> a number for each label; in lines, None leaves a gap
Show = Callable[[Any], str]
Mark = dict[str, Any]


def draw_chart(
    kind: str,
    title: str,
    x_label: str,
    y_label: str,
    labels: list[str],
    series: Series,
    says: str,
    show: Show = format_count,
    tones: dict[str, str] | None = None,
) -> Block | None:
    """Draw series over labels; None if they have no value.

    `tones` says which series is good, bad or warn; without it, `add_tone` decides by their names.
    """
    if not any(value for values in series.values() for value in values):
        return None
    plot = Plot(kind, labels, series, show, _choose_looks(series, tones))
    short, year = shorten_labels(labels)
    rows = [
        [label, *(None if values[at] is None else show(values[at]) for values in series.values())]
        for at, label in enumerate(labels)
    ]
    marks = {"bars": plot.draw_bars, "areas": plot.draw_areas, "lines": plot.draw_lines}[kind]
    # What is drawn of more than one series; a line at zero is drawn too.
    drawn = [name for name, values in series.items() if kind == "lines" or any(values)]
    return {
        "block": "chart",
        "kind": kind,
        "title": title,
        "says": says,
        "y_label": y_label,
        "x_label": f"{x_label}, {year}" if year else x_label,
        "width": WIDTH,
        "height": HEIGHT,
        "left": plot.left,
        "right": RIGHT,
        "top": TOP,
        "bottom": BOTTOM,
        "marks": marks(),
        "legend": [{"text": name, **plot.looks[name]} for name in drawn if len(series) > 1],
        "y_ticks": [{"y": plot.y(value), "text": text} for value, text in plot.ticks],
        "x_ticks": [  # names are cut before any is left out
            {"x": plot.x(at), "text": text}
            for at, text in thin_labels(short, plot.place, cuts=not are_ordered(short))
        ],
        "data": table(title, {x_label: "whole", **dict.fromkeys(series, "number")}, rows),
    }


draw_bars = partial(draw_chart, "bars")  # more than one series: one on top of the other
draw_areas = partial(draw_chart, "areas")  # for what accumulates, such as a cumulative flow
draw_lines = partial(draw_chart, "lines")


class Plot:
    """The values of a chart, and their places in it."""

    def __init__(
        self,
        kind: str,
        labels: list[str],
        series: Series,
        show: Show,
        looks: dict[str, Mark],
    ) -> None:
        self.kind = kind
        self.labels = labels
        self.series = series
        self.show = show
        self.looks = looks
        known = [value for values in series.values() for value in values if value is not None]
        is_whole = show is format_count and all(value == int(value) for value in known)
        most = max(known) if kind == "lines" else max(map(sum, zip(*series.values(), strict=True)))
        self.top, self.ticks = choose_scale(most, show, is_whole)
        widest = max(measure_text(text) for _, text in self.ticks)
        self.left = max(LEFT_LEAST, math.ceil(LEFT_MARGIN + widest))
        self.place = (RIGHT - self.left) / len(labels)

    def y(self, value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * value / self.top, 1)

    def x(self, at: int) -> float:
        """Return the middle of a bar, or a point of a line."""
        if self.kind == "bars":
            return round(self.left + self.place * (at + 0.5), 1)
        part = at / (len(self.labels) - 1) if len(self.labels) > 1 else 0.5
        return round(self.left + (RIGHT - self.left) * part, 1)

    def describe_value(self, at: int, name: str, value: float) -> str:
        series = f" {name}" if len(self.series) > 1 else ""
        return f"{self.labels[at]}: {self.show(value)}{series}"

    def draw_bars(self) -> list[Mark]:
        marks = []
        for at in range(len(self.labels)):
            below = 0.0
            for name, values in self.series.items():
                if values[at]:
                    upper = self.y(below + values[at])
                    mark = {
                        "x": round(self.left + self.place * (at + GAP / 2), 1),
                        "y": upper,
                        "width": round(max(self.place * (1 - GAP), 1), 1),
                        "height": round(max(self.y(below) - upper, 0.5), 1),
                        "says": self.describe_value(at, name, values[at]),
                    }
                    marks.append(mark | self.looks[name])
                    below += values[at]
        return marks

    def draw_areas(self) -> list[Mark]:
        below = [0.0] * len(self.labels)
        marks = []
        for name, values in self.series.items():
            above = [low + value for low, value in zip(below, values, strict=True)]
            edge = [(self.x(at), self.y(value)) for at, value in enumerate(above)]
            back = [(self.x(at), self.y(value)) for at, value in enumerate(below)]
            if len(self.labels) == 1:  # an area of one moment would have no width
                edge, back = (
                    [(x + by, y) for x, y in one for by in (-20, 20)] for one in (edge, back)
                )
            says = f"{name}: {self.show(values[-1])} at the end"
            points = _join_points([*edge, *reversed(back)])
            marks.append({"points": points, "says": says, **self.looks[name]})
            below = above
        return marks

    def draw_lines(self) -> list[Mark]:
        marks = []
        for name, values in self.series.items():
            dots: list[Mark] = []
            runs: list[list[tuple[float, float]]] = [[]]  # points without a gap between them
            for at, value in enumerate(values):
                if value is None:
                    runs.append([])
                    continue
                x, y = self.x(at), self.y(value)
                runs[-1].append((x, y))
                dots.append({"x": x, "y": y, "says": self.describe_value(at, name, value)})
            mark = {
                "paths": [_join_points(run) for run in runs if len(run) > 1],
                "dots": dots,
                "says": name,
                "dot": DOT if len(self.labels) <= DOTS_MAX else DOT_SMALL,
            }
            marks.append(mark | self.looks[name])
        return marks


def _choose_looks(series: Series, tones: dict[str, str] | None) -> dict[str, Mark]:
    """Return {name: the class of its colour and the number of its pattern}."""
    if tones is None:
        words = map(add_tone, series)
        tones = {str(word): word.tone for word in words if isinstance(word, Tone)}
    others = [name for name in series if name not in tones]
    free = BESIDE_TONES if tones else PALETTE
    colors = {**tones, **{name: free[at % len(free)] for at, name in enumerate(others)}}
    return {
        name: {"color": colors[name], "pattern": at % len(PALETTE)}
        for at, name in enumerate(series)
    }


def _join_points(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
