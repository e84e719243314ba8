"""Files that a candidate may not touch: compared between base and head, and put back before every run on head."""

import filecmp
import os
import re
import shutil
from collections.abc import Iterable
from functools import lru_cache

from ..job import Job
from ..verdict import Finding

SKIPPED = {".git", "__pycache__"}


def check_protected(job: Job) -> list[Finding]:
    """One finding for each protected file that was changed, added or deleted without a grant."""
    return [
        Finding(
            "protected", f"{path} was {how}: it is protected, and the spec does not grant it.", path
        )
        for path, how in sorted(list_touched(job).items())
    ]


def list_touched(job: Job) -> dict[str, str]:
    """path -> changed, added or deleted, for protected files but those granted and the new tests."""
    base, head = list_files(job.base), list_files(job.head)
    found = {}
    for path in base | head:
        if not _guards(job, path):
            continue
        if path not in head:
            found[path] = "deleted"
        elif path not in base:
            found[path] = "added"
        elif not _same(os.path.join(job.base, path), os.path.join(job.head, path)):
            found[path] = "changed"
    return found


def restore_protected(job: Job, place: str) -> None:
    """Make the protected files of a copy those of the base: put back, or removed if the base has none."""
    for path in list_files(place) | list_files(job.base):
        if not _guards(job, path):
            continue
        source, target = os.path.join(job.base, path), os.path.join(place, path)
        if not os.path.lexists(source):
            os.unlink(target)
        elif not _same(source, target):
            _copy(source, target)


def copy_new_tests(job: Job, place: str) -> None:
    """The new tests, as they are in head."""
    for path in job.tests:
        source = os.path.join(job.head, path)
        if os.path.isfile(source):
            _copy(source, os.path.join(place, path))


def list_files(root: str) -> set[str]:
    """Every file and link below a folder, with / between the parts."""
    found = set()
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in SKIPPED and name not in links]
        inside = os.path.relpath(folder, root)
        found |= {
            os.path.normpath(os.path.join(inside, name)).replace(os.sep, "/")
            for name in [*names, *links]
        }
    return found


def matches_any(path: str, globs: Iterable[str]) -> bool:
    """Whether a path fits one of the globs; ** is any number of folders, a glob without / fits in every folder."""
    return any(_pattern(glob).fullmatch(path) for glob in globs)


def _guards(job, path):
    return (
        path not in job.tests
        and matches_any(path, job.settings.protected)
        and not matches_any(path, job.grants)
    )


@lru_cache(maxsize=512)
def _pattern(glob):
    glob = glob if "/" in glob else f"**/{glob}"
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", glob))
    )


def _same(one, other):
    if os.path.islink(one) or os.path.islink(other):
        return (
            os.path.islink(one) and os.path.islink(other) and os.readlink(one) == os.readlink(other)
        )
    return os.path.isfile(other) and filecmp.cmp(one, other, shallow=False)


def _copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.lexists(target):
        shutil.rmtree(target) if os.path.isdir(target) and not os.path.islink(
            target
        ) else os.unlink(target)
    shutil.copy2(source, target, follow_symlinks=False)
