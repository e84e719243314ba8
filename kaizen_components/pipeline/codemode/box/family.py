"""End a process with everything that it started, even what left its session to outlive it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def adopt_orphans() -> None:
    """Become the parent of descendants that lose theirs, where the system can do that (Linux)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # then a process that leaves its group lives until the box is closed


def end_process(pid: int, has_ended: bool) -> None:
    """End a child with its group, and every other descendant of this process."""
    _kill(os.killpg, pid)
    if not has_ended:
        _kill(os.kill, pid)  # it may have left its group
        os.waitpid(pid, 0)
    descendants = []
    generation = _list_children(os.getpid())
    while generation:  # all are listed before one is killed: its children would get another parent
        descendants += generation
        generation = [child for parent in generation for child in _list_children(parent)]
    for descendant in descendants:
        _kill(os.kill, descendant)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass  # forget those that ended meanwhile
    except ChildProcessError:
        pass


def _kill(kill: Callable[[int, int], None], pid: int) -> None:
    try:
        kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _list_children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
    except OSError:
        pass  # it has ended meanwhile, or this system has no /proc
    return children
