"""Install Kaizen on this machine, or bring it up to date: clone, shared virtual environment, set-up.

The doors beside this file (install-kaizen.sh, .ps1, .cmd) only find a Python and git; each also works as the only file
at hand, and then fetches the rest. Standard library only, in syntax that Python 3.6 can read.

    DEVROOT/engine        the clone
    DEVROOT/.venv         the virtual environment; engine/.venv is a link to it
    DEVROOT/install.log   what was done, and what the tools said
"""

import argparse
import codecs
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from typing import NoReturn

NEEDED = (3, 11)
if sys.version_info < NEEDED:  # here, because the annotations below fail on an old Python
    print(
        f"Kaizen needs Python 3.11 or newer; this is {platform.python_version()}. Set PYTHON=/path/to/python3.11",
        file=sys.stderr,
    )
    sys.exit(2)

USAGE = """\
Usage: bash install-kaizen.sh [--url REPOSITORY] [--ref TAG] [--plan-only] [--no-network]
       install-kaizen.cmd or install-kaizen.ps1 on Windows, with the same options

Clones Kaizen into DEVROOT/engine, or updates it there, and sets it up. Safe to run again; a clone that you changed is
left as it is. DEVROOT is ~/dev/kaizen unless you set it. REPOSITORY is KAIZEN_REPO_URL unless you give it, or else the
clone that this file is in: where that came from, or itself."""

HOW_TO_GET_GIT = {  # by what /etc/os-release calls the system or its like
    "debian": "apt install git python3 python3-venv",
    "fedora": "dnf install git python3",
    "rhel": "dnf install git python3",
    "suse": "zypper install git python3",
    "arch": "pacman -S git python",
    "alpine": "apk add git python3",
    "Darwin": "xcode-select --install, or brew install git python@3.13",
    "Windows": "winget install Git.Git Python.Python.3.13, then open a new window",
}
BASE_PYTHON = (
    getattr(sys, "_base_executable", None) or sys.executable
)  # a venv of a venv would die with it
VENV_PYTHON = (
    os.path.join(".venv", "Scripts", "python.exe")
    if os.name == "nt"
    else os.path.join(".venv", "bin", "python")
)


class Stop(Exception):
    """The installation cannot go on: a sentence for a person, and the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Log:
    """What is said and what the tools say, on the screen and in the log; the log begins with the first real step."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.writes = False

    def say(self, line: str) -> None:
        print(line, flush=True)
        self.note(line + "\n")

    def note(self, text: str) -> None:
        if self.writes:
            with open(self.path, "a", encoding="utf-8", errors="replace") as file:
                file.write(shown(text))

    def begin(self) -> None:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.writes = True
        self.note(time.strftime("\n== %Y-%m-%d %H:%M:%S %z\n"))


