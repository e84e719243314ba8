"""The last step before a command: takes limits and rights away from this process, then becomes the command.

A program of its own (`python -I -S confine.py WORD… -- COMMAND…`) and no preexec function: those may hang when threads
run. It imports nothing of ours, and what it cannot do ends it, so that a command never runs with more than was meant.
"""

import os
import resource
import struct
import sys

FAILED = 126
NO_NEW_PRIVS, DROP_BOUND = 38, 24  # prctl
KEPT_CAPABILITIES = (
    1,
    2,
)  # as root: to read and write whatever the rules below allow, whoever owns it
CREATE, ADD_RULE, RESTRICT = 444, 445, 446  # landlock_*; the same numbers on every machine
EXECUTE, WRITE, READ, LIST, TRUNCATE, IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
MAKE_DEVICE = 1 << 6 | 1 << 11
OF_FILES = EXECUTE | WRITE | READ | TRUNCATE | IOCTL
FILES_BY_VERSION = {
    1: 13,
    2: 14,
    3: 15,
    4: 15,
    5: 16,
}  # how many rights on files a version of Landlock knows
TCP = 0b11  # bind, connect; from version 4
SIGNALS_AND_ABSTRACT_SOCKETS = 0b11  # from version 6


def main(words):
    split = words.index("--")
    given = [word.partition("=")[::2] for word in words[:split]]
    command = words[split + 1 :]
    try:
        for name, value in given:
            if name in STEPS:
                STEPS[name](value)
        if "landlock" in dict(given):
            landlock(
                [path for name, path in given if name == "read"],
                [path for name, path in given if name == "write"],
            )
        if "still" in dict(given):
            no_mounts()
    except (OSError, ValueError) as error:
        fail(error)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        fail(
            f"{command[0]}: {error.strerror}",
            127 if isinstance(error, FileNotFoundError) else FAILED,
        )


def fail(why, code=FAILED):
    os.write(2, f"kaizen box: {why}\n".encode("utf-8", "backslashreplace"))
    os._exit(code)


def limit(value):
    name, _, most = value.partition(":")
    kind = getattr(resource, "RLIMIT_" + name, None)
    if kind is None:
        return  # this system has no such limit
    hard = resource.getrlimit(kind)[1]
    most = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
    resource.setrlimit(kind, (most, most))


def become(value):
    os.setgroups([])
    os.setresgid(*[int(value)] * 3)
    os.setresuid(*[int(value)] * 3)


def make_home(path):
    os.makedirs(path, exist_ok=True)


def enter(path):
    """Here and not in bubblewrap: a folder that only the new user may enter is closed to root without its powers."""
    os.chdir(path)
    os.environ["PWD"] = path


def first_to_die(value):
    """When the machine is out of memory, this goes before anything else does."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def drop(value):
    """Root without its powers."""
    for number in range(64):
        if number not in KEPT_CAPABILITIES and libc().prctl(DROP_BOUND, number, 0, 0, 0) != 0:
            break  # past the last one


def no_more(value):
    """No program gives rights that this process has not: setuid means nothing."""
    libc().prctl(NO_NEW_PRIVS, 1, 0, 0, 0)


def libc():
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    """A system call; integers as the machine's word."""
    import ctypes

    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    function = libc().syscall
    function.restype = ctypes.c_long
    result = function(*words)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result


def enforced(files, net, scoped, rules=()):
    ruleset = call(
        CREATE, struct.pack("QQQ", files, net, scoped), 24, 0
    )  # an older kernel wants the rest to be zero
    for path, rights in rules:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        rights &= files if os.path.isdir(path) else files & OF_FILES
        call(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, place), 0)
        os.close(place)
    no_more("")
    call(RESTRICT, ruleset, 0)
    os.close(ruleset)


def version():
    return call(CREATE, None, 0, 1)


def landlock(reads, writes):
    """Only these files; and no TCP, no signal to the outside, where this kernel can refuse them."""
    known = version()
    every = (1 << FILES_BY_VERSION[min(known, 5)]) - 1
    rules = [(path, EXECUTE | READ | LIST) for path in reads] + [(path, every) for path in writes]
    enforced(
        every, TCP if known >= 4 else 0, SIGNALS_AND_ABSTRACT_SOCKETS if known >= 6 else 0, rules
    )


def no_mounts():
    """Whoever has any Landlock rule cannot mount: in a user namespace of its own a command could else make itself a
    file system in memory that nobody has limited."""
    try:
        version()
    except OSError:
        return  # bubblewrap's own box stands without it
    enforced(MAKE_DEVICE, 0, 0)


STEPS = {
    "uid": become,
    "rlimit": limit,
    "oom": first_to_die,
    "drop": drop,
    "no-more": no_more,
    "home": make_home,
    "folder": enter,
}

if __name__ == "__main__":
    main(sys.argv[1:])
