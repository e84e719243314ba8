"""Put changes on disk, below one folder and nowhere else.

Each folder of a path is opened from the one above it without following links, so that a link planted between a check
and the write leads nowhere. A file is written beside its place and renamed: never through a link, hard or symbolic.
"""

import os
import secrets
import stat

from ...errors import Unavailable
from .format import EditRefused, quote_text
from .paths import check_path

FOLDER = (
    os.O_RDONLY
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
FRESH = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
HAS_DIR_FD = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd
MODE = 0o644


def write_changes(folder: str, changes: dict[str, bytes | None]) -> None:
    """Write each path's content below the folder; None deletes it. A path that would leave the folder is refused."""
    paths = {path: check_path(path) for path in changes}  # all of them before the first is written
    for path, data in changes.items():
        try:
            _write_one(folder, paths[path].split("/"), data)
        except OSError as error:
            raise _problem(path, error) from None


def _write_one(folder, parts, data):
    walk = _Walk(folder)
    try:
        for part in parts[:-1]:
            walk.into(part, make=data is not None)
        mode = walk.mode_of(parts[-1])
        if data is not None:
            walk.put(parts[-1], data, MODE if mode is None else mode)
        elif mode is not None:
            walk.delete(parts)
    finally:
        walk.close()


class _Walk:
    """The folders from the root down to where we stand, each held open; where the system cannot, their paths."""

    def __init__(self, folder: str):
        self.path = os.path.realpath(folder)
        self.held = [os.open(self.path, FOLDER)] if HAS_DIR_FD else []

    def _at(self, name):
        """What the functions of os take for a name in the folder where we stand."""
        return (
            (name, {"dir_fd": self.held[-1]}) if self.held else (os.path.join(self.path, name), {})
        )

    def into(self, name: str, make: bool) -> None:
        place, where = self._at(name)
        if make:
            try:
                os.mkdir(place, **where)
            except FileExistsError:
                pass
        if self.held:
            self.held.append(os.open(place, FOLDER, **where))  # fails on a link
        elif not _is_plain(place, stat.S_ISDIR):
            raise NotADirectoryError(20, "not a folder")
        self.path = os.path.join(self.path, name)

    def mode_of(self, name: str) -> int | None:
        """The rights of the file that is there; None if there is none. Anything but a plain file is refused."""
        place, where = self._at(name)
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
        half, where = self._at(f".kaizen-{secrets.token_hex(8)}")
        descriptor = os.open(half, FRESH, 0o600, **where)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.chmod(half, mode, **where)
            place = self._at(name)[0]
            if self.held:
                os.rename(half, place, src_dir_fd=self.held[-1], dst_dir_fd=self.held[-1])
            else:
                os.replace(half, place)
        except BaseException:
            os.unlink(half, **where)
            raise

    def delete(self, parts: list[str]) -> None:
        """The file, and the folders that become empty by it: git has none."""
        place, where = self._at(parts[-1])
        os.unlink(place, **where)
        for name in reversed(parts[:-1]):
            if self.held:
                os.close(self.held.pop())
            self.path = os.path.dirname(self.path)
            place, where = self._at(name)
            try:
                os.rmdir(place, **where)
            except OSError:
                return

    def close(self) -> None:
        for descriptor in self.held:
            os.close(descriptor)


def _is_plain(path, is_kind):
    facts = os.lstat(path)
    return is_kind(facts.st_mode) and not getattr(facts, "st_reparse_tag", 0)


def _problem(path, error):
    if (
        isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno == 40
    ):  # ELOOP: a link
        return EditRefused(
            f"{quote_text(path)} is refused: a part of it is a link or no folder.",
            "",
            "Name a path through plain folders.",
        )
    return Unavailable(
        "cannot_write",
        f"{quote_text(path)} cannot be written.",
        str(error.strerror),
        "Check the disk.",
    )
