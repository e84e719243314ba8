"""Compute the days of a period in the reader's timezone, and the days to compare them with."""

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
DAY = timedelta(days=1)
LONGEST = {"week": 7 * DAY, "month": 31 * DAY, "year": 366 * DAY}
UNTIL_YEARS = range(1990, 9998)  # twice the largest --days before it still begins after 1970
BARS_MAX = 62  # a longer period has bars of several days


def resolve_period(
    unit: str, zone: Zone, name: Any, last: bool, days: int | None, until: str | None, so_far: bool
) -> dict[str, Any]:
    """Return the options of a report with an exact period, such as 2026-W46 for "this week"."""
    choices = {unit: name, "last": last, "days": days}
    used_options = ["--" + option for option, value in choices.items() if value]
    if len(used_options) > 1:
        raise Usage(
            "one_period",
            f"{' and '.join(used_options)} choose more than one period.",
            "A report covers one period.",
            "Use only one of these options.",
        )
    if until and not days:
        raise Usage(
            "until_without_days",
            "--until needs --days.",
            "A week, month or year has its own end.",
            "Add --days, for example --days 7.",
        )
    if until and int(until[:4]) not in UNTIL_YEARS:
        raise Usage(
            "bad_until",
            f"--until is in the year {until[:4]}.",
            f"It must be in the years {UNTIL_YEARS.start} to {UNTIL_YEARS.stop - 1}.",
            "Use a date in this range.",
        )
    exact_options: dict[str, Any] = {unit: None, "days": days, "until": until, "so_far": False}
    if days:
        exact_options["until"] = until or zone.find_day_start(zone.get_today() + DAY)
    else:
        first = (
            parse_period(unit, name) if name is not None else find_first_day(unit, zone.get_today())
        )
        exact_options[unit] = name_period(
            unit, find_first_day(unit, first - DAY) if last else first
        )
    is_relative = name is None and until is None  # depends on today, such as "this week"
    return {
        **exact_options,
        "so_far": so_far or (is_relative and is_under_way(zone, exact_options)),
    }


def is_under_way(zone: Zone, exact_options: dict[str, Any]) -> bool:
    """Return whether the period ends in the future."""
    return ids.format_time(ids.now_ms()) < Period(zone, exact_options, "").until


def parse_period(unit: str, name: Any) -> date:
    """Return the first day of a period such as 2026-W46, 2026-11 or 2026."""
    text = str(name).strip().upper()
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
            f"{str(name)[:20]!r} is not a {unit} from {YEARS.start} to {YEARS.stop - 1}.",
            "A year has 52 or 53 weeks by ISO 8601." if unit == "week" else "",
            f"Use the form --{unit} {EXAMPLE[unit]}.",
        ) from None


def find_first_day(unit: str, day: date) -> date:
    """Return the first day of the day, week, month or year that contains `day`."""
    if unit == "week":
        return day - DAY * day.weekday()
    return day if unit == "day" else day.replace(day=1, month=day.month if unit == "month" else 1)


def name_period(unit: str, day: date) -> str:
    """Return the name of the day, week, month or year that contains `day`."""
    if unit == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02d}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


class Period:
    """The days from `first` to `last`, and the period before them, with their limits in UTC.

    `at` is the time of the newest record. With the option `so_far`, a period that contains `at` is
    compared with the same part of the period before: three days with three days.
    """

    def __init__(self, zone: Zone, options: dict[str, Any], at: str) -> None:
        self.zone = zone
        self.unit = next(name for name in UNITS if name in options)
        self.days = options["days"]
        if self.days:
            self.last = (zone.localize(options["until"]) - timedelta(microseconds=1)).date()
            self.first = self.last - DAY * (self.days - 1)
            self.before_first = self.first - DAY * self.days
        else:
            self.first = parse_period(self.unit, options[self.unit])
            self.last = find_first_day(self.unit, self.first + LONGEST[self.unit]) - DAY
            self.before_first = find_first_day(self.unit, self.first - DAY)
        self.since, self.until = (
            zone.find_day_start(self.first),
            zone.find_day_start(self.last + DAY),
        )
        self.before_since, self.before_until = zone.find_day_start(self.before_first), self.since
        self.days_so_far: int | None = None
        self.is_cut = bool(options["so_far"]) and self.since <= at < self.until
        if self.is_cut:
            now = zone.localize(at)
            elapsed = now.date() - self.first
            self.days_so_far = elapsed.days + 1
            cut_time = datetime.combine(self.before_first + elapsed, now.time(), zone.info)
            cut_ms = round(cut_time.astimezone(UTC).timestamp() * 1000)
            self.before_until = min(ids.format_time(cut_ms), self.since)
        self.name = self._name_days(self.first, self.last)
        self.before_name = self._name_days(self.before_first, self.first - DAY)

    def _name_days(self, first: date, last: date) -> str:
        """Return the name of a period, such as "week 2026-W46" or "2026-11-14 to 2026-11-16"."""
        if self.days:
            return f"{first} to {last}"
        return f"{self.unit} {name_period(self.unit, first)}"

    @property
    def step(self) -> str:
        """Return the time that one bar of a chart covers: month, day, 7 days or 30 days."""
        if self.days is None or self.days <= BARS_MAX:
            return "month" if self.unit == "year" and not self.days else "day"
        return "7 days" if self.days <= BARS_MAX * 7 else "30 days"

    def list_bar_days(self) -> list[date]:
        """Return the first day of each bar."""
        if self.step == "month":
            return [date(self.first.year, number, 1) for number in range(1, 13)]
        size = {"day": 1, "7 days": 7, "30 days": 30}[self.step]
        return [
            self.first + DAY * offset
            for offset in range(0, (self.last - self.first).days + 1, size)
        ]

    def list_labels(self) -> list[str]:
        """Return the label of each bar: Jan, Mon 9, 28 or 11-15."""
        if self.step == "month":
            return list(MONTHS)
        if self.days:
            return [
                str(day)[5:] if self.step == "day" else str(day) for day in self.list_bar_days()
            ]
        if self.unit == "week":
            return [f"{WEEKDAYS[day.weekday()]} {day.day}" for day in self.list_bar_days()]
        return [str(day.day) for day in self.list_bar_days()]

    def list_bar_starts(self) -> list[str]:
        """Return the UTC time at which each bar begins, in the format of records."""
        return [self.zone.find_day_start(day) for day in self.list_bar_days()]
