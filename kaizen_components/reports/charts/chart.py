"""Charts as geometry: where each mark, label and tick of a drawing stands. The template only draws.

Every chart has a title, named axes, a sentence that says the same (`says`) and its data as a table. Series differ in
colour and in pattern; one that is named like an outcome has the colour of its tone.
"""

import math
from typing import Any

from ..engine.document import Block, Tone, add_tone, format_count, table
from .axis import are_ordered, choose_scale, measure_text, shorten_labels, thin_labels

WIDTH, HEIGHT = 560, 250
RIGHT, TOP, BOTTOM = (
    534,
    34,
    204,
)  # the plot lies between them; half of the last label stands to the right of it
LEFT_LEAST, LEFT_MARGIN = 44, 26  # the margin is for the name of the axis
GAP = 0.25  # of a bar's place
DOT, DOT_SMALL, DOTS_MAX = 3, 1.5, 60
PALETTE = ("s1", "s2", "s3", "s4", "s5", "s6")
BESIDE_TONES = ("s1", "s4", "s6", "s5")  # without those that look like good, bad or a warning


def draw_bars(
    title: str,
    x_label: str,
    y_label: str,
    labels: list[str],
    series: dict[str, list[float]],
    says: str,
    show: Any = format_count,
    tones: dict[str, str] | None = None,
) -> Block | None:
    """Bars over labels, one on top of the other where there is more than one series; none without any value.

    `tones` says which series is good, bad or warn; without it, what `word` knows is.
    """
    return _chart("bars", title, x_label, y_label, labels, series, says, show, tones)


def draw_areas(
    title: str,
    x_label: str,
    y_label: str,
    labels: list[str],
    series: dict[str, list[float]],
    says: str,
    show: Any = format_count,
    tones: dict[str, str] | None = None,
) -> Block | None:
    """The same as areas, for what accumulates: a cumulative flow."""
    return _chart("areas", title, x_label, y_label, labels, series, says, show, tones)


def draw_lines(
    title: str, x_label: str, y_label: str, labels: list[str], series: dict[str, list[float | None]], says: str,
    show: Any = format_count, tones: dict[str, str] | None = None,
) -> Block | None:  # fmt: skip
    """A line for each series; None leaves a gap."""
    return _chart("lines", title, x_label, y_label, labels, series, says, show, tones)


def _chart(kind, title, x_label, y_label, labels, series, says, show, tones):
    if not any(value for values in series.values() for value in values):
        return None
    plot = Plot(kind, labels, series, show)
    looks = _looks(series, tones)
    short, year = shorten_labels(labels)
    rows = [
        [label, *(_shown(show, values[at]) for values in series.values())]
        for at, label in enumerate(labels)
    ]
    return {
        "block": "chart", "kind": kind, "title": title, "says": says, "y_label": y_label,
        "x_label": f"{x_label}, {year}" if year else x_label,
        "width": WIDTH, "height": HEIGHT, "left": plot.left, "right": RIGHT, "top": TOP, "bottom": BOTTOM,
        "marks": {"areas": _areas, "lines": _lines}.get(kind, _bars)(plot, looks),
        "legend": _legend(kind, series, looks),
        "y_ticks": [{"y": plot.y(value), "text": text} for value, text in plot.ticks],
        "x_ticks": plot.x_ticks(short),
        "data": table(title, {x_label: "whole", **dict.fromkeys(series, "number")}, rows),
    }  # fmt: skip


