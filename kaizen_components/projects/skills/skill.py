"""Find skills: folders with a SKILL.md, in the folders of agent hosts and in a store."""

import os
from typing import NamedTuple

from ...errors import NotFound, Unavailable
from ...records.files.files import JUNCTION, use_forward_slashes

FOLDERS = (".agents/skills", ".claude/skills")  # Codex reads the first, Claude Code the second
PAGE = "SKILL.md"


class SkillEntry(NamedTuple):
    """One entry in a folder of skills: a skill, or a link to one."""

    where: str  # the folder of skills, as it is shown to the user
    path: str  # the entry itself
    target: str | None  # of the link, if it is one

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def form(self) -> str:
        if self.target is None:
            return "folder"
        return "link" if os.path.exists(self.path) else "broken link"


def list_skills(root: str, skill_store: str | None = None) -> list[SkillEntry]:
    """Return all skills in the project's folders and in the store, by folder and name."""
    entries = [
        skill for folder in FOLDERS for skill in list_entries(os.path.join(root, folder), folder)
    ]
    if skill_store is not None:
        place, store_name = find_store(root, skill_store)
        entries += [] if store_name in FOLDERS else list_entries(place, "store")
    return entries


def find_store(root: str, skill_store: str) -> tuple[str, str]:
    """Return the store's folder and its path for messages; resolve a path from the root."""
    place = os.path.normpath(os.path.join(root, os.path.expanduser(skill_store)))
    if not os.path.isdir(place):
        raise NotFound(
            "no_store",
            f"There is no folder of skills at {skill_store!r}.",
            "A relative path starts at the project's root.",
            "Give --store an existing folder.",
        )
    short_path = use_forward_slashes(
        os.path.relpath(os.path.realpath(place), os.path.realpath(root))
    )
    return place, place if short_path.startswith("..") else short_path


def list_entries(folder: str, where: str) -> list[SkillEntry]:
    """Return the entries that may be skills: each folder with a SKILL.md, and each link."""
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        what, why = f"The folder {where} cannot be read.", str(error.strerror)
        raise Unavailable("folder_unreadable", what, why, "Check its permissions.") from None
    entries = []
    for name in names:
        path = os.path.join(folder, name)
        target = read_link(path)
        if target is not None or os.path.lexists(os.path.join(path, PAGE)):
            entries.append(SkillEntry(where, path, target))
    return entries


def read_link(path: str) -> str | None:
    """Return the target of a symbolic link or a Windows junction; None for everything else."""
    try:
        if os.path.islink(path) or getattr(os.lstat(path), "st_reparse_tag", 0) == JUNCTION:
            return os.readlink(path).removeprefix("\\\\?\\")
    except OSError:
        pass
    return None
