"""Periods in the reader's timezone: ISO weeks, clock changes, leap years, odd UTC offsets."""

from datetime import date, datetime, timedelta

import pytest

from kaizen_components.errors import Usage
from kaizen_components.records import ids
from kaizen_components.reports.engine.zone import Zone
from kaizen_components.reports.periods.calendar import Period, resolve_period
from kaizen_components.reports.periods.flow import BarIndex

NOW = "2026-11-16T11:00:00.000Z"  # a Monday


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    moment = round(datetime.fromisoformat(NOW).timestamp() * 1000)
    monkeypatch.setattr(ids, "now_ms", lambda: moment)


def resolve(unit, zone="UTC", given=None, last=False, days=None, until=None, so_far=False):
    return resolve_period(unit, Zone(zone), given, last, days, until, so_far)


def period(unit, zone="UTC", at=NOW, **given):
    return Period(Zone(zone), resolve(unit, zone, **given), at)


@pytest.mark.parametrize(
    "unit, given, first, last, before",
    [
        ("week", "2026-W53", date(2026, 12, 28), date(2027, 1, 3), "week 2026-W52"),
        ("week", "2027-W01", date(2027, 1, 4), date(2027, 1, 10), "week 2026-W53"),
        ("week", "2021-W01", date(2021, 1, 4), date(2021, 1, 10), "week 2020-W53"),
        ("week", "2026-w46", date(2026, 11, 9), date(2026, 11, 15), "week 2026-W45"),
        ("month", "2024-02", date(2024, 2, 1), date(2024, 2, 29), "month 2024-01"),
        ("month", "2026-01", date(2026, 1, 1), date(2026, 1, 31), "month 2025-12"),
        ("month", "2026-12", date(2026, 12, 1), date(2026, 12, 31), "month 2026-11"),
        ("year", 2024, date(2024, 1, 1), date(2024, 12, 31), "year 2023"),
        ("year", 2025, date(2025, 1, 1), date(2025, 12, 31), "year 2024"),
        ("year", 1970, date(1970, 1, 1), date(1970, 12, 31), "year 1969"),
        ("year", 9998, date(9998, 1, 1), date(9998, 12, 31), "year 9997"),
    ],
)
def test_named_period_has_days_and_preceding_period(unit, given, first, last, before):
    result = period(unit, given=given)

    assert (result.first, result.last, result.before_name) == (first, last, before)


@pytest.mark.parametrize(
    "unit, given, last, exact",
    [("week", None, False, "2026-W47"), ("week", None, True, "2026-W46"), ("month", None, True, "2026-10"),
     ("month", None, False, "2026-11"), ("year", None, True, "2025"), ("year", 2024, False, "2024")],
)  # fmt: skip
def test_period_this_or_last_becomes_exact_name(unit, given, last, exact):
    assert resolve(unit, given=given, last=last)[unit] == exact


def test_current_period_depends_on_timezone():
    assert resolve("week", "Pacific/Kiritimati")["week"] == "2026-W47"
    assert resolve("month", "Pacific/Pago_Pago", days=1)["until"] == "2026-11-17T11:00:00.000Z"


@pytest.mark.parametrize(
    "unit, wrong",
    [
        *(
            ("week", word)
            for word in (
                "2026-W54",
                "2025-W53",
                "2026-W00",
                "x",
                "",
                "2026W46",
                "2026-46",
                "0001-W01",
            )
        ),
        *(
            ("month", word)
            for word in ("2026-13", "2026-00", "2026-1", "1969-12", "9999-01", "2026/11", "-026-11")
        ),
    ],
)
def test_unknown_period_is_refused_with_example(unit, wrong):
    with pytest.raises(Usage) as error:
        resolve(unit, given=wrong)

    assert error.value.code == f"bad_{unit}"
    assert f"--{unit} 2026-" in error.value.next


@pytest.mark.parametrize(
    "given",
    [
        {"given": "2026-W46", "last": True},
        {"last": True, "days": 7},
        {"given": "2026-W46", "days": 7},
    ],
)
def test_more_than_one_period_is_refused(given):
    with pytest.raises(Usage, match="more than one period"):
        resolve("week", **given)


def test_until_without_days_or_before_calendar_is_refused():
    with pytest.raises(Usage, match="--until needs --days"):
        resolve("week", until=NOW)
    with pytest.raises(Usage, match="year 0001"):
        resolve("week", days=3660, until="0001-01-01T00:00:00.000Z")