class Plot:
    """The values of a chart, and where they stand in it."""

    def __init__(self, kind, labels, series, show):
        self.kind = kind
        self.labels = labels
        self.series = series
        self.show = show
        self.top, self.ticks = choose_scale(self._most(), show, self._whole())
        self.left = max(
            LEFT_LEAST, math.ceil(LEFT_MARGIN + max(measure_text(text) for _, text in self.ticks))
        )
        self.place = (RIGHT - self.left) / len(labels)

    def _most(self):
        if self.kind == "lines":
            return max(
                value for values in self.series.values() for value in values if value is not None
            )
        return max(
            sum(values[at] for values in self.series.values()) for at in range(len(self.labels))
        )

    def _whole(self):
        return self.show is format_count and all(
            value is None or value == int(value)
            for values in self.series.values()
            for value in values
        )

    def y(self, value):
        return round(BOTTOM - (BOTTOM - TOP) * value / self.top, 1)

    def x(self, at):
        """The middle of a bar, or a point of a line."""
        if self.kind == "bars":
            return round(self.left + self.place * (at + 0.5), 1)
        part = at / (len(self.labels) - 1) if len(self.labels) > 1 else 0.5
        return round(self.left + (RIGHT - self.left) * part, 1)

    def x_ticks(self, labels):
        """As many labels as fit, the last among them; those that name things are cut before any is left out."""
        kept = thin_labels(labels, self.place, cuts=not are_ordered(labels))
        return [{"x": self.x(at), "text": text} for at, text in kept]

    def says(self, at, name, value):
        return f"{self.labels[at]}: {self.show(value)}" + (
            f" {name}" if len(self.series) > 1 else ""
        )


def _looks(series, tones):
    """{name: the class of its colour, the number of its pattern}."""
    if tones is None:
        known = {name: add_tone(name) for name in series}
        tones = {name: said.tone for name, said in known.items() if isinstance(said, Tone)}
    others = [name for name in series if name not in tones]
    free = BESIDE_TONES if tones else PALETTE
    colors = {**tones, **{name: free[at % len(free)] for at, name in enumerate(others)}}
    return {
        name: {"color": colors[name], "pattern": at % len(PALETTE)}
        for at, name in enumerate(series)
    }


def _legend(kind, series, looks):
    """What is drawn of more than one series; a line at zero is drawn too."""
    drawn = [name for name, values in series.items() if kind == "lines" or any(values)]
    return [{"text": name, **looks[name]} for name in drawn] if len(series) > 1 else []


def _shown(show, value):
    return None if value is None else show(value)


def _bars(plot, looks):
    marks = []
    for at in range(len(plot.labels)):
        below = 0.0
        for name, values in plot.series.items():
            if values[at]:
                upper = plot.y(below + values[at])
                marks.append({
                    "x": round(plot.left + plot.place * (at + GAP / 2), 1), "y": upper,
                    "width": round(max(plot.place * (1 - GAP), 1), 1),
                    "height": round(max(plot.y(below) - upper, 0.5), 1),
                    "says": plot.says(at, name, values[at]), **looks[name],
                })  # fmt: skip
                below += values[at]
    return marks


def _areas(plot, looks):
    below = [0.0] * len(plot.labels)
    marks = []
    for name, values in plot.series.items():
        above = [low + value for low, value in zip(below, values, strict=True)]
        edge = [(plot.x(at), plot.y(value)) for at, value in enumerate(above)]
        back = [(plot.x(at), plot.y(value)) for at, value in reversed(list(enumerate(below)))]
        if len(plot.labels) == 1:  # an area of one moment would have no breadth
            edge, back = _broadened(edge), _broadened(back)[::-1]
        said = f"{name}: {plot.show(values[-1])} at the end"
        marks.append({"points": _path([*edge, *back]), "says": said, **looks[name]})
        below = above
    return marks


def _broadened(points):
    return [(x + by, y) for x, y in points for by in (-20, 20)]


def _lines(plot, looks):
    marks = []
    for name, values in plot.series.items():
        known = [
            (at, plot.x(at), plot.y(value)) for at, value in enumerate(values) if value is not None
        ]
        dots = [{"x": x, "y": y, "says": plot.says(at, name, values[at])} for at, x, y in known]
        marks.append({
            "paths": [_path(run) for run in _runs(known)], "dots": dots, "says": name,
            "dot": DOT if len(plot.labels) <= DOTS_MAX else DOT_SMALL, **looks[name],
        })  # fmt: skip
    return marks


def _runs(known):
    """Points that follow each other without a gap."""
    runs: list[list[tuple[float, float]]] = []
    before = None
    for at, x, y in known:
        if before is None or at != before + 1:
            runs.append([])
        runs[-1].append((x, y))
        before = at
    return [run for run in runs if len(run) > 1]


def _path(points):
    return " ".join(f"{x},{y}" for x, y in points)
