"""What one command may use, and how the system is told."""

import os


class Limits:
    """What one command may use, together with everything that it starts."""

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
        self.disk_mb = disk_mb  # of all that it writes
        self.open_files = open_files
        self.output_mb = output_mb

    def describe(self, timeout_s: float) -> str:
        return f"{self.memory_mb} MB, {self.processes} processes, {timeout_s:g} s"

    def list_rlimits(self, timeout_s: float, others: int = 0) -> dict[str, int]:
        """Return limits by their names in the module `resource`.

        `others` are processes of the same user that count too. Memory is limited as DATA, not as
        AS: node, Go and thread arenas reserve gigabytes that they never touch.
        """
        return {
            "CORE": 0,
            "DATA": self.memory_mb << 20,
            "FSIZE": self.file_mb << 20,
            "NOFILE": self.open_files,
            "NPROC": self.processes + others,
            # For the case that we are killed and cannot stop the clock.
            "CPU": round(timeout_s + 1) * (os.cpu_count() or 1),
        }


def count_user_tasks() -> int:
    """Count this user's tasks: outside of a user namespace RLIMIT_NPROC counts them all."""
    count = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        try:
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue  # it has ended meanwhile
    return count
