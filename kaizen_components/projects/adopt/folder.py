"""The repository that adopts: read, written and cleared only below its own root, and never through a link."""

import os
import shutil
import stat

from ...errors import Conflict, KaizenError, Refused, Unavailable

PART = ".kaizen/new.part"  # what is being written; in one place, where one that is killed leaves it to be found
SIZE_BYTES_MAX = 10_000_000  # nobody's AGENTS.md; a file in the place of one is not read into memory


class Folder:
    def __init__(self, root: str):
        self.root = os.path.realpath(root)

    def path(self, name: str) -> str:
        return os.path.join(self.root, *name.split("/"))

    def is_there(self, name: str) -> bool:
        return os.path.lexists(self.path(name))

    def require_own(self, name: str) -> None:
        """Refuse a file that is a link, or lies in a folder that is one: what we write would land elsewhere."""
        parts = name.split("/")
        for end in range(1, len(parts) + 1):
            here = "/".join(parts[:end])
            if is_link(self.path(here)):
                raise Refused(
                    "leads_elsewhere",
                    f"{here} is a link.",
                    f"It leads to {target(self.path(here))}; adoption writes only what is really in the repository.",
                    f"Make {here} a file or folder of its own, then run this again. Nothing was touched.",
                )

    def read(self, name: str) -> bytes | None:
        """What the file holds, or None if there is none."""
        self.require_own(name)
        path = self.path(name)
        try:
            facts = os.lstat(path)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > SIZE_BYTES_MAX:
                raise Conflict(
                    "not_a_file",
                    f"{name} is not a file of ordinary size.",
                    "",
                    f"Move {name} away, then run this again.",
                )
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise problem(name, error) from None

    def write(self, name: str, content: bytes, expected: bytes | None, executable: bool = False) -> None:
        """Put the content there in one step, if what is there is still what the plan saw."""
        if self.read(name) != expected:
            raise changed(name)
        path, part = self.path(name), self.path(PART)
        try:
            for place in (path, part):
                os.makedirs(os.path.dirname(place), exist_ok=True)
            mode = stat.S_IMODE(os.lstat(path).st_mode) if expected is not None else None
            if os.path.lexists(part):
                os.unlink(part)  # of one that was killed
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with open(os.open(part, flags, 0o777 if executable else 0o666), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(part, mode)
            os.replace(part, path)
        except OSError as error:
            raise problem(name, error) from None

    def remove(self, name: str) -> None:
        self.require_own(name)
        try:
            if os.path.isdir(self.path(name)):
                shutil.rmtree(self.path(name))
            elif self.is_there(name):
                os.unlink(self.path(name))
        except OSError as error:
            raise problem(name, error) from None

    def remove_if_empty(self, name: str) -> None:
        try:
            os.rmdir(self.path(name))
        except OSError:
            pass  # somebody keeps something in it


def is_link(path: str) -> bool:
    """A symbolic link, or a Windows junction, which `islink` does not count."""
    try:
        facts = os.lstat(path)
    except (OSError, ValueError):
        return False
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)
    return stat.S_ISLNK(facts.st_mode) or getattr(facts, "st_reparse_tag", 0) == junction


def target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return "somewhere else"


def changed(name: str) -> KaizenError:
    return Conflict(
        "changed_meanwhile",
        f"{name} changed while it was being worked on.",
        "Somebody else wrote to it after the plan was made.",
        "Run this again: it makes a new plan and goes on from here.",
    )


def problem(name: str, error: OSError) -> KaizenError:
    return Unavailable(
        "cannot_write",
        f"{name} cannot be read or written.",
        str(error.strerror or error),
        "Make the repository's folder writable, or free some space; then run this again: it goes on from here.",
    )
