"""Install or update Kaizen on this machine: clone, shared virtual environment, set-up.

The scripts beside this file (install-agent-kaizen.sh and .cmd) find or install Python and git, then
run this file. A user who has only such a script can run it too: it first clones the repository.
This file uses only the standard library, in syntax that Python 3.6 can read.

    DEVROOT/agent-kaizen                  the clone
    DEVROOT/SKILLS                        a store for your skills, empty at first
    DEVROOT/Python/venvs/kaizen           the virtual environment; agent-kaizen/.venv is a link to it
    DEVROOT/kaizen, kaizen.cmd            a launcher for the commands
    DEVROOT/agent-kaizen.code-workspace   the clone and the skills, for VS Code
    DEVROOT/install.log                   what was done, and what the tools said
"""

import argparse
import codecs
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from typing import NoReturn

NEEDED = (3, 11)
if sys.version_info < NEEDED:  # here, because the annotations below fail on an old Python
    print(
        f"Kaizen needs Python 3.11 or newer; this is {platform.python_version()}. "
        "Set PYTHON=/path/to/python3.11",
        file=sys.stderr,
    )
    sys.exit(2)

USAGE = """\
Usage: bash install-agent-kaizen.sh [--url REPOSITORY] [--ref TAG] [--yes] [--plan-only] [--no-network]
       install-agent-kaizen.cmd on Windows, with the same options

Clones Kaizen into DEVROOT/agent-kaizen, or updates it there, and sets it up. Safe to run again; a clone
that you changed is left as it is. DEVROOT is ~/dev/kaizen unless you set it. REPOSITORY is
KAIZEN_REPO_URL unless you give it, or else the origin of the clone that this file is in, or that
clone itself."""

# A venv made from another venv breaks when that one is removed, so use the base Python.
BASE_PYTHON = getattr(sys, "_base_executable", None) or sys.executable
BIN = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
VENV_PYTHON = os.path.join(".venv", *BIN)
CLONE, STORE = "agent-kaizen", "SKILLS"
SHARED_VENV = os.path.join("Python", "venvs", "kaizen")


class Stop(Exception):
    """The installation cannot continue: a message for the user, and the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Log:
    """Print our lines. After `begin`, also write them and the output of tools to the log file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_writing = False

    def say(self, line: str) -> None:
        print(line, flush=True)
        self.note(line + "\n")

    def note(self, text: str) -> None:
        if self.is_writing:
            with open(self.path, "a", encoding="utf-8", errors="replace") as file:
                file.write(hide_password(text))

    def begin(self) -> None:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.is_writing = True
        self.note(time.strftime("\n== %Y-%m-%d %H:%M:%S %z\n"))


