"""The working tree as one hash: tracked and untracked files, ignored ones not, so that a proof says what it proved.

Each file counts with its path, its kind and the SHA-256 of its content (docs/format.md). What Kaizen itself writes
below AI/ does not count. A cache beside the database remembers hashes by size, times and inode; a file that was
changed within the last two seconds is hashed anew, because its time could hide another change.
"""

import json
import os
import stat
import subprocess
import time

from .files import below, entry_of, tree_digest

OWN_FOLDERS = ("AI/db/", "AI/work/", "AI/generation/")
# Without git nobody says what is ignored; these are tools' own.
TOOL_FOLDERS = frozenset(
    {".venv", "venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
)
RACY_NS = 2_000_000_000


class Tree:
    def __init__(self, sha256: str, commit: str | None, files: int):
        self.sha256 = sha256
        self.commit = commit
        self.files = files


def working_tree(root: str, cache_path: str | None = None) -> Tree:
    """The tree below `root` as it is now."""
    cache = _load(cache_path)
    kept: dict[str, list] = {}
    entries = _entries(root, "", cache, kept)
    if cache_path and kept != cache:
        _save(cache_path, kept)
    return Tree(
        tree_digest(entries), _git(root, "rev-parse", "--verify", "--quiet", "HEAD").strip() or None, len(entries)
    )


def _entries(root, prefix, cache, kept):
    found = []
    now_ns = time.time_ns()
    for path in _paths(root):
        full = os.path.join(root, path)
        try:
            status = os.lstat(full)
        except OSError:
            continue  # deleted, but still in git's index
        if stat.S_ISDIR(status.st_mode):  # a repository inside this one: what is in it counts
            found += _entries(full, prefix + path.rstrip("/") + "/", cache, kept)
            continue
        key = prefix + path
        facts = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode]
        known = cache.get(key)
        if known and known[:5] == facts:
            mode, sha256 = known[5:]
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            mode, sha256, _ = entry_of(full)
        else:
            continue  # a socket, a pipe
        if max(status.st_mtime_ns, status.st_ctime_ns) < now_ns - RACY_NS:
            kept[key] = [*facts, mode, sha256]
        found.append((key, mode, sha256))
    return found


def _paths(root):
    """Paths below `root` that count; from git where there is a repository, else all but tools' own."""
    listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed or _git(root, "rev-parse", "--is-inside-work-tree"):
        found = set(listed.split("\0")) - {""}
    else:
        found = {path for path in below(root) if not TOOL_FOLDERS.intersection(path.split("/"))}
    return sorted(path for path in found if not path.startswith(OWN_FOLDERS))


def _git(root, *words):
    """What git says, or "" where there is no git or no repository. Nothing that a repository configures is run."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *words],
            cwd=root,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except OSError:
        return ""
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""


def _load(path):
    try:
        with open(path or os.devnull, encoding="utf-8", errors="surrogateescape") as file:
            cache = json.load(file)
        return {key: facts for key, facts in cache.items() if len(facts) == 7}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # it is only a cache


def _save(path, kept):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(kept, file)
        os.replace(f"{path}.{os.getpid()}", path)
    except OSError:
        pass  # slower next time, and nothing else