def test_days_option_ends_today_and_compares_same_length():
    result = period("week", "Europe/Berlin", days=3)

    assert (result.first, result.last, result.before_first) == (
        date(2026, 11, 14),
        date(2026, 11, 16),
        date(2026, 11, 11),
    )
    assert result.until == "2026-11-16T23:00:00.000Z"


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "UTC"]
)
@pytest.mark.parametrize("month", ["2026-03", "2026-04", "2026-10", "2026-11"])
def test_every_quarter_hour_falls_on_its_local_day(zone, month):
    result, clock = period("month", zone, given=month), Zone(zone)
    bars, moment = BarIndex(result), datetime.fromisoformat(result.since)
    while ids.format_time(round(moment.timestamp() * 1000)) < result.until:
        at = ids.format_time(round(moment.timestamp() * 1000))
        assert result.list_bar_days()[
            bars.find_bar(bars.make_key(at))
        ].isoformat() == clock.format_day(at)
        moment += timedelta(minutes=15)


@pytest.mark.parametrize(
    "zone", ["Asia/Kolkata", "Asia/Kathmandu", "Pacific/Chatham", "Europe/Berlin"]
)
def test_bars_begin_at_local_midnight_in_any_timezone(zone):
    result, clock = period("week", zone, given="2026-W46"), Zone(zone)
    bars, midnight = BarIndex(result), datetime.fromisoformat(result.list_bar_starts()[3])

    for minutes in range(-30, 31):
        at = ids.format_time(round((midnight + timedelta(minutes=minutes)).timestamp() * 1000))
        assert result.list_bar_days()[
            bars.find_bar(bars.make_key(at))
        ].isoformat() == clock.format_day(at)


@pytest.mark.parametrize(
    "day, hours", [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 11, 9), 24)]
)
def test_clock_change_makes_day_23_or_25_hours(day, hours):
    result = period("week", "Europe/Berlin", given=f"2026-W{day.isocalendar()[1]:02d}")
    begins = [*result.list_bar_starts(), result.until]
    at = result.list_bar_days().index(day)

    length = datetime.fromisoformat(begins[at + 1]) - datetime.fromisoformat(begins[at])
    assert length == timedelta(hours=hours)


@pytest.mark.parametrize(
    "unit, given, at, cut",
    [
        ("week", "2026-W47", "2026-11-18T12:30:00.000Z", "2026-11-11T12:30:00.000Z"),
        (
            "month",
            "2026-11",
            "2026-11-16T11:00:00.000Z",
            "2026-10-16T10:00:00.000Z",
        ),  # noon here, an hour of DST apart
        (
            "month",
            "2027-03",
            "2027-03-30T10:00:00.000Z",
            "2027-02-28T23:00:00.000Z",
        ),  # February has no 30th: all of it
        (
            "year",
            2028,
            "2028-12-31T12:00:00.000Z",
            "2027-12-31T23:00:00.000Z",
        ),  # a day longer than the year before
    ],
)
def test_current_period_is_compared_with_same_part(unit, given, at, cut):
    result = period(
        unit, "Europe/Berlin" if unit != "week" else "UTC", at, given=given, so_far=True
    )

    assert result.is_cut
    assert result.before_until == cut


def test_past_period_is_compared_with_whole_period():
    result = period("week", given="2026-W46", at="2026-11-13T17:00:00.000Z")

    assert not result.is_cut
    assert result.before_until == result.since


@pytest.mark.parametrize(
    "days, step, bars",
    [
        (1, "day", 1),
        (62, "day", 62),
        (63, "7 days", 9),
        (365, "7 days", 53),
        (3660, "30 days", 122),
    ],
)
def test_long_period_uses_bars_of_several_days(days, step, bars):
    result = period("year", days=days)

    assert (result.step, len(result.list_labels())) == (step, bars)


def test_bar_labels_depend_on_unit():
    assert period("week", given="2026-W46").list_labels()[:2] == ["Mon 9", "Tue 10"]
    assert period("month", given="2026-02").list_labels()[-1] == "28"
    assert period("year", given=2026).list_labels()[::11] == ["Jan", "Dec"]
    assert period("week", days=2).list_labels() == ["11-15", "11-16"]
