"""Answer D1 with a plan, the steps that were done, or what is missing, as text and as data."""

import os
from typing import Any

from ...errors import NotFound, Refused, Unavailable, Usage
from ..skills.links import plan_links
from . import adoption
from .engine import NAME
from .folder import Folder
from .parts import Step
from .removal import plan_removal
from .state import HOSTS, PATH, State, read_state

FAULTS = {"missing", "outdated", "changed"}
TRACKED = (
    "git tracks the link, so other clones would get it. "
    "Run `git rm --cached kaizen_components` to stop that."
)

Row = dict[str, str]


def answer_adoption(
    path: str,
    link: bool,
    copy: bool,
    hooks: str | None,
    skills: str | None,
    vscode: bool,
    verb: str,
    apply: bool,
) -> dict[str, Any]:
    """Check the options, then adopt, check or remove, as `verb` says."""
    if link and copy:
        what, next_step = (
            "--link and --copy exclude each other.",
            "Give only one of them; --link is the default.",
        )
        raise Usage("usage", what, "The engine is either linked or copied.", next_step)
    hosts = [name.strip().lower() for name in (hooks or "").split(",") if name.strip()]
    unknown = [name for name in hosts if name not in HOSTS]
    if unknown or (hooks is not None and not hosts):
        what = f"--hooks does not know the host {', '.join(unknown) or hooks!r}."
        raise Usage(
            "bad_value",
            what,
            f"The known hosts are {', '.join(HOSTS)}.",
            "Give --hooks claude,codex.",
        )
    folder = adoption.open_folder(path)
    try:
        state = read_state(folder)
        if verb == "remove":
            return _remove(path, folder, state, apply)
        new_links, unlinked_rows = _plan_skills(folder, skills)
        old_state = state or State()
        new_state = State(  # options of earlier adoptions stay
            "link" if link else "copy" if copy else old_state.mode or "link",
            [host for host in HOSTS if host in (*hosts, *old_state.hooks)],
            vscode or old_state.vscode,
        )
        old_links = {
            path: None for path, entry in old_state.parts.items() if entry["kind"] == "skill"
        }
        links: dict[str, str | None] = dict(sorted((old_links | new_links).items()))
        steps = adoption.plan_steps(folder, state, new_state, links)
        if verb == "check":
            return _check(path, folder, state, steps)
        return _adopt(path, folder, state, new_state, steps, unlinked_rows, apply)
    except OSError as error:
        raise Unavailable(
            "cannot_write",
            f"{error.filename or path} cannot be read or written.",
            str(error.strerror or error),
            "Make the folder of the repository writable, or free some space. Then run this again.",
        ) from None


def _plan_skills(
    folder: Folder, skill_store: str | None
) -> tuple[dict[str, str | None], list[Row]]:
    """Return {path: target} of the links to make, and a row for each skill that gets no link.

    Skip links that exist: an earlier adoption or the user made them.
    """
    if skill_store is None:
        return {}, []
    if not os.path.isdir(skill_store):
        what = f"There is no folder {skill_store!r}."
        raise NotFound(
            "no_folder",
            what,
            "--skills must name an existing folder.",
            "Give --skills the folder that contains the skills.",
        )
    steps = plan_links(folder.root, os.path.abspath(skill_store), False).steps
    new_links: dict[str, str | None] = {
        step.path: step.target for step in steps if step.action == "link"
    }
    unlinked_steps = [step for step in steps if step.action not in ("link", "keep")]
    return new_links, [_build_row("leave", step.path, step.says) for step in unlinked_steps]


