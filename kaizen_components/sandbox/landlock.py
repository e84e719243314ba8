"""L2 on Linux: the kernel's Landlock, which any process may put on itself; confine.py makes the calls.

It closes files, TCP, and from Linux 6.12 on signals to the outside. It does not close UDP, sockets that are files, what
stat tells, or a daemon's life; and TCP is closed to the command's own ports too.
"""

import contextlib
import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator

from .box import SETTINGS, SYSTEM, Box
from .limits import count_user_tasks

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SHARED = "/dev/shm"  # locks between processes live there; it is the machine's own
CALL, ASK_VERSION = 444, 1


def read_landlock_version() -> int:
    """Of this kernel's Landlock; 0 where there is none."""
    return max(0, ctypes.CDLL(None).syscall(CALL, None, ctypes.c_size_t(0), ASK_VERSION))


@contextlib.contextmanager
def open_landlock(box: Box) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The command line that runs the box, and its environment; its private folder lasts as long."""
    with make_private_folder() as private:
        environment = box.make_environment(private)
        reads = [*SYSTEM, "/proc", "/etc/passwd", "/etc/group", "/etc/hosts", *box.reads]
        reads += [
            path for name in SETTINGS for path in (f"/etc/{name}", os.path.realpath(f"/etc/{name}"))
        ]
        words = [f"read={path}" for path in dict.fromkeys(reads)]
        words += [f"write={path}" for path in (box.folder, private, SHARED, *DEVICES)]
        root = ["drop="] if os.getuid() == 0 else []
        yield (
            box.confine_command(
                ["oom=", "landlock=", *words, *root], count_user_tasks(), environment
            ),
            environment,
        )


@contextlib.contextmanager
def make_private_folder() -> Iterator[str]:
    folder = os.path.realpath(tempfile.mkdtemp(prefix="kaizen-box-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
