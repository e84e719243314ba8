"""Charts: the position of marks, ticks and labels, in numbers that can be checked by hand."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaizen_components.reports.charts import chart
from kaizen_components.reports.charts.axis import (
    choose_scale,
    measure_text,
    shorten_labels,
    thin_labels,
)
from kaizen_components.reports.engine.document import (
    format_count,
    format_dollars,
    format_duration,
    format_percent,
)

DAYS = [f"2026-11-{day:02}" for day in range(1, 31)]
HOUR = 3_600_000


def draw(kind=chart.draw_bars, labels=("a", "b"), series=None, show=format_count, **more):
    return kind(
        "Title", "x", "y", list(labels), series or {"one": [1, 2]}, "A caption.", show, **more
    )


def list_texts(ticks):
    return [tick["text"] for tick in ticks]


# Axes


@pytest.mark.parametrize(
    "value_max, show, is_whole, ticks",
    [
        (1, format_count, True, ["0", "1"]),
        (3, format_count, True, ["0", "1", "2", "3"]),
        (14, format_count, True, ["0", "5", "10", "15"]),
        (1_234, format_count, True, ["0", "500", "1,000", "1,500"]),
        (0.37, format_count, False, ["0", "0.1", "0.2", "0.3", "0.4"]),
        (1, format_percent, False, ["0 %", "25 %", "50 %", "75 %", "100 %"]),
        (3.2, format_dollars, False, ["$0", "$1", "$2", "$3", "$4"]),
        (0.012, format_dollars, False, ["$0", "$0.005", "$0.010", "$0.015"]),
        (5 * HOUR, format_duration, False, ["0 h", "2 h", "4 h", "6 h"]),
        (90_000, format_duration, False, ["0 s", "30 s", "60 s", "90 s"]),
        (40 * 24 * HOUR, format_duration, False, ["0 d", "10 d", "20 d", "30 d", "40 d"]),
    ],
)
def test_ticks_are_round_in_their_unit(value_max, show, is_whole, ticks):
    assert [text for _, text in choose_scale(value_max, show, is_whole)[1]] == ticks


@settings(max_examples=300, deadline=None)
@given(
    st.floats(1e-6, 1e12),
    st.sampled_from([format_count, format_percent, format_dollars, format_duration]),
)
def test_axis_has_at_most_six_even_ticks(value_max, show):
    top, ticks = choose_scale(value_max, show, False)
    values = [value for value, _ in ticks]

    assert values[0] == 0 and values[-1] == top >= value_max * 0.999_999
    assert 2 <= len(ticks) <= 6 or show is format_duration
    steps = [after - before for before, after in pairwise(values)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-3)


def test_ticks_of_counts_are_whole_numbers():
    block = draw(series={"one": [1, 2]})

    assert list_texts(block["y_ticks"]) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "labels, short, year",
    [
        (["2026-11-16", "2026-11-17"], ["11-16", "11-17"], "2026"),
        (["2026-W46", "2026-W47"], ["W46", "W47"], "2026"),
        (["2025-12-31", "2026-01-01"], ["2025-12-31", "2026-01-01"], ""),
        (["2026-11", "2026-12"], ["2026-11", "2026-12"], ""),
        (["2026-11-16", "later"], ["2026-11-16", "later"], ""),
    ],
)
def test_year_shared_by_all_labels_is_removed(labels, short, year):
    assert shorten_labels(labels) == (short, year)


def test_year_shared_by_all_labels_moves_to_axis():
    block = draw(labels=DAYS, series={"one": [1] * 30})

    assert (block["x_label"], block["data"]["rows"][0][0]) == ("x, 2026", "2026-11-01")
    assert list_texts(block["x_ticks"])[-1] == "11-30"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("abcdé世", min_size=1, max_size=40), min_size=1, max_size=400), st.booleans()
)
def test_thinned_labels_never_overlap_and_include_last(labels, shorten):
    slot_width = 490 / len(labels)
    thinned = thin_labels(labels, slot_width, shorten)

    assert thinned[-1][0] == len(labels) - 1
    for (index, text), (next_index, next_text) in pairwise(thinned):
        widths = measure_text(text) + measure_text(next_text)
        assert (next_index - index) * slot_width >= widths / 2


def test_long_bar_names_are_cut_and_all_shown():
    block = draw(
        labels=["a rather long name of a thing " + c for c in "abcdef"], series={"one": [1] * 6}
    )

    assert len(block["x_ticks"]) == 6 and all(
        text.endswith("…") for text in list_texts(block["x_ticks"])
    )
    assert block["marks"][0]["tooltip"] == "a rather long name of a thing a: 1"


# Marks


def test_chart_without_values_is_not_drawn():
    assert draw(series={"one": [0, 0]}) is None
    assert draw(chart.draw_lines, series={"one": [None, 0]}) is None


def test_stacked_bars_start_at_zero():
    block = draw(series={"passed": [3, 0], "failed": [1, 2]})
    lower, upper, alone = block["marks"]

    assert lower["y"] + lower["height"] == block["bottom"] == alone["y"] + alone["height"]
    assert upper["y"] + upper["height"] == pytest.approx(lower["y"])
    assert (upper["y"], lower["height"]) == (
        block["top"],
        pytest.approx(3 * upper["height"], abs=0.2),
    )
    assert [mark["tooltip"] for mark in block["marks"]] == [
        "a: 3 passed",
        "a: 1 failed",
        "b: 2 failed",
    ]


def test_series_named_after_outcomes_have_outcome_colours():
    block = draw(series={"passed": [1, 1], "failed": [1, 1], "blocked": [1, 1], "unknown": [1, 1]})

    assert [entry["color"] for entry in block["legend"]] == ["good", "bad", "warn", "s1"]


def test_explicit_tone_overrides_colour_of_series_name():
    block = draw(series={"passed": [1, 1], "x": [1, 1], "y": [1, 1]}, tones={"x": "bad"})

    assert [entry["color"] for entry in block["legend"]] == ["s1", "bad", "s4"]
    assert [entry["pattern"] for entry in block["legend"]] == [0, 1, 2]


def test_chart_legend_omits_series_without_values():
    assert draw()["legend"] == []
    assert list_texts(draw(series={"passed": [1, 0], "timeout": [0, 0]})["legend"]) == ["passed"]


def test_line_chart_has_gap_where_value_is_missing():
    block = draw(
        chart.draw_lines,
        labels="abcde",
        series={"one": [1, 2, None, 3, 4], "two": [None, 1, None, 1, None]},
    )

    assert [len(mark["paths"]) for mark in block["marks"]] == [2, 0]
    assert [len(mark["dots"]) for mark in block["marks"]] == [4, 2]


def test_each_stacked_area_begins_on_one_below():
    block = draw(chart.draw_areas, series={"done": [1, 2], "open": [2, 1]})
    done_points, open_points = (
        [tuple(map(float, point.split(","))) for point in mark["points"].split()]
        for mark in block["marks"]
    )

    assert done_points[:2] == open_points[:1:-1]
    assert open_points[0][1] == open_points[1][1] == block["top"]


def test_area_chart_with_one_label_has_visible_width():
    block = draw(chart.draw_areas, labels=["2026-11-16"], series={"done": [1], "open": [1]})

    assert len({point.split(",")[0] for point in block["marks"][0]["points"].split()}) == 2


def test_wide_tick_labels_increase_left_margin():
    block = draw(series={"one": [1, 2_000_000]})

    assert block["left"] > draw()["left"]
