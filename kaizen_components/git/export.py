"""Write a tree as files, byte for byte as they were committed, without .git.

Not by `git archive` or a checkout: attributes (export-ignore, export-subst, eol, filters) would
leave files out or change them. A link is made only if it stays inside; submodules are left out.
"""

import os

from ..errors import Refused, Unavailable
from .objects import LINK, SUBMODULE, ObjectStore, TreeEntry, require_path

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def export_entries(store: ObjectStore, entries: list[TreeEntry], folder: str) -> list[str]:
    """Write the files into an empty folder; return the paths that could not be exported, sorted."""
    left_out = [entry.path for entry in entries if entry.mode == SUBMODULE]
    links = [entry for entry in entries if entry.mode == LINK]
    try:
        for entry in entries:  # before any link is there, so that nothing leads out
            if entry.mode not in (LINK, SUBMODULE):
                path = _prepare_path(folder, entry.path)
                mode = 0o755 if entry.kind == "exec" else 0o644
                with open(os.open(path, FLAGS, mode), "wb") as file:
                    store.copy_object(entry.id, file.write)
        for entry in links:
            os.symlink(os.fsdecode(store.read_object(entry.id)), _prepare_path(folder, entry.path))
        # Only now, because a link may lead out through another.
        outside = [entry.path for entry in links if _leads_out(folder, entry.path)]
        for name in outside:
            os.unlink(os.path.join(folder, *name.split("/")))
        return sorted(left_out + outside)
    except FileExistsError as error:
        name = os.path.basename(os.fspath(error.filename))
        raise Refused(
            "paths_collide",
            f"{name!r} is there twice on this file system.",
            "The target has names that differ only in case or in how their letters are composed.",
            "Run it on a file system that tells them apart.",
        ) from None
    except OSError as error:
        raise Unavailable(
            "cannot_export",
            "The target's files cannot be written out.",
            str(error.strerror),
            "Check the free space.",
        ) from None


def _prepare_path(folder: str, path: str) -> str:
    """Return the full path and make its folders."""
    require_path(path)
    full = os.path.join(folder, *path.split("/"))
    os.makedirs(os.path.dirname(full), exist_ok=True)
    return full


def _leads_out(folder: str, name: str) -> bool:
    root, path = os.path.realpath(folder), os.path.join(folder, *name.split("/"))
    real = os.path.realpath(path)
    # An absolute link may point here now; it is still a place on this machine.
    return os.path.isabs(os.readlink(path)) or not (real == root or real.startswith(root + os.sep))
