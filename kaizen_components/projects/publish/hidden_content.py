"""What git would publish in place of the files as they stand: contents of the index and of HEAD that differ from them.

Only plumbing is asked: it compares by what the index remembers, runs no filter, and lists a file too many rather than
one too few.
"""

import os
import subprocess
from collections.abc import Iterator
from types import TracebackType
from typing import IO, NamedTuple

from ...errors import Refused, Unavailable
from ...records.files.working_tree import git_says, git_tells
from ...records.work.command_line import join_words

SUBMODULE, LINK = "160000", "120000"
BLOCK_BYTES = 1 << 20
SAID_CHARS_MAX = 500
COMPARED = "H"  # ls-files -v: every other letter is an entry that git does not compare, or that is in conflict
# A submodule's own changes are its own; looking for them would run git in there.
RAW = ("--raw", "--no-abbrev", "-z", "--no-renames", "--relative", "--ignore-submodules=dirty")

TRUST = ("git", "config", "--global", "--add", "safe.directory")


class HiddenContent(NamedTuple):
    """A content that git has, of a file that may read otherwise now, or be gone."""

    path: str
    state: str  # index, or HEAD
    is_link: bool
    blob: str


class IndexEntry(NamedTuple):
    path: str
    mode: str
    blob: str
    is_compared: bool


def is_repository(root: str) -> bool:
    """Whether git has a say here; an error where it would have one, since without it a list passes for a whole one."""
    code, said, complaint = git_tells(root, "rev-parse", "--is-inside-work-tree")
    if code == 0:
        return said.strip() == "true"
    top = _top(root)
    if "dubious ownership" in complaint:
        raise Refused(
            "repository_of_another_user",
            "git does not trust this repository: it belongs to another user.",
            "So nobody can say what would be published, and what only git has was not looked at.",
            f"Make it your own, or trust it: `{join_words([*TRUST, top or root])}`; then run this again.",
        )
    if top is None:
        return False
    raise Unavailable(
        "git_failed" if complaint else "no_git",
        "There is a git repository, and git cannot say what would be published.",
        complaint.strip()[:SAID_CHARS_MAX] or "git does not run here.",
        "Run `git status` to see what is wrong.",
    )


def _top(root: str) -> str | None:
    """The folder with a .git, in whatever state: git passes over a broken one. Like git, not beyond a mount."""
    here = os.path.realpath(root)
    while not os.path.lexists(os.path.join(here, ".git")):
        if os.path.ismount(here):
            return None
        here = os.path.dirname(here)
    return here


def list_git(root: str, *words: str) -> list[str]:
    """What git lists, each ended by NUL; Unavailable where it cannot, since no list would pass for a clean one."""
    code, said = git_says(root, *words)
    if code != 0:
        raise Unavailable(
            "git_failed",
            "git cannot list what would be published.",
            f"`git {words[0]}` exits {code}.",
            "Run `git status` to see what is wrong.",
        )
    return [one for one in said.split("\0") if one]


def read_index(root: str) -> list[IndexEntry]:
    """Every entry of the index; a path in conflict has several."""
    found = []
    for line in list_git(root, "ls-files", "-z", "-v", "--stage"):
        facts, _, path = line.partition("\t")
        letter, mode, blob, _ = facts.split(" ")
        found.append(IndexEntry(path, mode, blob, letter == COMPARED))
    return found


def find_hidden_content(root: str, entries: list[IndexEntry]) -> list[HiddenContent]:
    """What has to be looked at in git, because the work tree does not show it; each content of a path once."""
    changed = {path for _, _, path in _list_differences(root, "diff-files")}
    found = {}
    for path, mode, blob, is_compared in entries:
        if path in changed or not is_compared:
            found[path, blob] = HiddenContent(path, "index", mode == LINK, blob)
    if git_says(root, "rev-parse", "--verify", "--quiet", "HEAD")[0] == 0:
        for mode, blob, path in _list_differences(root, "diff-index", "--cached", "HEAD"):
            found.setdefault((path, blob), HiddenContent(path, "HEAD", mode == LINK, blob))
    submodules = {(entry.path, entry.blob) for entry in entries if entry.mode == SUBMODULE}
    return [one for key, one in found.items() if key not in submodules and one.blob.strip("0")]


def _list_differences(root: str, command: str, *words: str) -> Iterator[tuple[str, str, str]]:
    """(mode, blob, path) before each difference; a submodule's commit is no content."""
    said = iter(list_git(root, command, *RAW, *words))
    for facts, path in zip(said, said, strict=True):
        mode, _, blob, _, _ = facts[1:].split(" ")
        yield mode, "0" if mode == SUBMODULE else blob, path


def _ended() -> Unavailable:
    return Unavailable(
        "git_failed",
        "git ended while it told what it has.",
        "A content that would be published was not looked at.",
        "Run `git fsck` to see what is wrong.",
    )


class Contents:
    """Reads contents out of git, one after the other: one process for all, begun with the first."""

    def __init__(self, root: str):
        self.root = root
        self.process: subprocess.Popen[bytes] | None = None
        self.left = 0

    def __enter__(self) -> "Contents":
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process:
            self.process.kill()  # it may wait to tell a content that nobody reads to its end
            self.process.communicate()

    def open(self, blob: str) -> int | None:
        """The bytes of a content, which `read` then gives; None for one that git does not have."""
        while self.left:  # of the one before
            self.read(BLOCK_BYTES)
        asked, answer = self._pipes()
        asked.write(blob.encode() + b"\n")
        asked.flush()
        facts = answer.readline().split()
        if not facts:
            raise _ended()
        if len(facts) != 3 or facts[1] != b"blob":
            return None
        self.left = int(facts[2]) + 1  # and a line break
        return self.left - 1

    def read(self, size: int) -> bytes:
        """As a file's read."""
        _, answer = self._pipes()
        size = min(size, max(self.left - 1, 0))
        data = answer.read(size)
        self.left -= size
        if self.left == 1:
            self.left -= len(answer.read(1))
        if len(data) < size or self.left == 1:
            raise _ended()
        return data

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self.process is None:
            environment = {
                name: value for name, value in os.environ.items() if not name.startswith("GIT_")
            }
            self.process = subprocess.Popen(
                ["git", "--no-replace-objects", "cat-file", "--batch"],
                cwd=self.root,
                env={
                    **environment,
                    "GIT_OPTIONAL_LOCKS": "0",
                    "GIT_NO_LAZY_FETCH": "1",
                },  # nothing is fetched to look
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        assert self.process.stdin and self.process.stdout
        return self.process.stdin, self.process.stdout
