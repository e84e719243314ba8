"""Show a run's progress on stderr: one line per step, with a live spinner on a terminal."""

import os
import sys
import threading
import time

from ..verdict import Verdict

INTERVAL_S = 0.1
SPINNER = "|/-\\"
COLUMNS = 80


class Progress:
    """Writes a line per step; a thread redraws the line of the current step."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        try:
            self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        except ValueError:  # stderr is closed
            self._is_terminal = False
        self._name = ""
        self._start_s = 0.0
        self._answer_chars = 0
        self._line_chars = 0  # of the live line
        self._turn = 0
        self._stop = threading.Event()
        self._drawer: threading.Thread | None = None

    def begin_run(self, run_id: str, what: str) -> None:
        """Write the run's id, which is needed to resume it after an interrupt."""
        self._write(f"{run_id}  {what}\n")

    def begin_step(self, stage: str, attempt: int) -> None:
        """Start the live line of a step."""
        with self._lock:
            self._name = f"{stage} {attempt}"
            self._start_s = time.monotonic()
            self._answer_chars = 0
        if self._is_terminal and self._drawer is None:
            self._drawer = threading.Thread(target=self._draw, daemon=True)
            self._drawer.start()

    def count_text(self, piece: str) -> None:
        """Count the characters of an answer that is being received."""
        self._answer_chars += len(piece)

    def end_step(self, stage: str, attempt: int, verdict: Verdict) -> None:
        """Replace the live line by the step's final line."""
        count = len(verdict.findings)
        findings = f"  {count} finding{'s' * (count != 1)}" if count else ""
        with self._lock:
            seconds = time.monotonic() - self._start_s if self._name else 0.0
            self._name = ""
            line = f"{stage} {attempt}  {verdict.reason}  {seconds:.1f} s{findings}"
            self._write(self._erase_line() + line + "\n")
            self._line_chars = 0

    def close(self) -> None:
        """Stop drawing, and erase the live line of an unfinished step."""
        self._stop.set()
        if self._drawer is not None:
            self._drawer.join(1)
        with self._lock:
            self._name = ""
            if self._line_chars:
                self._write(self._erase_line())
                self._line_chars = 0

    def _draw(self) -> None:
        """Redraw the live line until `close`."""
        while not self._stop.wait(INTERVAL_S):
            with self._lock:
                if self._name:
                    self._turn += 1
                    seconds = time.monotonic() - self._start_s
                    chars = f"  {self._answer_chars:,} characters" if self._answer_chars else ""
                    line = f"{SPINNER[self._turn % 4]} {self._name}  {seconds:.0f} s{chars}"
                    # A wrapped line could not be erased.
                    line = line[: max(_measure_terminal() - 1, 0)]
                    self._write(self._erase_line() + line)
                    self._line_chars = len(line)

    def _erase_line(self) -> str:
        """Return the text that erases the live line. The terminal may have become narrower."""
        blanks = " " * min(self._line_chars, max(_measure_terminal() - 1, 0))
        return f"\r{blanks}\r" if self._line_chars else ""

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):  # stderr is gone; the run goes on
            self._stop.set()


def _measure_terminal() -> int:
    """Return the width of the terminal behind stderr, or COLUMNS without one."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    except (OSError, ValueError, AttributeError):
        return COLUMNS
