"""Ids and times: `prefix_UTCstamp_10hex`, sortable by time within a kind."""

import os
import time

TIME_FORMAT = "%Y-%m-%dT%H:%M:%S"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def iso(moment_ms: int) -> str:
    """2026-11-16T03:15:55.123Z: text that sorts by time."""
    return f"{time.strftime(TIME_FORMAT, time.gmtime(moment_ms // 1000))}.{moment_ms % 1000:03d}Z"


def new(prefix: str, at: str, number: int) -> str:
    """`number` is the random part: 40 bits, counted up within a transaction so that no two are alike."""
    stamp = at.replace("-", "").replace(":", "").replace(".", "")
    return f"{prefix}_{stamp}_{number % 2**40:010x}"


def random_number() -> int:
    return int.from_bytes(os.urandom(5), "big")
