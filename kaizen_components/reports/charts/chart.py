"""Compute charts: where each mark, label and tick is. The template only draws them.

Every chart has a title, named axes, a caption and its data as a table. Each series has its own
colour and pattern. A series named like an outcome, such as "failed", has the colour of its tone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

from ..engine.document import Block, Tone, add_tone, format_count, table
from .axis import are_ordered, choose_scale, measure_text, shorten_labels, thin_labels

WIDTH, HEIGHT = 560, 250
# The edges of the plot; half of the last label extends beyond RIGHT.
RIGHT, TOP, BOTTOM = 534, 34, 204
LEFT_MIN, LEFT_MARGIN = 44, 26  # the margin has room for the name of the axis
GAP = 0.25  # share of a slot that its bar leaves empty
DOT, DOT_SMALL, DOTS_MAX = 3, 1.5, 60
PALETTE = ("s1", "s2", "s3", "s4", "s5", "s6")
PALETTE_BESIDE_TONES = ("s1", "s4", "s6", "s5")  # without the colours of good, bad and warn

Series = dict[str, list[Any]]  # name -> a value for each label; None is a gap in a line
Show = Callable[[Any], str]
Mark = dict[str, Any]


def draw_chart(
    kind: str,
    title: str,
    x_label: str,
    y_label: str,
    labels: list[str],
    series: Series,
    caption: str,
    show: Show = format_count,
    tones: dict[str, str] | None = None,
) -> Block | None:
    """Return a chart of series over labels; None if all values are zero or unknown.

    `show` formats a value. `tones` maps series to good, bad or warn; without it, their names
    decide.
    """
    if not any(value for values in series.values() for value in values):
        return None
    plot = Plot(kind, labels, series, show, _choose_styles(series, tones))
    short, year = shorten_labels(labels)
    rows = [
        [label, *(None if value is None else show(value) for value in values)]
        for label, *values in zip(labels, *series.values(), strict=True)
    ]
    marks = {"bars": plot.draw_bars, "areas": plot.draw_areas, "lines": plot.draw_lines}[kind]
    # The legend omits series without a mark. At zero, a line is visible; a bar or an area is not.
    visible = [name for name, values in series.items() if kind == "lines" or any(values)]
    return {
        "block": "chart",
        "kind": kind,
        "title": title,
        "caption": caption,
        "y_label": y_label,
        "x_label": f"{x_label}, {year}" if year else x_label,
        "width": WIDTH,
        "height": HEIGHT,
        "left": plot.left,
        "right": RIGHT,
        "top": TOP,
        "bottom": BOTTOM,
        "marks": marks(),
        "legend": [{"text": name, **plot.styles[name]} for name in visible if len(series) > 1],
        "y_ticks": [{"y": plot.y(value), "text": text} for value, text in plot.ticks],
        "x_ticks": [
            {"x": plot.x(index), "text": text}
            for index, text in thin_labels(short, plot.slot_width, shorten=not are_ordered(short))
        ],
        "data": table(title, {x_label: "whole", **dict.fromkeys(series, "number")}, rows),
    }


draw_bars = partial(draw_chart, "bars")  # several series are stacked
draw_areas = partial(draw_chart, "areas")  # stacked, such as a cumulative flow
draw_lines = partial(draw_chart, "lines")


class Plot:
    """The values of a chart, and the positions at which they are drawn."""

    def __init__(
        self,
        kind: str,
        labels: list[str],
        series: Series,
        show: Show,
        styles: dict[str, Mark],
    ) -> None:
        self.kind = kind
        self.labels = labels
        self.series = series
        self.show = show
        self.styles = styles
        known = [value for values in series.values() for value in values if value is not None]
        is_whole = show is format_count and all(value == int(value) for value in known)
        stacks = known if kind == "lines" else [sum(v) for v in zip(*series.values(), strict=True)]
        self.top, self.ticks = choose_scale(max(stacks), show, is_whole)
        widest = max(measure_text(text) for _, text in self.ticks)
        self.left = max(LEFT_MIN, math.ceil(LEFT_MARGIN + widest))
        self.slot_width = (RIGHT - self.left) / len(labels)

    def y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return round(BOTTOM - (BOTTOM - TOP) * value / self.top, 1)

    def x(self, index: int) -> float:
        """Return the x coordinate of the label at `index`: the middle of its bar, or its point."""
        if self.kind == "bars":
            return round(self.left + self.slot_width * (index + 0.5), 1)
        share = index / (len(self.labels) - 1) if len(self.labels) > 1 else 0.5
        return round(self.left + (RIGHT - self.left) * share, 1)

    def describe_value(self, index: int, name: str, value: float) -> str:
        """Return the tooltip of a value: its label, the value and the name of its series."""
        series = f" {name}" if len(self.series) > 1 else ""
        return f"{self.labels[index]}: {self.show(value)}{series}"

    def draw_bars(self) -> list[Mark]:
        """Return a rectangle for each value, stacked if there are several series."""
        marks = []
        for index in range(len(self.labels)):
            below = 0.0
            for name, values in self.series.items():
                if values[index]:
                    upper = self.y(below + values[index])
                    mark = {
                        "x": round(self.left + self.slot_width * (index + GAP / 2), 1),
                        "y": upper,
                        "width": round(max(self.slot_width * (1 - GAP), 1), 1),
                        "height": round(max(self.y(below) - upper, 0.5), 1),
                        "tooltip": self.describe_value(index, name, values[index]),
                    }
                    marks.append(mark | self.styles[name])
                    below += values[index]
        return marks

    def draw_areas(self) -> list[Mark]:
        """Return a polygon for each series, stacked on the previous series."""
        below = [0.0] * len(self.labels)
        marks = []
        for name, values in self.series.items():
            above = [low + value for low, value in zip(below, values, strict=True)]
            upper = [(self.x(index), self.y(value)) for index, value in enumerate(above)]
            lower = [(self.x(index), self.y(value)) for index, value in enumerate(below)]
            if len(self.labels) == 1:  # widen a single point, or the area would be invisible
                upper, lower = (
                    [(x + offset, y) for x, y in edge for offset in (-20, 20)]
                    for edge in (upper, lower)
                )
            tooltip = f"{name}: {self.show(values[-1])} at the end"
            points = _join_points([*upper, *reversed(lower)])
            marks.append({"points": points, "tooltip": tooltip, **self.styles[name]})
            below = above
        return marks

    def draw_lines(self) -> list[Mark]:
        """Return a line for each series, with a gap where a value is None."""
        marks = []
        for name, values in self.series.items():
            dots: list[Mark] = []
            pieces: list[list[tuple[float, float]]] = [[]]  # points without a gap between them
            for index, value in enumerate(values):
                if value is None:
                    pieces.append([])
                    continue
                x, y = self.x(index), self.y(value)
                pieces[-1].append((x, y))
                dots.append({"x": x, "y": y, "tooltip": self.describe_value(index, name, value)})
            mark = {
                "paths": [_join_points(piece) for piece in pieces if len(piece) > 1],
                "dots": dots,
                "tooltip": name,
                "dot": DOT if len(self.labels) <= DOTS_MAX else DOT_SMALL,
            }
            marks.append(mark | self.styles[name])
        return marks


def _choose_styles(series: Series, tones: dict[str, str] | None) -> dict[str, Mark]:
    """Return {series: its colour, as a CSS class, and the number of its pattern}."""
    if tones is None:
        words = map(add_tone, series)
        tones = {str(word): word.tone for word in words if isinstance(word, Tone)}
    others = [name for name in series if name not in tones]
    palette = PALETTE_BESIDE_TONES if tones else PALETTE
    colors = {**tones, **dict(zip(others, cycle(palette), strict=False))}
    return {
        name: {"color": colors[name], "pattern": index % len(PALETTE)}
        for index, name in enumerate(series)
    }


def _join_points(points: list[tuple[float, float]]) -> str:
    """Return points as the `points` attribute of SVG."""
    return " ".join(f"{x},{y}" for x, y in points)
