"""Run a tool on an exported tree in the strongest sandbox that works here.

    L3  bubblewrap: no network, read-only system, unprivileged uid, limits
    L2  Landlock or sandbox-exec, and limits
    L1  limits and a clean environment
    L0  a time limit, an output cap, a scrubbed environment

A level works if a program in it tries to get out and fails; versions do not count. Only
KAIZEN_SANDBOX_MAX lowers the level, and the proof then says so. docs/sandbox.md lists what each
level denies.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from functools import partial

from ..errors import Unavailable, Usage
from . import bubblewrap, landlock, probe, process, seatbelt
from .box import Box, Launch
from .limits import Limits, count_user_tasks
from .watch import ResourceWatch

LEVELS = ("L0", "L1", "L2", "L3")
MUST = {  # escape attempts that a box of each level must stop
    "L1": ("limits", "environment"),
    "L2": ("limits", "environment", "read", "write", "system"),
    "L3": ("limits", "environment", "read", "write", "system", "network", "user", "forks"),
}
_ways: dict[str, tuple[str, str]] = {}  # level -> (way, maker), or ("", why it does not work)


class SandboxResult:
    """The result of a command in the sandbox, as a proof records it."""

    def __init__(
        self, argv: list[str], result: process.ProcessResult, level: str, protection: str, tree: str
    ):
        self.argv = argv
        self.exit_code = result.exit_code
        self.timed_out = result.timed_out
        self.stopped = result.stopped  # which limit ended it, in words; "" when none did
        self.duration_ms = result.duration_ms
        self.stdout = result.stdout
        self.stderr = result.stderr
        self.level = level
        self.protection = protection
        self.tree = tree  # the hash of the files it ran on


def run_in_sandbox(
    argv: list[str],
    folder: str,
    timeout_s: float,
    *,
    tree: str = "",
    reads: tuple[str, ...] = (),
    variables: dict[str, str] | None = None,
    limits: Limits | None = None,
) -> SandboxResult:
    """Run `argv` in `folder`. It can write there and in a private /tmp, and read `reads`.

    It gets `variables` and the few that every tool needs, and nothing else of our environment.
    Run one command at a time in a folder: root makes another user its owner during the run.
    """
    box = Box(argv, folder, timeout_s, reads, variables, limits)
    level = detect_level()
    if level == "L0":
        env = {**process.scrub_environment(), **box.variables}
        result = process.run_process(argv, box.folder, timeout_s, env=env, echo=False)
    else:
        with OPENERS[_find_way(level)[0]](box) as (command, env):
            private = env["TMPDIR"]  # on this machine's disk, unless bubblewrap makes it in memory
            folders = (box.folder,) if private == bubblewrap.PRIVATE else (box.folder, private)
            watch = ResourceWatch(folders, box.limits)
            result = process.run_process(
                command, box.folder, timeout_s, env=env, echo=False, watch=watch
            )
    return SandboxResult(argv, result, level, describe_protection(level, box), tree)


def detect_level() -> str:
    """Return the strongest level that works here, found by trying once per process."""
    levels = LEVELS[: LEVELS.index(_read_level_max()) + 1]
    return next(level for level in reversed(levels) if level == "L0" or level_works(level))


def level_works(level: str) -> bool:
    return bool(_find_way(level)[0])


def describe_level(level: str) -> str:
    """Return what makes a working level, such as "bubblewrap 0.8.0"; otherwise ""."""
    return _find_way(level)[1] if level_works(level) else ""


def explain_level(level: str) -> str:
    """Return why a level does not work; "" if it does."""
    return "" if level_works(level) else _find_way(level)[1]


def require_level(minimum: str) -> str:
    """Return the level that works here; refuse one below `minimum`."""
    level = detect_level()
    level_max = _read_level_max()
    if LEVELS.index(level) >= LEVELS.index(minimum):
        return level
    why = f"KAIZEN_SANDBOX_MAX allows at most level {level_max}."
    remedy = "Unset KAIZEN_SANDBOX_MAX."
    if LEVELS.index(level_max) >= LEVELS.index(minimum):
        why = explain_level(minimum)
        remedy = suggest_remedy()
    what = f"Sandbox level {minimum} is required, but only level {level} works here."
    raise Unavailable("sandbox_too_weak", what, why, remedy)


def suggest_remedy() -> str:
    """Return how to get the strongest level here."""
    if not sys.platform.startswith("linux"):
        return "Only Linux has level L3: run it there, or in a Linux container or virtual machine."
    if bubblewrap.find_bwrap() is None:
        return f"For level L3 install bubblewrap: {bubblewrap.suggest_install()}"
    return (
        "Let bubblewrap (0.7 or newer) make namespaces: sysctl kernel.unprivileged_userns_clone=1 "
        "or kernel.apparmor_restrict_unprivileged_userns=0; in a container, as root with "
        "CAP_SYS_ADMIN."
    )


def describe_protection(level: str, box: Box) -> str:
    """Return the sentence about the sandbox that a proof records."""
    level_max = _read_level_max()
    limits = box.limits.describe(box.timeout_s)
    if level == "L3":
        made_by = describe_level(level)
        text = f"L3 {made_by}: no network, read-only system, unprivileged uid, {limits}"
    elif level == "L2":
        text = f"L2 {describe_level(level)}, files outside closed, {limits}"
    else:
        text = f"L1: clean environment, {limits}" if level == "L1" else f"L0: {process.PROTECTION}"
    return text if level_max == "L3" else f"{text} (limited by KAIZEN_SANDBOX_MAX={level_max})"


def _read_level_max() -> str:
    """Return the level in KAIZEN_SANDBOX_MAX, by default L3; refuse other values."""
    level_max = os.environ.get("KAIZEN_SANDBOX_MAX", "L3")
    if level_max not in LEVELS:
        raise Usage(
            "sandbox_max",
            f"KAIZEN_SANDBOX_MAX has the invalid value {level_max[:20]!r}.",
            "It names the strongest sandbox level that may be used.",
            f"Unset it, or set it to one of {', '.join(LEVELS)}.",
        )
    return level_max


@contextlib.contextmanager
def open_limited(box: Box) -> Iterator[Launch]:
    """Open a box at level L1: limits and a clean environment."""
    with landlock.make_private_folder() as private:
        environment = box.make_environment(private)
        words = ["oom=", "no-more="] if sys.platform.startswith("linux") else []
        yield box.confine_command(words, count_user_tasks(), environment), environment


OPENERS: dict[str, probe.Opener] = {  # way -> what opens a box
    "uid": partial(bubblewrap.open_bubblewrap, way="uid"),
    "namespace": partial(bubblewrap.open_bubblewrap, way="namespace"),
    "landlock": landlock.open_landlock,
    "seatbelt": seatbelt.open_seatbelt,
    "limits": open_limited,
}


def _find_way(level: str) -> tuple[str, str]:
    """Return the way to a level and its maker, or ("", why it does not work)."""
    if level not in _ways:
        _ways[level] = _probe_level(level)
    return _ways[level]


def _probe_level(level: str) -> tuple[str, str]:
    """Try each way to a level; return the first that works and its maker, or ("", why)."""
    ways: tuple[str, ...]
    if level == "L3":
        maker, details, why = "bubblewrap", "", "bubblewrap is not installed."
        ways = bubblewrap.list_ways() if bubblewrap.find_bwrap() else ()
    elif level == "L2" and seatbelt.is_here():
        maker, details, why, ways = "sandbox-exec", ": no network", "", ("seatbelt",)
    elif level == "L2":
        version = landlock.read_landlock_version() if sys.platform.startswith("linux") else 0
        maker, why = "Landlock", "This kernel has no Landlock."
        details = f" {version}: no TCP" if version >= 4 else f" {version}"
        ways = ("landlock",) if version else ()
    else:
        maker, details, why = "limits", "", "This system has no resource limits."
        ways = ("limits",) if os.name == "posix" else ()
    failures = []
    for way in ways:
        problem = probe.probe_box(OPENERS[way], MUST[level])
        if not problem:
            details = f" {bubblewrap.read_bwrap_version()}" if level == "L3" else details
            return way, maker + details
        failures.append(f"{maker}: {problem}.")
    return "", failures[0] if failures else why
