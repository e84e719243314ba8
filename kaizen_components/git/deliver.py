"""Put an accepted commit into the user's repository: its objects, a branch, and on request its
changes in the working tree.

Each step can be repeated, so after a crash the command is simply run again.
"""

import os

from ..errors import Conflict, Refused
from .client import run_git, try_git
from .diff import Diff
from .objects import ObjectStore
from .repository import Repository

NAMED_MAX = 5


def import_commit(store: ObjectStore, repository: Repository, objects: str, commit: str) -> None:
    """Copy the commit and its objects into the repository, but no objects of other candidates."""
    revisions = f"{commit}\n^{commit}^\n".encode()
    pack = store.run_git(
        "pack-objects", "--revs", "--stdout", "-q", stdin=revisions, objects=objects
    )
    run_git(repository.top, "unpack-objects", "-q", stdin=pack)


def create_branch(repository: Repository, name: str, commit: str) -> None:
    """Create the branch, unless it already exists at the same commit; else raise Conflict."""
    ref = f"refs/heads/{name}"
    update = f"create {ref}\0{commit}\0".encode()
    update_result = try_git(repository.top, "update-ref", "--stdin", "-z", stdin=update)
    if update_result.code == 0:
        return
    existing = try_git(repository.top, "rev-parse", "--verify", "--quiet", ref)
    if existing.code != 0 or existing.text.strip() != commit:
        raise Conflict(
            "branch_exists",
            f"The branch {name} cannot be created.",
            "It already exists at another commit." if existing.code == 0 else update_result.err,
            "Rename or delete that branch, then continue the run with `P7`.",
        )


def apply_diff(store: ObjectStore, repository: Repository, diff: Diff, head: str) -> None:
    """Apply the change to the working tree, unstaged; first check that all of it applies.

    Files that already have the new content are skipped, because an earlier process may have died
    half-way. Raise Refused if the user's own changes would be overwritten.
    """
    unapplied_paths = find_unapplied(store, repository, diff, head)
    if not unapplied_paths:
        return
    words = (
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignored=traditional",
    )
    paths = [repository.prefix + path for path in unapplied_paths]
    status = run_git(repository.top, "status", *words, "--ignore-submodules=dirty", "--", *paths)
    changed_names = [line[3:] for line in status.text.split("\0") if line]
    conflicting_paths = sorted(  # git names a whole folder that is ignored
        path.removeprefix(repository.prefix)
        for path in paths
        if any(
            path == name or (name.endswith("/") and path.startswith(name)) for name in changed_names
        )
    )
    if conflicting_paths:
        suffix = (
            f" and {len(conflicting_paths) - NAMED_MAX} more"
            if len(conflicting_paths) > NAMED_MAX
            else ""
        )
        raise Refused(
            "uncommitted_changes",
            f"There are uncommitted changes in {', '.join(conflicting_paths[:NAMED_MAX])}{suffix}.",
            "The run would overwrite them.",
            "Commit or stash them, then merge the run's branch.",
        )
    patch = diff.render_patch(unapplied_paths)
    for check in (["--check"], []):  # first check, then apply
        options = ["--whitespace=nowarn", "--no-ignore-whitespace", *check]
        result = try_git(repository.top, "apply", *options, "-", stdin=patch)
        if result.code != 0:
            raise Conflict(
                "does_not_apply",
                "The change no longer applies to the working tree.",
                result.err,
                "Merge the run's branch instead.",
            )


def find_unapplied(store: ObjectStore, repository: Repository, diff: Diff, head: str) -> list[str]:
    """Return the changed paths whose files in the working tree differ from `head`."""
    new_ids = {entry.path: entry.id for entry in store.list_entries(head, repository.prefix)}
    return [
        path
        for _, path in diff.list_changes()
        if _hash_working_file(repository, path) != new_ids.get(path)
    ]


def _hash_working_file(repository: Repository, path: str) -> str | None:
    """Return the file's object id, None if it is missing, or "" for a link or folder."""
    full_path = os.path.join(repository.top, repository.prefix + path)
    if not os.path.lexists(full_path):
        return None
    if os.path.islink(full_path) or not os.path.isfile(full_path):
        return ""
    with open(full_path, "rb") as file:
        data = file.read()
    words = ("hash-object", "--stdin", "--path", repository.prefix + path)
    return run_git(repository.top, *words, stdin=data).text.strip()
