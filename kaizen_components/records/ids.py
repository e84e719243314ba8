"""Ids and times: `prefix_UTCstamp_10hex`, sortable by time within a kind."""

import os
import time

TIME_FORMAT = "%Y-%m-%dT%H:%M:%S"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


_last = (
    0,
    "1970-01-01T00:00:00",
)  # many writes fall into one second; strftime is most of what a stamp costs


def format_time(moment_ms: int) -> str:
    """2026-11-16T03:15:55.123Z: text that sorts by time."""
    global _last
    second, text = _last
    if second != moment_ms // 1000:
        second = moment_ms // 1000
        text = time.strftime(TIME_FORMAT, time.gmtime(second))
        _last = (second, text)
    return f"{text}.{moment_ms % 1000:03d}Z"


def make_id(prefix: str, at: str, number: int) -> str:
    """`number` is the random part: 40 bits, counted up within a transaction so that no two are alike."""
    stamp = at.replace("-", "").replace(":", "").replace(".", "")
    return f"{prefix}_{stamp}_{number % 2**40:010x}"


def parse_steps_back(ref: str) -> int | None:
    """0 for @last, N for @last~N, which is as many records before it; None for any other reference."""
    last, tilde, number = ref.partition("~")
    if last != "@last" or (
        tilde and not (number.isascii() and number.isdecimal() and len(number) < 5)
    ):
        return None
    return int(number or 0)


def random_number() -> int:
    return int.from_bytes(os.urandom(5), "big")
