"""Charts as geometry: where each mark, label and tick of a drawing stands. The template only draws.

Every chart has a title, named axes, a sentence that says the same (`says`) and its data as a table.
"""

import math
from typing import Any

from .document import Block, count, table

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 548, 34, 204  # the plot lies between them
TICKS_Y = 4
LABELS_X_MAX = 8
LETTER = 7  # units that a letter of a label takes, at 11 px
GAP = 0.25  # of a bar's place


def bars(
    title: str,
    x_label: str,
    y_label: str,
    labels: list[str],
    series: dict[str, list[float]],
    says: str,
    show: Any = count,
) -> Block | None:
    """Bars over labels, one on top of the other where there is more than one series; none without any value."""
    return _chart("bars", title, x_label, y_label, labels, series, says, show)


def areas(
    title: str,
    x_label: str,
    y_label: str,
    labels: list[str],
    series: dict[str, list[float]],
    says: str,
    show: Any = count,
) -> Block | None:
    """The same as areas, for what accumulates: a cumulative flow."""
    return _chart("areas", title, x_label, y_label, labels, series, says, show)


def lines(
    title: str, x_label: str, y_label: str, labels: list[str], series: dict[str, list[float | None]], says: str,
    show: Any = count,
) -> Block | None:  # fmt: skip
    """A line for each series; None leaves a gap."""
    return _chart("lines", title, x_label, y_label, labels, series, says, show)


def _chart(kind, title, x_label, y_label, labels, series, says, show):
    if not any(value for values in series.values() for value in values):
        return None
    most = _most(kind, labels, series)
    top, step = scale(most)
    drawn = {"bars": _bars, "areas": _areas, "lines": _lines}[kind](labels, series, top, show)
    rows = [[label, *(_shown(show, values[at]) for values in series.values())] for at, label in enumerate(labels)]
    return {
        "block": "chart", "kind": kind, "title": title, "x_label": x_label, "y_label": y_label, "says": says,
        "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM,
        "marks": drawn,
        "legend": [{"text": name, "color": at % 6 + 1} for at, name in enumerate(series)] if len(series) > 1 else [],
        "y_ticks": [{"y": _y(value, top), "text": show(value)} for value in _steps(top, step)],
        "x_ticks": _x_ticks(kind, labels),
        "data": table(title, {x_label: "whole", **dict.fromkeys(series, "number")}, rows),
    }  # fmt: skip


def _shown(show, value):
    return None if value is None else show(value)


def _most(kind, labels, series):
    if kind == "lines":
        return max(value for values in series.values() for value in values if value is not None)
    return max(sum(values[at] for values in series.values()) for at in range(len(labels)))


def scale(most: float) -> tuple[float, float]:
    """(a round number at or above `most`, the step between ticks): 1, 2, 2.5 or 5 times a power of ten."""
    rough = most / TICKS_Y
    size = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(size * part for part in (1, 2, 2.5, 5, 10) if size * part >= rough * 0.999_999)
    step = max(step, 1.0) if most >= 1 and step < 1 and most == int(most) and most < TICKS_Y else step
    return step * math.ceil(most / step - 1e-9), step


def _steps(top, step):
    values = [step * at for at in range(round(top / step) + 1)]
    return [int(value) if value == int(value) else value for value in values]


def _bars(labels, series, top, show):
    place = (RIGHT - LEFT) / len(labels)
    marks = []
    for at, label in enumerate(labels):
        below = 0.0
        for number, (name, values) in enumerate(series.items()):
            if values[at]:
                upper = _y(below + values[at], top)
                marks.append(
                    {
                        "x": round(LEFT + place * (at + GAP / 2), 1),
                        "y": upper,
                        "width": round(max(place * (1 - GAP), 1), 1),
                        "height": round(max(_y(below, top) - upper, 0.5), 1),
                        "color": number % 6 + 1,
                        "says": f"{label}: {show(values[at])}" + (f" {name}" if len(series) > 1 else ""),
                    }
                )
                below += values[at]
    return marks


def _areas(labels, series, top, show):
    below = [0.0] * len(labels)
    marks = []
    for number, (name, values) in enumerate(series.items()):
        above = [low + value for low, value in zip(below, values, strict=True)]
        edge = [(_point_x(at, labels), _y(value, top)) for at, value in enumerate(above)]
        back = [(_point_x(at, labels), _y(value, top)) for at, value in reversed(list(enumerate(below)))]
        marks.append(
            {"points": _path([*edge, *back]), "color": number % 6 + 1, "says": f"{name}: {show(values[-1])} at the end"}
        )
        below = above
    return marks


def _lines(labels, series, top, show):
    marks = []
    for number, (name, values) in enumerate(series.items()):
        known = [(_point_x(at, labels), _y(value, top)) for at, value in enumerate(values) if value is not None]
        dots = [
            {"x": _point_x(at, labels), "y": _y(value, top), "says": f"{labels[at]}: {show(value)} {name}"}
            for at, value in enumerate(values)
            if value is not None
        ]
        marks.append({"points": _path(known), "dots": dots, "color": number % 6 + 1, "says": name})
    return marks


def _path(points):
    return " ".join(f"{x},{y}" for x, y in points)


def _x_ticks(kind, labels):
    """As many labels as fit, the first and the last among them as far as that goes."""
    room = int((RIGHT - LEFT) / (LETTER * (max(map(len, labels)) + 1)))  # more would run into each other
    step = math.ceil(len(labels) / max(1, min(LABELS_X_MAX, room)))
    place = (RIGHT - LEFT) / len(labels)
    middle = (lambda at: LEFT + place * (at + 0.5)) if kind == "bars" else lambda at: _point_x(at, labels)
    return [{"x": round(middle(at), 1), "text": labels[at]} for at in range(0, len(labels), step)]


def _point_x(at, labels):
    return round(LEFT + (RIGHT - LEFT) * (at / (len(labels) - 1) if len(labels) > 1 else 0.5), 1)


def _y(value, top):
    return round(BOTTOM - (BOTTOM - TOP) * value / top, 1)
