"""L2 on macOS: sandbox-exec. Written from its documentation but never run; the probe decides."""

import contextlib
import os
import sys
from collections.abc import Iterator

from .box import Box, Launch
from .landlock import make_private_folder
from .limits import count_user_tasks

PROGRAM = "/usr/bin/sandbox-exec"
SYSTEM = (
    "/usr", "/bin", "/sbin", "/System", "/Library", "/private/etc", "/private/var/db", "/dev",
    "/opt/homebrew",
)  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def is_here() -> bool:
    return sys.platform == "darwin" and os.path.exists(PROGRAM)


@contextlib.contextmanager
def open_seatbelt(box: Box) -> Iterator[Launch]:
    """Open a box at level L2 with a private temporary folder."""
    with make_private_folder() as private:
        environment = box.make_environment(private)
        command_line = box.confine_command([], count_user_tasks(), environment)
        profile = render_profile(box.reads, (box.folder, private))
        yield [PROGRAM, "-p", profile, *command_line], environment


def render_profile(reads: tuple[str, ...], writes: tuple[str, ...]) -> str:
    """Return the rules of sandbox-exec. They deny what they do not name, such as the network."""
    readable = " ".join(f"(subpath {_quote(path)})" for path in (*SYSTEM, *reads, *writes))
    writable = [f"(subpath {_quote(path)})" for path in writes]
    writable += [f"(literal {_quote(path)})" for path in DEVICES]
    return "\n".join(
        (
            "(version 1)",
            "(deny default)",
            "(allow process-fork process-exec sysctl-read mach-lookup ipc-posix-sem)",
            "(allow signal process-info* (target same-sandbox))",
            "(allow file-read-metadata)",
            f'(allow file-read* (literal "/") {readable})',
            f"(allow file-write* {' '.join(writable)})",
        )
    )


def _quote(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