class Installation:
    def __init__(self, words: argparse.Namespace, environment: "os._Environ[str]") -> None:
        home = os.path.join(os.path.expanduser("~"), "dev", "kaizen")
        self.devroot = os.path.abspath(environment.get("DEVROOT") or home)
        self.engine = os.path.join(self.devroot, CLONE)
        # The folder to which a script without the other files has cloned the repository.
        taken_folder = os.path.abspath(environment.get("KAIZEN_INSTALL_TAKEN", ""))
        self.taken = taken_folder.startswith(f"{self.engine}.part.")
        self.part = taken_folder if self.taken else f"{self.engine}.part.{os.getpid()}"
        self.network = not words.no_network
        self.ref = words.ref
        self.log = Log(os.path.join(self.devroot, "install.log"))
        self.is_new = not os.path.lexists(self.engine)
        url = words.url or environment.get("KAIZEN_REPO_URL") or self.find_url()
        self.url = os.path.abspath(url) if os.path.isdir(url) else url

    # the plan

    def find_url(self) -> str:
        """Return the origin of the existing clone or of this file's clone, or else that clone."""
        own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        clones = [
            folder for folder in (self.engine, own) if os.path.lexists(os.path.join(folder, ".git"))
        ]
        for folder in clones:
            origin = self.git("config", "--get", "remote.origin.url", folder=folder)
            if origin.returncode == 0:
                return origin.stdout.strip()
        return own if self.is_new and own in clones else ""

    def check(self) -> None:
        """Check everything before the first change. If a check fails, remove a script's clone."""
        try:
            self.check_all()
        except Stop:
            if self.taken:
                shutil.rmtree(self.part, ignore_errors=True)
            raise

    def check_all(self) -> None:
        for name, value in (("--url", self.url), ("--ref", self.ref or "")):
            if value.startswith("-") or any(ord(letter) < 32 for letter in value):
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
                f"{hide_password(self.url)} is not on this machine, and --no-network was given. "
                "Clone it once with the network, or name a local copy with --url."
            )

    def check_clone(self) -> None:
        if not os.path.lexists(os.path.join(self.engine, ".git")):
            raise Stop(
                f"{self.engine} is there and is not a clone: move it away, or choose another DEVROOT."
            )
        changed = self.require_git("status", "--porcelain").splitlines()
        if changed:
            file_names = ", ".join(line[3:] for line in changed[:3]) + (
                " …" if len(changed) > 3 else ""
            )
            raise Stop(
                f"{self.engine} has changes of yours ({file_names}), so it was left as it is. "
                "Commit them or move them away, then run this again."
            )
        origin = self.git("config", "--get", "remote.origin.url").stdout.strip()
        if not is_same_place(self.url, origin):
            raise Stop(
                f"{self.engine} is a clone of {hide_password(origin)}, not of {hide_password(self.url)}: "
                "choose another DEVROOT."
            )

    def plan(self) -> list[str]:
        where = f" at {self.ref}" if self.ref else ""
        if self.is_new:
            first = f"clone {hide_password(self.url)}{where} into {self.engine}"
        elif self.network:
            target = self.ref or "the newest of its branch"
            first = f"update {self.engine} from {hide_password(self.url)}, then go to {target}"
        else:
            at = f", at {self.ref}" if self.ref else ""
            first = f"use {self.engine} as it is, without the network{at}"
        venv = f"keep the packages in {os.path.join(self.devroot, SHARED_VENV)}"
        if os.path.isdir(self.get_own_venv()) and not os.path.islink(self.get_own_venv()):
            venv = "keep agent-kaizen/.venv, which is there"
        return [
            first,
            venv,
            "run its setup/bootstrap.py: packages, bytecode, database, a demo, a first loop in it",
            f"write a launcher and a workspace for VS Code, and make {STORE} for your skills",
        ]

    # the clone

    def get(self) -> str:
        if self.is_new:
            return self.clone()
        if self.network or is_local(self.url):
            fails = "It could not be updated. No network? --no-network"
            self.require_git("fetch", "--quiet", "--tags", "origin", fails=fails)
        return self.go_to_ref() if self.ref else self.go_forward()

    def clone(self) -> str:
        """Clone into a part folder first, so that a failure leaves no clone behind."""
        if not self.taken:
            words = ("clone", "--quiet", "--", self.url, self.part)
            self.require_git(*words, folder=self.devroot, fails="It could not be cloned")
        outcome = self.go_to_ref(self.part) if self.ref else "cloned"
        if not os.path.isfile(os.path.join(self.part, "setup", "bootstrap.py")):
            raise Stop(f"{hide_password(self.url)} has no setup/bootstrap.py: is it Kaizen?")
        os.rename(self.part, self.engine)
        return outcome

    def get_locked(self) -> str:
        """Clone or update under a lock: another installer may have made the clone meanwhile."""
        try:
            self.lock = lock_folder(self.devroot)  # until this process ends
            self.sweep()
            if self.is_new and os.path.lexists(self.engine):
                self.is_new = False
                self.check()
            return self.get()
        finally:
            shutil.rmtree(self.part, ignore_errors=True)

    def sweep(self) -> None:
        """Remove part folders of killed installers: no clone takes more than an hour."""
        for name in os.listdir(self.devroot):
            path = os.path.join(self.devroot, name)
            is_part = name.startswith(CLONE + ".part.") and path != self.part
            if is_part and time.time() - os.stat(path).st_mtime > 3600:
                shutil.rmtree(path, ignore_errors=True)

    def go_to_ref(self, folder: str = "") -> str:
        """Check out a tag or a commit, or the newest commit of a remote branch."""
        folder = folder or self.engine
        fails = f"{self.ref} could not be checked out"
        is_tag = self.has_commit(f"refs/tags/{self.ref}", folder)
        if not is_tag and self.has_commit(f"refs/remotes/origin/{self.ref}", folder):
            self.require_git("checkout", "--quiet", self.ref, "--", folder=folder, fails=fails)
            return self.go_forward(folder)
        name = f"refs/tags/{self.ref}" if is_tag else self.ref
        if not self.has_commit(name, folder):
            raise Stop(
                f"There is no tag, branch or commit {self.ref!r} in {hide_password(self.url)}."
            )
        words = ("checkout", "--quiet", "--detach", name, "--")
        self.require_git(*words, folder=folder, fails=fails)
        return f"at {self.ref}"

    def go_forward(self, folder: str = "") -> str:
        folder = folder or self.engine
        head = self.git("symbolic-ref", "--quiet", "--short", "HEAD", folder=folder)
        branch = head.stdout.strip()
        if not branch:
            return "stays at the tag or commit it is at; --ref takes it to another"
        if not self.has_commit(f"refs/remotes/origin/{branch}", folder):
            return f"stays on {branch}, which the remote does not have"
        own = "It has commits that the remote does not have, so it was left as it is"
        words = ("merge", "--quiet", "--ff-only", f"origin/{branch}")
        self.require_git(*words, folder=folder, fails=own)
        return f"the newest of {branch}"

    def has_commit(self, name: str, folder: str) -> bool:
        words = ("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")
        return self.git(*words, folder=folder).returncode == 0

    def git(self, *words: str, folder: str = "") -> "subprocess.CompletedProcess[str]":
        env = dict(os.environ, GIT_TERMINAL_PROMPT="0", LC_ALL="C")
        return subprocess.run(
            ["git", *words], cwd=folder or self.engine, env=env, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip

    def require_git(self, *words: str, folder: str = "", fails: str = "") -> str:
        result = self.git(*words, folder=folder)
        if result.returncode:
            self.log.note(result.stderr)
            last = (result.stderr.strip().splitlines() or ["git said nothing"])[-1]
            raise Stop(f"{fails or 'git ' + words[0] + ' failed'}: {hide_password(last)}")
        return result.stdout

    # the rest

    def get_own_venv(self) -> str:
        return os.path.join(self.engine, ".venv")

    def share_venv(self) -> str:
        """Make one virtual environment below DEVROOT, and a link to it in the clone."""
        shared, own = os.path.join(self.devroot, SHARED_VENV), self.get_own_venv()
        if os.path.isdir(own) and not os.path.islink(own):
            return "agent-kaizen/.venv is there already and is kept"
        if not can_run(os.path.join(shared, *BIN)):
            if os.path.isfile(os.path.join(shared, "pyvenv.cfg")):
                shutil.rmtree(shared)
            elif os.path.lexists(shared):
                raise Stop(
                    f"{shared} is there and is not a virtual environment: move it away, then run this again."
                )
            command = [BASE_PYTHON, "-I", "-m", "venv", "--without-pip", shared]
            made = subprocess.run(command, capture_output=True, text=True)
            if made.returncode:
                self.log.note(made.stdout + made.stderr)
                raise Stop(
                    "No virtual environment could be made: is the venv module there (Debian, Ubuntu: "
                    "apt install python3-venv)?"
                )
        if os.path.islink(own):
            os.unlink(own)
        if not os.path.lexists(own):
            link(shared, own)
        return "ready"

    def set_up(self) -> int:
        """Run the clone's own set-up; copy its output to the screen and into the log."""
        env = dict(os.environ, PYTHONIOENCODING="utf-8")
        if not self.network:
            env["PIP_NO_INDEX"] = "1"
        script = os.path.join(self.engine, "setup", "bootstrap.py")
        running = subprocess.Popen(
            [BASE_PYTHON, script, "setup"], cwd=self.engine, env=env,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert running.stdout
        # A block may end in the middle of a character.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            block = os.read(running.stdout.fileno(), 65536)
            if not block:
                return running.wait()
            text = decoder.decode(block)
            print(text, end="", flush=True)
            self.log.note(text)

    def write_extras(self) -> str:
        """Write the files beside the clone; keep those that exist."""
        os.makedirs(os.path.join(self.devroot, STORE), exist_ok=True)
        python = os.path.join(self.devroot, SHARED_VENV, *BIN)
        launcher = os.path.join(self.engine, "kaizen.py")
        settings = {"python.defaultInterpreterPath": python}
        folders = [{"path": CLONE}, {"path": STORE}]
        files = {
            f"{CLONE}.code-workspace": json.dumps(
                {"folders": folders, "settings": settings}, indent=2
            ),
            "kaizen": f'#!/bin/sh\nexec {shlex.quote(python)} {shlex.quote(launcher)} "$@"',
            "kaizen.cmd": f'@"{python}" "{launcher}" %*',
        }
        made = []
        for name, text in files.items():
            path = os.path.join(self.devroot, name)
            if name != ("kaizen" if os.name == "nt" else "kaizen.cmd") and not os.path.lexists(
                path
            ):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                os.chmod(path, 0o755 if name == "kaizen" else 0o644)
                made.append(name)
        return ", ".join(made) or "there already"

    def run(self) -> int:
        self.log.begin()
        self.log.say(f"[1/4] the clone … {self.get_locked()}")
        self.log.say(f"[2/4] virtual environment … {self.share_venv()}")
        self.log.say("[3/4] set-up:")
        code = self.set_up()
        if code == 0:
            self.log.say(f"[4/4] launcher and workspace … {self.write_extras()}")
            self.log.say(f"\nInstalled in {self.engine}. Another repository uses it after:")
            python = quote_path(VENV_PYTHON)
            command = (
                f"cd {quote_path(self.engine)} && {python} kaizen.py adopt ../PATH/TO/IT --apply"
            )
            self.log.say(f"  $ {command}")
        return code


def lock_folder(folder: str) -> int:
    """Lock the folder itself, so that no lock file stays behind. Windows cannot lock folders."""
    try:
        import fcntl
    except ImportError:
        return -1
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Stop("Another installer is at work here: wait for it, then run this again.") from None
    return descriptor


def can_run(python: str) -> bool:
    try:
        result = subprocess.run([python, "-I", "-c", ""], capture_output=True, timeout=60)
        return result.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def link(to: str, path: str) -> None:
    if os.name == "nt":
        subprocess.run(["cmd", "/c", "mklink", "/J", path, to], check=True, capture_output=True)
    else:
        os.symlink(os.path.relpath(to, os.path.dirname(path)), path, target_is_directory=True)


def is_local(url: str) -> bool:
    return url.startswith("file://") or os.path.isdir(url)


def is_same_place(first: str, other: str) -> bool:
    if os.path.isdir(first) and os.path.isdir(other):
        return os.path.realpath(first) == os.path.realpath(other)
    return first.rstrip("/") == other.rstrip("/")


def hide_password(text: str) -> str:
    """Remove the name and password that a URL may carry."""
    return re.sub(r"(\w+://)[^/@\s]+@", r"\1", text)


def quote_path(path: str) -> str:
    return path if re.fullmatch(r"[\w@+=:,./\\-]+", path) else f'"{path}"'


class Words(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Stop(f"{message[:1].upper()}{message[1:]}\n{USAGE}", 2)


def read_words(argv: list[str]) -> argparse.Namespace:
    parser = Words(add_help=False, allow_abbrev=False)
    parser.add_argument("--url", default="")
    parser.add_argument("--ref", default="")
    for flag in ("--yes", "--plan-only", "--no-network", "--help", "-h"):
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
            raise Stop("git was not found. Install it from https://git-scm.com/downloads.", 2)
        installation = Installation(words, os.environ)
        installation.check()
        if words.plan_only:
            print("The plan; nothing was done:")
            for number, step in enumerate(installation.plan(), 1):
                print(f"  {number}. {step}")
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
