"""Every failure on one page, typed by what the caller can do about it.

    KaizenError                exit
    ├── Refused                 1   a rule says no: change the request
    │   └── Blocked             2   the same for an agent host, which reads 2 as "not yet"
    ├── Usage                   2   the command line is invalid: read the help
    ├── NotFound                3   no such record, or no database yet
    ├── Conflict                4   another session or process was first
    ├── Unavailable             5   a backend, an extra or the folder is not usable
    │   └── DiskError           5   the disk refused a read or a write: check it, try again (retryable)
    ├── Busy                    6   another process holds the lock: try again (retryable)
    └── Integrity               7   stored data has changed
    anything else              70   a bug in Kaizen: please report it
    (Ctrl-C                   130   as every command in a shell)

An error says what happened, why, and what to do next. Its `code` is stable, for programs; its texts
are for people. It is raised anywhere and caught only at the edge (`args`, the faces).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class KaizenError(Exception):
    exit_code = 70
    retryable = False

    def __init__(self, code: str, what: str, why: str = "", next: str = "") -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.why = why
        self.next = next
        self.notes: list[str] = []  # what else happened, such as a new database
        self.findings: list[dict[str, Any]] = []  # such as each bad record of K8

    def as_dict(self) -> dict[str, Any]:
        return {
            "status": "ERROR",
            "code": self.code,
            "what": self.what,
            "why": self.why,
            "next": self.next,
            "retryable": self.retryable,
            **({"findings": self.findings} if self.findings else {}),
            **({"notes": self.notes} if self.notes else {}),
        }


class Refused(KaizenError):
    exit_code = 1


class Blocked(Refused):
    exit_code = 2


class Usage(KaizenError):
    exit_code = 2


class NotFound(KaizenError):
    exit_code = 3


class Conflict(KaizenError):
    exit_code = 4


class Unavailable(KaizenError):
    exit_code = 5


class DiskError(Unavailable):
    retryable = True


class Busy(KaizenError):
    exit_code = 6
    retryable = True


class Integrity(KaizenError):
    exit_code = 7


def explain_missing_package(code: str, what: str, why: str) -> Unavailable:
    """Return the error with its remedy. The usual cause is a Python other than the one in .venv."""
    import os
    import sys

    home = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".venv")
    if os.path.isdir(home) and os.path.realpath(sys.prefix) != os.path.realpath(home):
        python = ".venv\\Scripts\\python" if os.name == "nt" else ".venv/bin/python"
        why = f"{why} Set-up installs packages in .venv, and this is another Python.".strip()
        return Unavailable(code, what, why, f"Run Kaizen with {python}.")
    step = "Run `bash setup/setup.sh`, or `python -m pip install -r requirements-kaizen.txt`."
    return Unavailable(code, what, why, step)


EXIT_CODES = {
    0: "done",
    **{
        kind.exit_code: kind.__name__
        for kind in (Refused, Usage, NotFound, Conflict, Unavailable, Busy, Integrity)
    },
    70: "bug",
}
