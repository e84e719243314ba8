"""Where a project's data lives. The engine may be linked from elsewhere, so its own location never counts."""

import os

from ..errors import NotFound


def find_root() -> str:
    """KAIZEN_REPO_ROOT (the launcher pins it), or else the project around the working directory."""
    pinned = os.environ.get("KAIZEN_REPO_ROOT")
    if pinned and os.path.isabs(pinned):
        return os.path.abspath(pinned)
    here = working_folder()
    return os.path.abspath(os.path.join(here, pinned)) if pinned else _around(here)


def working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise NotFound(
            "no_folder", "The working directory does not exist any more.", "", "Change to another."
        ) from None


PROJECT_MARKERS = ("AI/db/kaizen.db", "kaizen.py", ".git")


def _around(start: str) -> str:
    """The nearest folder upwards that has records, a launcher or a repository of its own; or else `start`."""
    folder = start
    while not any(os.path.exists(os.path.join(folder, mark)) for mark in PROJECT_MARKERS):
        parent = os.path.dirname(folder)
        if parent == folder:
            return start
        folder = parent
    return folder


class Place:
    """The paths of one project's data: records below `AI/db`, scratch and outputs below `AI/work`."""

    def __init__(self, root: str):
        self.root = root
        self.folder = os.path.join(root, "AI", "db")
        self.database = os.path.join(self.folder, "kaizen.db")
        self.lock = (
            os.path.realpath(self.database) + ".lock"
        )  # one gate for one file, also through a link
        self.backups = os.path.join(self.folder, "backups")
        self.manifests = os.path.join(self.folder, "manifests")
        self.exports = os.path.join(self.folder, "exports")
        self.work = os.path.join(root, "AI", "work")
        self.tree_cache = os.path.join(self.work, "tree-cache.json")
        self.anchors = os.path.join(self.manifests, "checkpoints")

    def make_folders(self, made: list[str]) -> None:
        """Make what is missing, and put it into `made`, the outermost first."""
        for folder in (
            os.path.dirname(self.folder),
            self.folder,
            self.backups,
            self.manifests,
            self.exports,
        ):
            try:
                os.mkdir(folder)
                made.append(folder)
            except FileExistsError:
                if not os.path.isdir(folder):
                    raise

    def relative(self, path: str) -> str:
        """A path as records and messages show it: below the project's root where it can be."""
        try:
            inside = os.path.relpath(path, self.root)
        except ValueError:  # another drive, on Windows
            return os.path.basename(path)
        return os.path.basename(path) if inside.startswith("..") else inside.replace(os.sep, "/")
