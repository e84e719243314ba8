"""Times as people write them: a date, a time, or an age."""

from . import ids

UNIT_S = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_moment(text: str) -> str:
    """UTC text that compares with `at`. Without a zone, the reader's own counts; `7d` is that long ago."""
    if text[-1:] in UNIT_S and text[:-1].isdecimal():
        return ids.iso(ids.now_ms() - int(text[:-1]) * UNIT_S[text[-1]] * 1000)
    from datetime import datetime

    return ids.iso(int(datetime.fromisoformat(text).astimezone().timestamp() * 1000))
