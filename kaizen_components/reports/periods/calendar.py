"""Which days a report is about, in the reader's timezone, and which it compares them with."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from ...errors import Usage
from ...records import ids
from ..engine.zone import Zone

UNITS = ("week", "month", "year")
YEARS = range(1970, 9999)
EXAMPLE = {"week": "2026-W46", "month": "2026-11", "year": "2026"}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ONE = timedelta(days=1)
LONGEST = {"week": 7 * ONE, "month": 31 * ONE, "year": 366 * ONE}
UNTIL_YEARS = range(1990, 9998)  # with room for the days before it, twice
BARS_MAX = 62  # as many days as a chart shows one by one


def resolve_period(
    unit: str, zone: Zone, given: Any, last: bool, days: int | None, until: str | None, so_far: bool
) -> dict[str, Any]:
    """Return options that mean the same days on any other day: "this week" is decided only here."""
    several = [name for name, value in ((unit, given), ("last", last), ("days", days)) if value]
    if len(several) > 1:
        options = " and ".join("--" + name for name in several)
        raise Usage("one_period", f"{options} name more than one period.", "", "Give one of them.")
    if until and not days:
        raise Usage(
            "until_without_days",
            "--until needs --days.",
            "A calendar period ends by itself.",
            "Add --days 7.",
        )
    if until and int(until[:4]) not in UNTIL_YEARS:
        raise Usage(
            "bad_until",
            f"--until is in the year {until[:4]}.",
            "",
            "Give a day on which there are records.",
        )
    exact: dict[str, Any] = {unit: None, "days": days, "until": until, "so_far": False}
    if days:
        exact["until"] = until or zone.midnight(zone.today() + ONE)
    else:
        first = parse_period(unit, given) if given is not None else begin_period(unit, zone.today())
        exact[unit] = name_period(unit, begin_period(unit, first - ONE) if last else first)
    is_by_clock = given is None and until is None  # a named period is the same on every day
    return {**exact, "so_far": so_far or (is_by_clock and is_under_way(zone, exact))}


def is_under_way(zone: Zone, exact: dict[str, Any]) -> bool:
    return ids.format_time(ids.now_ms()) < Period(zone, exact, "").until


def parse_period(unit: str, given: Any) -> date:
    """Return the first day of a period that the user named, such as 2026-W46."""
    text = str(given).strip().upper()
    parts = text.split("-")
    try:
        if not text.isascii() or len(text) != len(EXAMPLE[unit]) or int(parts[0]) not in YEARS:
            raise ValueError
        if unit == "week":
            if parts[1][:1] != "W" or not parts[1][1:].isdecimal():
                raise ValueError
            return date.fromisocalendar(int(parts[0]), int(parts[1][1:]), 1)
        return date.fromisoformat(text + ("-01" if unit == "month" else "-01-01"))
    except (ValueError, IndexError):
        raise Usage(
            f"bad_{unit}",
            f"There is no {unit} {str(given)[:20]!r}.",
            "Weeks are those of ISO 8601: 52 in a year, 53 in some." if unit == "week" else "",
            f"Write it as --{unit} {EXAMPLE[unit]}.",
        ) from None


def begin_period(unit: str, day: date) -> date:
    """Return the first day of the period that this day is in."""
    if unit == "week":
        return day - ONE * day.weekday()
    return day if unit == "day" else day.replace(day=1, month=day.month if unit == "month" else 1)


def name_period(unit: str, day: date) -> str:
    """Return the name of the day, week, month or year that this day is in."""
    if unit == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02d}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


class Period:
    """The days from `first` to `last`, as many before them, and where those begin and end in UTC.

    `at` is the newest moment that the record knows. With `so_far`, the period before is cut at the
    same weekday or day of the month and hour, so that three days are not compared with seven.
    """

    def __init__(self, zone: Zone, options: dict[str, Any], at: str) -> None:
        self.zone = zone
        self.unit = next(name for name in UNITS if name in options)
        self.days = options["days"]
        if self.days:
            self.last = (zone.moment(options["until"]) - timedelta(microseconds=1)).date()
            self.first = self.last - ONE * (self.days - 1)
            self.before_first = self.first - ONE * self.days
        else:
            self.first = parse_period(self.unit, options[self.unit])
            self.last = begin_period(self.unit, self.first + LONGEST[self.unit]) - ONE
            self.before_first = begin_period(self.unit, self.first - ONE)
        self.since, self.until = zone.midnight(self.first), zone.midnight(self.last + ONE)
        self.before_since, self.before_until = zone.midnight(self.before_first), self.since
        self.days_so_far: int | None = None
        self.is_cut = bool(options["so_far"]) and self.since <= at < self.until
        if self.is_cut:
            now = zone.moment(at)
            passed = now.date() - self.first
            self.days_so_far = passed.days + 1
            there = datetime.combine(self.before_first + passed, now.time(), zone.info)
            there_ms = round(there.astimezone(UTC).timestamp() * 1000)
            self.before_until = min(ids.format_time(there_ms), self.since)
        self.name = self._describe(self.first, self.last)
        self.before_name = self._describe(self.before_first, self.first - ONE)

    def _describe(self, first: date, last: date) -> str:
        if self.days:
            return f"{first} to {last}"
        return f"{self.unit} {name_period(self.unit, first)}"

    @property
    def step(self) -> str:
        """Return what a bar of a chart is: a month, a day, 7 days or 30 days."""
        if self.days is None or self.days <= BARS_MAX:
            return "month" if self.unit == "year" and not self.days else "day"
        return "7 days" if self.days <= BARS_MAX * 7 else "30 days"

    def steps(self) -> list[date]:
        """Return the first day of each bar."""
        if self.step == "month":
            return [date(self.first.year, number, 1) for number in range(1, 13)]
        size = {"day": 1, "7 days": 7, "30 days": 30}[self.step]
        return [self.first + ONE * at for at in range(0, (self.last - self.first).days + 1, size)]

    def labels(self) -> list[str]:
        if self.step == "month":
            return list(MONTHS)
        if self.days:
            return [str(day)[5:] if self.step == "day" else str(day) for day in self.steps()]
        if self.unit == "week":
            return [f"{WEEKDAYS[day.weekday()]} {day.day}" for day in self.steps()]
        return [str(day.day) for day in self.steps()]

    def limits(self) -> list[str]:
        """Return when each bar begins, as records write times."""
        return [self.zone.midnight(day) for day in self.steps()]
