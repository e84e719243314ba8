"""`.kaizen/publish-allow.txt`: what may be published after all, each with its reason.

tests/fixtures/**        # a glob of paths: made-up people
=the exact line          # a line, wherever it stands
"""

import os
from typing import NamedTuple

from ...errors import Refused, Unavailable
from ...records.files.paths import matches_glob
from ...records.secrets import scan

FILE = ".kaizen/publish-allow.txt"


class Allowances(NamedTuple):
    globs: dict[str, int]  # what is allowed -> the line that says so
    lines: dict[str, int]

    def allows(self, path: str, line: str) -> int | None:
        """The number of the entry that allows it, or None."""
        if line.strip() in self.lines:
            return self.lines[line.strip()]
        return next(
            (number for glob, number in self.globs.items() if matches_glob(glob, path)), None
        )


def read_allowances(root: str) -> Allowances:
    allowed = Allowances({}, {})
    for number, line in enumerate(_text(root).split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        entry, _, reason = line.rpartition(" # ")
        entry = entry.strip()
        if not entry or not reason.strip():
            raise _wrong(
                number, "It gives no reason.", "Write `GLOB # reason`, or `=exact line # reason`."
            )
        if entry.startswith("="):
            if scan.find_secret(entry):
                raise _wrong(
                    number,
                    "It spells a secret out.",
                    "Allow the file by a glob; this one is published too.",
                )
            allowed.lines[entry[1:].strip()] = number
        else:
            allowed.globs[entry] = number
    return allowed


def _text(root):
    try:
        with open(os.path.join(root, FILE), encoding="utf-8", errors="replace") as file:
            return file.read().replace("\r\n", "\n")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Unavailable(
            "cannot_read", f"{FILE} cannot be read.", str(error.strerror), "Check its rights."
        ) from None


def _wrong(number, why, next_step):
    return Refused("bad_allowance", f"Line {number} of {FILE} is not understood.", why, next_step)
