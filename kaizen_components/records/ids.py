"""Ids and times: `prefix_UTCstamp_10hex`, sortable by time within a kind."""

import os
import time

TIME_FORMAT = "%Y-%m-%dT%H:%M:%S"


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


# The last formatted second: many writes share a second, and strftime is slow.
_last = (0, "1970-01-01T00:00:00")


def format_time(moment_ms: int) -> str:
    """Return text that sorts by time: 2026-11-16T03:15:55.123Z."""
    global _last
    second, text = _last
    if second != moment_ms // 1000:
        second = moment_ms // 1000
        text = time.strftime(TIME_FORMAT, time.gmtime(second))
        _last = (second, text)
    return f"{text}.{moment_ms % 1000:03d}Z"


def make_id(prefix: str, at: str, number: int) -> str:
    """Return an id; `number` is 40 random bits, plus 1 for each record of a transaction."""
    stamp = at.replace("-", "").replace(":", "").replace(".", "")
    return f"{prefix}_{stamp}_{number % 2**40:010x}"


def parse_steps_back(ref: str) -> int | None:
    """Return 0 for @last, N for @last~N (N records before @last), None for any other text."""
    last, tilde, number = ref.partition("~")
    is_number = number.isascii() and number.isdecimal() and len(number) < 5
    return int(number or 0) if last == "@last" and (is_number or not tilde) else None


def random_number() -> int:
    return int.from_bytes(os.urandom(5), "big")
