"""Log each hook that failed as one line in AI/work/hooks.log; the host sees nothing."""

import os

from ...records.ids import format_time, now_ms
from ...store.place import Place

BYTES_MAX = 200_000
CHARS_MAX = 500


def log_failure(place: Place, event: str, says: str) -> None:
    """Append a line to the log, which is rotated when it is too long; ignore errors."""
    path = os.path.join(place.work, "hooks.log")
    line = f"{format_time(now_ms())} {event}: {' '.join(says.split())[:CHARS_MAX]}\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    try:
        os.makedirs(place.work, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > BYTES_MAX:
            os.replace(path, path + ".1")
        descriptor = os.open(path, flags, 0o644)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(line)
    except OSError:
        pass  # a hook must not fail because its log cannot be written
