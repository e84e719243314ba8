"""A skill of an outside store, linked into the repository: SK3's plan, as a part of an adoption."""

import os
from typing import Any

from ...errors import NotFound
from .. import skill_links
from ..skill import link_target
from . import engine
from .finding import Finding
from .folder import Folder, problem

Entry = dict[str, Any]
PLANNED = ("link", "keep")


class SkillLink:
    def __init__(self, path: str, target: str):
        self.path = path
        self.target = target

    def look(self, folder: Folder, entry: Entry) -> Finding:
        folder.require_own(os.path.dirname(self.path))
        says = f"a link to the skill {os.path.basename(self.path)}"
        if link_target(folder.path(self.path)) is not None:  # it leads there, or the plan would not have it
            return Finding(self.path, "ok", says, entry=entry)
        return Finding(self.path, "missing", says, "link", {"kind": "skill"}, do=lambda: self._make(folder))

    def _make(self, folder):
        place = folder.path(self.path)
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            engine.make_link(place, self.target)
        except OSError as error:
            raise problem(self.path, error) from None


def planned(folder: Folder, store: str | None) -> tuple[dict[str, str], list[skill_links.Step]]:
    """(path -> target of each link, what of the store is left out and why)."""
    if store is None:
        return {}, []
    if not os.path.isdir(store):
        raise NotFound("no_folder", f"There is no folder {store!r}.", "", "Name the store that the skills are in.")
    steps = skill_links.plan(folder.root, os.path.abspath(store), False).steps
    links = {step.path: step.target for step in steps if step.action in PLANNED}
    return links, [step for step in steps if step.action not in PLANNED]
