"""The copies that a migration makes: the backup of a file of lessons, and the stub in its place.

Either is there as a whole or not at all, also after a crash. Callers hold a lock: two who write the same temporary file
would mix it.
"""

import os

from ...errors import Unavailable
from .lesson_file import LessonFile

NAME_BYTES_MAX = 120  # of a path in the name of its backup; file systems take 255


def require_writable(files: list[LessonFile]) -> None:
    for file in files:
        if not os.access(os.path.dirname(file.real), os.W_OK | os.X_OK):
            raise _not_writable(file.path, "Its folder is read-only.", "Nothing was written.")


def back_up_file(file: LessonFile, folder: str) -> str:
    """The path of a copy that is surely on disk. A copy that is there and whole is used again."""
    for length in (12, 64):
        path = os.path.join(folder, format_backup_name(file, length))
        if not os.path.exists(path):
            break
        with open(path, "rb") as copy:
            if copy.read() == file.data:
                return path
    try:
        os.makedirs(folder, exist_ok=True)
        _write_whole(path, file.data)
    except OSError as error:
        raise _not_writable(
            file.path, f"Its backup failed: {error.strerror}.", "Nothing was recorded."
        ) from None
    return path


def format_backup_name(file: LessonFile, length: int = 12) -> str:
    """The name of its backup: path and hash."""
    return f"{_flat(file.path)}-{file.sha256[:length]}.md"


def _flat(path):
    """A path as one file name: letters, digits and ._- as they are, the end of it if it is long."""
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in path)
    return name.encode()[-NAME_BYTES_MAX:].decode(errors="ignore")


def replace_with_stub(file: LessonFile, stub: str) -> str:
    """Put the stub in the file's place, unless the file is not what was read. What came of it, in words."""
    try:
        with open(file.real, "rb") as opened:
            now = opened.read()
        if now == stub.encode():
            return "stub"
        if now != file.data:
            return "kept: it was changed meanwhile; run M3 again"
        _write_whole(file.real, stub.encode(), os.stat(file.real))
    except FileNotFoundError:
        return "kept: it is gone"
    except OSError as error:
        why = f"The stub could not be written: {error.strerror}."
        raise _not_writable(
            file.path, why, "Its entries are recorded and its backup is made."
        ) from None
    return "stub"


def _write_whole(path, data, like=None):
    """All of a file or nothing of it, on disk before this returns. `like`: whose mode and owner it gets."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.kaizen")
    if os.path.lexists(temporary):
        os.unlink(
            temporary
        )  # of a process that was killed; nobody else is here: the caller holds a lock
    handle = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644
    )
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if like:
            _copy_rights(temporary, like)
        os.fsync(file.fileno())
    os.replace(temporary, path)
    _sync_folder(folder)


def _copy_rights(path, like):
    if hasattr(os, "chown") and (like.st_uid, like.st_gid) != (os.getuid(), os.getgid()):
        try:
            os.chown(path, like.st_uid, like.st_gid)
        except OSError:
            pass  # only an administrator may; the file then belongs to who migrated it
    os.chmod(path, like.st_mode & 0o7777)


def _sync_folder(folder):
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _not_writable(path, why, so_far):
    return Unavailable(
        "file_not_writable",
        f"{path} cannot be replaced.",
        f"{why} {so_far}",
        "Make it writable, then run M3 again: it goes on where it stopped.",
    )
