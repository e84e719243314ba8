"""Links from the folders that hosts read to the skills of a store: a plan first, then exactly that plan or nothing.

A plan names what stands in each place now, so its hash changes with the world. A real folder and a link that leads
elsewhere are never replaced; what is removed is only ever a link into the store.
"""

import os
import sys
from typing import NamedTuple

from ...errors import Conflict, KaizenError, Unavailable
from ...records.ledger.canonical import encode_canonical
from ...records.ledger.hashing import sha256
from .check import check_skill
from .skill import FOLDERS, SkillEntry, find_store, list_entries, read_link

HASH_CHARS = 16
DOES = ("link", "unlink")


class LinkStep(NamedTuple):
    """What is to be done at one place, and why nothing is where nothing is."""

    action: str  # link, unlink, keep, skip, conflict, broken
    path: str  # below the project, with forward slashes
    target: str
    says: str


class LinkPlan(NamedTuple):
    root: str
    steps: list[LinkStep]
    sha256: str


def plan_links(root: str, store: str, remove: bool) -> LinkPlan:
    place, shown = find_store(root, store)
    steps: list[LinkStep] = []
    for folder in _folders(root, place):
        steps += _removals(root, folder, place) if remove else _additions(root, folder, place)
    named = encode_canonical([shown, remove, [list(step) for step in steps]])
    return LinkPlan(root, steps, sha256(named.encode(errors="surrogatepass"))[:HASH_CHARS])


def _folders(root, place):
    """The folders to link into: not the store itself, and one of two that are the same through a link."""
    real = {os.path.realpath(os.path.join(root, folder)): folder for folder in reversed(FOLDERS)}
    real.pop(os.path.realpath(place), None)
    return [folder for folder in FOLDERS if folder in real.values()]


def _additions(root, folder, place):
    blocked = _blocked(root, folder)
    if blocked:
        return [blocked]
    steps = [_addition(root, folder, one) for one in list_entries(place, "store")]
    planned = {step.path for step in steps}
    return steps + [step for step in _broken(root, folder) if step.path not in planned]


def _addition(root, folder, skill: SkillEntry):
    path, target = f"{folder}/{skill.name}", _target(root, folder, skill.path)
    full = os.path.join(root, path)
    there = read_link(full)
    if there is not None and _same(full, there, skill.path):
        return LinkStep("keep", path, target, "It is linked already.")
    problems = sum(one.level == "problem" for one in check_skill(skill, root))
    if problems:
        return LinkStep(
            "skip",
            path,
            target,
            f"The skill has problems ({problems}); `SK2 --store …` names them.",
        )
    if there is not None:
        return LinkStep(
            "conflict", path, target, f"There is a link to {there} in its place; it stays."
        )
    if os.path.lexists(full):
        return LinkStep(
            "conflict", path, target, "There is something of your own in its place; it stays."
        )
    return LinkStep("link", path, target, "")


def _removals(root, folder, place):
    blocked = _blocked(root, folder)
    if blocked:
        return [blocked]
    mine = [
        one for one in list_entries(os.path.join(root, folder), folder) if _leads_into(one, place)
    ]
    return [LinkStep("unlink", f"{folder}/{one.name}", one.target or "", "") for one in mine]


def _broken(root, folder):
    return [
        LinkStep("broken", f"{folder}/{one.name}", one.target or "", "The link leads nowhere.")
        for one in list_entries(os.path.join(root, folder), folder)
        if one.form == "broken link"
    ]


def _blocked(root, folder):
    """Why nothing can be done in this folder: it is somebody else's through a link, or not a folder at all."""
    above, here = os.path.join(root, os.path.dirname(folder)), os.path.join(root, folder)
    if any(os.path.lexists(one) and not os.path.isdir(one) for one in (above, here)):
        return LinkStep(
            "conflict", folder, "", "Something that is no folder stands in its place; it stays."
        )
    real = os.path.realpath(here)
    if real.startswith(os.path.realpath(root).rstrip(os.sep) + os.sep):
        return None
    return LinkStep(
        "conflict",
        folder,
        real,
        "The folder itself leads out of the project; nothing is changed in it.",
    )


def _leads_into(entry: SkillEntry, place):
    return resolve_link(entry.path, entry.target or "").startswith(os.path.realpath(place) + os.sep)


def _same(path, target, skill):
    return resolve_link(path, target) == os.path.realpath(skill)


def resolve_link(path: str, target: str) -> str:
    """Where a link leads, whether that is there or not."""
    return os.path.realpath(os.path.join(os.path.realpath(os.path.dirname(path)), target))


def _target(root, folder, skill):
    """Relative for a store in the project, so that the link can be committed; absolute for one outside."""
    real = os.path.realpath(skill)
    if real.startswith(os.path.realpath(root).rstrip(os.sep) + os.sep):
        return os.path.relpath(real, os.path.realpath(os.path.join(root, folder)))
    return real


def apply_links(made: LinkPlan) -> list[LinkStep]:
    """Carry out the plan; where a step cannot be done, take back those before it."""
    done: list[LinkStep] = []
    try:
        for step in (one for one in made.steps if one.action in DOES):
            _carry_out(made.root, step)
            done.append(step)
    except BaseException as error:
        for step in reversed(done):
            _take_back(made.root, step)
        if isinstance(error, OSError):
            raise _failed(step, error) from None
        raise
    return done


def _carry_out(root, step):
    full = os.path.join(root, step.path)
    if step.action == "link":
        make_link(step.target, full)
    elif read_link(full) == step.target:
        os.unlink(full)
    else:
        raise FileExistsError


def _take_back(root, step):
    full = os.path.join(root, step.path)
    try:
        if step.action == "unlink":
            make_link(step.target, full)
        elif read_link(full) == step.target:
            os.unlink(full)
    except OSError:
        pass  # the error that brought us here says more


def make_link(target: str, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if sys.platform == "win32":  # a junction: a symbolic link needs a right that few have there
        import _winapi

        _winapi.CreateJunction(os.path.join(os.path.dirname(path), target), path)
    else:
        os.symlink(target, path, target_is_directory=True)


def _failed(step: LinkStep, error: OSError) -> KaizenError:
    if isinstance(error, FileExistsError | FileNotFoundError):
        return plan_changed_error()
    return Unavailable(
        "cannot_link",
        f"{step.path} cannot be changed.",
        f"{error.strerror}. Nothing was changed.",
        "Check its rights.",
    )


def plan_changed_error() -> Conflict:
    return Conflict(
        "plan_changed",
        "This is not the plan any more; nothing was changed.",
        "The store, the links or the folders are not what they were when the plan was made.",
        "Run SK3 without --apply, look at the new plan, and apply that one.",
    )
