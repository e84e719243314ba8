"""The files that a publication could take along: tracked, untracked, and ignored ones that `git add -f` would take."""

import os
from typing import NamedTuple

from ..records.files import below
from ..records.tree import TOOL_FOLDERS, git_says

LISTS = {  # state -> what git lists; a file is in one of them
    "tracked": ("--cached",),
    "untracked": ("--others", "--exclude-standard"),
    "ignored": ("--others", "--ignored", "--exclude-standard"),
}


class Files(NamedTuple):
    states: dict[str, str]  # path below the root -> tracked, untracked, ignored, or "file" where there is no git
    skipped: list[str]  # names of tools' folders, which nobody publishes
    is_git: bool


def files(root: str) -> Files:
    """Every file that counts, by path; without a repository, every file there is."""
    is_git = git_says(root, "rev-parse", "--is-inside-work-tree")[1].strip() == "true"
    found: dict[str, str] = {}
    skipped: set[str] = set()
    listed = _listed(root) if is_git else [(path, "file") for path in below(root)]
    for path, state in listed:
        folder = _tool_folder(path)
        if folder and state != "tracked":
            skipped.add(folder)
        elif path.endswith("/"):  # a repository inside this one, which git lists as a folder
            found |= {path + name: state for name in below(os.path.join(root, path)) if not _tool_folder(name)}
        else:
            found.setdefault(path, state)
    return Files({path: found[path] for path in sorted(found)}, sorted(skipped), is_git)


def _listed(root):
    for state, words in LISTS.items():
        for path in git_says(root, "ls-files", "-z", *words)[1].split("\0"):
            if path and (state != "tracked" or os.path.lexists(os.path.join(root, path))):
                yield path, state


def _tool_folder(path):
    """The name of the tool's folder that the path lies in, or None."""
    return next((part for part in path.split("/") if part in TOOL_FOLDERS), None)
