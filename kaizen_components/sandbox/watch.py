"""Enforce limits that the system does not enforce for several processes together.

These are memory, disk, output, and for root also the number of processes. The watch is called every
tenth of a second.
"""

import os
import time

from .limits import Limits

# Between two looks at the files, wait 20 times as long as one took: at most 5 % of one core.
PATIENCE = 20
LOOK_S = 1.0  # the shortest wait, unless the disk fills quickly


class ResourceWatch:
    """Check the limits of one box. A call returns the limit that was exceeded, or ""."""

    def __init__(self, folders: tuple[str, ...], limits: Limits):
        self._folders = folders
        self._limits = limits
        self._next_look = 0.0
        self._free = self._first_free = _read_free_bytes(folders)
        self._before = self._measure_files() if limits.disk_mb else 0

    def __call__(self, pid: int, output_bytes: int) -> str:
        """Check all limits; look at the files only now and then, because that takes long."""
        limits = self._limits
        if output_bytes > limits.output_mb << 20:
            return f"it wrote more than {limits.output_mb} MB of output"
        family = list_descendants(pid)
        if len(family) > limits.processes + 8:  # for bubblewrap and processes that are ending
            return f"it started more than {limits.processes} processes"
        memory_max = limits.memory_mb << 20
        # Count shared pages in full, which is fast; divide them only if that is too much.
        memory = sum(map(_measure_memory, family))
        if memory > memory_max and sum(map(_measure_share, family)) > memory_max:
            return f"its processes used more than {limits.memory_mb} MB of memory together"
        free = _read_free_bytes(self._folders)
        disk_max = limits.disk_mb << 20
        if time.monotonic() < self._next_look and self._free - free < disk_max // 8:
            return ""
        start = time.monotonic()
        used_bytes = self._measure_files() - self._before
        if self._first_free - free > disk_max // 8:
            used_bytes += sum(map(_measure_unlinked, family))
        took_s = time.monotonic() - start
        self._free = free
        self._next_look = time.monotonic() + max(LOOK_S, PATIENCE * took_s)
        return f"it wrote more than {limits.disk_mb} MB of files" if used_bytes > disk_max else ""

    def _measure_files(self) -> int:
        """Return the bytes on disk of all files below the watched folders."""
        total_bytes = 0
        for top in self._folders:
            for folder, _, names in os.walk(top):
                for name in names:
                    try:
                        total_bytes += os.lstat(os.path.join(folder, name)).st_blocks * 512
                    except OSError:
                        continue  # removed in the meantime
        return total_bytes


def list_descendants(pid: int) -> list[int]:
    """Return a process and its descendants on Linux, elsewhere only the process."""
    family = [pid]
    for parent in family:  # the list grows during the loop
        try:
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                    family += map(int, file.read().split())
        except OSError:
            continue  # it has ended in the meantime
    return family


def _measure_memory(pid: int) -> int:
    """Return the memory in bytes that no file backs, shared pages in full."""
    return _sum_fields(f"/proc/{pid}/status", (b"RssAnon:", b"RssShmem:"))


def _measure_share(pid: int) -> int:
    """Return the same memory, with each shared page divided by the number of its users."""
    share = _sum_fields(f"/proc/{pid}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:"))
    return share or _measure_memory(pid)


def _sum_fields(path: str, names: tuple[bytes, ...]) -> int:
    """Return the sum of these fields of a file in /proc, in bytes; 0 if it has gone."""
    try:
        with open(path, "rb") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith(names))
    except OSError:
        return 0


def _measure_unlinked(pid: int) -> int:
    """Return the size of open files that have no name, including files in memory."""
    total_bytes = 0
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            status = os.stat(f"/proc/{pid}/fd/{name}")
            total_bytes += status.st_blocks * 512 if status.st_nlink == 0 else 0
    except OSError:
        pass  # closed or ended in the meantime
    return total_bytes


def _read_free_bytes(folders: tuple[str, ...]) -> int:
    if not hasattr(os, "statvfs"):
        return 0
    return min(disk.f_bfree * disk.f_frsize for disk in map(os.statvfs, folders))
