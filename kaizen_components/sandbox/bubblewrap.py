"""L3: bubblewrap. Only what is named here exists in the box, and all but its folder is read-only.

The folder has the same path in the box as outside, so that paths in reports mean the same on both
sides. There are two ways to start a box. An ordinary user creates a user namespace ("namespace").
Root gives the command a uid that no account has, and the folder while it runs ("uid"): in a
namespace that root created, a limit on processes would not bind the command.
"""

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from .box import SETTINGS, SYSTEM, Box, Launch
from .limits import count_user_tasks

# Not from PATH, which could hold a bwrap that protects nothing.
PLACES = "/usr/local/bin:/usr/bin:/bin:/run/wrappers/bin:/run/current-system/sw/bin"
PRIVATE = "/tmp"
PRIVATE_MB_MAX = 512  # of /tmp, which is in memory; never more than disk_mb
NOBODY = 65_534
FREE_UIDS = range(0x60000000, 0x70000000)  # above all uids that systems assign
FREE_UIDS_IN_CONTAINER = range(20_000, 60_000)  # where only the first 65,536 exist
# From this Linux on, a limit on processes counts those of the user namespace only.
COUNTED_APART = (5, 14)
UNSHARED = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
LIFETIME = ("--die-with-parent", "--new-session", "--hostname", "box", "--cap-drop", "ALL")


def find_bwrap() -> str | None:
    return shutil.which("bwrap", path=PLACES)


def read_bwrap_version() -> str:
    argv = [find_bwrap() or "bwrap", "--version"]
    output = subprocess.run(argv, capture_output=True, text=True, timeout=10).stdout
    return output.strip().rpartition(" ")[2]


def suggest_install() -> str:
    """Return the command that installs bubblewrap on this machine."""
    installers = {"apt": "apt install", "dnf": "dnf install", "zypper": "zypper install"}
    installers |= {"apk": "apk add", "pacman": "pacman -S"}
    places = f"{PLACES}:/sbin"
    name = next((name for name in installers if shutil.which(name, path=places)), "apt")
    return f"{installers[name]} bubblewrap"


def list_ways() -> tuple[str, ...]:
    """Return the ways to start a box, the best first."""
    return ("uid", "namespace") if os.getuid() == 0 else ("namespace",)


@contextlib.contextmanager
def open_bubblewrap(box: Box, way: str) -> Iterator[Launch]:
    """Open a box at level L3 by one of the ways that list_ways names."""
    environment = box.make_environment(PRIVATE)
    if way == "uid":
        uid = _pick_free_uid()
        other_tasks = 0
        # confine.py needs them to change its uid, which drops them.
        identity = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        words = ["oom=", f"uid={uid}", "still="]
    else:
        linux = re.match(r"(\d+)\.(\d+)", os.uname().release)
        is_counted_apart = linux and tuple(map(int, linux.groups())) >= COUNTED_APART
        uid = NOBODY
        other_tasks = 0 if is_counted_apart else count_user_tasks()
        identity = ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
        words = ["oom=", "still="]
    with tempfile.TemporaryDirectory(prefix="kaizen-etc-") as etc:
        texts = {
            "passwd": f"root:x:0:0::/:/bin/false\nbox:x:{uid}:{uid}::/tmp/home:/bin/sh\n",
            "group": f"root:x:0:\nbox:x:{uid}:\n",
            "hosts": "127.0.0.1 localhost box\n::1 localhost\n",
        }
        os.chmod(etc, 0o755)
        for name, text in texts.items():
            with open(os.path.join(etc, name), "w") as file:
                file.write(text)
            os.chmod(file.name, 0o644)
        command_line = box.confine_command(words, other_tasks, environment)
        options = [*UNSHARED, *LIFETIME, *identity, *list_mounts(box, etc)]
        with lend_folder(box.folder, uid) if way == "uid" else contextlib.nullcontext():
            yield [find_bwrap() or "bwrap", *options, "--", *command_line], environment


def list_mounts(box: Box, etc: str) -> list[str]:
    """Return the options that build the box's file system, in the order in which they apply.

    `etc` is a folder with generated files for /etc.
    """
    size_bytes = min(box.limits.disk_mb, PRIVATE_MB_MAX) << 20
    memory = ["--perms", "1777", "--size", str(size_bytes), "--tmpfs"]
    words = ["--proc", "/proc", "--dev", "/dev", *memory, "/dev/shm", *memory, PRIVATE]
    for path in SYSTEM:
        is_link = os.path.islink(path)
        words += (
            ["--symlink", os.readlink(path), path] if is_link else ["--ro-bind-try", path, path]
        )
    words += ["--perms", "0755", "--dir", "/etc"]
    for name in SETTINGS:
        words += ["--ro-bind-try", os.path.realpath(f"/etc/{name}"), f"/etc/{name}"]
    for name in os.listdir(etc):
        words += ["--ro-bind", os.path.join(etc, name), f"/etc/{name}"]
    for path in box.reads:
        words += [*_make_parents(path), "--ro-bind", os.path.realpath(path), path]
    words += [*_make_parents(box.folder), "--bind", box.folder, box.folder, "--chdir", "/"]
    # Both are in memory, where files would have no limit.
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/"]


def _make_parents(path: str) -> list[str]:
    """Return options that create the folders above a path, readable for all users."""
    words = []
    place = ""
    for part in path.strip("/").split("/")[:-1]:
        place += f"/{part}"
        if place not in (*SYSTEM, "/tmp"):
            words += ["--perms", "0755", "--dir", place]
    return words


def _pick_free_uid() -> int:
    """Return a random uid that no account has.

    With it, the process limit counts only this box, and the box cannot signal other processes.
    """
    with open("/proc/self/uid_map") as file:
        first_uid, _, count = map(int, file.readline().split())
    free_uids = FREE_UIDS if first_uid == 0 and count > FREE_UIDS[-1] else FREE_UIDS_IN_CONTAINER
    return free_uids[secrets.randbelow(len(free_uids))]


@contextlib.contextmanager
def lend_folder(folder: str, uid: int) -> Iterator[None]:
    """Make `uid` the owner of the folder, and change it back at the end. Follow no links.

    The system clears the setuid bit when a file changes its owner, so no file of the box becomes a
    setuid program of root.
    """
    _change_owner(folder, uid, uid)
    try:
        yield
    finally:
        _change_owner(folder, os.getuid(), os.getgid())


def _change_owner(folder: str, uid: int, gid: int) -> None:
    """Change the owner of a folder and all that is in it."""
    # By open folders (fwalk), not by paths: a process that is still ending could replace a
    # folder by a link.
    os.chown(folder, uid, gid, follow_symlinks=False)
    for _, folders, files, place in os.fwalk(folder):
        for name in (*folders, *files):
            os.chown(name, uid, gid, dir_fd=place, follow_symlinks=False)
