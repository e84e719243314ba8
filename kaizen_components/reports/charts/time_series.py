"""How numbers spread over time: days, weeks, months or years of the reader's timezone, without gaps between them."""

from datetime import date, timedelta
from typing import Any

# SQL counts by a quarter of an hour, which no timezone of our days cuts in two; the zone then says which day that was.
QUARTER = "substr(at, 1, 14) || printf('%02d', substr(at, 15, 2) / 15 * 15) || ':00.000Z'"
UNITS = ("day", "week", "month", "year")
PERIODS_MAX = 60  # more bars than that are a wall


def sum_by_period(rows: list[dict[str, Any]], zone, unit: str) -> dict[str, Any]:
    """{"unit", "periods": [{"label", name: sum …}]} of rows with `at` and numbers; coarser where there are too many."""
    if not rows:
        return {"unit": unit, "periods": []}
    names = [name for name in rows[0] if name != "at"]
    days = [zone.moment(row["at"]).date() for row in rows]
    unit = next(wide for wide in UNITS[UNITS.index(unit) :] if wide == "year" or _fits(days, wide))
    sums = {label: dict.fromkeys(names, 0) for label in _labels(min(days), max(days), unit)}
    for row, day in zip(rows, days, strict=True):
        period = sums[_label(day, unit)]
        for name in names:
            period[name] += row[name]
    return {
        "unit": unit,
        "periods": [{"label": label, **numbers} for label, numbers in sums.items()],
    }


def _fits(days, unit):
    shortest = {"day": 1, "week": 7, "month": 28}[unit]
    return (max(days) - min(days)).days / shortest < PERIODS_MAX


def _labels(first, last, unit):
    labels, day = [], first
    while _label(day, unit) != _label(last, unit):
        labels.append(_label(day, unit))
        day = _next(day, unit)
    return [*labels, _label(last, unit)]


def _label(day: date, unit: str) -> str:
    if unit == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02d}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


def _next(day, unit):
    """A day of the period after this one."""
    if unit in ("day", "week"):
        return day + timedelta(days=1 if unit == "day" else 7)
    first = day.replace(day=1) if unit == "month" else day.replace(month=12, day=1)
    return first + timedelta(days=31)
