"""Link the folders that hosts read to the skills of a store: plan, then that plan or nothing.

A plan names what is in each place now, so its hash changes with the world. A real folder and a link
that leads elsewhere are never replaced; only links into the store are removed.
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
    """What is to be done at one place, and where nothing is done, why."""

    action: str  # link, unlink, keep, skip, conflict, broken
    path: str  # below the project, with forward slashes
    target: str
    says: str


class LinkPlan(NamedTuple):
    root: str
    steps: list[LinkStep]
    sha256: str


def plan_links(root: str, store: str, remove: bool) -> LinkPlan:
    """Plan the links to each skill of a store, or their removal; a hash names the plan."""
    place, shown = find_store(root, store)
    real = {os.path.realpath(os.path.join(root, folder)): folder for folder in reversed(FOLDERS)}
    # Not the store itself, and only one of two that are the same through a link.
    real.pop(os.path.realpath(place), None)
    steps: list[LinkStep] = []
    for folder in (folder for folder in FOLDERS if folder in real.values()):
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
            added = [_plan_addition(root, folder, skill) for skill in list_entries(place, "store")]
            planned = {step.path for step in added}
            steps += added
            for entry in list_entries(os.path.join(root, folder), folder):
                path = f"{folder}/{entry.name}"
                if entry.form == "broken link" and path not in planned:
                    says = "The link leads nowhere."
                    steps.append(LinkStep("broken", path, entry.target or "", says))
    text = encode_canonical([shown, remove, [list(step) for step in steps]])
    return LinkPlan(root, steps, sha256(text.encode(errors="surrogatepass"))[:HASH_CHARS])


def _find_obstacle(root: str, folder: str) -> LinkStep | None:
    """Return why nothing can be done in this folder: it leads out through a link, or is not a
    folder."""
    above, here = os.path.join(root, os.path.dirname(folder)), os.path.join(root, folder)
    if any(os.path.lexists(path) and not os.path.isdir(path) for path in (above, here)):
        says = "There is something in its place that is not a folder; it stays."
        return LinkStep("conflict", folder, "", says)
    real = os.path.realpath(here)
    if _is_inside(root, real):
        return None
    says = "The folder itself leads out of the project; nothing is changed in it."
    return LinkStep("conflict", folder, real, says)


def _plan_addition(root: str, folder: str, skill: SkillEntry) -> LinkStep:
    path, full = f"{folder}/{skill.name}", os.path.join(root, folder, skill.name)
    # Relative for a store in the project, so that the link can be committed.
    target = real = os.path.realpath(skill.path)
    if _is_inside(root, real):
        target = os.path.relpath(real, os.path.realpath(os.path.join(root, folder)))
    there = read_link(full)
    if there is not None and _resolve_link(full, there) == real:
        return LinkStep("keep", path, target, "It is linked already.")
    problems = sum(remark.level == "problem" for remark in check_skill(skill, root))
    if problems:
        says = f"The skill has problems ({problems}); `SK2 --store …` names them."
        return LinkStep("skip", path, target, says)
    if there is not None:
        says = f"There is a link to {there} in its place; it stays."
        return LinkStep("conflict", path, target, says)
    if os.path.lexists(full):
        says = "There is something of your own in its place; it stays."
        return LinkStep("conflict", path, target, says)
    return LinkStep("link", path, target, "")


def _is_inside(root: str, real: str) -> bool:
    return real.startswith(os.path.realpath(root).rstrip(os.sep) + os.sep)


def _resolve_link(path: str, target: str) -> str:
    """Return where a link leads, whether that exists or not."""
    return os.path.realpath(os.path.join(os.path.realpath(os.path.dirname(path)), target))


def apply_links(plan: LinkPlan) -> list[LinkStep]:
    """Carry out the plan; if a step cannot be done, undo those before it."""
    done: list[LinkStep] = []
    try:
        for step in (step for step in plan.steps if step.action in DOES):
            full = os.path.join(plan.root, step.path)
            if step.action == "link":
                make_link(step.target, full)
            elif read_link(full) == step.target:
                os.unlink(full)
            else:
                raise FileExistsError
            done.append(step)
    except BaseException as error:
        for earlier in reversed(done):
            full = os.path.join(plan.root, earlier.path)
            try:
                if earlier.action == "unlink":
                    make_link(earlier.target, full)
                elif read_link(full) == earlier.target:
                    os.unlink(full)
            except OSError:
                pass  # the error that brought us here says more
        if isinstance(error, FileExistsError | FileNotFoundError):
            raise plan_changed_error() from None
        if isinstance(error, OSError):
            what, why = f"{step.path} cannot be changed.", f"{error.strerror}. Nothing was changed."
            raise Unavailable("cannot_link", what, why, "Check its permissions.") from None
        raise
    return done


def make_link(target: str, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if sys.platform == "win32":  # a junction: a symbolic link needs a right that few have there
        import _winapi

        _winapi.CreateJunction(os.path.join(os.path.dirname(path), target), path)
    else:
        os.symlink(target, path, target_is_directory=True)


def plan_changed_error() -> Conflict:
    return Conflict(
        "plan_changed",
        "This is not the plan any more; nothing was changed.",
        "The store, the links or the folders are not what they were when the plan was made.",
        "Run SK3 without --apply, look at the new plan, and apply that one.",
    )
