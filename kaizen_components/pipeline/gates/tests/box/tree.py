"""A tree that is restored before every session, so that no session sees changes of another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator


class RestorableTree:
    """A folder whose files are kept in memory. No test can set a ctime, so it shows a change."""

    def __init__(self, root: str):
        self.root = os.path.realpath(root)
        self._files: dict[str, tuple[bytes, tuple[int, ...] | None]] = {}
        for path in self._list_files():
            with open(path, "rb") as file:
                self._files[path] = (file.read(), _read_state(path))

    def restore(self, edits: dict[str, str]) -> None:
        """Undo all changes, then write `edits`: path below the root -> text."""
        for path in self._list_files():
            if path not in self._files:
                os.unlink(path)
        for path, (content, state) in list(self._files.items()):
            if _read_state(path) != state:
                _write_file(path, content)
                self._files[path] = (content, _read_state(path))
        for name, text in edits.items():
            _write_file(os.path.join(self.root, name), text.encode("utf-8"))

    def _list_files(self) -> Iterator[str]:
        """Yield the paths of all files but links; delete bytecode on the way."""
        for folder, folders, names in os.walk(self.root):
            if "__pycache__" in folders:
                shutil.rmtree(os.path.join(folder, "__pycache__"), ignore_errors=True)
                folders.remove("__pycache__")
            for path in (os.path.join(folder, name) for name in names):
                if not os.path.islink(path):
                    yield path


def _read_state(path: str) -> tuple[int, ...] | None:
    """Return what changes when a file is written; None if it is missing."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)


def _write_file(path: str, content: bytes) -> None:
    """Write a file, and create the folders above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.islink(path) or os.path.exists(path):
        os.unlink(path)  # never write through a link that a test left
    with open(path, "wb") as file:
        file.write(content)
