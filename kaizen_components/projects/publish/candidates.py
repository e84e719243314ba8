"""List the files that could be published: tracked, untracked and ignored ones.

Ignored files count, because `git add -f` would add them.
"""

import os
from typing import NamedTuple

from ...records.files.files import walk_files
from ...records.files.working_tree import TOOL_FOLDERS
from . import hidden_content

OTHERS = {  # state of files that are not in the index -> options of `git ls-files`
    "untracked": ("--others", "--exclude-standard"),
    "ignored": ("--others", "--ignored", "--exclude-standard"),
}


class Candidates(NamedTuple):
    states: dict[str, str]  # path -> tracked, untracked, ignored, or "file" without git
    skipped: list[str]  # names of tools' folders, such as .venv, which are never published
    is_git: bool
    hidden: list[hidden_content.HiddenContent]
    submodules: list[str]


def list_candidates(root: str) -> Candidates:
    """Return every file to check; without a git repository, every file of the folder."""
    is_git = hidden_content.is_repository(root)
    entries = hidden_content.read_index(root) if is_git else []
    files = [
        (entry.path, "tracked")
        for entry in entries
        if os.path.lexists(os.path.join(root, entry.path))
    ]
    if is_git:
        for state, words in OTHERS.items():
            paths = hidden_content.list_git(root, "ls-files", "-z", *words)
            files += [(path, state) for path in paths]
    else:
        files = [(path, "file") for path in walk_files(root)]
    states: dict[str, str] = {}
    skipped_folders: set[str] = set()
    for path, state in files:
        folder = _find_tool_folder(path)
        if folder and state != "tracked":
            skipped_folders.add(folder)
        elif path.endswith("/"):  # a repository inside this one, which git lists as a folder
            for name in walk_files(os.path.join(root, path)):
                if not _find_tool_folder(name):
                    states[path + name] = state
        else:
            states.setdefault(path, state)
    return Candidates(
        dict(sorted(states.items())),
        sorted(skipped_folders),
        is_git,
        hidden_content.find_hidden_content(root, entries) if is_git else [],
        [entry.path for entry in entries if entry.mode == hidden_content.SUBMODULE],
    )


def _find_tool_folder(path: str) -> str | None:
    return next((part for part in path.split("/") if part in TOOL_FOLDERS), None)
