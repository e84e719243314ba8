"""Back up a lesson file and replace it by a stub. Each write is complete or has no effect.

Callers hold a lock, so that no two processes write the same temporary file.
"""

import os

from ...errors import Unavailable
from .lesson_file import LessonFile

NAME_BYTES_MAX = 120  # of a path in the name of its backup; file systems take 255


def require_writable(files: list[LessonFile]) -> None:
    """Raise Unavailable if a file is in a folder that cannot be written."""
    for file in files:
        if not os.access(os.path.dirname(file.real), os.W_OK | os.X_OK):
            why = "Its folder is read-only. Nothing was written."
            raise _not_writable_error(file.path, why)


def back_up_file(file: LessonFile, folder: str) -> str:
    """Copy a file into the folder and return the path of the copy. Reuse an equal copy."""
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
        why = f"Its backup failed: {error.strerror}. Nothing was recorded."
        raise _not_writable_error(file.path, why) from None
    return path


def format_backup_name(file: LessonFile, length: int = 12) -> str:
    """Return the name of a backup: the end of the file's path, and its hash."""
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in file.path)
    end = name.encode()[-NAME_BYTES_MAX:].decode(errors="ignore")
    return f"{end}-{file.sha256[:length]}.md"


def replace_with_stub(file: LessonFile, stub: str) -> str:
    """Replace the file by the stub, unless it was changed. Return "stub" or why it was kept."""
    try:
        with open(file.real, "rb") as opened:
            data = opened.read()
        if data not in (stub.encode(), file.data):
            return "kept: it was changed meanwhile; run M3 again"
        if data == file.data:
            _write_whole(file.real, stub.encode(), os.stat(file.real))
    except FileNotFoundError:
        return "kept: it is gone"
    except OSError as error:
        why = f"The stub could not be written: {error.strerror}. Its entries and backup are stored."
        raise _not_writable_error(file.path, why) from None
    return "stub"


def _write_whole(path: str, data: bytes, like: os.stat_result | None = None) -> None:
    """Write a complete file and flush it to disk. Copy the mode and owner from `like`."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.kaizen")
    if os.path.lexists(temporary):
        os.unlink(temporary)  # a killed process left it; the caller holds the lock
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(temporary, flags, 0o644), "wb") as file:
        file.write(data)
        file.flush()
        if like:
            if hasattr(os, "chown") and (like.st_uid, like.st_gid) != (os.getuid(), os.getgid()):
                try:
                    os.chown(temporary, like.st_uid, like.st_gid)
                except OSError:
                    pass  # only an administrator may change the owner
            os.chmod(temporary, like.st_mode & 0o7777)
        os.fsync(file.fileno())
    os.replace(temporary, path)
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _not_writable_error(path: str, why: str) -> Unavailable:
    return Unavailable(
        "file_not_writable",
        f"{path} cannot be replaced.",
        why,
        "Make it writable, then run M3 again: it continues where it stopped.",
    )
