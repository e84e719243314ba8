"""L2 on Linux: the kernel's Landlock, which confine.py applies to itself.

It denies other files, TCP (also to the command's own ports), and from Linux 6.12 on signals to the
outside. It does not deny UDP, unix sockets, file metadata, or daemons that outlive the command.
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
SHARED = "/dev/shm"  # for locks between processes; shared with the whole machine
CALL, ASK_VERSION = 444, 1


def read_landlock_version() -> int:
    """Return the version of this kernel's Landlock; 0 if it has none."""
    return max(0, ctypes.CDLL(None).syscall(CALL, None, ctypes.c_size_t(0), ASK_VERSION))


@contextlib.contextmanager
def open_landlock(box: Box) -> Iterator[Launch]:
    """Open a box at level L2 with a private temporary folder."""
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
    """Create a temporary folder and delete it at the end."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="kaizen-box-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
