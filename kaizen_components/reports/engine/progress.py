"""How far a long command is: one line on stderr that is wiped at the end, and only where a person looks at it."""

import sys
import time

WIDTH = 24
INTERVAL_S = 0.1


class Progress:
    """`with Progress() as progress:`, then `progress.step(done, total)` before each piece; silent off a terminal."""

    def __init__(self):
        self._shown = 0  # characters on the line
        self._next_s = 0.0

    def __enter__(self):
        return self

    def step(self, done, total):
        if time.monotonic() >= self._next_s and _is_terminal():
            self._next_s = time.monotonic() + INTERVAL_S
            filled = WIDTH * done // total
            self._draw(f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done} of {total}")

    def __exit__(self, *_):
        if self._shown:
            self._draw("")

    def _draw(self, line):
        sys.stderr.write("\r" + " " * self._shown + "\r" + line)
        sys.stderr.flush()
        self._shown = len(line)


def _is_terminal():
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False
