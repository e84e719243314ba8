"""Where skills are: one folder each with a SKILL.md, in the folders that agent hosts read and in a store outside."""

import os
from typing import NamedTuple

from ...errors import NotFound, Unavailable
from ...records.files.files import JUNCTION

FOLDERS = (".agents/skills", ".claude/skills")  # Codex reads the first, Claude Code the second
PAGE = "SKILL.md"


class SkillEntry(NamedTuple):
    """One entry of a folder of skills: a skill, or what stands where one should."""

    where: str  # the folder of skills, as people name it
    path: str  # the entry itself
    target: str | None  # what it points to, if it is a link

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def form(self) -> str:
        if self.target is None:
            return "folder"
        return "link" if os.path.exists(self.path) else "broken link"


def list_skills(root: str, store: str | None = None) -> list[SkillEntry]:
    """All skills in the project's folders and in the store, by folder and name; a missing folder has none."""
    entries = [
        one for folder in FOLDERS for one in list_entries(os.path.join(root, folder), folder)
    ]
    if store is None:
        return entries
    place, shown = find_store(root, store)
    return entries if shown in FOLDERS else [*entries, *list_entries(place, "store")]


def find_store(root: str, store: str) -> tuple[str, str]:
    """(the folder, how to name it): counted from the project's root; one that is not there is an error."""
    place = os.path.normpath(os.path.join(root, os.path.expanduser(store)))
    if not os.path.isdir(place):
        raise NotFound(
            "no_store",
            f"There is no folder of skills at {store!r}.",
            "A relative path counts from the project's root.",
            "Name one with --store PATH.",
        )
    inside = os.path.relpath(os.path.realpath(place), os.path.realpath(root)).replace(os.sep, "/")
    return place, place if inside.startswith("..") else inside


def list_entries(folder: str, where: str) -> list[SkillEntry]:
    """What looks like a skill: a folder with a SKILL.md, and every link, whatever it leads to."""
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Unavailable(
            "folder_unreadable",
            f"The folder {where} cannot be read.",
            str(error.strerror),
            "Check its rights.",
        ) from None
    entries = [
        SkillEntry(where, os.path.join(folder, name), read_link(os.path.join(folder, name)))
        for name in names
    ]
    return [
        one
        for one in entries
        if one.target is not None or os.path.lexists(os.path.join(one.path, PAGE))
    ]


def read_link(path: str) -> str | None:
    """What a symbolic link or a Windows junction points to; None for everything else."""
    try:
        if os.path.islink(path) or getattr(os.lstat(path), "st_reparse_tag", 0) == JUNCTION:
            return os.readlink(path).removeprefix("\\\\?\\")
    except OSError:
        pass
    return None
