"""A skill of an outside store, linked into the repository: SK3's plan, as a part of an adoption."""

import os
from typing import Any

from ...errors import NotFound
from ..skills import links as skill_links
from ..skills.skill import link_target
from . import engine
from .finding import Finding
from .folder import Folder, problem

Entry = dict[str, Any]


class SkillLink:
    """A link to be made."""

    def __init__(self, path: str, target: str):
        self.path = path
        self.target = target

    def look(self, folder: Folder, entry: Entry) -> Finding:
        folder.require_own(os.path.dirname(self.path))
        says = f"a link to the skill {os.path.basename(self.path)}"
        leads = os.fsencode(self.target)  # kept here and not in the state: the path is of this machine
        return Finding(self.path, "missing", says, "link", {"kind": "skill"}, leads, lambda: self._make(folder))

    def _make(self, folder):
        place = folder.path(self.path)
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            engine.make_link(place, self.target)
        except OSError as error:
            raise problem(self.path, error) from None


class LinkedSkill:
    """A link that was made before. From which store is nowhere in the state, so a lost one is only named."""

    def __init__(self, path: str):
        self.path = path

    def look(self, folder: Folder, entry: Entry) -> Finding:
        place = folder.path(self.path)
        if link_target(place) is not None:
            return Finding(self.path, "ok", "a link to a skill", entry=entry)
        if os.path.lexists(place):
            return Finding(self.path, "yours", "is yours and stays; there was a link to a skill", entry=entry)
        return Finding(self.path, "missing", "a link to a skill; --skills with its store makes it again", entry=entry)


def planned(folder: Folder, store: str | None) -> tuple[dict[str, str], list[skill_links.Step]]:
    """(path -> target of each link to make, what of the store is left out and why).

    A link that leads there already is neither: it is in the state, or it is the user's own.
    """
    if store is None:
        return {}, []
    if not os.path.isdir(store):
        raise NotFound("no_folder", f"There is no folder {store!r}.", "", "Name the store that the skills are in.")
    steps = skill_links.plan(folder.root, os.path.abspath(store), False).steps
    links = {step.path: step.target for step in steps if step.action == "link"}
    return links, [step for step in steps if step.action not in ("link", "keep")]
