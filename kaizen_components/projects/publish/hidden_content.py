"""Find content in the index and HEAD that git would publish although the files do not show it.

Only plumbing commands are used. They compare by the data in the index, so they may list a file that
has not changed, but never miss one.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import Refused, Unavailable
from ...git.client import run_git, try_git
from ...git.objects import LINK, SUBMODULE
from ...records.work.command_line import join_words

# Of `ls-files -v`. Other letters mark entries that git does not compare or that are in conflict.
COMPARED = "H"
# dirty: to find changes in a submodule, git would run in it.
RAW = ("--raw", "--no-abbrev", "-z", "--no-renames", "--relative", "--ignore-submodules=dirty")


class HiddenContent(NamedTuple):
    """Content of a file in git that differs from the file on disk, or whose file is gone."""

    path: str
    state: str  # index or HEAD
    is_link: bool
    blob: str


class IndexEntry(NamedTuple):
    path: str
    mode: str
    blob: str
    is_compared: bool


def is_repository(root: str) -> bool:
    """Return whether the folder is in a git repository; raise an error if git cannot read it."""
    try:
        result = try_git(root, "rev-parse", "--is-inside-work-tree")
        complaint = result.err
        if result.code == 0:
            return result.text.strip() == "true"
    except Unavailable:  # no git
        complaint = ""
    # A broken .git counts too, although git ignores it. Like git, stop at a mount point.
    folder = os.path.realpath(root)
    while not (is_found := os.path.lexists(os.path.join(folder, ".git"))):
        if os.path.ismount(folder):
            break
        folder = os.path.dirname(folder)
    if "dubious ownership" in complaint:
        trust = (
            f"git config --global --add safe.directory {join_words([folder if is_found else root])}"
        )
        raise Refused(
            "repository_of_another_user",
            "git does not trust this repository, because it belongs to another user.",
            "The content in git could not be checked.",
            f"Change its owner, or trust it with `{trust}`. Then run this again.",
        )
    if not is_found:
        return False
    raise Unavailable(
        "git_failed" if complaint else "no_git",
        "There is a git repository, but git cannot list what would be published.",
        complaint or "git cannot be started.",
        "Run `git status` to see what is wrong.",
    )


def list_git(root: str, *args: str) -> list[str]:
    """Run git and return its NUL-separated output as a list.

    Raise Unavailable if git fails, because an empty list would look like a clean repository.
    """
    result = run_git(root, *args)
    return [item for item in result.text.split("\0") if item]


def read_index(root: str) -> list[IndexEntry]:
    """Return every entry of the index. A path in conflict has several entries."""
    entries = []
    for line in list_git(root, "ls-files", "-z", "-v", "--stage"):
        facts, _, path = line.partition("\t")
        letter, mode, blob, _ = facts.split(" ")
        entries.append(IndexEntry(path, mode, blob, letter == COMPARED))
    return entries


def find_hidden_content(root: str, entries: list[IndexEntry]) -> list[HiddenContent]:
    """Return each content in the index or HEAD that differs from the file on disk, once."""
    changed_paths = {path for _, _, path in _list_differences(root, "diff-files")}
    contents = {}
    for path, mode, blob, is_compared in entries:
        if path in changed_paths or not is_compared:
            contents[path, blob] = HiddenContent(path, "index", mode == LINK, blob)
    if try_git(root, "rev-parse", "--verify", "--quiet", "HEAD").code == 0:
        for mode, blob, path in _list_differences(root, "diff-index", "--cached", "HEAD"):
            contents.setdefault((path, blob), HiddenContent(path, "HEAD", mode == LINK, blob))
    submodules = {(entry.path, entry.blob) for entry in entries if entry.mode == SUBMODULE}
    return [
        content
        for key, content in contents.items()
        if key not in submodules and content.blob.strip("0")
    ]


def _list_differences(root: str, command: str, *args: str) -> Iterator[tuple[str, str, str]]:
    """Yield the old (mode, blob, path) of each changed path. The blob of a submodule is "0"."""
    words = iter(list_git(root, command, *RAW, *args))
    for facts, path in zip(words, words, strict=True):
        mode, _, blob, _, _ = facts[1:].split(" ")
        yield mode, "0" if mode == SUBMODULE else blob, path
