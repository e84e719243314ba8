"""L2 on macOS: sandbox-exec. Written from its documentation, never run by us; the probe decides whether it counts."""

import contextlib
import os
import sys
from collections.abc import Iterator

from .box import Box
from .landlock import make_private_folder
from .limits import count_user_tasks

PROGRAM = "/usr/bin/sandbox-exec"
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library",
    "/private/etc",
    "/private/var/db",
    "/dev",
    "/opt/homebrew",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def is_here() -> bool:
    return sys.platform == "darwin" and os.path.exists(PROGRAM)


@contextlib.contextmanager
def open_seatbelt(box: Box) -> Iterator[tuple[list[str], dict[str, str]]]:
    with make_private_folder() as private:
        environment = box.make_environment(private)
        inside = box.confine_command([], count_user_tasks(), environment)
        yield (
            [PROGRAM, "-p", render_profile(box.reads, (box.folder, private)), *inside],
            environment,
        )


def render_profile(reads: tuple[str, ...], writes: tuple[str, ...]) -> str:
    """What is allowed; all else, the network among it, is not."""
    seen = " ".join(f"(subpath {_quoted(path)})" for path in (*SYSTEM, *reads, *writes))
    written = " ".join(
        [f"(subpath {_quoted(path)})" for path in writes]
        + [f"(literal {_quoted(p)})" for p in DEVICES]
    )
    return "\n".join(
        (
            "(version 1)",
            "(deny default)",
            "(allow process-fork process-exec sysctl-read mach-lookup ipc-posix-sem)",
            "(allow signal process-info* (target same-sandbox))",
            "(allow file-read-metadata)",
            f'(allow file-read* (literal "/") {seen})',
            f"(allow file-write* {written})",
        )
    )


def _quoted(path):
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
