"""L3: a box of its own by bubblewrap. Nothing of the machine is there but what is named here, and that is read-only.

The folder lies in the box where it lies outside, so that paths in reports and messages mean the same on both sides.
Two ways in. "namespace": as an ordinary user, by a user namespace. "uid": as root, who would not be bound by a limit on
processes even as somebody else in a namespace; the command gets a uid that nobody has, and for that time the folder.
"""

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from .box import SETTINGS, SYSTEM, Box
from .limits import count_user_tasks

# Not from the PATH: whoever sets that could bring a bwrap that protects nothing.
PLACES = "/usr/local/bin:/usr/bin:/bin:/run/wrappers/bin:/run/current-system/sw/bin"
PRIVATE = "/tmp"
PRIVATE_MB_MAX = 512  # of /tmp, which is memory; never more than disk_mb
NOBODY = 65_534
FREE_UIDS = range(0x60000000, 0x70000000)  # above what systems hand out, also for containers
FREE_UIDS_IN_CONTAINER = range(20_000, 60_000)  # where only the first 65,536 exist
COUNTED_APART = (
    5,
    14,
)  # from this Linux on, a limit on processes counts those of the user namespace only

APART = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
ENDS = ("--die-with-parent", "--new-session", "--hostname", "box", "--cap-drop", "ALL")


def find_bwrap() -> str | None:
    return shutil.which("bwrap", path=PLACES)


def read_bwrap_version() -> str:
    asked = subprocess.run(
        [find_bwrap() or "bwrap", "--version"], capture_output=True, text=True, timeout=10
    )
    return asked.stdout.strip().rpartition(" ")[2]


def list_ways() -> tuple[str, ...]:
    """The ways in, the best first."""
    return ("uid", "namespace") if os.getuid() == 0 else ("namespace",)


@contextlib.contextmanager
def open_bubblewrap(box: Box, way: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The command line that runs the box, and its environment."""
    environment = box.make_environment(PRIVATE)
    uid = _free_uid() if way == "uid" else NOBODY
    with tempfile.TemporaryDirectory(prefix="kaizen-etc-") as etc:
        _accounts(etc, uid)
        words = ["oom=", *([f"uid={uid}"] if way == "uid" else []), "still="]
        inside = box.confine_command(
            words, 0 if way == "uid" or _counted_apart() else count_user_tasks(), environment
        )
        command = [
            find_bwrap() or "bwrap",
            *APART,
            *ENDS,
            *_identity(way),
            *_view(box, etc),
            "--",
            *inside,
        ]
        with _lent(box.folder, uid) if way == "uid" else contextlib.nullcontext():
            yield command, environment


def _identity(way):
    if way == "uid":
        return ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]  # confine.py uses them up
    return ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]


def _view(box, etc):
    """Everything that is there, in the order in which it is put there."""
    most = box.limits.disk_mb << 20
    memory = ["--perms", "1777", "--size", str(min(most, PRIVATE_MB_MAX << 20)), "--tmpfs"]
    words = ["--proc", "/proc", "--dev", "/dev", *memory, "/dev/shm", *memory, PRIVATE]
    for path in SYSTEM:
        words += _linked(path) if os.path.islink(path) else ["--ro-bind-try", path, path]
    words += ["--perms", "0755", "--dir", "/etc"]
    for name in SETTINGS:
        words += ["--ro-bind-try", os.path.realpath(f"/etc/{name}"), f"/etc/{name}"]
    for name in os.listdir(etc):
        words += ["--ro-bind", os.path.join(etc, name), f"/etc/{name}"]
    for path in box.reads:
        words += [*_above(path), "--ro-bind", os.path.realpath(path), path]
    words += [*_above(box.folder), "--bind", box.folder, box.folder, "--chdir", "/"]
    return [
        *words,
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
    ]  # what is left of them is memory without a limit


def _linked(path):
    return ["--symlink", os.readlink(path), path]


def _above(path):
    """The folders above a place, open to all: bubblewrap would copy the modes that they have outside."""
    parts = path.strip("/").split("/")[:-1]
    places = ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]
    return [
        word
        for place in places
        if place not in (*SYSTEM, "/tmp")
        for word in ("--perms", "0755", "--dir", place)
    ]


def _accounts(etc, uid):
    made = {
        "passwd": f"root:x:0:0::/:/bin/false\nbox:x:{uid}:{uid}::/tmp/home:/bin/sh\n",
        "group": f"root:x:0:\nbox:x:{uid}:\n",
        "hosts": "127.0.0.1 localhost box\n::1 localhost\n",
    }
    os.chmod(etc, 0o755)
    for name, text in made.items():
        with open(os.path.join(etc, name), "w") as file:
            file.write(text)
        os.chmod(file.name, 0o644)


def _free_uid():
    """Nobody else has it, so that the limit on processes counts only this box, and no other box can be signalled."""
    with open("/proc/self/uid_map") as file:
        inside, _, count = map(int, file.readline().split())
    free = FREE_UIDS if inside == 0 and count > FREE_UIDS[-1] else FREE_UIDS_IN_CONTAINER
    return free[secrets.randbelow(len(free))]


def _counted_apart():
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return found is not None and tuple(map(int, found.groups())) >= COUNTED_APART


@contextlib.contextmanager
def _lent(folder, uid):
    """The folder belongs to the box while it runs, and to us again when it is over; links are not followed.

    The system takes the setuid bit from a file that changes hands, so that none comes back as a program of root's. By
    open folders (fwalk), not by paths: what is just being killed might still swap one for a link.
    """
    _give(folder, uid, uid)
    try:
        yield
    finally:
        _give(folder, os.getuid(), os.getgid())


def _give(folder, uid, gid):
    os.chown(folder, uid, gid, follow_symlinks=False)
    for _, folders, files, place in os.fwalk(folder):
        for name in (*folders, *files):
            os.chown(name, uid, gid, dir_fd=place, follow_symlinks=False)
