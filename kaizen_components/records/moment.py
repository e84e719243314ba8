"""Times as people write them: a date, a time, an age, or a time from now."""

from . import ids

UNIT_S = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_moment(text: str) -> str:
    """Return a time in the format of the column `at`. `7d` is 7 days ago, `+7d` is in 7 days.

    A time without a zone is local time.
    """
    if is_relative(text):
        offset_ms = int(text[:-1].removeprefix("+")) * UNIT_S[text[-1]] * 1000
        text_utc = ids.format_time(ids.now_ms() + (offset_ms if text[0] == "+" else -offset_ms))
    else:
        from datetime import datetime

        text_utc = ids.format_time(
            int(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
        )
    # A year that does not have four digits would not sort as text.
    if not text_utc.partition("-")[0].isdecimal() or text_utc[4] != "-":
        raise ValueError(f"{text} is out of range")
    return text_utc


def is_relative(text: str) -> bool:
    """Return whether the text is a time relative to now, such as `7d`."""
    return type(text) is str and text[-1:] in UNIT_S and text[:-1].removeprefix("+").isdecimal()


def add_zone(text: str, name: str) -> str:
    """Add the named time zone to a time without a zone. Return an invalid time unchanged."""
    from datetime import datetime
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        moment = datetime.fromisoformat(text)
        return text if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(name)).isoformat()
    except (ValueError, TypeError, OSError, ZoneInfoNotFoundError):
        return text
