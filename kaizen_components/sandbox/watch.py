"""Limits that the system does not keep for a group of processes together.

These are memory, disk, output, and the number of processes where root runs them. The watch is
called every tenth of a second.
"""

import os
import time

from .limits import Limits

# After a look at the files, wait twenty times as long as it took: at most 5 % of one core.
PATIENCE = 20
LOOK_S = 1.0  # and at least so long, unless the disk fills meanwhile


class ResourceWatch:
    """Called with the first process of the box and the bytes written; returns why it must end."""

    def __init__(self, folders: tuple[str, ...], limits: Limits):
        self._folders = folders
        self._limits = limits
        self._next_look = 0.0
        self._free = self._first_free = _read_free_bytes(folders)
        self._before = self._measure_files() if limits.disk_mb else 0

    def __call__(self, pid: int, output_bytes: int) -> str:
        limits = self._limits
        if output_bytes > limits.output_mb << 20:
            return f"it wrote more than {limits.output_mb} MB of output"
        family = list_descendants(pid)
        if len(family) > limits.processes + 8:  # bubblewrap's own and those that just end
            return f"it started more than {limits.processes} processes"
        most = limits.memory_mb << 20
        # What several processes share is counted in full at first; the fair share takes longer.
        if sum(map(_measure_memory, family)) > most and sum(map(_measure_share, family)) > most:
            return f"its processes used more than {limits.memory_mb} MB of memory together"
        free, most = _read_free_bytes(self._folders), limits.disk_mb << 20
        if time.monotonic() < self._next_look and self._free - free < most // 8:
            return ""
        start = time.monotonic()
        used = self._measure_files() - self._before
        if self._first_free - free > most // 8:
            used += sum(map(_measure_unlinked, family))
        took_s = time.monotonic() - start
        self._free, self._next_look = free, time.monotonic() + max(LOOK_S, PATIENCE * took_s)
        return f"it wrote more than {limits.disk_mb} MB of files" if used > most else ""

    def _measure_files(self) -> int:
        total = 0
        for top in self._folders:
            for folder, _, names in os.walk(top):
                for name in names:
                    try:
                        total += os.lstat(os.path.join(folder, name)).st_blocks * 512
                    except OSError:
                        continue  # removed meanwhile
        return total


def list_descendants(pid: int) -> list[int]:
    """Return a process and its descendants that are still linked to it; only Linux tells more."""
    family = [pid]
    for parent in family:  # which grows meanwhile
        try:
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                    family += map(int, file.read().split())
        except OSError:
            continue  # it has ended meanwhile
    return family


def _measure_memory(pid: int) -> int:
    """Return the memory that is not a copy of a file."""
    return _sum_fields(f"/proc/{pid}/status", (b"RssAnon:", b"RssShmem:"))


def _measure_share(pid: int) -> int:
    """Return the same with each shared page divided by the number of processes that share it."""
    share = _sum_fields(f"/proc/{pid}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:"))
    return share or _measure_memory(pid)


def _sum_fields(path: str, names: tuple[bytes, ...]) -> int:
    try:
        with open(path, "rb") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith(names))
    except OSError:
        return 0


def _measure_unlinked(pid: int) -> int:
    """Return the size of open files without a name, those in memory among them."""
    total = 0
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            status = os.stat(f"/proc/{pid}/fd/{name}")
            total += status.st_blocks * 512 if status.st_nlink == 0 else 0
    except OSError:
        pass  # closed or ended meanwhile
    return total


def _read_free_bytes(folders: tuple[str, ...]) -> int:
    if not hasattr(os, "statvfs"):
        return 0
    return min(disk.f_bfree * disk.f_frsize for disk in map(os.statvfs, folders))
