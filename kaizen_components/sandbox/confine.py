"""Set limits and drop rights, then run the command: the last step of starting a box.

This is a program (`python -I -S confine.py STEP… -- COMMAND…`) and not a preexec function, which
may hang when threads run. It imports nothing of ours. If a step fails, it exits, so that a command
never runs with more rights than intended.
"""

import ctypes
import os
import resource
import struct
import sys

FAILED = 126
NO_NEW_PRIVS, DROP_BOUND = 38, 24  # prctl
KEPT_CAPABILITIES = (1, 2)  # for root: to read and write allowed files of any owner
CREATE, ADD_RULE, RESTRICT = 444, 445, 446  # landlock_*; the same numbers on every machine
EXECUTE, WRITE, READ, LIST, TRUNCATE, IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
MAKE_DEVICE = 1 << 6 | 1 << 11
OF_FILES = EXECUTE | WRITE | READ | TRUNCATE | IOCTL
# Landlock version -> number of its rights on files.
FILES_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
TCP = 0b11  # bind, connect; from version 4
SIGNALS_AND_ABSTRACT_SOCKETS = 0b11  # from version 6
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


def main(words: list[str]) -> None:
    """Apply the steps before "--", then replace this process by the command after it."""
    split = words.index("--")
    steps = [word.partition("=")[::2] for word in words[:split]]
    names = {name for name, _ in steps}
    command = words[split + 1 :]
    try:
        for name, value in steps:
            if name in STEPS:
                STEPS[name](value)
        if "landlock" in names:
            reads = [path for name, path in steps if name == "read"]
            restrict_files(reads, [path for name, path in steps if name == "write"])
        if "still" in names:
            forbid_mounts()
    except (OSError, ValueError) as error:
        exit_with(error)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else FAILED
        exit_with(f"{command[0]}: {error.strerror}", code)


def exit_with(why: object, code: int = FAILED) -> None:
    os.write(2, f"kaizen box: {why}\n".encode("utf-8", "backslashreplace"))
    os._exit(code)


def set_limit(value: str) -> None:
    """Set a limit such as "NPROC:256", but never above the current hard limit."""
    name, _, limit = value.partition(":")
    kind = getattr(resource, "RLIMIT_" + name, None)
    if kind is None:
        return  # this system has no such limit
    hard = resource.getrlimit(kind)[1]
    number = int(limit) if hard == resource.RLIM_INFINITY else min(int(limit), hard)
    resource.setrlimit(kind, (number, number))


def set_user(value: str) -> None:
    """Become the user and group of this number, without other groups."""
    os.setgroups([])
    os.setresgid(*[int(value)] * 3)
    os.setresuid(*[int(value)] * 3)


def make_home(path: str) -> None:
    os.makedirs(path, exist_ok=True)


def enter_folder(path: str) -> None:
    """Make this the current folder."""
    # bubblewrap would enter it as root without capabilities, who cannot enter a folder that is open
    # only to the new user.
    os.chdir(path)
    os.environ["PWD"] = path


def raise_oom_score(value: str) -> None:
    """Let the kernel kill this process first when memory runs out."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def drop_capabilities(value: str) -> None:
    """Remove all but KEPT_CAPABILITIES from what programs can get."""
    for number in range(64):
        if number not in KEPT_CAPABILITIES and LIBC.prctl(DROP_BOUND, number, 0, 0, 0) != 0:
            break  # there is no such capability


def forbid_new_rights(value: str = "") -> None:
    """Set NO_NEW_PRIVS, so that setuid programs give no rights."""
    LIBC.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)


def call_kernel(*arguments: object) -> int:
    """Make a system call of Landlock. Pass integers as machine words."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result: int = LIBC.syscall(*words)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result


def read_landlock_version() -> int:
    return call_kernel(CREATE, None, 0, 1)


def restrict_files(reads: list[str], writes: list[str]) -> None:
    """Allow access to these files only. Also deny TCP and outside signals if the kernel can."""
    version = read_landlock_version()
    every = (1 << FILES_BY_VERSION[min(version, 5)]) - 1
    rules = [(path, EXECUTE | READ | LIST) for path in reads] + [(path, every) for path in writes]
    scopes = SIGNALS_AND_ABSTRACT_SOCKETS if version >= 6 else 0
    enforce_ruleset(every, TCP if version >= 4 else 0, scopes, rules)


def forbid_mounts() -> None:
    """Apply any Landlock rule, because a process under a rule cannot mount.

    Otherwise a command could mount an unlimited file system in memory in its own user namespace.
    """
    try:
        read_landlock_version()
    except OSError:
        return  # bubblewrap protects without it
    enforce_ruleset(MAKE_DEVICE, 0, 0, [])


def enforce_ruleset(files: int, net: int, scopes: int, rules: list[tuple[str, int]]) -> None:
    """Restrict this process by Landlock: `rules` are the rights that each path keeps."""
    # Older kernels require unknown fields to be zero.
    ruleset = call_kernel(CREATE, struct.pack("QQQ", files, net, scopes), 24, 0)
    for path, rights in rules:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        rights &= files if os.path.isdir(path) else files & OF_FILES
        call_kernel(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, place), 0)
        os.close(place)
    forbid_new_rights()
    call_kernel(RESTRICT, ruleset, 0)
    os.close(ruleset)


STEPS = {
    "uid": set_user,
    "rlimit": set_limit,
    "oom": raise_oom_score,
    "drop": drop_capabilities,
    "no-more": forbid_new_rights,
    "home": make_home,
    "folder": enter_folder,
}

if __name__ == "__main__":
    main(sys.argv[1:])
