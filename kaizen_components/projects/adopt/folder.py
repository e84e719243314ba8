"""Read, write and delete files of the adopting folder, only below its root and never through a
link."""

import os
import shutil
import stat

from ...errors import Conflict, Refused
from ..skills.skill import read_link

SIZE_BYTES_MAX = 10_000_000  # a longer file in the place of AGENTS.md is not read into memory


class Folder:
    """The adopting folder; names of files are relative to its root, with forward slashes."""

    def __init__(self, root: str):
        self.root = os.path.realpath(root)

    def path(self, name: str) -> str:
        return os.path.join(self.root, *name.split("/"))

    def is_there(self, name: str) -> bool:
        return os.path.lexists(self.path(name))

    def link_target(self, name: str) -> str | None:
        return read_link(self.path(name))

    def require_own(self, name: str) -> None:
        """Refuse a link, and a file in a linked folder: a write would change a file elsewhere."""
        parts = name.split("/")
        for part in ("/".join(parts[:end]) for end in range(1, len(parts) + 1)):
            target = self.link_target(part)
            if target is not None:
                raise Refused(
                    "leads_elsewhere",
                    f"{part} is a link.",
                    f"It leads to {target}, but adoption writes only inside the repository.",
                    f"Replace {part} with a real file or folder, then run this again.",
                )

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist."""
        self.require_own(name)
        try:
            facts = os.lstat(self.path(name))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > SIZE_BYTES_MAX:
            what = f"{name} is not a plain file, or it is larger than {SIZE_BYTES_MAX:,} bytes."
            raise Conflict(
                "not_a_file",
                what,
                "Adoption reads only plain files of at most that size.",
                f"Move {name} away, then run this again.",
            )
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name: str, content: bytes, is_executable: bool = False) -> None:
        """Write the file atomically; an existing file keeps its mode."""
        self.require_own(name)
        path, part = self.path(name), self.path(name) + ".part"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(part):
            os.unlink(part)
        with open(part, "xb") as file:  # "x" fails on a link that somebody creates meanwhile
            file.write(content)
        if os.path.lexists(path):
            os.chmod(part, stat.S_IMODE(os.lstat(path).st_mode))
        elif is_executable:
            os.chmod(part, os.stat(part).st_mode | 0o111)
        os.replace(part, path)

    def remove(self, name: str) -> None:
        """Delete a file, a folder or a link (not its target), then empty parent folders."""
        path = self.path(name)
        if os.path.isdir(path) and self.link_target(name) is None:
            shutil.rmtree(path)
        else:
            os.unlink(path)
        while (path := os.path.dirname(path)) != self.root and not os.listdir(path):
            os.rmdir(path)
