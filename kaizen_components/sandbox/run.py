"""Run a tool on an exported tree, in the strongest box that works here; the box is part of what was seen.

    L3  bubblewrap: no network, read-only system, unprivileged uid, limits
    L2  Landlock or sandbox-exec, and limits
    L1  limits and a clean environment
    L0  a time limit, an output cap, a scrubbed environment

Found by trying to get out, not by a version. Nobody can ask for less, but KAIZEN_SANDBOX_MAX, which says so in the
proof. docs/sandbox.md has what each level denies and what it does not.
"""

import contextlib
import os
import sys
from collections.abc import Iterator

from ..errors import Unavailable, Usage
from . import bubblewrap, landlock, probe, process, seatbelt
from .box import Box
from .limits import Limits, count_user_tasks
from .watch import ResourceWatch

LEVELS = ("L0", "L1", "L2", "L3")
MUST = {  # what a box has to hold against, to count as its level
    "L1": ("limits", "environment"),
    "L2": ("limits", "environment", "read", "write", "system"),
    "L3": ("limits", "environment", "read", "write", "system", "network", "user", "forks"),
}
_found: dict[str, tuple[str, str]] = {}  # level -> how it is done, or "" and why it cannot be


class SandboxResult:
    """A command that was run, as a proof records it."""

    def __init__(
        self, argv: list[str], seen: process.ProcessResult, level: str, protection: str, tree: str
    ):
        self.argv = argv
        self.exit_code = seen.exit_code
        self.timed_out = seen.timed_out
        self.stopped = seen.stopped  # which limit ended it, in words; "" when none did
        self.duration_ms = seen.duration_ms
        self.stdout = seen.stdout
        self.stderr = seen.stderr
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
    """Run `argv` in `folder`, which with a private /tmp is all that it can write; `reads` are further folders it sees.

    `variables` are set besides the few that every tool needs; nothing of our own environment gets in. One at a time in
    a folder: as root it changes hands for the run.
    """
    box, chosen = Box(argv, folder, timeout_s, reads, variables, limits), detect_level()
    with _opened(chosen, box) as (command, environment):
        watch = None if chosen == "L0" else ResourceWatch(_written(box, environment), box.limits)
        seen = process.run_process(
            command, box.folder, timeout_s, env=environment, echo=False, watch=watch
        )
    return SandboxResult(argv, seen, chosen, describe_protection(chosen, box), tree)


def detect_level() -> str:
    """The strongest level that works here, found by trying; the same for the life of the process."""
    most = _most()
    return next(
        name
        for name in reversed(LEVELS[: LEVELS.index(most) + 1])
        if name == "L0" or level_works(name)
    )


def level_works(name: str) -> bool:
    return bool(_way(name)[0])


def describe_level(name: str) -> str:
    """By what a level that works is made, such as "bubblewrap 0.8.0"."""
    return _way(name)[1] if level_works(name) else ""


def explain_level(name: str) -> str:
    """What stands in the way of a level, in words; "" when nothing does."""
    return "" if level_works(name) else _way(name)[1]


def require_level(minimum: str) -> str:
    """The level that will be used; refuses when it is weaker than `minimum`."""
    chosen = detect_level()
    if LEVELS.index(chosen) >= LEVELS.index(minimum):
        return chosen
    lowered = LEVELS.index(_most()) < LEVELS.index(minimum)
    raise Unavailable(
        "sandbox_too_weak",
        f"This needs a sandbox of level {minimum}, and here is {chosen}.",
        f"KAIZEN_SANDBOX_MAX allows no more than {_most()}." if lowered else explain_level(minimum),
        "Unset KAIZEN_SANDBOX_MAX." if lowered else suggest_remedy(),
    )


def suggest_remedy() -> str:
    """How to get the strongest level here."""
    if not sys.platform.startswith("linux"):
        return "Only Linux has level L3: run it there, or in a Linux container or virtual machine."
    if bubblewrap.find_bwrap() is None:
        return "Install bubblewrap, such as by: apt install bubblewrap"
    return (
        "Let bubblewrap (0.7 or newer) make namespaces: sysctl kernel.unprivileged_userns_clone=1 or "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container, as root with CAP_SYS_ADMIN."
    )


def describe_protection(name: str, box: Box) -> str:
    """One sentence for the proof."""
    numbers = box.limits.says(box.timeout_s)
    lowered = "" if _most() == "L3" else f" (held down by KAIZEN_SANDBOX_MAX={_most()})"
    if name == "L3":
        says = (
            f"L3 {describe_level('L3')}: no network, read-only system, unprivileged uid, {numbers}"
        )
    elif name == "L2":
        says = f"L2 {describe_level('L2')}, files outside closed, {numbers}"
    else:
        says = f"L1: clean environment, {numbers}" if name == "L1" else f"L0: {process.PROTECTION}"
    return says + lowered


def _most():
    most = os.environ.get("KAIZEN_SANDBOX_MAX", "L3")
    if most not in LEVELS:
        raise Usage(
            "sandbox_max",
            f"KAIZEN_SANDBOX_MAX is {most[:20]!r}.",
            "It names the strongest sandbox that a test wants to see.",
            f"Unset it, or give one of {', '.join(LEVELS)}.",
        )
    return most


def _way(name):
    if name not in _found:
        _found[name] = {"L1": _find_l1, "L2": _find_l2, "L3": _find_l3}[name]()
    return _found[name]


def _find_l3():
    if bubblewrap.find_bwrap() is None:
        return "", "bubblewrap is not installed."
    why = ""
    for way in bubblewrap.list_ways():
        said = probe.probe_box(
            lambda box, way=way: bubblewrap.open_bubblewrap(box, way), MUST["L3"]
        )
        if not said:
            return way, f"bubblewrap {bubblewrap.read_bwrap_version()}"
        why = why or f"bubblewrap: {said}."
    return "", why


def _find_l2():
    if seatbelt.is_here():
        said = probe.probe_box(seatbelt.open_seatbelt, MUST["L2"])
        return ("", f"sandbox-exec: {said}.") if said else ("seatbelt", "sandbox-exec: no network")
    known = landlock.read_landlock_version() if sys.platform.startswith("linux") else 0
    if not known:
        return "", "This kernel has no Landlock."
    said = probe.probe_box(landlock.open_landlock, MUST["L2"])
    closed = f"Landlock {known}" + (": no TCP" if known >= 4 else "")
    return ("", f"Landlock: {said}.") if said else ("landlock", closed)


def _find_l1():
    if os.name != "posix":
        return "", "This system has no resource limits."
    said = probe.probe_box(_limited, MUST["L1"])
    return ("", said) if said else ("limits", "limits")


@contextlib.contextmanager
def _limited(box: Box) -> Iterator[tuple[list[str], dict[str, str]]]:
    with landlock.make_private_folder() as private:
        environment = box.make_environment(private)
        words = ["oom=", "no-more="] if sys.platform.startswith("linux") else []
        yield box.confine_command(words, count_user_tasks(), environment), environment


def _opened(name, box):
    if name == "L3":
        return bubblewrap.open_bubblewrap(box, _way("L3")[0])
    if name == "L2":
        is_seatbelt = _way("L2")[0] == "seatbelt"
        return seatbelt.open_seatbelt(box) if is_seatbelt else landlock.open_landlock(box)
    if name == "L1":
        return _limited(box)
    return contextlib.nullcontext((box.argv, {**process.scrub_environment(), **box.variables}))


def _written(box, environment):
    """The folders of this machine's disk that the box can fill."""
    private = environment["TMPDIR"]
    return (box.folder,) if private == bubblewrap.PRIVATE else (box.folder, private)
