"""One command and what it may see: the same for every kind of box."""

import os
import shutil
import sys

from ..errors import NotFound, Refused
from .limits import Limits

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
# What programs look up there: libraries, certificates, zones. Neither accounts nor keys nor the machine's name.
SETTINGS = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf", "ssl", "ca-certificates", "pki", "localtime",
    "alternatives", "mime.types", "protocols", "services", "debian_version", "os-release", "inputrc",
)  # fmt: skip
PROGRAMS = ("/usr/local/bin", "/usr/bin", "/bin")
STUB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "confine.py")


class Box:
    """A command, where it runs, what it sees besides the system, and what it may use."""

    def __init__(
        self, argv: list[str], folder: str, timeout_s: float, reads: tuple[str, ...] = (),
        variables: dict[str, str] | None = None, limits: Limits | None = None,
    ):  # fmt: skip
        self.argv = argv
        self.folder = os.path.realpath(folder)
        self.timeout_s = timeout_s
        self.reads = tuple(dict.fromkeys([*reads, *map(os.path.realpath, reads), *_interpreter()]))
        self.variables = variables or {}
        self.limits = limits or Limits()
        for path in self.reads:
            _narrow(path)

    @property
    def visible(self) -> tuple[str, ...]:
        return (*SYSTEM, *self.reads, self.folder)

    def make_environment(self, private: str) -> dict[str, str]:
        """Nothing of ours but the time zone and those parts of the PATH that the box can see.

        `private` is its place for temporary files and the home folder: outside, or one that is only inside.
        """
        ours = [
            part for part in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(part)
        ]
        seen = [part for part in ours if _below(part, self.visible)]
        zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
        assert not any(name.startswith("LD_") for name in self.variables), (
            "it would also steer what makes the box"
        )
        return {
            "PATH": os.pathsep.join(dict.fromkeys([*seen, *PROGRAMS])),
            "LANG": "C.UTF-8",
            **zone,
            "HOME": os.path.join(private, "home"),
            "TMPDIR": private,
            **self.variables,
        }

    def command(self, environment: dict[str, str]) -> list[str]:
        """The command with its program looked up as the box will see it."""
        name = self.argv[0]
        place = os.path.join(self.folder, name) if os.path.dirname(name) else name
        program = shutil.which(place, path=environment["PATH"])
        if program is None:
            raise NotFound(
                "command_not_found",
                f"There is no command {name[:60]!r} to run.",
                "It is neither in the folder nor among the programs that the sandbox can see.",
                "Give its path, and name the folders that it needs.",
            )
        if not _below(os.path.realpath(program), self.visible):
            raise NotFound(
                "command_not_visible",
                f"The sandbox cannot see {name[-60:]!r}.",
                "It lies outside of the system's folders, and nobody named its own.",
                "Name its folder, and for Python that of the interpreter it was made from, among those to be read.",
            )
        return [program, *self.argv[1:]]

    def confine_command(
        self, words: list[str], others: int, environment: dict[str, str]
    ) -> list[str]:
        """The command behind the program that takes rights away."""
        limits = [
            f"rlimit={name}:{most}"
            for name, most in self.limits.rlimits(self.timeout_s, others).items()
        ]
        home = [f"home={environment['HOME']}"] if "HOME" not in self.variables else []
        words = [*words, *home, f"folder={self.folder}", *limits]
        return [find_python(), "-I", "-S", STUB, *words, "--", *self.command(environment)]


def find_python() -> str:
    """The interpreter itself, not the link to it in an environment."""
    return os.path.realpath(sys.executable)


def _interpreter():
    """Our own, for the last step; it is often part of the system."""
    return [path for path in (os.path.realpath(sys.base_prefix), STUB) if not _below(path, SYSTEM)]


def _below(path, roots):
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _narrow(path):
    """A home folder is never shown as a whole, nor anything above it."""
    homes = {
        os.path.realpath(os.path.expanduser("~")),
        os.path.realpath(os.environ.get("HOME") or "/"),
    }
    if any(_below(home, (os.path.realpath(path),)) for home in homes):
        raise Refused(
            "box_too_wide",
            f"The sandbox will not show {path[-60:]!r}.",
            "It is, or contains, the home folder.",
            "Name the folders below it that the command needs, such as its environment.",
        )
