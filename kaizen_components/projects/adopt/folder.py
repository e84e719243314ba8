"""The folder that adopts: read, written and cleared only below its own root, and never through a
link."""

import os
import shutil
import stat

from ...errors import Conflict, Refused
from ..skills.skill import read_link

SIZE_BYTES_MAX = 10_000_000  # a longer file in the place of AGENTS.md is not read into memory


class Folder:
    def __init__(self, root: str):
        self.root = os.path.realpath(root)

    def path(self, name: str) -> str:
        return os.path.join(self.root, *name.split("/"))

    def is_there(self, name: str) -> bool:
        return os.path.lexists(self.path(name))

    def link_target(self, name: str) -> str | None:
        return read_link(self.path(name))

    def require_own(self, name: str) -> None:
        """Refuse a file that is a link, or lies in a folder that is one: what we write would land
        elsewhere."""
        parts = name.split("/")
        for here in ("/".join(parts[:end]) for end in range(1, len(parts) + 1)):
            target = self.link_target(here)
            if target is not None:
                raise Refused(
                    "leads_elsewhere",
                    f"{here} is a link.",
                    f"It leads to {target}; adoption writes only what is really in the repository.",
                    f"Replace {here} by a file or folder, then run this again.",
                )

    def read(self, name: str) -> bytes | None:
        """Return what the file holds, or None if there is none."""
        self.require_own(name)
        try:
            facts = os.lstat(self.path(name))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > SIZE_BYTES_MAX:
            what = f"{name} is not a file of ordinary size."
            raise Conflict("not_a_file", what, "", f"Move {name} away, then run this again.")
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name: str, content: bytes, is_executable: bool = False) -> None:
        """Put the content there in one step. A file that is there keeps its mode."""
        self.require_own(name)
        path, part = self.path(name), self.path(name) + ".part"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(part):
            os.unlink(part)
        with open(part, "xb") as file:  # never through a link that somebody puts there
            file.write(content)
        if os.path.lexists(path):
            os.chmod(part, stat.S_IMODE(os.lstat(path).st_mode))
        elif is_executable:
            os.chmod(part, os.stat(part).st_mode | 0o111)
        os.replace(part, path)

    def remove(self, name: str) -> None:
        """Delete a file, a link (never what it leads to) or a folder, then the folders that it
        leaves empty."""
        path = self.path(name)
        if os.path.isdir(path) and self.link_target(name) is None:
            shutil.rmtree(path)
        else:
            os.unlink(path)
        while (path := os.path.dirname(path)) != self.root and not os.listdir(path):
            os.rmdir(path)
