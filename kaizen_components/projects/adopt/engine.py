"""Give another repository the running engine: by a link or as a copy."""

import os
import shutil

from ...errors import Conflict, Unavailable
from ...records.files.files import hash_tree, use_forward_slashes
from ..skills.links import make_link
from .folder import Folder
from .parts import Entry, Step, hash_text

NAME = "kaizen_components"
PACKAGE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HOME = os.path.dirname(PACKAGE)
SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
BYTECODE = "__pycache__"
COPY_PART = ".kaizen/engine.part"


def read_file(name: str, folder: str = SHIPPED) -> bytes:
    """Return the content of a file in `folder`, by default of the files that adoption writes."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    except OSError:
        raise Unavailable(
            "engine_not_whole",
            f"The engine's file {name} is missing.",
            "A repository can be adopted only from a complete copy of Kaizen, such as a clone.",
            "Run the kaizen.py of a clone instead.",
        ) from None


def hash_engine(folder: str) -> str:
    """Return one hash over all files of an engine, without bytecode."""
    entries = []
    for current, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != BYTECODE]
        for name in files:
            path = os.path.join(current, name)
            with open(path, "rb") as file:
                sha256 = hash_text(file.read())
            entries.append((use_forward_slashes(os.path.relpath(path, folder)), "file", sha256))
    return hash_tree(entries)


def plan_engine(folder: Folder, entry: Entry, mode: str) -> Step:
    """Plan the engine: a link, which git ignores, or a copy, which the user commits."""
    path, target = folder.path(NAME), folder.link_target(NAME)
    if target is not None:
        if mode == "link" and os.path.realpath(path) == PACKAGE:
            return Step(NAME, "ok", f"-> {target}", entry={"kind": "link", "sha256": ""})
        return _plan_put(folder, mode, "outdated", f", in place of the link to {target}")
    if not os.path.lexists(path):
        return _plan_put(folder, mode, "missing")
    if os.path.realpath(path) == PACKAGE:  # it is the running engine itself
        return Step(NAME, "ok", "the copy that is running", entry=entry)
    present_hash = hash_engine(path)
    if mode == "copy" and present_hash == hash_engine(PACKAGE):
        copy_entry = {"kind": "copy", "sha256": present_hash}
        return Step(NAME, "ok", "a copy of this engine", entry=copy_entry)
    if present_hash == entry.get("sha256"):
        return _plan_put(folder, mode, "outdated")
    if entry.get("kind") == "copy":
        says = "you changed the copy, so it stays; delete it to get a new one"
        return Step(NAME, "changed", says, entry=entry)
    raise Conflict(
        "name_taken",
        f"{NAME} already exists, and it is not from an adoption.",
        "The engine would replace it.",
        "Move it away, then run this again. Nothing was changed.",
    )


def _plan_put(folder: Folder, mode: str, state: str, instead: str = "") -> Step:
    """Plan to create the link or the copy, and to delete the old one."""
    path, part, target = folder.path(NAME), folder.path(COPY_PART), PACKAGE
    if os.name != "nt" and os.path.dirname(folder.root) == os.path.dirname(HOME):
        # A relative link, so that both folders can be moved together; junctions are absolute.
        target = os.path.relpath(PACKAGE, folder.root)

    def put() -> None:
        if mode == "copy":
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(PACKAGE, part, ignore=shutil.ignore_patterns(BYTECODE))
        if os.path.lexists(path):
            folder.remove(NAME)
        if mode == "copy":
            os.rename(part, path)
        else:
            make_link(target, path)

    says = f"-> {target}; never committed"
    if mode == "copy":
        says = "a copy of the engine, to be committed"
    entry = {"kind": mode, "sha256": hash_engine(PACKAGE) if mode == "copy" else ""}
    action = mode if state == "missing" else f"{mode} anew"
    return Step(NAME, state, says + instead, action, entry, put)
