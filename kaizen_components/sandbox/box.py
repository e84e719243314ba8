"""A command and what it may see and use, the same for every kind of sandbox."""

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
        # confine.py runs under our own interpreter, which is often part of the system.
        interpreter_paths = [os.path.realpath(sys.base_prefix), STUB]
        interpreter_paths = [path for path in interpreter_paths if not _is_below(path, SYSTEM)]
        self.reads = tuple(
            dict.fromkeys([*reads, *map(os.path.realpath, reads), *interpreter_paths])
        )
        homes = {os.path.realpath(os.path.expanduser("~"))}
        homes.add(os.path.realpath(os.environ.get("HOME") or "/"))
        for path in self.reads:
            if any(_is_below(home, (os.path.realpath(path),)) for home in homes):
                raise Refused(
                    "box_too_wide",
                    f"The folder {path[-60:]!r} must not be visible in the sandbox.",
                    "It is the home folder or contains it.",
                    "Name only those folders below it that the command needs.",
                )

    @property
    def visible(self) -> tuple[str, ...]:
        return (*SYSTEM, *self.reads, self.folder)

    def make_environment(self, private: str) -> dict[str, str]:
        """Return the environment of the command: time zone, visible parts of PATH, own variables.

        `private` is the folder for temporary files and the home folder, as the box names it.
        """
        parts = os.environ.get("PATH", "").split(os.pathsep)
        visible = [part for part in parts if os.path.isabs(part) and _is_below(part, self.visible)]
        zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
        assert not any(name.startswith("LD_") for name in self.variables), (
            "LD_ variables would also affect the program that makes the box"
        )
        return {
            "PATH": os.pathsep.join(dict.fromkeys([*visible, *PROGRAMS])),
            "LANG": "C.UTF-8",
            **zone,
            "HOME": os.path.join(private, "home"),
            "TMPDIR": private,
            **self.variables,
        }

    def confine_command(
        self, words: list[str], other_tasks: int, environment: dict[str, str]
    ) -> list[str]:
        """Return the command line of confine.py, which drops rights and then runs the command.

        `words` are steps for confine.py. `other_tasks` is the number of this user's other tasks that
        the process limit counts too. The program is looked up as the box will see it.
        """
        name = self.argv[0]
        place = os.path.join(self.folder, name) if os.path.dirname(name) else name
        program = shutil.which(place, path=environment["PATH"])
        if program is None:
            raise NotFound(
                "command_not_found",
                f"The command {name[:60]!r} was not found.",
                "The sandbox can see no program of this name.",
                "Give its path, and let the sandbox read its folder.",
            )
        if not _is_below(os.path.realpath(program), self.visible):
            raise NotFound(
                "command_not_visible",
                f"The sandbox cannot see the command {name[-60:]!r}.",
                "The command is outside the folders that the sandbox may read.",
                (
                    "Let the sandbox read the folder of the command. For the Python "
                    "of an environment, also add the folder of its base interpreter."
                ),
            )
        rlimits = self.limits.list_rlimits(self.timeout_s, other_tasks)
        home = [f"home={environment['HOME']}"] if "HOME" not in self.variables else []
        words = [*words, *home, f"folder={self.folder}"]
        words += [f"rlimit={name}:{limit}" for name, limit in rlimits.items()]
        return [find_python(), "-I", "-S", STUB, *words, "--", program, *self.argv[1:]]


def find_python() -> str:
    """Return the real path of the interpreter; in a virtual environment it is a link."""
    return os.path.realpath(sys.executable)


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
