"""Read `.kaizen/publish-allow.txt`, which lists findings that may be published, with reasons.

tests/fixtures/** # people in fixtures are made up (all findings in these files)
=the exact line   # a reason (this line in any file)
"""

import os
from typing import NamedTuple

from ...errors import Refused, Unavailable
from ...records.files.paths import matches_glob
from ...records.secrets import scan

FILE = ".kaizen/publish-allow.txt"


class Allowances(NamedTuple):
    """The entries of the file: globs of paths, and exact lines."""

    globs: dict[str, int]  # entry -> number of its line in the file
    lines: dict[str, int]

    def find_entry(self, path: str, line: str) -> int | None:
        """Return the line number of the entry that allows this line of a file, or None."""
        if line.strip() in self.lines:
            return self.lines[line.strip()]
        numbers = (number for glob, number in self.globs.items() if matches_glob(glob, path))
        return next(numbers, None)


def read_allowances(root: str) -> Allowances:
    """Parse the file; refuse an entry without a reason, or with a secret in it."""
    try:
        with open(os.path.join(root, FILE), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    except OSError as error:
        what, why = f"{FILE} cannot be read.", str(error.strerror)
        raise Unavailable("cannot_read", what, why, "Check its permissions.") from None
    allowances = Allowances({}, {})
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        entry, _, reason = line.rpartition(" # ")
        entry = entry.strip()
        what = f"Line {number} of {FILE} is not valid."
        if not entry or not reason.strip():
            advice = "Write `GLOB # reason`, or `=exact line # reason`."
            raise Refused("bad_allowance", what, "It gives no reason.", advice)
        if not entry.startswith("="):
            allowances.globs[entry] = number
            continue
        if scan.find_secret(entry):
            why = "It contains a secret, and this file is published too."
            raise Refused("bad_allowance", what, why, "Allow the file with a glob.")
        allowances.lines[entry[1:].strip()] = number
    return allowances
