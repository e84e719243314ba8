"""What one command may use, and the rlimits that enforce it."""

import os


class Limits:
    """What one command and all its processes may use together."""

    def __init__(
        self,
        memory_mb: int = 2_048,
        processes: int = 256,
        file_mb: int = 256,
        disk_mb: int = 1_024,
        open_files: int = 1_024,
        output_mb: int = 256,
    ):
        self.memory_mb = memory_mb
        self.processes = processes  # and threads
        self.file_mb = file_mb  # of one file
        self.disk_mb = disk_mb  # of all files that it writes
        self.open_files = open_files
        self.output_mb = output_mb

    def describe(self, timeout_s: float) -> str:
        return f"{self.memory_mb} MB, {self.processes} processes, {timeout_s:g} s"

    def list_rlimits(self, timeout_s: float, other_tasks: int = 0) -> dict[str, int]:
        """Return limits by their names in the module `resource`.

        `other_tasks` is the number of this user's other tasks, which NPROC counts too. Memory is
        limited by DATA, not by AS: node, Go and thread arenas reserve gigabytes without using them.
        """
        return {
            "CORE": 0,
            "DATA": self.memory_mb << 20,
            "FSIZE": self.file_mb << 20,
            "NOFILE": self.open_files,
            "NPROC": self.processes + other_tasks,
            # A backstop in case we are killed and cannot enforce the time limit.
            "CPU": round(timeout_s + 1) * (os.cpu_count() or 1),
        }


def count_user_tasks() -> int:
    """Count this user's tasks. Outside a user namespace, RLIMIT_NPROC counts them all."""
    count = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        try:
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue  # it has ended in the meantime
    return count
