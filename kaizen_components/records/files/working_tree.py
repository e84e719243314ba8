"""Hash the working tree, so that a proof says which state of the files it ran on.

The hash covers the path, kind and SHA-256 of each tracked and untracked file (docs/format.md). It
leaves out ignored files and what Kaizen itself writes below AI/. A cache remembers hashes by size,
times and inode. A file that changed within the last two seconds is not cached: another change could
have the same time.
"""

from __future__ import annotations

import json
import os
import stat
import time

from ...errors import NotFound, Unavailable
from ...git.client import try_git
from .files import hash_entry, hash_tree, walk_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Cache = dict[str, list[Any]]  # path -> size, mtime, ctime, inode, mode, kind, SHA-256

OWN_FOLDERS = ("AI/db/", "AI/work/", "AI/generation/")
# Folders of tools to skip in a project without git, which has no ignore rules.
TOOL_FOLDERS = frozenset((
    ".venv", "venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".hypothesis",
))  # fmt: skip
RACY_NS = 2_000_000_000
UNREADABLE = "unreadable"


class WorkingTree:
    """The hash of a working tree, its commit (None without one), and the number of files."""

    def __init__(self, sha256: str, commit: str | None, files: int):
        self.sha256 = sha256
        self.commit = commit
        self.files = files


def read_working_tree(root: str, cache_path: str | None = None) -> WorkingTree:
    """Return the hash, commit and number of files of the tree below `root`."""
    cache = _load_cache(cache_path)
    fresh: Cache = {}
    entries = _hash_entries(root, "", cache, fresh)
    if cache_path and fresh != cache:
        _save_cache(cache_path, fresh)
    try:
        head = try_git(root, "rev-parse", "--verify", "--quiet", "HEAD")
        commit = head.text.strip() if head.code == 0 else None
    except Unavailable:  # no git here
        commit = None
    return WorkingTree(hash_tree(entries), commit, len(entries))


def _hash_entries(root: str, prefix: str, cache: Cache, fresh: Cache) -> list[tuple[str, str, str]]:
    """Return (path, kind, SHA-256) of every file below `root`; add cacheable hashes to `fresh`."""
    entries = []
    now_ns = time.time_ns()
    paths = _list_git_paths(root)
    if paths is None:
        paths = {path for path in walk_files(root) if not TOOL_FOLDERS & set(path.split("/"))}
    for path in sorted(path for path in paths if not path.startswith(OWN_FOLDERS)):
        full = os.path.join(root, path)
        try:
            facts = os.lstat(full)
        except OSError:
            continue  # deleted, but still in git's index
        if stat.S_ISDIR(facts.st_mode):  # a repository inside this one: add its files
            entries += _hash_entries(full, prefix + path.rstrip("/") + "/", cache, fresh)
            continue
        if not (stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)):
            continue
        key = prefix + path
        times = max(facts.st_mtime_ns, facts.st_ctime_ns)
        fingerprint = [
            facts.st_size,
            facts.st_mtime_ns,
            facts.st_ctime_ns,
            facts.st_ino,
            facts.st_mode,
        ]
        cache_row = cache.get(key)
        if cache_row and cache_row[:5] == fingerprint:
            kind, sha256 = cache_row[5:]
        else:
            try:
                kind, sha256, _ = hash_entry(full)
            except NotFound:
                continue
            except Unavailable:  # an unreadable file still counts
                kind, sha256 = UNREADABLE, "0" * 64
        if kind != UNREADABLE and times < now_ns - RACY_NS:
            fresh[key] = [*fingerprint, kind, sha256]
        entries.append((key, kind, sha256))
    return entries


def _list_git_paths(root: str) -> set[str] | None:
    """Return the paths that git lists; None without a repository, or if it ignores `root`."""
    try:
        inside = try_git(root, "rev-parse", "--is-inside-work-tree", "--show-prefix")
    except Unavailable:
        return None
    answer, _, prefix = inside.text.partition("\n")
    if inside.code != 0 or answer != "true":
        return None
    is_own = not prefix.strip() or os.path.exists(os.path.join(root, ".git"))
    if not is_own and try_git(root, "check-ignore", "-q", ".").code == 0:
        return None
    listing = try_git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listing.code != 0:
        raise Unavailable(
            "git_failed",
            "git cannot list the files of the project.",
            "A proof has to say which files it was made on.",
            "Run `git status` to see what is wrong.",
        )
    paths = set(listing.text.split("\0")) - {""}
    return None if "./" in paths else paths  # "./": a submodule that is not set up


def _load_cache(path: str | None) -> Cache:
    try:
        with open(path or os.devnull, encoding="utf-8", errors="surrogateescape") as file:
            cache = json.load(file)
        return {key: facts for key, facts in cache.items() if len(facts) == 7}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # without a cache, all files are hashed again


def _save_cache(path: str, cache: Cache) -> None:
    part = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(part, "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(cache, file)
        os.replace(part, path)
    except OSError:
        pass  # without a cache the next hash is only slower
