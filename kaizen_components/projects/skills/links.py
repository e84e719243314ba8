"""Link the skills of a store into the folders that hosts read: plan first, then apply that plan.

A plan lists what is at each place now, so its hash changes if anything there changes. A real folder
or a link that leads elsewhere is never replaced. Only links into the store are removed.
"""

import os
import sys
from typing import NamedTuple

from ...errors import Conflict, Unavailable
from ...records.ledger.canonical import encode_canonical
from ...records.ledger.hashing import sha256
from .check import check_skill
from .skill import FOLDERS, SkillEntry, find_store, list_entries, read_link

HASH_CHARS = 16
DOES = ("link", "unlink")


class LinkStep(NamedTuple):
    """What --apply does to one path, or why it skips the path."""

    action: str  # link, unlink, keep, skip, conflict, broken
    path: str  # below the project, with forward slashes
    target: str
    says: str


class LinkPlan(NamedTuple):
    root: str
    steps: list[LinkStep]
    sha256: str


def plan_links(root: str, skill_store: str, remove: bool) -> LinkPlan:
    """Plan the links to each skill of a store, or their removal; the hash identifies the plan."""
    place, store_name = find_store(root, skill_store)
    folder_by_real_path = {
        os.path.realpath(os.path.join(root, folder)): folder for folder in reversed(FOLDERS)
    }
    # Skip the store itself. If two folders are the same through a link, keep only one.
    folder_by_real_path.pop(os.path.realpath(place), None)
    steps: list[LinkStep] = []
    for folder in (folder for folder in FOLDERS if folder in folder_by_real_path.values()):
        obstacle = _find_obstacle(root, folder)
        if obstacle:
            steps.append(obstacle)
        elif remove:
            links_into = os.path.realpath(place) + os.sep
            steps += [
                LinkStep("unlink", f"{folder}/{entry.name}", entry.target or "", "")
                for entry in list_entries(os.path.join(root, folder), folder)
                if _resolve_link(entry.path, entry.target or "").startswith(links_into)
            ]
        else:
            additions = [
                _plan_addition(root, folder, skill) for skill in list_entries(place, "store")
            ]
            planned_paths = {step.path for step in additions}
            steps += additions
            for entry in list_entries(os.path.join(root, folder), folder):
                path = f"{folder}/{entry.name}"
                if entry.form == "broken link" and path not in planned_paths:
                    says = "The link leads nowhere."
                    steps.append(LinkStep("broken", path, entry.target or "", says))
    text = encode_canonical([store_name, remove, [list(step) for step in steps]])
    return LinkPlan(root, steps, sha256(text.encode(errors="surrogatepass"))[:HASH_CHARS])


def _find_obstacle(root: str, folder: str) -> LinkStep | None:
    """Return a conflict if the path is no folder or links out of the project; else None."""
    above, full_path = os.path.join(root, os.path.dirname(folder)), os.path.join(root, folder)
    if any(os.path.lexists(path) and not os.path.isdir(path) for path in (above, full_path)):
        says = "This path is not a folder, so nothing is changed here."
        return LinkStep("conflict", folder, "", says)
    real = os.path.realpath(full_path)
    if _is_inside(root, real):
        return None
    says = "The folder is a link out of the project, so nothing is changed in it."
    return LinkStep("conflict", folder, real, says)


def _plan_addition(root: str, folder: str, skill: SkillEntry) -> LinkStep:
    """Plan a link to a skill, unless it exists, the skill has problems, or the place is taken."""
    path, full_path = f"{folder}/{skill.name}", os.path.join(root, folder, skill.name)
    # A link to a store in the project is relative, so that it can be committed.
    target = real = os.path.realpath(skill.path)
    if _is_inside(root, real):
        target = os.path.relpath(real, os.path.realpath(os.path.join(root, folder)))
    current_target = read_link(full_path)
    if current_target is not None and _resolve_link(full_path, current_target) == real:
        return LinkStep("keep", path, target, "It is already linked.")
    problems = sum(remark.level == "problem" for remark in check_skill(skill, root))
    if problems:
        says = f"The skill has problems ({problems}); `SK2 --store …` lists them."
        return LinkStep("skip", path, target, says)
    if current_target is not None:
        says = f"A link to {current_target} already exists here; it stays."
        return LinkStep("conflict", path, target, says)
    if os.path.lexists(full_path):
        says = "A file or folder of your own already exists here; it stays."
        return LinkStep("conflict", path, target, says)
    return LinkStep("link", path, target, "")


def _is_inside(root: str, real: str) -> bool:
    return real.startswith(os.path.realpath(root).rstrip(os.sep) + os.sep)


def _resolve_link(path: str, target: str) -> str:
    """Return the path that a link leads to, which need not exist."""
    return os.path.realpath(os.path.join(os.path.realpath(os.path.dirname(path)), target))


def apply_links(plan: LinkPlan) -> list[LinkStep]:
    """Carry out the plan; if a step fails, undo the steps before it and raise an error."""
    done_steps: list[LinkStep] = []
    try:
        for step in (step for step in plan.steps if step.action in DOES):
            full_path = os.path.join(plan.root, step.path)
            if step.action == "link":
                make_link(step.target, full_path)
            elif read_link(full_path) == step.target:
                os.unlink(full_path)
            else:
                raise FileExistsError
            done_steps.append(step)
    except BaseException as error:
        for done_step in reversed(done_steps):
            full_path = os.path.join(plan.root, done_step.path)
            try:
                if done_step.action == "unlink":
                    make_link(done_step.target, full_path)
                elif read_link(full_path) == done_step.target:
                    os.unlink(full_path)
            except OSError:
                pass  # the first error is reported
        if isinstance(error, FileExistsError | FileNotFoundError):
            raise plan_changed_error() from None
        if isinstance(error, OSError):
            what, why = f"{step.path} cannot be changed.", f"{error.strerror}. Nothing was changed."
            raise Unavailable("cannot_link", what, why, "Check its permissions.") from None
        raise
    return done_steps


def make_link(target: str, path: str) -> None:
    """Create a link to a folder, and its parent folders."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if sys.platform == "win32":  # a junction, because a symbolic link needs a special right
        import _winapi

        _winapi.CreateJunction(os.path.join(os.path.dirname(path), target), path)
    else:
        os.symlink(target, path, target_is_directory=True)


def plan_changed_error() -> Conflict:
    return Conflict(
        "plan_changed",
        "The plan is outdated; nothing was changed.",
        "The store, the links or the folders have changed since the plan was made.",
        "Run SK3 without --apply, read the new plan, and apply that one.",
    )
