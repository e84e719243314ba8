"""Content that git would publish although the files do not show it: the index and HEAD where they
differ.

Only plumbing is asked: it compares by what the index remembers, and lists a file too many rather
than one too few.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import Refused, Unavailable
from ...git.client import run_git, try_git
from ...git.objects import LINK, SUBMODULE
from ...records.work.command_line import join_words

# Ls-files -v: every other letter is an entry that git does not compare, or that is in conflict.
COMPARED = "H"
# Looking for a submodule's own changes would run git in it.
RAW = ("--raw", "--no-abbrev", "-z", "--no-renames", "--relative", "--ignore-submodules=dirty")


class HiddenContent(NamedTuple):
    """Content in git of a file that reads otherwise now, or is gone."""

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
    """Tell whether git lists the files here; raise if there is a repository that git cannot or may
    not read."""
    try:
        result = try_git(root, "rev-parse", "--is-inside-work-tree")
        complaint = result.err
        if result.code == 0:
            return result.text.strip() == "true"
    except Unavailable:  # no git
        complaint = ""
    # A folder with a .git counts in whatever state: git ignores a broken one. It stops at a mount.
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
            "git does not trust this repository: it belongs to another user.",
            "What only git has was not looked at, so what would be published is unknown.",
            f"Make it your own, or trust it: `{trust}`; then run this again.",
        )
    if not is_found:
        return False
    raise Unavailable(
        "git_failed" if complaint else "no_git",
        "There is a git repository, but git cannot tell what would be published.",
        complaint or "git does not run here.",
        "Run `git status` to see what is wrong.",
    )


def list_git(root: str, *args: str) -> list[str]:
    """Return what git lists, NUL-terminated; raise if it fails, since no list would pass for a
    clean one."""
    result = run_git(root, *args)
    return [item for item in result.text.split("\0") if item]


def read_index(root: str) -> list[IndexEntry]:
    """Return every entry of the index; a path in conflict has several."""
    entries = []
    for line in list_git(root, "ls-files", "-z", "-v", "--stage"):
        facts, _, path = line.partition("\t")
        letter, mode, blob, _ = facts.split(" ")
        entries.append(IndexEntry(path, mode, blob, letter == COMPARED))
    return entries


def find_hidden_content(root: str, entries: list[IndexEntry]) -> list[HiddenContent]:
    """Return what has to be read from git because the work tree does not show it; each content of a
    path once."""
    changed = {path for _, _, path in _list_differences(root, "diff-files")}
    found = {}
    for path, mode, blob, is_compared in entries:
        if path in changed or not is_compared:
            found[path, blob] = HiddenContent(path, "index", mode == LINK, blob)
    if try_git(root, "rev-parse", "--verify", "--quiet", "HEAD").code == 0:
        for mode, blob, path in _list_differences(root, "diff-index", "--cached", "HEAD"):
            found.setdefault((path, blob), HiddenContent(path, "HEAD", mode == LINK, blob))
    submodules = {(entry.path, entry.blob) for entry in entries if entry.mode == SUBMODULE}
    return [
        content
        for key, content in found.items()
        if key not in submodules and content.blob.strip("0")
    ]


def _list_differences(root: str, command: str, *args: str) -> Iterator[tuple[str, str, str]]:
    """Yield (mode, blob, path) of the old side of each difference. A submodule has no blob."""
    words = iter(list_git(root, command, *RAW, *args))
    for facts, path in zip(words, words, strict=True):
        mode, _, blob, _, _ = facts[1:].split(" ")
        yield mode, "0" if mode == SUBMODULE else blob, path
