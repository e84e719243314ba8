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

from ...errors import NotFound, Unavailable
from .files import hash_entry, hash_tree, walk_files

OWN_FOLDERS = ("AI/db/", "AI/work/", "AI/generation/")
# Without git nobody says what is ignored; these are tools' own.
TOOL_FOLDERS = frozenset(
    {
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
    }
)
RACY_NS = 2_000_000_000
UNREADABLE = "unreadable"


class WorkingTree:
    def __init__(self, sha256: str, commit: str | None, files: int):
        self.sha256 = sha256
        self.commit = commit
        self.files = files


def read_working_tree(root: str, cache_path: str | None = None) -> WorkingTree:
    """The tree below `root` as it is now."""
    cache = _load_cache(cache_path)
    kept: dict[str, list] = {}
    entries = _hash_entries(root, "", cache, kept)
    if cache_path and kept != cache:
        _save_cache(cache_path, kept)
    code, head = git_says(root, "rev-parse", "--verify", "--quiet", "HEAD")
    return WorkingTree(hash_tree(entries), head.strip() if code == 0 else None, len(entries))


def _hash_entries(root, prefix, cache, kept):
    found = []
    now_ns = time.time_ns()
    for path in _list_paths(root):
        full = os.path.join(root, path)
        try:
            status = os.lstat(full)
        except OSError:
            continue  # deleted, but still in git's index
        if stat.S_ISDIR(status.st_mode):  # a repository inside this one: what is in it counts
            found += _hash_entries(full, prefix + path.rstrip("/") + "/", cache, kept)
            continue
        key = prefix + path
        facts = [
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_ino,
            status.st_mode,
        ]
        known = cache.get(key)
        entry = tuple(known[5:]) if known and known[:5] == facts else _hash_entry(full, status)
        if entry is None:
            continue
        if (
            entry[0] != UNREADABLE
            and max(status.st_mtime_ns, status.st_ctime_ns) < now_ns - RACY_NS
        ):
            kept[key] = [*facts, *entry]
        found.append((key, *entry))
    return found


def _hash_entry(path, status):
    """(mode, SHA-256); None for what is no file, or is gone by now."""
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        return None
    try:
        return hash_entry(path)[:2]
    except NotFound:
        return None
    except Unavailable:
        return UNREADABLE, "0" * 64  # it counts as being there


def _list_paths(root):
    """Paths below `root` that count; from git where there is a repository, else all but tools' own."""
    found = _list_git_paths(root)
    if found is None:
        found = {
            path for path in walk_files(root) if not TOOL_FOLDERS.intersection(path.split("/"))
        }
    return sorted(path for path in found if not path.startswith(OWN_FOLDERS))


def _list_git_paths(root):
    """What git lists, or None where it has no say: no repository, or a folder that the one around it ignores."""
    code, inside = git_says(root, "rev-parse", "--is-inside-work-tree", "--show-prefix")
    answer, _, prefix = inside.partition("\n")
    if code != 0 or answer != "true":
        return None
    if (
        prefix.strip()
        and not os.path.exists(os.path.join(root, ".git"))
        and git_says(root, "check-ignore", "-q", ".")[0] == 0
    ):
        return None
    code, listed = git_says(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if code != 0:
        raise Unavailable(
            "git_failed",
            "git cannot list the files of the project.",
            "A proof has to say which files it was made on.",
            "Run `git status` to see what is wrong.",
        )
    found = set(listed.split("\0")) - {""}
    return (
        None if "./" in found else found
    )  # a submodule that is not set up: git sees a folder, and nothing in it


def git_says(root, *words):
    """(exit code, what git says); 127 where there is no git. Nothing that a repository configures is run."""
    return git_tells(root, *words)[:2]


def git_tells(root, *words):
    """(exit code, what git says, what it complains about in English)"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *words],
            cwd=root,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "LANGUAGE": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except OSError:
        return 127, "", ""
    return done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr)


def _load_cache(path):
    try:
        with open(path or os.devnull, encoding="utf-8", errors="surrogateescape") as file:
            cache = json.load(file)
        return {key: facts for key, facts in cache.items() if len(facts) == 7}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # it is only a cache


def _save_cache(path, kept):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(kept, file)
        os.replace(f"{path}.{os.getpid()}", path)
    except OSError:
        pass  # slower next time, and nothing else
