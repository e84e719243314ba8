"""Guard the files that a candidate may not touch: compare base and head, and restore them."""

import filecmp
import os
import re
import shutil
from collections.abc import Iterable
from functools import lru_cache

from ..job import Job
from ..verdict import Finding

SKIPPED = frozenset((".git", "__pycache__"))


def check_protected(job: Job) -> list[Finding]:
    """Return a finding for each protected file that was changed without a grant."""
    return [
        Finding(
            "protected",
            f"{path} was {how}, but it is protected and the spec does not grant it.",
            path,
        )
        for path, how in sorted(find_changes(job).items())
    ]


def find_changes(job: Job) -> dict[str, str]:
    """Return path -> changed, added or deleted, for protected files without a grant."""
    base, head = list_files(job.base), list_files(job.head)
    changes = {}
    for path in base | head:
        if _is_guarded(job, path):
            if path not in head:
                changes[path] = "deleted"
            elif path not in base:
                changes[path] = "added"
            elif not _is_same(os.path.join(job.base, path), os.path.join(job.head, path)):
                changes[path] = "changed"
    return changes


def restore_protected(job: Job, place: str) -> None:
    """Restore the protected files in `place` from the base, and delete protected files that the
    base does not have."""
    for path in list_files(place) | list_files(job.base):
        source, target = os.path.join(job.base, path), os.path.join(place, path)
        if _is_guarded(job, path):
            if not os.path.lexists(source):
                os.unlink(target)
            elif not _is_same(source, target):
                copy_file(source, target)


def copy_new_tests(job: Job, place: str) -> None:
    """Copy the run's new test files from head into `place`."""
    for path in job.tests:
        source = os.path.join(job.head, path)
        if os.path.isfile(source):
            copy_file(source, os.path.join(place, path))


def list_files(root: str, skipped_names: frozenset[str] = SKIPPED) -> set[str]:
    """Return the path of every file and link below a folder, with forward slashes."""
    files = set()
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in skipped_names and name not in links]
        for name in [*names, *links]:
            files.add(os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/"))
    return files


def copy_file(source: str, target: str) -> None:
    """Copy a file or a link, and replace what is at `target`."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(target) and not os.path.islink(target):
        shutil.rmtree(target)
    elif os.path.lexists(target):
        os.unlink(target)
    shutil.copy2(source, target, follow_symlinks=False)


def matches_any(path: str, globs: Iterable[str]) -> bool:
    """Return whether a path matches one of the globs.

    ** matches any number of folders, and a glob without / matches in every folder.
    """
    return any(_compile_glob(glob).fullmatch(path) for glob in globs)


@lru_cache(maxsize=512)
def _compile_glob(glob: str) -> re.Pattern[str]:
    glob = glob if "/" in glob else f"**/{glob}"
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    words = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    return re.compile("".join(parts.get(word, re.escape(word)) for word in words))


def _is_guarded(job: Job, path: str) -> bool:
    is_granted = path in job.tests or matches_any(path, job.grants)
    return not is_granted and matches_any(path, job.settings.protected)


def _is_same(path: str, other: str) -> bool:
    if os.path.islink(path) or os.path.islink(other):
        are_links = os.path.islink(path) and os.path.islink(other)
        return are_links and os.readlink(path) == os.readlink(other)
    return os.path.isfile(other) and filecmp.cmp(path, other, shallow=False)
