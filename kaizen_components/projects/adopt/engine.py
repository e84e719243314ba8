"""The engine that runs: where it is, and how it gets into another repository, by a link or as a copy."""

import os
import shutil
import subprocess

from ...errors import Unavailable
from ...records.files.files import tree_digest
from .finding import hash_of, unix

NAME = "kaizen_components"
PACKAGE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HOME = os.path.dirname(PACKAGE)
LEFT_OUT = ("__pycache__",)
COPY_PART, COPY_OLD = ".kaizen/engine.part", ".kaizen/engine.old"


def beside(name: str) -> bytes:
    """A file that stands beside the engine in its own repository."""
    try:
        with open(os.path.join(HOME, name), "rb") as file:
            return file.read()
    except OSError:
        raise Unavailable(
            "engine_not_whole",
            f"{name} is not beside the engine.",
            "A repository is adopted from a whole copy of Kaizen, such as a clone.",
            "Run the kaizen.py of a clone instead.",
        ) from None


def shipped(name: str) -> bytes:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "files", name), "rb") as file:
        return file.read()


def digest(folder: str) -> str:
    """One hash of all files of an engine, without bytecode."""
    entries = []
    for here, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one not in LEFT_OUT]
        for name in files:
            path = os.path.join(here, name)
            relative = os.path.relpath(path, folder).replace(os.sep, "/")
            with open(path, "rb") as file:
                entries.append((relative, "file", hash_of(unix(file.read()))))
    return tree_digest(entries)


def link_target(root: str) -> str:
    """Relative beside the engine, so that both can be moved together; a junction must be absolute."""
    if os.name != "nt" and os.path.dirname(root) == os.path.dirname(HOME):
        return os.path.relpath(PACKAGE, root)
    return PACKAGE


def make_link(path: str, to: str, meant_from: str = "") -> None:
    """A junction knows no relative target: there it is taken from the folder of the link, or from the one it is for."""
    if os.name != "nt":
        os.symlink(to, path, target_is_directory=True)
        return
    to = os.path.normpath(os.path.join(meant_from or os.path.dirname(path), to))
    made = subprocess.run(["cmd", "/c", "mklink", "/J", path, to], capture_output=True, text=True, check=False)
    if made.returncode:
        raise OSError(0, (made.stderr or made.stdout).strip() or "mklink failed")


def remove_link(path: str) -> None:
    if os.name == "nt" and os.path.isdir(path):
        os.rmdir(path)  # a junction goes like an empty folder; what it leads to stays
    else:
        os.unlink(path)


def copy_to(path: str) -> None:
    shutil.copytree(PACKAGE, path, ignore=shutil.ignore_patterns(*LEFT_OUT))
