"""Sum numbers by day, week, month or year in the reader's timezone, without gaps."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .calendar import find_first_day, name_period

if TYPE_CHECKING:
    from ...parameters import Row
    from ..engine.zone import Zone

# No current timezone has a midnight inside a quarter of an hour.
QUARTER = "substr(at, 1, 14) || printf('%02d', substr(at, 15, 2) / 15 * 15) || ':00.000Z'"
LONGEST_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
SHORTEST_DAYS = {"day": 1, "week": 7, "month": 28}
PERIODS_MAX = 60  # a chart with more bars is hard to read


def sum_by_period(rows: list[Row], zone: Zone, unit: str) -> dict[str, Any]:
    """Return {"unit", "periods": [{"label", name: sum …}]} for rows with `at` and numbers.

    Every period between the first and the last is included. If there would be more than
    PERIODS_MAX, a longer unit is used.
    """
    if not rows:
        return {"unit": unit, "periods": []}
    names = [name for name in rows[0] if name != "at"]
    days = [zone.localize(row["at"]).date() for row in rows]
    first, last = min(days), max(days)
    units = list(LONGEST_DAYS)
    unit = next(
        longer
        for longer in units[units.index(unit) :]
        if longer == "year" or (last - first).days / SHORTEST_DAYS[longer] < PERIODS_MAX
    )
    period = find_first_day(unit, first)
    sums: dict[str, dict[str, Any]] = {name_period(unit, period): dict.fromkeys(names, 0)}
    while name_period(unit, last) not in sums:
        period = find_first_day(unit, period + timedelta(days=LONGEST_DAYS[unit]))
        sums[name_period(unit, period)] = dict.fromkeys(names, 0)
    for row, day in zip(rows, days, strict=True):
        numbers = sums[name_period(unit, day)]
        for name in names:
            numbers[name] += row[name]
    periods = [{"label": label, **numbers} for label, numbers in sums.items()]
    return {"unit": unit, "periods": periods}
