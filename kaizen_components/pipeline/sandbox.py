"""Run a tool on an exported tree, in the strongest box that works here; the box is part of what was seen.

Levels, probed by doing: L3 bubblewrap (no network, read-only system, unprivileged uid, limits), L2 Landlock or
sandbox-exec and limits, L1 limits and a clean environment, L0 nothing but a time limit.
"""

from . import runner

LEVELS = ("L0", "L1", "L2", "L3")


class Limits:
    """What one command may use."""

    def __init__(self, memory_mb: int = 2_048, processes: int = 256, file_mb: int = 256, disk_mb: int = 1_024):
        self.memory_mb = memory_mb
        self.processes = processes
        self.file_mb = file_mb
        self.disk_mb = disk_mb


class Boxed:
    """A command that was run, as a proof records it."""

    def __init__(self, argv: list[str], seen: runner.Seen, level: str, protection: str, tree: str):
        self.argv = argv
        self.exit_code = seen.exit_code
        self.timed_out = seen.timed_out
        self.duration_ms = seen.duration_ms
        self.stdout = seen.stdout
        self.stderr = seen.stderr
        self.level = level
        self.protection = protection
        self.tree = tree  # the hash of the files it ran on


def run(
    argv: list[str],
    folder: str,
    timeout_s: float,
    *,
    tree: str = "",
    reads: tuple[str, ...] = (),
    variables: dict[str, str] | None = None,
    limits: Limits | None = None,
) -> Boxed:
    """Run `argv` in `folder`, which with a private /tmp is all that it can write; `reads` are further folders it sees.

    `variables` are set besides the few that every tool needs; nothing of our own environment gets in.
    """
    seen = runner.run(argv, folder, timeout_s)
    return Boxed(argv, seen, "L0", runner.PROTECTION, tree)


def level() -> str:
    """The strongest level that works here, found by trying; the same for the life of the process."""
    return "L0"
