"""Accepted work in the user's repository: objects, a branch, and on request the change in the tree.

Each of these is the same when it is done twice, so a process that dies between them is simply run again.
"""

import os

from ..errors import Conflict, Refused
from . import client as git
from .diff import Diff
from .objects import ObjectStore

NAMED_MAX = 5


def import_commit(store: ObjectStore, layout: git.Repository, objects: str, commit: str) -> None:
    """Put the commit and what it is made of into the repository; what other candidates left stays out."""
    wanted = f"{commit}\n^{commit}^\n".encode()
    pack = store.told("pack-objects", "--revs", "--stdout", "-q", stdin=wanted, objects=objects)
    git.run_git(layout.top, "unpack-objects", "-q", stdin=pack)


def create_branch(layout: git.Repository, name: str, commit: str) -> None:
    """Create it; it is no mistake if it is there and the same."""
    ref = f"refs/heads/{name}"
    said = git.try_git(
        layout.top, "update-ref", "--stdin", "-z", stdin=f"create {ref}\0{commit}\0".encode()
    )
    if said.code == 0:
        return
    there = git.try_git(layout.top, "rev-parse", "--verify", "--quiet", ref)
    if there.code == 0 and there.text.strip() == commit:
        return
    raise Conflict(
        "branch_exists",
        f"The branch {name} cannot be made.",
        "It is there with another commit." if there.code == 0 else said.err,
        "Rename or remove it, then go on: `P7`.",
    )


def is_applied(store: ObjectStore, layout: git.Repository, diff: Diff, head: str) -> bool:
    """Is every changed file in the tree as the commit has it?"""
    return not find_unapplied(store, layout, diff, head)


def apply_diff(store: ObjectStore, layout: git.Repository, diff: Diff, head: str) -> None:
    """Put the change into the working tree, unstaged; all of it or, as far as a file system can, nothing.

    Files that are as they should be already are left alone: a process may have died half-way.
    """
    missing = find_unapplied(store, layout, diff, head)
    taken = _find_uncommitted(layout, missing)
    if taken:
        more = f" and {len(taken) - NAMED_MAX} more" if len(taken) > NAMED_MAX else ""
        raise Refused(
            "uncommitted_changes",
            f"The tree has changes of your own in {', '.join(taken[:NAMED_MAX])}{more}.",
            "The run would write over them.",
            "Commit or stash them, then merge the run's branch.",
        )
    if missing:
        _apply(layout, diff.patch(missing))


def _apply(layout, patch):
    for words in (("--check",), ()):
        said = git.try_git(
            layout.top, "-c", "apply.whitespace=nowarn", "-c", "apply.ignoreWhitespace=no", "apply",
            "--whitespace=nowarn", *words, "-", stdin=patch,
        )  # fmt: skip
        if said.code != 0:
            raise Conflict(
                "does_not_apply",
                "The change does not fit the tree any more.",
                said.err,
                "Merge the run's branch instead.",
            )


def find_unapplied(store: ObjectStore, layout: git.Repository, diff: Diff, head: str) -> list[str]:
    """The changed paths that are not yet in the tree as `head` has them."""
    wanted = {entry.path: entry.id for entry in store.entries(head, layout.prefix)}
    return [
        path for _, path in diff.paths() if _hash_working_file(layout, path) != wanted.get(path)
    ]


def _hash_working_file(layout, path):
    """The object that git would make of the file; None where there is none."""
    full = os.path.join(layout.top, layout.prefix + path)
    if not os.path.lexists(full):
        return None
    if os.path.islink(full) or not os.path.isfile(full):
        return ""
    with open(full, "rb") as file:
        data = file.read()
    said = git.run_git(
        layout.top, "hash-object", "--stdin", "--path", layout.prefix + path, stdin=data
    )
    return said.text.strip()


def _find_uncommitted(layout, paths):
    """Those that `git status` has something to say about, be they untracked or ignored: a new one may go there."""
    if not paths:
        return []
    listed = git.run_git(
        layout.top, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignored=traditional",
        "--", *(layout.prefix + path for path in paths),
    )  # fmt: skip
    dirty = {line[3:].removeprefix(layout.prefix) for line in listed.text.split("\0") if line}
    return sorted(path for path in paths if any(_is_listed(path, one) for one in dirty))


def _is_listed(path, listed):
    return path == listed or (listed.endswith("/") and path.startswith(listed))
