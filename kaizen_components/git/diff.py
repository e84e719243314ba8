"""What changed between two commits: as text for people, as a patch for git, as numbers of lines for gates.

No attribute takes part, so `*.py binary` in a candidate's .gitattributes hides nothing from a reviewer.
"""

import os
import re

from .objects import ObjectStore

ALWAYS = (
    "diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index",
    "--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers", "--ignore-submodules=none", "--submodule=short",
)  # fmt: skip
HUNK = re.compile(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class Diff:
    """From one commit to another, below the target's folder."""

    def __init__(self, store: ObjectStore, prefix: str, base: str, head: str, objects: str | None):
        self._store = store
        self._prefix = prefix
        self._pair = base, head
        self._objects = objects

    def _told(self, *words, paths=()):
        below = ("--relative=" + self._prefix,) if self._prefix and "--binary" not in words else ()
        only = paths or ((self._prefix,) if self._prefix else ())
        return self._store.told(
            *ALWAYS, *words, *below, *self._pair, "--", *only, objects=self._objects
        )

    def text(self) -> str:
        """All of it, new files too; of a binary file that it differs."""
        return self._told("-p", "--unified=3").decode("utf-8", "replace")

    def patch(self, paths: list[str]) -> bytes:
        """What `git apply` takes, from the root of the repository."""
        return self._told("-p", "--binary", paths=[self._prefix + path for path in paths])

    def paths(self) -> list[tuple[str, str]]:
        """(status, path) of each change: A added, D deleted, M modified, T became something else."""
        words = self._told("--name-status", "-z").split(b"\0")
        return [
            (words[at].decode(), os.fsdecode(words[at + 1])) for at in range(0, len(words) - 1, 2)
        ]

    def changed_lines(self) -> dict[str, set[int]]:
        """Path -> numbers of the lines that are new or changed in head; deleted files are absent.

        The sections of a patch come in the order of the paths, and no line inside one begins as a header does; so no
        name has to be read out of the patch, where it may be quoted.
        """
        paths = self.paths()
        order = [path for status, path in paths for _ in range(2 if status == "T" else 1)]
        found: dict[str, set[int]] = {path: set() for status, path in paths if status != "D"}
        at = -1
        for line in self._told("-p", "--unified=0").split(b"\n"):
            if line.startswith(b"diff --git "):
                at += 1
            elif (hunk := HUNK.match(line)) and order[at] in found:
                first, count = int(hunk[1]), int(hunk[2] or 1)
                found[order[at]].update(range(first, first + count))
        return found
