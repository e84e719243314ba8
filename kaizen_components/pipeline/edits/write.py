"""Write changes to disk, below one folder and nowhere else.

Each folder of a path is opened relative to its parent without following links, so a link that
somebody adds between the check and the write has no effect. A file is written under a temporary
name and renamed, so neither a symbolic nor a hard link is written through.
"""

import errno
import os
import secrets
import stat
from typing import Any

from ...errors import Unavailable
from .format import EditRefused, quote_text
from .paths import check_path

SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | SAFE
FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE
HAS_DIR_FD = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd
MODE = 0o644


def write_changes(folder: str, changes: dict[str, bytes | None]) -> None:
    """Write the content of each path below the folder; None deletes the file.

    All paths are checked before anything is written.
    """
    paths = {path: check_path(path).split("/") for path in changes}
    for path, data in changes.items():
        *parents, name = paths[path]
        try:
            walk = _Walk(folder)
            try:
                for parent in parents:
                    walk.enter(parent, make=data is not None)
                mode = walk.read_mode(name)
                if data is not None:
                    walk.put(name, data, MODE if mode is None else mode)
                elif mode is not None:
                    walk.delete(paths[path])
            finally:
                walk.close()
        except OSError as error:
            is_odd = isinstance(error, FileNotFoundError | NotADirectoryError)
            if is_odd or error.errno == errno.ELOOP:
                raise EditRefused(
                    f"{quote_text(path)} is refused: a part of it is a link or not a folder.",
                    "",
                    "Name a path whose folders are not links.",
                ) from None
            raise Unavailable(
                "cannot_write",
                f"{quote_text(path)} cannot be written.",
                str(error.strerror),
                "Check the free space and the permissions.",
            ) from None


class _Walk:
    """The folders from the root to the current one, held open if the system can do that."""

    def __init__(self, folder: str):
        self.path = os.path.realpath(folder)
        self.held = [os.open(self.path, FOLDER)] if HAS_DIR_FD else []

    def _locate(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the path and options that os functions need for a name in this folder."""
        if self.held:
            return name, {"dir_fd": self.held[-1]}
        return os.path.join(self.path, name), {}

    def enter(self, name: str, make: bool) -> None:
        """Go down into a folder, which `make` creates; raise OSError if it is a link or a file."""
        place, where = self._locate(name)
        if make:
            try:
                os.mkdir(place, **where)
            except FileExistsError:
                pass
        if self.held:
            self.held.append(os.open(place, FOLDER, **where))  # fails on a link
        else:
            facts = os.lstat(place)
            if not stat.S_ISDIR(facts.st_mode) or getattr(facts, "st_reparse_tag", False):
                raise NotADirectoryError(errno.ENOTDIR, "not a folder")
        self.path = os.path.join(self.path, name)

    def read_mode(self, name: str) -> int | None:
        """Return the permissions of a file, or None; refuse anything but a plain file."""
        place, where = self._locate(name)
        try:
            facts = os.stat(place, follow_symlinks=False, **where)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(facts.st_mode):
            raise EditRefused(
                f"{quote_text(name)} is refused: it is a link, a folder or a device.",
                "",
                "Name a plain file.",
            )
        return stat.S_IMODE(facts.st_mode) & 0o777

    def put(self, name: str, data: bytes, mode: int) -> None:
        """Write a file under a temporary name, then rename it."""
        part, where = self._locate(f".kaizen-{secrets.token_hex(8)}")
        descriptor = os.open(part, FRESH, 0o600, **where)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.chmod(part, mode, **where)
            place = self._locate(name)[0]
            if self.held:
                os.rename(part, place, src_dir_fd=self.held[-1], dst_dir_fd=self.held[-1])
            else:
                os.replace(part, place)
        except BaseException:
            os.unlink(part, **where)
            raise

    def delete(self, parts: list[str]) -> None:
        """Delete the file, and folders that become empty, because git has no empty folders."""
        place, where = self._locate(parts[-1])
        os.unlink(place, **where)
        for name in reversed(parts[:-1]):
            if self.held:
                os.close(self.held.pop())
            self.path = os.path.dirname(self.path)
            place, where = self._locate(name)
            try:
                os.rmdir(place, **where)
            except OSError:
                return

    def close(self) -> None:
        for descriptor in self.held:
            os.close(descriptor)
