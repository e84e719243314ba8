"""What a process started, and an end to all of it: also what left its session to outlive it."""

import os
import signal

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def adopt() -> None:
    """Whatever loses its parent below us becomes our child, where the system can do that (Linux)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # then a process that leaves its group lives until the box is closed


def end(pid: int, ended: bool) -> None:
    """End a child with its group, and everything else that hangs on us."""
    _kill(os.killpg, pid)
    if not ended:
        _kill(os.kill, pid)  # it may have left its group
        os.waitpid(pid, 0)
    for other in _below(os.getpid()):
        _kill(os.kill, other)
    _reap()


def _kill(kill, pid):
    try:
        kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _reap():
    """Take leave of those that ended meanwhile."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _below(pid):
    found, new = [], _children(pid)
    while new:
        found += new
        new = [child for parent in new for child in _children(parent)]
    return found


def _children(pid):
    children: list = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
    except OSError:
        pass  # it has ended meanwhile, or this system has no /proc
    return children