class Installation:
    def __init__(self, words: argparse.Namespace, environment: "os._Environ[str]") -> None:
        home = os.path.join(os.path.expanduser("~"), "dev", "kaizen")
        self.devroot = os.path.abspath(environment.get("DEVROOT") or home)
        self.engine = os.path.join(self.devroot, "engine")
        taken = os.path.abspath(
            environment.get("KAIZEN_INSTALL_TAKEN", "")
        )  # where a door that was alone has cloned to
        self.taken = taken.startswith(f"{self.engine}.part.")
        self.part = taken if self.taken else f"{self.engine}.part.{os.getpid()}"
        self.network = not words.no_network
        self.ref = words.ref
        self.log = Log(os.path.join(self.devroot, "install.log"))
        self.is_new = not os.path.lexists(self.engine)
        url = words.url or environment.get("KAIZEN_REPO_URL") or self.known_url()
        self.url = os.path.abspath(url) if os.path.isdir(url) else url

    # -- the plan ----------------------------------------------------------------------------------------

    def known_url(self) -> str:
        """Where the clone that is there came from, or else the one that this file is in; else that one itself."""
        own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        clones = [
            folder for folder in (self.engine, own) if os.path.lexists(os.path.join(folder, ".git"))
        ]
        for folder in clones:
            found = self.git("config", "--get", "remote.origin.url", folder=folder)
            if found.returncode == 0:
                return found.stdout.strip()
        return own if self.is_new and own in clones else ""

    def check(self) -> None:
        """Everything that can be refused before anything is done; a clone that a door has made goes again."""
        try:
            self.check_all()
        except Stop:
            if self.taken:
                shutil.rmtree(self.part, ignore_errors=True)
            raise

    def check_all(self) -> None:
        for name, value in (("--url", self.url), ("--ref", self.ref or "")):
            if value.startswith("-") or any(ord(one) < 32 for one in value):
                raise Stop(f"{name} cannot be {value!r}.", 2)
        if self.is_new:
            self.check_new()
        else:
            self.check_clone()

    def check_new(self) -> None:
        if not self.url:
            raise Stop("Which repository? Name it with --url or KAIZEN_REPO_URL.", 2)
        if not self.network and not is_local(self.url) and not self.taken:
            raise Stop(
                f"{shown(self.url)} is not on this machine, and --no-network was given. "
                "Clone it once with the network, or name a local copy with --url."
            )

    def check_clone(self) -> None:
        if not os.path.lexists(os.path.join(self.engine, ".git")):
            raise Stop(
                f"{self.engine} is there and is not a clone: move it away, or choose another DEVROOT."
            )
        changed = self.needed_git("status", "--porcelain").splitlines()
        if changed:
            named = ", ".join(line[3:] for line in changed[:3]) + (" …" if len(changed) > 3 else "")
            raise Stop(
                f"{self.engine} has changes of yours ({named}), so it was left as it is. "
                "Commit them or move them away, then run this again."
            )
        origin = self.git("config", "--get", "remote.origin.url").stdout.strip()
        if not is_same_place(self.url, origin):
            raise Stop(
                f"{self.engine} is a clone of {shown(origin)}, not of {shown(self.url)}: choose another DEVROOT."
            )

    def plan(self) -> list[str]:
        where = f" at {self.ref}" if self.ref else ""
        if self.is_new:
            first = f"clone {shown(self.url)}{where} into {self.engine}"
        elif self.network:
            first = f"update {self.engine} from {shown(self.url)}, then go to {self.ref or 'the newest of its branch'}"
        else:
            first = f"use {self.engine} as it is, without the network" + (
                f", at {self.ref}" if self.ref else ""
            )
        own = os.path.isdir(self.own_venv()) and not os.path.islink(self.own_venv())
        venv = (
            "keep engine/.venv, which is there"
            if own
            else f"keep the packages in {os.path.join(self.devroot, '.venv')}"
        )
        return [
            first,
            venv,
            "run its setup/bootstrap.py: packages, bytecode, database, a first loop, a demo",
        ]

    # -- the clone ---------------------------------------------------------------------------------------

    def get(self) -> str:
        if self.is_new:
            return self.clone()
        if self.network or is_local(self.url):
            self.needed_git(
                "fetch",
                "--quiet",
                "--tags",
                "origin",
                fails="It could not be updated. No network? --no-network",
            )
        return self.go_to_ref() if self.ref else self.go_forward()

    def clone(self) -> str:
        """Into a folder of its own first: one that was interrupted, or has no such tag, leaves no clone behind."""
        if not self.taken:
            self.needed_git(
                "clone",
                "--quiet",
                "--",
                self.url,
                self.part,
                folder=self.devroot,
                fails="It could not be cloned",
            )
        said = self.go_to_ref(self.part) if self.ref else "cloned"
        if not os.path.isfile(os.path.join(self.part, "setup", "bootstrap.py")):
            raise Stop(f"{shown(self.url)} has no setup/bootstrap.py: is it Kaizen?")
        os.rename(self.part, self.engine)
        return said

    def get_alone(self) -> str:
        """One installer at a time; another may have made the clone while this one waited for git."""
        try:
            self.lock = locked(self.devroot)  # until this process ends
            self.sweep()
            if self.is_new and os.path.lexists(self.engine):
                self.is_new = False
                self.check()
            return self.get()
        finally:
            shutil.rmtree(self.part, ignore_errors=True)

    def sweep(self) -> None:
        """What installers that were killed left behind: an hour is longer than any clone."""
        for name in os.listdir(self.devroot):
            path = os.path.join(self.devroot, name)
            if (
                name.startswith("engine.part.")
                and path != self.part
                and time.time() - os.stat(path).st_mtime > 3600
            ):
                shutil.rmtree(path, ignore_errors=True)

    def go_to_ref(self, folder: str = "") -> str:
        """A tag or a commit as it is; a branch with what the remote has, if ours has nothing of its own."""
        folder = folder or self.engine
        is_tag = self.has(f"refs/tags/{self.ref}", folder)
        if not is_tag and self.has(f"refs/remotes/origin/{self.ref}", folder):
            self.needed_git(
                "checkout",
                "--quiet",
                self.ref,
                "--",
                folder=folder,
                fails=f"{self.ref} could not be taken",
            )
            return self.go_forward(folder)
        name = f"refs/tags/{self.ref}" if is_tag else self.ref
        if not self.has(name, folder):
            raise Stop(f"There is no tag, branch or commit {self.ref!r} in {shown(self.url)}.")
        self.needed_git(
            "checkout",
            "--quiet",
            "--detach",
            name,
            "--",
            folder=folder,
            fails=f"{self.ref} could not be taken",
        )
        return f"at {self.ref}"

    def go_forward(self, folder: str = "") -> str:
        folder = folder or self.engine
        branch = self.git(
            "symbolic-ref", "--quiet", "--short", "HEAD", folder=folder
        ).stdout.strip()
        if not branch:
            return "stays at the tag or commit it is at; --ref takes it to another"
        if not self.has(f"refs/remotes/origin/{branch}", folder):
            return f"stays on {branch}, which the remote does not have"
        own = "It has commits that the remote does not have, so it was left as it is"
        self.needed_git(
            "merge", "--quiet", "--ff-only", f"origin/{branch}", folder=folder, fails=own
        )
        return f"the newest of {branch}"

    def has(self, name: str, folder: str) -> bool:
        return (
            self.git(
                "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}", folder=folder
            ).returncode
            == 0
        )

    def git(self, *words: str, folder: str = "") -> "subprocess.CompletedProcess[str]":
        env = dict(os.environ, GIT_TERMINAL_PROMPT="0", LC_ALL="C")
        return subprocess.run(
            ["git", *words], cwd=folder or self.engine, env=env, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip

    def needed_git(self, *words: str, folder: str = "", fails: str = "") -> str:
        done = self.git(*words, folder=folder)
        if done.returncode:
            self.log.note(done.stderr)
            last = (done.stderr.strip().splitlines() or ["git said nothing"])[-1]
            raise Stop(f"{fails or 'git ' + words[0] + ' failed'}: {shown(last)}")
        return done.stdout

    # -- the rest ----------------------------------------------------------------------------------------

    def own_venv(self) -> str:
        return os.path.join(self.engine, ".venv")

    def share_venv(self) -> str:
        """One .venv below DEVROOT; the clone has a link to it, so that everything finds it where it expects it."""
        shared, own = os.path.join(self.devroot, ".venv"), self.own_venv()
        if os.path.isdir(own) and not os.path.islink(own):
            return "engine/.venv is there already and is kept"
        if not runs(os.path.join(self.devroot, VENV_PYTHON)):
            if os.path.isfile(os.path.join(shared, "pyvenv.cfg")):
                shutil.rmtree(shared)
            elif os.path.lexists(shared):
                raise Stop(
                    f"{shared} is there and is not a virtual environment: move it away, then run this again."
                )
            made = subprocess.run(
                [BASE_PYTHON, "-I", "-m", "venv", "--without-pip", shared],
                capture_output=True,
                text=True,
            )
            if made.returncode:
                self.log.note(made.stdout + made.stderr)
                raise Stop(f"No virtual environment could be made. {how_to_get()}")
        if os.path.islink(own):
            os.unlink(own)
        if not os.path.lexists(own):
            link(shared, own)
        return "ready"

    def set_up(self) -> int:
        """The clone's own set-up, its words as they come on the screen and into the log."""
        env = dict(os.environ, PYTHONIOENCODING="utf-8")
        if not self.network:
            env["PIP_NO_INDEX"] = "1"
        script = os.path.join(self.engine, "setup", "bootstrap.py")
        running = subprocess.Popen(
            [BASE_PYTHON, script, "setup"],
            cwd=self.engine,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert running.stdout
        decoder = codecs.getincrementaldecoder("utf-8")(
            "replace"
        )  # a block may end within a character
        while True:
            block = os.read(running.stdout.fileno(), 65536)
            if not block:
                return running.wait()
            text = decoder.decode(block)
            print(text, end="", flush=True)
            self.log.note(text)

    def run(self) -> int:
        self.log.begin()
        self.log.say(f"[1/3] the clone … {self.get_alone()}")
        self.log.say(f"[2/3] virtual environment … {self.share_venv()}")
        self.log.say("[3/3] set-up:")
        code = self.set_up()
        if code == 0:
            self.log.say(f"\nInstalled in {self.engine}. Another repository uses it after:")
            self.log.say(
                f"  $ cd {quoted(self.engine)} && {quoted(VENV_PYTHON)} kaizen.py adopt ../PATH/TO/IT --apply"
            )
        return code


def locked(folder: str) -> int:
    """A lock on the folder itself, so that nothing is left behind; Windows has no such lock."""
    try:
        import fcntl
    except ImportError:
        return -1
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Stop("Another installer is at work here: wait for it, then run this again.") from None
    return held


def runs(python: str) -> bool:
    try:
        return (
            subprocess.run(
                [python, "-I", "-c", ""], capture_output=True, timeout=60, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def link(to: str, path: str) -> None:
    if os.name == "nt":
        subprocess.run(["cmd", "/c", "mklink", "/J", path, to], check=True, capture_output=True)
    else:
        os.symlink(os.path.relpath(to, os.path.dirname(path)), path, target_is_directory=True)


def is_local(url: str) -> bool:
    return url.startswith("file://") or os.path.isdir(url)


def is_same_place(one: str, other: str) -> bool:
    if os.path.isdir(one) and os.path.isdir(other):
        return os.path.realpath(one) == os.path.realpath(other)
    return one.rstrip("/") == other.rstrip("/")


def shown(text: str) -> str:
    """Without the name and password that an address may carry."""
    return re.sub(r"(\w+://)[^/@\s]+@", r"\1", text)


def quoted(path: str) -> str:
    return path if re.fullmatch(r"[\w@+=:,./\\-]+", path) else f'"{path}"'


def how_to_get() -> str:
    """The line that installs git and Python on this system."""
    found = HOW_TO_GET_GIT.get(platform.system(), "")
    try:
        with open("/etc/os-release", encoding="utf-8") as lines:
            names = re.findall(r"^ID(?:_LIKE)?=\"?([^\"\n]*)", lines.read(), re.MULTILINE)
        found = found or next(
            (HOW_TO_GET_GIT[one] for one in " ".join(names).split() if one in HOW_TO_GET_GIT), ""
        )
    except OSError:
        pass
    return f"Here: {found}" if found else "See git-scm.com and python.org."


class Words(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Stop(f"{message[:1].upper()}{message[1:]}\n{USAGE}", 2)


def read_words(argv: list[str]) -> argparse.Namespace:
    parser = Words(add_help=False, allow_abbrev=False)
    parser.add_argument("--url", default="")
    parser.add_argument("--ref", default="")
    for flag in ("--plan-only", "--no-network", "--help", "-h"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a console that has no "…"
    try:
        words = read_words(argv)
        if words.help or words.h:
            print(USAGE)
            return 0
        if not shutil.which("git"):
            raise Stop(f"git was not found. {how_to_get()}, then run this again.", 2)
        installation = Installation(words, os.environ)
        installation.check()
        if words.plan_only:
            print("The plan; nothing was done:")
            print(
                "\n".join(
                    f"  {number}. {step}" for number, step in enumerate(installation.plan(), 1)
                )
            )
            return 0
        return installation.run()
    except Stop as stop:
        print(stop, file=sys.stderr)
        return stop.code
    except OSError as error:
        print(f"It stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; running it again continues.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
