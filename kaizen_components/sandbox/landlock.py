"""L2 on Linux: the kernel's Landlock, which any process may apply to itself (confine.py does).

It closes files, TCP, and from Linux 6.12 on signals to the outside. It does not close UDP, sockets
that are files, what stat tells, or a daemon's life; and TCP is closed to the command's own ports too.
"""

import contextlib
import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator

from .box import SETTINGS, SYSTEM, Box, Launch
from .limits import count_user_tasks

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SHARED = "/dev/shm"  # locks between processes live there; it is the machine's own
CALL, ASK_VERSION = 444, 1


def read_landlock_version() -> int:
    """Return the version of this kernel's Landlock; 0 if it has none."""
    return max(0, ctypes.CDLL(None).syscall(CALL, None, ctypes.c_size_t(0), ASK_VERSION))


@contextlib.contextmanager
def open_landlock(box: Box) -> Iterator[Launch]:
    """Open a box whose private folder lasts as long as the context."""
    settings = [f"/etc/{name}" for name in SETTINGS]
    reads = [*SYSTEM, "/proc", "/etc/passwd", "/etc/group", "/etc/hosts", *box.reads]
    reads += [*settings, *map(os.path.realpath, settings)]
    with make_private_folder() as private:
        environment = box.make_environment(private)
        words = ["oom=", "landlock=", *(f"read={path}" for path in dict.fromkeys(reads))]
        words += [f"write={path}" for path in (box.folder, private, SHARED, *DEVICES)]
        words += ["drop="] if os.getuid() == 0 else []
        yield box.confine_command(words, count_user_tasks(), environment), environment


@contextlib.contextmanager
def make_private_folder() -> Iterator[str]:
    folder = os.path.realpath(tempfile.mkdtemp(prefix="kaizen-box-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
