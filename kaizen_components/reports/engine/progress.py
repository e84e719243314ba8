"""Show the progress of a long command as one line on stderr, if stderr is a terminal."""

from __future__ import annotations

import sys
import time

WIDTH = 24
INTERVAL_S = 0.1


class Progress:
    """A progress line that is erased at the end of the `with` block.

    Use `with Progress() as progress:` and call `progress.step(done, total)` before each step.
    """

    def __init__(self) -> None:
        self._line_chars = 0
        self._next_s = 0.0
        try:
            self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        except ValueError:  # stderr is closed
            self._is_terminal = False

    def __enter__(self) -> Progress:
        return self

    def step(self, done: int, total: int) -> None:
        """Redraw the line, at most once per INTERVAL_S."""
        if self._is_terminal and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + INTERVAL_S
            filled = WIDTH * done // total
            self._draw_line(f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done} of {total}")

    def __exit__(self, *_: object) -> None:
        if self._line_chars:
            self._draw_line("")

    def _draw_line(self, line: str) -> None:
        sys.stderr.write("\r" + " " * self._line_chars + "\r" + line)
        sys.stderr.flush()
        self._line_chars = len(line)
