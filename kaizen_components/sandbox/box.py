"""One command and what it may see: the same for every kind of sandbox."""

import os
import shutil
import sys
from collections.abc import Iterable

from ..errors import NotFound, Refused
from .limits import Limits

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
# What programs look up in /etc: libraries, certificates, zones. No accounts, keys or host name.
SETTINGS = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf", "ssl", "ca-certificates", "pki",
    "localtime", "alternatives", "mime.types", "protocols", "services", "debian_version",
    "os-release", "inputrc",
)  # fmt: skip
PROGRAMS = ("/usr/local/bin", "/usr/bin", "/bin")
STUB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "confine.py")
Launch = tuple[list[str], dict[str, str]]  # the command line that runs a box, and its environment


class Box:
    """A command, where it runs, what it sees besides the system, and what it may use."""

    def __init__(
        self,
        argv: list[str],
        folder: str,
        timeout_s: float,
        reads: tuple[str, ...] = (),
        variables: dict[str, str] | None = None,
        limits: Limits | None = None,
    ):
        self.argv = argv
        self.folder = os.path.realpath(folder)
        self.timeout_s = timeout_s
        self.variables = variables or {}
        self.limits = limits or Limits()
        # Our own interpreter takes the last step; it is often part of the system.
        own = [os.path.realpath(sys.base_prefix), STUB]
        own = [path for path in own if not _is_below(path, SYSTEM)]
        self.reads = tuple(dict.fromkeys([*reads, *map(os.path.realpath, reads), *own]))
        homes = {os.path.realpath(os.path.expanduser("~"))}
        homes.add(os.path.realpath(os.environ.get("HOME") or "/"))
        for path in self.reads:
            if any(_is_below(home, (os.path.realpath(path),)) for home in homes):
                raise Refused(
                    "box_too_wide",
                    f"The sandbox will not show {path[-60:]!r}.",
                    "It is, or contains, the home folder.",
                    "Name the folders below it that the command needs, such as its environment.",
                )

    @property
    def visible(self) -> tuple[str, ...]:
        return (*SYSTEM, *self.reads, self.folder)

    def make_environment(self, private: str) -> dict[str, str]:
        """Return only the time zone and those parts of our PATH that the box can see.

        `private` is the place for temporary files and the home folder, as the box names it.
        """
        parts = os.environ.get("PATH", "").split(os.pathsep)
        seen = [part for part in parts if os.path.isabs(part) and _is_below(part, self.visible)]
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

    def confine_command(
        self, words: list[str], others: int, environment: dict[str, str]
    ) -> list[str]:
        """Return the command behind the program that takes rights away (confine.py).

        `others` are this user's tasks that the limit on processes counts too. The command's own
        program is looked up as the box will see it.
        """
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
        if not _is_below(os.path.realpath(program), self.visible):
            raise NotFound(
                "command_not_visible",
                f"The sandbox cannot see {name[-60:]!r}.",
                "It is outside the system's folders and outside the folders that may be read.",
                "Add its folder to those that may be read; for Python, also the folder of the "
                "interpreter that the environment was made from.",
            )
        rlimits = self.limits.list_rlimits(self.timeout_s, others)
        home = [f"home={environment['HOME']}"] if "HOME" not in self.variables else []
        words = [*words, *home, f"folder={self.folder}"]
        words += [f"rlimit={name}:{most}" for name, most in rlimits.items()]
        return [find_python(), "-I", "-S", STUB, *words, "--", program, *self.argv[1:]]


def find_python() -> str:
    """Return the interpreter itself, not the link to it in an environment."""
    return os.path.realpath(sys.executable)


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
