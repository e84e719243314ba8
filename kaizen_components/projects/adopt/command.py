"""What D1 answers: a plan, what was done, or what is missing, in words and as data."""

import os
from typing import Any

from ...errors import NotFound, Unavailable, Usage
from ..skills import links
from . import adoption, removal, state
from .engine import NAME
from .folder import Folder
from .parts import Step
from .shape import Choices, choices
from .state import HOSTS

CHECKED = {
    "missing": "is missing",
    "outdated": "is of another version or place",
    "changed": "was changed",
}


def answer_adoption(
    path: str,
    link: bool,
    copy: bool,
    hooks: str | None,
    skills: str | None,
    vscode: bool,
    verb: str,
    apply: bool,
):
    """Answer `verb`: adopt, check or remove."""
    mode, hosts = read_mode(link, copy), read_hosts(hooks)
    folder = adoption.opened(path)
    try:
        known = state.read(folder)
        if verb == "remove":
            return remove(path, folder, known, apply)
        made, left_out = plan_skills(folder, skills)
        asked = choices(known, mode, hosts, vscode, made)
        found = adoption.look(folder, asked, known)
        if verb == "check":
            return check(path, folder, known, found)
        return adopt(path, folder, known, asked, found, left_out, apply)
    except OSError as error:
        raise Unavailable(
            "cannot_write",
            f"{error.filename or path} cannot be read or written.",
            str(error.strerror or error),
            "Make the repository's folder writable, or free some space; then run this again: it goes on from here.",
        ) from None


def read_mode(link: bool, copy: bool) -> str:
    if link and copy:
        raise Usage(
            "usage",
            "--link and --copy exclude each other.",
            "",
            "Give one of them; a link unless told.",
        )
    return "link" if link else "copy" if copy else ""


def read_hosts(given: str | None) -> list[str]:
    names = [name.strip().lower() for name in (given or "").split(",") if name.strip()]
    unknown = [name for name in names if name not in HOSTS]
    if unknown or (given is not None and not names):
        what = f"--hooks knows {', '.join(HOSTS)}, not {', '.join(unknown) or 'nothing'}."
        raise Usage("bad_value", what, "", "--hooks claude,codex")
    return names


def plan_skills(folder: Folder, store: str | None) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return (path -> target of each link to make, rows of what is left out).

    A link that leads there already is neither: it is in the state, or it is the user's own.
    """
    if store is None:
        return {}, []
    if not os.path.isdir(store):
        raise NotFound(
            "no_folder",
            f"There is no folder {store!r}.",
            "",
            "Name the store that the skills are in.",
        )
    steps = links.plan_links(folder.root, os.path.abspath(store), False).steps
    left_out = [
        _row("leave", step.path, step.says) for step in steps if step.action not in ("link", "keep")
    ]
    return {step.path: step.target for step in steps if step.action == "link"}, left_out


def adopt(
    path, folder: Folder, known, asked: Choices, found: list[Step], left_out, apply: bool
) -> dict[str, Any]:
    rows = [
        _row(one.action or "leave", one.path, one.says)
        for one in found
        if one.do or one.state != "ok"
    ]
    lost, has_link = adoption.ask_git(folder, found)
    if apply:
        adoption.require_undo(lost)
    applied = apply and adoption.apply(folder, asked, known, found)
    if applied:
        head = f"{path} uses Kaizen now:"
        next_step = (
            f"Next, in {path}: `python3 kaizen.py K1`, then `git add` what is new and commit it."
        )
    elif not any(one.do for one in found):
        head, next_step = f"{path} uses Kaizen already; there is nothing to do.", ""
    else:
        head = f"The plan for {path}; nothing was touched:"
        next_step = "--apply carries it out, --remove takes it out again."
        next_step += (
            f"\nCommit or stash first, as git is the undo: {', '.join(lost)}." if lost else ""
        )
    warning = _warning(has_link and asked.mode == "link")
    return _answer(
        head,
        rows + left_out,
        f"{next_step}\n{warning}",
        applied=applied,
        mode=asked.mode,
        hooks=asked.hooks,
    )


def check(
    path: str, folder: Folder, known: state.State | None, found: list[Step]
) -> dict[str, Any]:
    wrong = [one for one in found if one.state in CHECKED]
    rows = [_row(one.state, one.path, one.says) for one in wrong]
    rows += [] if known else [_row("missing", state.PATH, "how to take it out again")]
    warning = _warning(adoption.ask_git(folder, [])[1])
    rows += [_row("tracked", NAME, warning)] if warning else []
    if not rows:
        return _answer(f"{path} is as this engine would set it up.", [], "")
    head = f"{path} differs from what this engine would set up:"
    return _answer(head, rows, _repairs(wrong, known is None), exit_code=1)


def _repairs(wrong: list[Step], state_is_missing: bool) -> str:
    """What puts right what --check found: not everything is --apply's to repair."""
    stays = [one for one in wrong if not one.do]
    says = []
    if any(one.entry.get("kind") == "skill" for one in stays):
        says.append("--skills STORE --apply makes the links to skills again.")
    if any(one.state == "changed" for one in stays):
        says.append("What you changed stays; delete it, and --apply makes ours again.")
    if state_is_missing or len(stays) < len(wrong):
        says.append(
            f"--apply repairs {'the rest' if says else 'it'}; without it, the plan is shown."
        )
    return " ".join(says)


def remove(path: str, folder: Folder, known: state.State | None, apply: bool) -> dict[str, Any]:
    if not known:
        return _answer(
            f"{path} was not adopted; there is nothing to remove.", [], "", applied=False
        )
    steps = removal.plan(folder, known)
    if apply:
        removal.carry_out(folder, steps)
    kept = "Your records in AI/ stay; our lines in .gitignore do not, so look before you commit."
    next_step = kept if folder.is_there("AI") else ""
    head = "Removed:" if apply else f"The plan of removal for {path}; nothing was touched:"
    next_step += "" if apply else " --remove --apply carries it out."
    return _answer(
        head, [_row(one.action, one.path, one.says) for one in steps], next_step, applied=apply
    )


def _warning(has_link: bool) -> str:
    says = "git has the link in its index, so others would get it: `git rm --cached kaizen_components` takes it out."
    return says if has_link else ""


def _row(action: str, path: str, says: str) -> dict[str, str]:
    return {"action": action, "path": path, "says": says}


def _answer(head: str, rows: list[dict[str, str]], next_step: str, **facts: Any) -> dict[str, Any]:
    widths = [max((len(row[name]) for row in rows), default=0) for name in ("action", "path")]
    lines = [
        f"  {row['action']:<{widths[0]}}  {row['path']:<{widths[1]}}  {row['says']}" for row in rows
    ]
    return {"text": "\n".join([head, *lines, next_step.strip()]).strip(), "steps": rows, **facts}
