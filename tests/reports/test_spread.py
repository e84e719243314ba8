"""Numbers summed by day, week, month or year in a timezone."""

import pytest

from kaizen_components.reports.engine.zone import Zone
from kaizen_components.reports.periods.time_series import PERIODS_MAX, sum_by_period

UTC = Zone("UTC")


def labels(unit, *times, zone=UTC):
    series = sum_by_period([{"at": at, "n": 1} for at in times], zone, unit)
    return series["unit"], [(row["label"], row["n"]) for row in series["periods"]]


def test_period_without_rows_is_listed_with_zero():
    assert labels("week", "2026-12-21T10:00:00.000Z", "2027-01-04T10:00:00.000Z") == (
        "week", [("2026-W52", 1), ("2026-W53", 0), ("2027-W01", 1)],
    )  # fmt: skip


def test_month_after_january_31_is_not_skipped():
    assert labels("month", "2026-01-31T10:00:00.000Z", "2026-03-01T10:00:00.000Z") == (
        "month", [("2026-01", 1), ("2026-02", 0), ("2026-03", 1)],
    )  # fmt: skip


def test_day_of_event_depends_on_timezone():
    half_past = "2026-11-16T18:30:00.000Z"  # midnight in Kolkata, which is half an hour off

    assert labels("day", half_past, zone=Zone("Asia/Kolkata"))[1] == [("2026-11-17", 1)]
    assert labels("day", half_past)[1] == [("2026-11-16", 1)]


@pytest.mark.parametrize(
    "last, unit",
    [
        ("2026-02-20", "day"),
        ("2026-06-01", "week"),
        ("2029-01-01", "month"),
        ("2096-01-01", "year"),
    ],
)
def test_long_range_uses_longer_periods(last, unit):
    used, periods = labels("day", "2026-01-01T00:00:00.000Z", f"{last}T00:00:00.000Z")

    assert used == unit and sum(number for _, number in periods) == 2
    assert len(periods) <= PERIODS_MAX + 1 or unit == "year"


def test_empty_rows_are_summed_to_no_periods():
    assert sum_by_period([], UTC, "week") == {"unit": "week", "periods": []}
