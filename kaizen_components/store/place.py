"""The paths of a project's data. They depend on the project only, not on where the engine is."""

import os

from ..errors import NotFound

PROJECT_MARKERS = ("AI/db/kaizen.db", "kaizen.py", ".git")


def find_root() -> str:
    """Return KAIZEN_REPO_ROOT (the launcher sets it), or the project around the working directory.

    The project is the nearest parent folder with records, a launcher or a repository.
    """
    pinned = os.environ.get("KAIZEN_REPO_ROOT")
    if pinned and os.path.isabs(pinned):
        return os.path.abspath(pinned)
    folder = here = find_working_folder()
    if pinned:
        return os.path.abspath(os.path.join(here, pinned))
    while not any(os.path.exists(os.path.join(folder, mark)) for mark in PROJECT_MARKERS):
        folder, inner = os.path.dirname(folder), folder
        if folder == inner:
            return here
    return folder


def find_working_folder() -> str:
    """Return the working directory; raise NotFound if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise NotFound(
            "no_folder",
            "The working directory was removed.",
            "Kaizen looks for the project from this directory upwards.",
            "Change to a directory that exists.",
        ) from None


class Place:
    """The paths of one project's data: records in `AI/db`, scratch and outputs in `AI/work`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.folder = os.path.join(root, "AI", "db")
        self.database = os.path.join(self.folder, "kaizen.db")
        self.lock = (
            os.path.realpath(self.database) + ".lock"
        )  # one lock per database file, even if `database` is a symbolic link
        self.backups = os.path.join(self.folder, "backups")
        self.manifests = os.path.join(self.folder, "manifests")
        self.exports = os.path.join(self.folder, "exports")
        self.work = os.path.join(root, "AI", "work")
        self.tree_cache = os.path.join(self.work, "tree-cache.json")
        self.anchors = os.path.join(self.manifests, "checkpoints")

    def make_folders(self, new_folders: list[str]) -> None:
        """Make the missing folders and add them to `new_folders`, the outermost first."""
        outer = os.path.dirname(self.folder), self.folder
        for folder in (*outer, self.backups, self.manifests, self.exports):
            try:
                os.mkdir(folder)
                new_folders.append(folder)
            except FileExistsError:
                if not os.path.isdir(folder):
                    raise

    def relative(self, path: str) -> str:
        """Return a path as records and messages show it: relative to the root if below it."""
        try:
            inside = os.path.relpath(path, self.root)
        except ValueError:  # another drive, on Windows
            return os.path.basename(path)
        return os.path.basename(path) if inside.startswith("..") else inside.replace(os.sep, "/")
