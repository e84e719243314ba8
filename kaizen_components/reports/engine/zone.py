"""The reader's timezone: days and weeks are theirs, records keep UTC."""

import os
from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...errors import Usage
from ...records import ids

LOCALTIME = "/etc/localtime"
MACHINE_OWN = ("localtime", "posixrules", "Factory")  # another zone on another machine


class Zone:
    """A timezone with the name that a report prints, so that the same report can be asked for elsewhere."""

    def __init__(self, name: str | None = None):
        self.name = name or find_local_timezone()
        self.info = _found(self.name)

    def moment(self, at: str) -> datetime:
        """A record's time as one of this zone."""
        try:
            return datetime.fromisoformat(at).astimezone(self.info)
        except OverflowError:  # the last hours of the year 9999
            raise Usage(
                "time_out_of_range", f"{at} has no day in {self.name}.", "", "Give another time."
            ) from None

    def day(self, at: str) -> str:
        return self.moment(at).date().isoformat()

    def show(self, at: str) -> str:
        """2026-11-16 04:15, as people read it."""
        return self.moment(at).strftime("%Y-%m-%d %H:%M")

    def midnight(self, day: date) -> str:
        """When that day begins here, as records write times."""
        return (
            datetime.combine(day, time(), self.info)
            .astimezone(UTC)
            .strftime("%Y-%m-%dT%H:%M:%S.000Z")
        )

    def today(self) -> date:
        return self.moment(ids.format_time(ids.now_ms())).date()


def compute_elapsed_ms(since: str, until: str) -> int:
    """From one record's time to another's; a clock that was set back does not make it negative."""
    return max(
        0,
        round(
            (datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds() * 1000
        ),
    )


def find_local_timezone() -> str:
    """What TZ says, or the machine's own zone, or UTC."""
    given = os.environ.get("TZ", "").removeprefix(":") or os.path.realpath(LOCALTIME)
    _, _, below = given.rpartition(
        os.sep + "zoneinfo" + os.sep
    )  # both may be the path of a zone's file
    found = below.replace(os.sep, "/")
    return found if _is_zone(found) and found != "Etc/UTC" else "UTC"


def _is_zone(name):
    if name in MACHINE_OWN:
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _found(name) -> tzinfo:
    if name == "UTC":
        return UTC
    if not _is_zone(name):
        raise Usage(
            "unknown_timezone",
            f"There is no timezone {name[:60]!r} here.",
            "Names are those of the IANA database, such as Europe/Berlin or UTC.",
            "Check the spelling; on Windows `pip install tzdata` brings the names.",
        )
    return ZoneInfo(name)
