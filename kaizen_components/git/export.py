"""Write the files of a tree into a folder, byte for byte as they were committed, without .git.

`git archive` and a checkout would apply attributes (export-ignore, export-subst, eol, filters),
which leave files out or change them. Submodules and links to outside are left out.
"""

import os

from ..errors import Refused, Unavailable
from .objects import LINK, SUBMODULE, ObjectStore, TreeEntry, require_path

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def export_entries(store: ObjectStore, entries: list[TreeEntry], folder: str) -> list[str]:
    """Write the files into an empty folder; return the paths that could not be exported, sorted."""
    omitted_paths = [entry.path for entry in entries if entry.mode == SUBMODULE]
    links = [entry for entry in entries if entry.mode == LINK]
    try:
        for entry in entries:  # before the links, so that no file is written through one
            if entry.mode not in (LINK, SUBMODULE):
                path = _prepare_path(folder, entry.path)
                mode = 0o755 if entry.kind == "exec" else 0o644
                with open(os.open(path, FLAGS, mode), "wb") as file:
                    store.copy_object(entry.id, file.write)
        for entry in links:
            os.symlink(os.fsdecode(store.read_object(entry.id)), _prepare_path(folder, entry.path))
        # Check all links at the end, because a link may lead out through another link.
        links_out = [entry.path for entry in links if _leads_out(folder, entry.path)]
        for name in links_out:
            os.unlink(os.path.join(folder, *name.split("/")))
        return sorted(omitted_paths + links_out)
    except FileExistsError as error:
        name = os.path.basename(os.fspath(error.filename))
        raise Refused(
            "paths_collide",
            f"Two files of the target have the name {name!r} on this file system.",
            "Their names differ only in case or in the encoding of their letters.",
            "Use a file system that distinguishes such names.",
        ) from None
    except OSError as error:
        raise Unavailable(
            "cannot_export",
            "The target's files cannot be exported.",
            str(error.strerror),
            "Check the free space.",
        ) from None


def _prepare_path(folder: str, path: str) -> str:
    """Return the full path and create its folders."""
    require_path(path)
    full_path = os.path.join(folder, *path.split("/"))
    os.makedirs(os.path.dirname(full_path), exist_ok=True)
    return full_path


def _leads_out(folder: str, name: str) -> bool:
    """Return whether a link leads out of the folder."""
    root, path = os.path.realpath(folder), os.path.join(folder, *name.split("/"))
    real = os.path.realpath(path)
    # An absolute link is left out even if it points into this folder by chance.
    return os.path.isabs(os.readlink(path)) or not (real == root or real.startswith(root + os.sep))
