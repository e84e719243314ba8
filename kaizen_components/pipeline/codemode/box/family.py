"""End a process and everything that it started, even processes that left its session."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends. Only Linux supports that."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # without it, a process that left its group lives until the sandbox is closed


def end_process(pid: int, has_ended: bool) -> None:
    """End a child with its group, and every other descendant of this process."""
    _kill(os.killpg, pid)
    if not has_ended:
        _kill(os.kill, pid)  # the child may have left its group
        os.waitpid(pid, 0)
    descendants = []
    generation = _list_children(os.getpid())
    while generation:  # list all first, because the children of a killed process change parents
        descendants += generation
        generation = [child for parent in generation for child in _list_children(parent)]
    for descendant in descendants:
        _kill(os.kill, descendant)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass  # collect the ended ones
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
        pass  # the process has ended, or this system has no /proc
    return children
