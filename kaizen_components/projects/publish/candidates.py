"""The files that a publication could take along: tracked, untracked, and ignored ones that `git add -f` would take."""

import os
from typing import NamedTuple

from ...records.files.files import walk_files
from ...records.files.working_tree import TOOL_FOLDERS
from . import hidden_content

OTHERS = {  # state -> what git lists beside the index; a file is in one of them
    "untracked": ("--others", "--exclude-standard"),
    "ignored": ("--others", "--ignored", "--exclude-standard"),
}


class Candidates(NamedTuple):
    states: dict[
        str, str
    ]  # path below the root -> tracked, untracked, ignored, or "file" where there is no git
    skipped: list[str]  # names of tools' folders, which nobody publishes
    is_git: bool
    kept: list[
        hidden_content.HiddenContent
    ]  # what git has of files that read otherwise now, or are gone
    submodules: list[str]


def list_candidates(root: str) -> Candidates:
    """Every file that counts, by path; without a repository, every file there is."""
    is_git = hidden_content.is_repository(root)
    found: dict[str, str] = {}
    skipped: set[str] = set()
    entries = hidden_content.read_index(root) if is_git else []
    listed = _listed(root, entries) if is_git else [(path, "file") for path in walk_files(root)]
    for path, state in listed:
        folder = _tool_folder(path)
        if folder and state != "tracked":
            skipped.add(folder)
        elif path.endswith("/"):  # a repository inside this one, which git lists as a folder
            found |= {
                path + name: state
                for name in walk_files(os.path.join(root, path))
                if not _tool_folder(name)
            }
        else:
            found.setdefault(path, state)
    return Candidates(
        {path: found[path] for path in sorted(found)},
        sorted(skipped),
        is_git,
        hidden_content.find_hidden_content(root, entries) if is_git else [],
        [entry.path for entry in entries if entry.mode == hidden_content.SUBMODULE],
    )


def _listed(root, entries):
    for entry in entries:
        if os.path.lexists(os.path.join(root, entry.path)):
            yield entry.path, "tracked"
    for state, words in OTHERS.items():
        for path in hidden_content.list_git(root, "ls-files", "-z", *words):
            yield path, state


def _tool_folder(path):
    """The name of the tool's folder that the path lies in, or None."""
    return next((part for part in path.split("/") if part in TOOL_FOLDERS), None)
