"""The timezone of the reader. Records are in UTC; reports show local days and times."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...errors import Usage
from ...records import ids

LOCALTIME = "/etc/localtime"
MACHINE_DEPENDENT = (
    "localtime",
    "posixrules",
    "Factory",
)  # these mean another zone on another machine


class Zone:
    """A timezone. A report prints its name, so that it can be reproduced on another machine."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or find_local_timezone()
        info = load_timezone(self.name)
        if info is None:
            raise Usage(
                "unknown_timezone",
                f"The timezone {self.name[:60]!r} is unknown.",
                "A timezone needs an IANA name, such as Europe/Berlin or UTC.",
                "Check the spelling. On Windows, `pip install tzdata` installs the names.",
            )
        self.info = info

    def localize(self, at: str) -> datetime:
        """Return a record's time in this zone."""
        try:
            return datetime.fromisoformat(at).astimezone(self.info)
        except OverflowError:  # the last hours of the year 9999
            raise Usage(
                "time_out_of_range",
                f"The time {at} has no date in {self.name}.",
                "There it is after the year 9999.",
                "Give an earlier time.",
            ) from None

    def format_day(self, at: str) -> str:
        """Return the local date of a record's time, such as 2026-11-16."""
        return self.localize(at).date().isoformat()

    def format_time(self, at: str) -> str:
        """Format a record's time as people read it: 2026-11-16 04:15."""
        return self.localize(at).strftime("%Y-%m-%d %H:%M")

    def find_day_start(self, day: date) -> str:
        """Return the UTC time at which a day begins in this zone, in the format of records."""
        begin = datetime.combine(day, time(), self.info).astimezone(UTC)
        return begin.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def get_today(self) -> date:
        """Return the current date in this zone."""
        return self.localize(ids.format_time(ids.now_ms())).date()


def compute_elapsed_ms(since: str, until: str) -> int:
    """Return the time between two records; 0 if the clock was set back between them."""
    elapsed = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return max(0, round(elapsed.total_seconds() * 1000))


def find_local_timezone() -> str:
    """Return the timezone named by TZ or /etc/localtime; UTC if neither names a known timezone."""
    path = os.environ.get("TZ", "").removeprefix(":") or os.path.realpath(LOCALTIME)
    _, _, zone_file = path.rpartition(os.sep + "zoneinfo" + os.sep)  # TZ may be a path too
    name = zone_file.replace(os.sep, "/")
    return name if name != "Etc/UTC" and load_timezone(name) else "UTC"


def load_timezone(name: str) -> tzinfo | None:
    """Return the timezone with an IANA name; None if this machine does not know it."""
    if name in MACHINE_DEPENDENT:
        return None
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
