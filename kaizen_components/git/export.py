"""A tree as files: byte for byte what was committed, without .git.

Not by `git archive` or a checkout: attributes (export-ignore, export-subst, eol, filters) would leave files out or
change them. A link is made only if it stays inside; what a link or a submodule stands for is not copied.
"""

import os

from ..errors import Refused, Unavailable
from .objects import LINK, SUBMODULE, ObjectStore, TreeEntry, require_path


def export_entries(store: ObjectStore, entries: list[TreeEntry], folder: str) -> list[str]:
    """Write the files into an empty folder; the paths that could not be exported, sorted."""
    left = [entry.path for entry in entries if entry.mode == SUBMODULE]
    try:
        for entry in entries:
            if entry.mode not in (LINK, SUBMODULE):
                _write_file(store, entry, _prepare_path(folder, entry.path))
        return sorted(
            left + _write_links(store, [entry for entry in entries if entry.mode == LINK], folder)
        )
    except FileExistsError as error:
        name = os.path.basename(os.fspath(error.filename))
        raise Refused(
            "paths_collide",
            f"{name!r} is there twice on this file system.",
            "The target has names that differ only in case or in how their letters are composed.",
            "Run it where the file system tells them apart.",
        ) from None
    except OSError as error:
        raise Unavailable(
            "cannot_export",
            "The target's files cannot be written out.",
            str(error.strerror),
            "Check the free space.",
        ) from None


def _prepare_path(folder, path):
    """The full path; its folders are made. No link is there yet, so nothing leads out."""
    require_path(path)
    full = os.path.join(folder, *path.split("/"))
    os.makedirs(os.path.dirname(full), exist_ok=True)
    return full


def _write_file(store, entry, path):
    flags = (
        os.O_WRONLY
        | os.O_CREAT
        | os.O_EXCL
        | getattr(os, "O_BINARY", 0)
        | getattr(os, "O_NOFOLLOW", 0)
    )
    with open(os.open(path, flags, 0o755 if entry.kind == "exec" else 0o644), "wb") as file:
        store.copy(entry.id, file.write)


def _write_links(store, entries, folder):
    """Make the links, then take away those that lead out: one may do so only through another."""
    made = []
    for entry in entries:
        path = _prepare_path(folder, entry.path)
        os.symlink(os.fsdecode(store.blob(entry.id)), path)
        made.append((entry.path, path))
    root = os.path.realpath(folder)
    out = [(name, path) for name, path in made if not _stays_inside(path, root)]
    for _, path in out:
        os.unlink(path)
    return [name for name, _ in out]


def _stays_inside(path, root):
    if os.path.isabs(os.readlink(path)):
        return False  # it may point here now; it is still a place on this machine
    return os.path.realpath(path).startswith(root + os.sep) or os.path.realpath(path) == root
