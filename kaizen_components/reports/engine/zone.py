"""The reader's timezone: days and weeks are theirs, records keep UTC."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...errors import Usage
from ...records import ids

LOCALTIME = "/etc/localtime"
MACHINE_OWN = ("localtime", "posixrules", "Factory")  # another zone on another machine


class Zone:
    """A timezone and its name, which a report prints so that it can be made again elsewhere."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or find_local_timezone()
        info = load_timezone(self.name)
        if info is None:
            raise Usage(
                "unknown_timezone",
                f"There is no timezone {self.name[:60]!r} here.",
                "Names are those of the IANA database, such as Europe/Berlin or UTC.",
                "Check the spelling; on Windows `pip install tzdata` brings the names.",
            )
        self.info = info

    def moment(self, at: str) -> datetime:
        """Return a record's time in this zone."""
        try:
            return datetime.fromisoformat(at).astimezone(self.info)
        except OverflowError:  # the last hours of the year 9999
            raise Usage(
                "time_out_of_range", f"{at} has no day in {self.name}.", "", "Give another time."
            ) from None

    def day(self, at: str) -> str:
        return self.moment(at).date().isoformat()

    def show(self, at: str) -> str:
        """Format a record's time as people read it: 2026-11-16 04:15."""
        return self.moment(at).strftime("%Y-%m-%d %H:%M")

    def midnight(self, day: date) -> str:
        """Return when that day begins here, as records write times."""
        begin = datetime.combine(day, time(), self.info).astimezone(UTC)
        return begin.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def today(self) -> date:
        return self.moment(ids.format_time(ids.now_ms())).date()


def compute_elapsed_ms(since: str, until: str) -> int:
    """Return the time between two records; 0 if the clock was set back between them."""
    elapsed = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return max(0, round(elapsed.total_seconds() * 1000))


def find_local_timezone() -> str:
    """Return the name in TZ, or the machine's own, or UTC."""
    path = os.environ.get("TZ", "").removeprefix(":") or os.path.realpath(LOCALTIME)
    _, _, below = path.rpartition(os.sep + "zoneinfo" + os.sep)  # both may be a zone's file
    name = below.replace(os.sep, "/")
    return name if name != "Etc/UTC" and load_timezone(name) else "UTC"


def load_timezone(name: str) -> tzinfo | None:
    """Return the timezone with an IANA name; None if there is none here."""
    if name in MACHINE_OWN:
        return None
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