def _adopt(
    path: str,
    folder: Folder,
    state: State | None,
    new_state: State,
    steps: list[Step],
    unlinked_rows: list[Row],
    apply: bool,
) -> dict[str, Any]:
    """Carry out the steps if `apply` is set, otherwise show them as a plan."""
    unrestorable, has_link = adoption.check_git(folder, steps)
    if apply and unrestorable:
        raise Refused(
            "not_committed",
            f"git cannot restore {', '.join(unrestorable)}, which this command would change.",
            "An adoption is undone with git, so git must have the present content of each file.",
            "Commit, stash or move these files, then run this again. Nothing was changed.",
        )
    is_applied = apply and adoption.apply_steps(folder, state, new_state, steps)
    if is_applied:
        head = f"{path} uses Kaizen now:"
        next_step = (
            f"Next, in {path}: run `python3 kaizen.py K1`, then commit the new and changed files."
        )
    elif not any(step.do for step in steps):
        head, next_step = f"{path} already uses Kaizen; there is nothing to do.", ""
    else:
        head = f"The plan for {path}; nothing was changed:"
        next_step = "--apply carries out the plan; --remove undoes an adoption."
        if unrestorable:
            next_step += (
                f"\nFirst commit or stash {', '.join(unrestorable)}, so that git can restore them."
            )
    if has_link and new_state.mode == "link":
        next_step += f"\n{TRACKED}"
    open_steps = [step for step in steps if step.do or step.state != "ok"]
    rows = [_build_row(step.action or "leave", step.path, step.says) for step in open_steps]
    facts = {"applied": is_applied, "mode": new_state.mode, "hooks": new_state.hooks}
    return _build_answer(head, rows + unlinked_rows, next_step, **facts)


def _check(path: str, folder: Folder, state: State | None, steps: list[Step]) -> dict[str, Any]:
    """Report every part that differs and how to repair it; exit with code 1 if any part differs."""
    faults = [step for step in steps if step.state in FAULTS]
    rows = [_build_row(step.state, step.path, step.says) for step in faults]
    if not state:
        rows.append(_build_row("missing", PATH, "the list of files that --remove deletes"))
    if adoption.check_git(folder, [])[1]:
        rows.append(_build_row("tracked", NAME, TRACKED))
    if not rows:
        return _build_answer(f"{path} is as this engine would set it up.", [], "")
    manual = [step for step in faults if not step.do]  # --apply does not repair these
    says = []
    if any(step.entry.get("kind") == "skill" for step in manual):
        says.append("--skills STORE --apply creates the links to skills again.")
    if any(step.state == "changed" for step in manual):
        says.append("What you changed stays; to get Kaizen's version, delete it and run --apply.")
    if not state or len(manual) < len(faults):
        what = "the rest" if says else "it"
        says.append(f"--apply repairs {what}.")
    head = f"{path} differs from what this engine would set up:"
    return _build_answer(head, rows, " ".join(says), exit_code=1)


def _remove(path: str, folder: Folder, state: State | None, apply: bool) -> dict[str, Any]:
    """Remove the adoption if `apply` is set, otherwise show the plan of the removal."""
    if not state:
        head = f"{path} was not adopted; there is nothing to remove."
        return _build_answer(head, [], "", applied=False)
    steps = plan_removal(folder, state)
    if apply:
        for step in steps:
            if step.do:
                step.do()
        folder.remove(PATH)
    next_step = ""
    if folder.is_there("AI"):
        next_step = "Your records in AI/ stay. Git will list them, because .gitignore changes."
    head = "Removed:" if apply else f"The plan for the removal from {path}; nothing was changed:"
    next_step += "" if apply else " --remove --apply carries out the plan."
    rows = [_build_row(step.action, step.path, step.says) for step in steps]
    return _build_answer(head, rows, next_step, applied=apply)


def _build_row(action: str, path: str, says: str) -> Row:
    return {"action": action, "path": path, "says": says}


def _build_answer(head: str, rows: list[Row], next_step: str, **facts: Any) -> dict[str, Any]:
    action, path = (max((len(row[name]) for row in rows), default=0) for name in ("action", "path"))
    lines = [f"  {row['action']:<{action}}  {row['path']:<{path}}  {row['says']}" for row in rows]
    return {"text": "\n".join([head, *lines, next_step.strip()]).strip(), "steps": rows, **facts}
