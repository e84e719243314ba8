"""The difference of two commits: text for people, a patch for git, line numbers for gates.

Git attributes are ignored, so `*.py binary` in a candidate's .gitattributes hides nothing from a
reviewer.
"""

import os
import re

from .objects import ObjectStore

OPTIONS = (
    "-r", "--no-renames", "--no-color", "--full-index", "--src-prefix=a/", "--dst-prefix=b/",
    "--diff-algorithm=myers", "--ignore-submodules=none", "--submodule=short",
)  # fmt: skip
HUNK = re.compile(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class Diff:
    """The difference of two commits below the target's folder."""

    def __init__(self, store: ObjectStore, prefix: str, base: str, head: str, objects: str | None):
        self._store = store
        self._prefix = prefix
        self._pair = base, head
        self._objects = objects

    def _run_diff(self, *args: str, paths: list[str] | None = None) -> bytes:
        """Run `git diff-tree` on the two commits, limited to `paths` or to the target's folder."""
        below = ("--relative=" + self._prefix,) if self._prefix and "--binary" not in args else ()
        only = paths or ([self._prefix] if self._prefix else [])
        return self._store.run_git(
            "diff-tree", *OPTIONS, *args, *below, *self._pair, "--", *only, objects=self._objects
        )

    def render_text(self) -> str:
        """Return the whole diff, including new files; a binary file is only named."""
        return self._run_diff("-p", "--unified=3").decode("utf-8", "replace")

    def render_patch(self, paths: list[str]) -> bytes:
        """Return a patch of these paths for `git apply` in the root of the repository."""
        return self._run_diff("-p", "--binary", paths=[self._prefix + path for path in paths])

    def list_changes(self) -> list[tuple[str, str]]:
        """Return (status, path) of each change: A added, D deleted, M modified, T another type."""
        words = self._run_diff("--name-status", "-z").split(b"\0")
        return [
            (words[index].decode(), os.fsdecode(words[index + 1]))
            for index in range(0, len(words) - 1, 2)
        ]

    def find_changed_lines(self) -> dict[str, set[int]]:
        """Return {path: numbers of new and changed lines in head}, without deleted files.

        A patch may quote its paths, so take them from `list_changes`, which has the same order.
        """
        changes = self.list_changes()
        order = [path for status, path in changes for _ in range(2 if status == "T" else 1)]
        lines: dict[str, set[int]] = {path: set() for status, path in changes if status != "D"}
        index = -1
        for line in self._run_diff("-p", "--unified=0").split(b"\n"):
            if line.startswith(b"diff --git "):
                index += 1
            elif (hunk := HUNK.match(line)) and order[index] in lines:
                first, count = int(hunk[1]), int(hunk[2] or 1)
                lines[order[index]].update(range(first, first + count))
        return lines
