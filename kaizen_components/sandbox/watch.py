"""A look at what a box uses, for the limits that the system does not keep for a group of processes: memory together,
disk together, processes where root runs them, output. It is called every tenth of a second, and says what is too much.
"""

import os
import time

from .limits import Limits

PATIENCE = (
    20  # after a look at the files, twenty times as long without one: at most 5 % of one core
)
LOOK_S = 1.0  # and at least so long, unless the disk fills meanwhile


class ResourceWatch:
    """Called with the first process of the box and the bytes it has written; says why it must end, or nothing."""

    def __init__(self, folders: tuple[str, ...], limits: Limits):
        self._folders = folders
        self._limits = limits
        self._next = 0.0
        self._free = self._first_free = _free(folders)
        self._before = self._files() if limits.disk_mb else 0

    def __call__(self, pid: int, output_bytes: int) -> str:
        if output_bytes > self._limits.output_mb << 20:
            return f"it wrote more than {self._limits.output_mb} MB of output"
        family = list_descendants(pid)
        if len(family) > self._limits.processes + 8:  # bubblewrap's own and those that just end
            return f"it started more than {self._limits.processes} processes"
        return self._memory(family) or self._disk(family)

    def _memory(self, family):
        most = self._limits.memory_mb << 20
        if sum(map(_resident, family)) > most and sum(map(_share, family)) > most:
            return f"its processes used more than {self._limits.memory_mb} MB of memory together"
        return ""

    def _disk(self, family):
        """The files are counted when it is time, or when the disk has lost an eighth of the limit since."""
        free, most = _free(self._folders), self._limits.disk_mb << 20
        if time.monotonic() < self._next and self._free - free < most // 8:
            return ""
        start = time.monotonic()
        used = self._files() - self._before
        if self._first_free - free > most // 8:
            used += sum(map(_unlinked, family))
        took = time.monotonic() - start
        self._free, self._next = free, time.monotonic() + max(LOOK_S, PATIENCE * took)
        return f"it wrote more than {self._limits.disk_mb} MB of files" if used > most else ""

    def _files(self):
        return sum(map(_size, self._folders))


def list_descendants(pid: int) -> list[int]:
    """A process and all that came from it and still hang together; Linux only, elsewhere none."""
    found, new = [], [pid]
    while new:
        found += new
        new = [child for parent in new for child in _children(parent)]
    return found


def _children(pid):
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
    except OSError:
        pass  # it has ended meanwhile
    return children


def _resident(pid):
    """Memory that is not a copy of a file, counted once for each process."""
    return _added(f"/proc/{pid}/status", (b"RssAnon:", b"RssShmem:"))


def _share(pid):
    """The same with what is shared divided by those who share it; dearer, so it is asked last."""
    return _added(f"/proc/{pid}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:")) or _resident(pid)


def _added(path, names):
    try:
        with open(path, "rb") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith(names))
    except OSError:
        return 0


def _unlinked(pid):
    """Files that have no name any more and live as long as they are open, those in memory among them."""
    total = 0
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            facts = os.stat(f"/proc/{pid}/fd/{name}")
            total += facts.st_blocks * 512 if facts.st_nlink == 0 else 0
    except OSError:
        pass  # closed or ended meanwhile
    return total


def _size(folder):
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue  # removed meanwhile
    return total


def _free(folders):
    if not hasattr(os, "statvfs"):
        return 0
    return min(facts.f_bfree * facts.f_frsize for facts in map(os.statvfs, folders))
