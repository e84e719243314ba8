"""Times as people write them: a date, a time, an age, or a time from now on."""

from . import ids

UNIT_S = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_moment(text: str) -> str:
    """UTC text that compares with `at`. Without a zone, the reader's own counts; `7d` is that long ago, `+7d` ahead."""
    if is_relative(text):
        away_ms = int(text[:-1].removeprefix("+")) * UNIT_S[text[-1]] * 1000
        found = ids.format_time(ids.now_ms() + (away_ms if text[0] == "+" else -away_ms))
    else:
        from datetime import datetime

        found = ids.format_time(int(datetime.fromisoformat(text).astimezone().timestamp() * 1000))
    if (
        not found.partition("-")[0].isdecimal() or found[4] != "-"
    ):  # another year would not sort as text
        raise ValueError(f"{text} is out of range")
    return found


def is_relative(text: str) -> bool:
    """Does it mean another moment each time that it is read?"""
    return type(text) is str and text[-1:] in UNIT_S and text[:-1].removeprefix("+").isdecimal()


def add_zone(text, name):
    """A time without a zone, with that of the name; whatever cannot be read stays, for others to refuse."""
    from datetime import datetime
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        found = datetime.fromisoformat(text)
        return text if found.tzinfo else found.replace(tzinfo=ZoneInfo(name)).isoformat()
    except (ValueError, TypeError, OSError, ZoneInfoNotFoundError):
        return text
