"""Where the marks and words of a chart stand, in numbers a reader can check."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaizen_components.reports.charts import chart
from kaizen_components.reports.charts.axis import (
    choose_scale,
    format_exact,
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


def drawn(kind=chart.draw_bars, labels=("a", "b"), series=None, show=format_count, **more):
    return kind("Title", "x", "y", list(labels), series or {"one": [1, 2]}, "Says.", show, **more)


def texts(ticks):
    return [tick["text"] for tick in ticks]


# The axes


@pytest.mark.parametrize(
    "most, show, whole, ticks",
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
def test_ticks_are_round_in_their_unit(most, show, whole, ticks):
    assert [text for _, text in choose_scale(most, show, whole)[1]] == ticks


@settings(max_examples=300, deadline=None)
@given(
    st.floats(1e-6, 1e12),
    st.sampled_from([format_count, format_percent, format_dollars, format_duration]),
)
def test_axis_has_few_even_steps(most, show):
    top, ticks = choose_scale(most, show, False)
    values = [value for value, _ in ticks]

    assert values[0] == 0 and values[-1] == top >= most * 0.999_999
    assert 2 <= len(ticks) <= 6 or show is format_duration
    steps = [after - before for before, after in pairwise(values)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-3)


def test_counts_have_no_halves():
    made = drawn(series={"one": [1, 2]})

    assert texts(made["y_ticks"]) == ["0", "1", "2"]


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
def test_common_year_is_shown_once(labels, short, year):
    assert shorten_labels(labels) == (short, year)


def test_year_is_in_axis_name_dates_in_table():
    made = drawn(labels=DAYS, series={"one": [1] * 30})

    assert (made["x_label"], made["data"]["rows"][0][0]) == ("x, 2026", "2026-11-01")
    assert texts(made["x_ticks"])[-1] == "11-30"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("abcdé世", min_size=1, max_size=40), min_size=1, max_size=400), st.booleans()
)
def test_labels_do_not_overlap_and_keep_last(labels, cuts):
    place = 490 / len(labels)
    kept = thin_labels(labels, place, cuts)

    assert kept[-1][0] == len(labels) - 1
    for (at, text), (after, other) in pairwise(kept):
        assert (after - at) * place >= (measure_text(text) + measure_text(other)) / 2


def test_names_are_cut_before_any_is_dropped():
    made = drawn(
        labels=["a rather long name of a thing " + c for c in "abcdef"], series={"one": [1] * 6}
    )

    assert len(made["x_ticks"]) == 6 and all(text.endswith("…") for text in texts(made["x_ticks"]))
    assert made["marks"][0]["says"] == "a rather long name of a thing a: 1"


@pytest.mark.parametrize(
    "ms, said", [(0, "0 ms"), (60_000, "1 min"), (24 * HOUR, "1 d"), (90_000, "90 s")]
)
def test_exact_value_uses_largest_fitting_unit(ms, said):
    assert format_exact(ms, format_duration) == said


# The marks


def test_chart_without_values_is_left_out():
    assert drawn(series={"one": [0, 0]}) is None
    assert drawn(chart.draw_lines, series={"one": [None, 0]}) is None


def test_bars_start_at_zero_and_stack():
    made = drawn(series={"passed": [3, 0], "failed": [1, 2]})
    lower, upper, alone = made["marks"]

    assert lower["y"] + lower["height"] == made["bottom"] == alone["y"] + alone["height"]
    assert upper["y"] + upper["height"] == pytest.approx(lower["y"])
    assert (upper["y"], lower["height"]) == (
        made["top"],
        pytest.approx(3 * upper["height"], abs=0.2),
    )
    assert [mark["says"] for mark in made["marks"]] == ["a: 3 passed", "a: 1 failed", "b: 2 failed"]


def test_outcomes_have_colours_of_their_tones():
    made = drawn(series={"passed": [1, 1], "failed": [1, 1], "blocked": [1, 1], "unknown": [1, 1]})

    assert [entry["color"] for entry in made["legend"]] == ["good", "bad", "warn", "s1"]


def test_given_tones_win_and_patterns_differ():
    made = drawn(series={"passed": [1, 1], "x": [1, 1], "y": [1, 1]}, tones={"x": "bad"})

    assert [entry["color"] for entry in made["legend"]] == ["s1", "bad", "s4"]
    assert [entry["pattern"] for entry in made["legend"]] == [0, 1, 2]


def test_legend_lists_drawn_series():
    assert drawn()["legend"] == []
    assert texts(drawn(series={"passed": [1, 0], "timeout": [0, 0]})["legend"]) == ["passed"]


def test_line_has_gap_at_unknown_value():
    made = drawn(
        chart.draw_lines,
        labels="abcde",
        series={"one": [1, 2, None, 3, 4], "two": [None, 1, None, 1, None]},
    )

    assert [len(mark["paths"]) for mark in made["marks"]] == [2, 0]
    assert [len(mark["dots"]) for mark in made["marks"]] == [4, 2]


def test_areas_end_where_the_next_begin():
    made = drawn(chart.draw_areas, series={"done": [1, 2], "open": [2, 1]})
    done, still_open = (
        [tuple(map(float, point.split(","))) for point in mark["points"].split()]
        for mark in made["marks"]
    )

    assert done[:2] == still_open[:1:-1]
    assert still_open[0][1] == still_open[1][1] == made["top"]


def test_area_of_one_moment_has_width():
    made = drawn(chart.draw_areas, labels=["2026-11-16"], series={"done": [1], "open": [1]})

    assert len({point.split(",")[0] for point in made["marks"][0]["points"].split()}) == 2


def test_wide_number_has_room_beside_axis():
    made = drawn(series={"one": [1, 2_000_000]})

    assert made["left"] > drawn()["left"]
