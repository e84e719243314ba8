"""How far a run is, on stderr: on a terminal one line for each step, alive while it goes on; else one when it ends."""

import os
import sys
import threading
import time

from ..verdict import Verdict

INTERVAL_S = 0.1  # ten times a second at most
SPINNER = "|/-\\"
COLUMNS = 80


class Progress:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_alive = _is_terminal()
        self._name = ""
        self._begun = 0.0
        self._chars = 0
        self._shown = 0  # characters on the line
        self._turn = 0
        self._over = threading.Event()
        self._drawer: threading.Thread | None = None

    def begin(self, run_id: str, what: str) -> None:
        """The id comes first: whoever has to interrupt the run needs it to go on."""
        self._write(f"{run_id}  {what}\n")

    def step(self, stage: str, attempt: int) -> None:
        """A step begins."""
        with self._lock:
            self._name, self._begun, self._chars = f"{stage} {attempt}", time.monotonic(), 0
        if self._is_alive and self._drawer is None:
            self._drawer = threading.Thread(target=self._draw_on, daemon=True)
            self._drawer.start()

    def text(self, piece: str) -> None:
        """A piece of an answer came; it is counted, not shown."""
        self._chars += len(piece)

    def end_step(self, stage: str, attempt: int, verdict: Verdict) -> None:
        """A step ended: its line stays."""
        found = len(verdict.findings)
        findings = f"  {found} finding{'s' * (found != 1)}" if found else ""
        with self._lock:
            seconds = time.monotonic() - self._begun if self._name else 0.0
            self._name = ""
            line = f"{stage} {attempt}  {verdict.reason}  {seconds:.1f} s{findings}"
            self._write(self._wiped() + line + "\n")
            self._shown = 0

    def close(self) -> None:
        """Nothing is drawn any more; a step that did not end leaves no line."""
        self._over.set()
        if self._drawer is not None:
            self._drawer.join(1)
        with self._lock:
            self._name = ""
            if self._shown:
                self._write(self._wiped())
                self._shown = 0

    def _draw_on(self):
        while not self._over.wait(INTERVAL_S):
            with self._lock:
                if self._name:
                    self._draw()

    def _draw(self):
        self._turn += 1
        told = f"  {self._chars:,} characters" if self._chars else ""
        line = (
            f"{SPINNER[self._turn % 4]} {self._name}  {time.monotonic() - self._begun:.0f} s{told}"
        )
        line = line[
            : max(_terminal_width() - 1, 0)
        ]  # a longer one would wrap, and could not be wiped
        self._write(self._wiped() + line)
        self._shown = len(line)

    def _wiped(self):
        blanks = " " * min(self._shown, max(_terminal_width() - 1, 0))  # it may be narrower by now
        return f"\r{blanks}\r" if self._shown else ""

    def _write(self, text):
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):  # nobody looks any more; the run goes on
            self._over.set()


def _is_terminal():
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False


def _terminal_width():
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    except (OSError, ValueError, AttributeError):
        return COLUMNS
