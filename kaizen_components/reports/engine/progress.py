"""How far a long command is: one line on stderr that is wiped at the end; only on a terminal."""

from __future__ import annotations

import sys
import time

WIDTH = 24
INTERVAL_S = 0.1


class Progress:
    """`with Progress() as progress:`, then `progress.step(done, total)` before each piece."""

    def __init__(self) -> None:
        self._line_chars = 0
        self._next_s = 0.0
        try:
            self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        except ValueError:  # closed
            self._is_terminal = False

    def __enter__(self) -> Progress:
        return self

    def step(self, done: int, total: int) -> None:
        if self._is_terminal and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + INTERVAL_S
            filled = WIDTH * done // total
            self._draw(f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done} of {total}")

    def __exit__(self, *_: object) -> None:
        if self._line_chars:
            self._draw("")

    def _draw(self, line: str) -> None:
        sys.stderr.write("\r" + " " * self._line_chars + "\r" + line)
        sys.stderr.flush()
        self._line_chars = len(line)
