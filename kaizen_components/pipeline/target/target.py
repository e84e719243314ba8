"""Read the repository that a run works for.

Only `adopt_commit`, `create_branch` and `apply_to_worktree` change it.
"""

import os
import re

from ...errors import Refused
from ...git import commit as commits
from ...git import deliver, export
from ...git.client import run_git, try_git
from ...git.diff import Diff
from ...git.objects import SUBMODULE, ObjectStore, TreeEntry
from ...git.repository import find_repository
from ...records.files.files import hash_tree
from ...records.files.working_tree import OWN_FOLDERS

UNSPEAKABLE = re.compile(r"[\x00-\x1f\ud800-\udfff]")  # control characters, or not UTF-8


class Target:
    """The target of a run: a working tree, or a folder in one, such as `--repo ../mono/app`.

    The parameter `objects` of its methods is a private folder for new git objects.
    """

    def __init__(self, path: str):
        self.path = os.path.abspath(path)
        self.layout = find_repository(self.path)
        self.store = ObjectStore(self.layout)
        self.left_out: list[str] = []  # of the newest export: submodules, and links to outside
        self._trees: dict[str, str] = {}
        self._names: dict[str, dict[str, TreeEntry]] = {}

    def close(self) -> None:
        self.store.close()

    def find_head(self) -> str:
        """Return the commit that a run starts from."""
        result = try_git(self.path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if result.code != 0:
            raise Refused(
                "no_commit",
                "The target has no commit yet.",
                "A run starts from the last commit.",
                "Commit your files, then start the run again.",
            )
        commit = result.text.strip()
        prefix = self.layout.prefix
        if prefix and not self.store.run_git("ls-tree", commit, "--", prefix.rstrip("/")):
            raise Refused(
                "nothing_committed",
                "No file of the folder that --repo names is committed.",
                "A run starts from the last commit of the repository.",
                "Commit the folder, or name another folder.",
            )
        return commit

    def is_dirty(self) -> bool:
        """Return whether there are uncommitted changes, which a run does not see."""
        words = ("--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames")
        return bool(run_git(self.path, "status", *words, "--ignore-submodules=dirty", ".").out)

    def list_submodules(self, commit: str) -> list[str]:
        """Return the paths of the submodules, which a run does not see."""
        entries = self.store.list_entries(commit, self.layout.prefix)
        return [entry.path for entry in entries if entry.mode == SUBMODULE]

    def list_paths(self, commit: str) -> list[str]:
        """Return the files of a commit, sorted, without paths that an answer cannot contain."""
        entries = self.store.list_entries(commit, self.layout.prefix)
        return sorted(
            entry.path
            for entry in entries
            if entry.mode != SUBMODULE and not UNSPEAKABLE.search(entry.path)
        )

    def read_blob(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file of the commit, or None if it does not exist."""
        if commit not in self._names:
            self._names[commit] = {
                entry.path: entry for entry in self.store.list_entries(commit, self.layout.prefix)
            }
        entry = self._names[commit].get(path)
        if entry is None or entry.mode == SUBMODULE:
            return None
        return self.store.read_object(entry.id)

    def export_commit(self, commit: str, folder: str) -> str:
        """Write the files of a commit into an empty folder; return the tree's hash."""
        self.left_out = export.export_entries(
            self.store, self.store.list_entries(commit, self.layout.prefix), folder
        )
        return self.hash_files(commit)

    def hash_files(self, commit: str, objects: str | None = None) -> str:
        """Return the tree hash of the files as a witnessed proof records it, not as git does."""
        if commit not in self._trees:
            entries = self.store.list_entries(commit, self.layout.prefix, objects)
            self._trees[commit] = hash_tree(
                [
                    (entry.path, entry.kind, self.store.hash_object(entry.id, objects))
                    for entry in entries
                    if entry.mode != SUBMODULE and not entry.path.startswith(OWN_FOLDERS)
                ]
            )
        return self._trees[commit]

    def write_commit(
        self, base: str, changes: dict[str, bytes | None], message: str, objects: str
    ) -> str:
        """Write a commit on top of the base among the private objects; None deletes a file."""
        return commits.write_commit(self.store, base, self.layout.prefix, changes, message, objects)

    def render_diff(self, base: str, head: str, objects: str | None = None) -> str:
        """Return the whole change as text, including new files."""
        return self._diff(base, head, objects).render_text()

    def find_changed_lines(
        self, base: str, head: str, objects: str | None = None
    ) -> dict[str, set[int]]:
        """Return {path: numbers of new and changed lines in head}, without deleted files."""
        return self._diff(base, head, objects).find_changed_lines()

    def _diff(self, base: str, head: str, objects: str | None = None) -> Diff:
        return Diff(self.store, self.layout.prefix, base, head, objects)

    def adopt_commit(self, objects: str, commit: str) -> None:
        """Copy an accepted commit from the private objects into the target's repository."""
        deliver.import_commit(self.store, self.layout, objects, commit)

    def create_branch(self, name: str, commit: str) -> None:
        """Create refs/heads/<name>; raise Conflict if it is at another commit."""
        deliver.create_branch(self.layout, name, commit)

    def is_applied(self, base: str, head: str) -> bool:
        """Return whether the working tree already has everything that the commit changes."""
        return not deliver.find_unapplied(self.store, self.layout, self._diff(base, head), head)

    def apply_to_worktree(self, base: str, head: str) -> None:
        """Write the change into the working tree, unstaged; refuse to overwrite local changes."""
        deliver.apply_diff(self.store, self.layout, self._diff(base, head), head)
