"""What D1 answers: a plan, what was done, or what is missing, in words and as data."""

from dataclasses import dataclass
from typing import Any

from ...errors import Usage
from . import adoption, removal, state
from .finding import Finding
from .folder import Folder
from .shape import HOSTS, Choices, choices
from .skill_part import planned

CHECKED = {"missing": "is missing", "outdated": "is of another version or place", "changed": "was changed"}


@dataclass(frozen=True)
class Wishes:
    mode: str
    hooks: list[str]
    vscode: bool
    skills: str | None
    apply: bool


def mode(link: bool, copy: bool) -> str:
    if link and copy:
        raise Usage("usage", "--link and --copy exclude each other.", "", "Give one of them; a link unless told.")
    return "link" if link else "copy" if copy else ""


def hosts(given: str | None) -> list[str]:
    names = [name.strip().lower() for name in (given or "").split(",") if name.strip()]
    unknown = [name for name in names if name not in HOSTS]
    if unknown or (given is not None and not names):
        raise Usage(
            "bad_value",
            f"--hooks knows {', '.join(HOSTS)}, not {', '.join(unknown) or 'nothing'}.",
            "",
            "--hooks claude,codex",
        )
    return names


def refuse_together(**given: bool) -> None:
    names = [f"--{name}" for name, value in given.items() if value]
    if len(names) > 1:
        raise Usage("usage", f"{' and '.join(names)} exclude each other.", "", "--check only looks.")


def adopt(path: str, wishes: Wishes) -> dict[str, Any]:
    folder = adoption.opened(path)
    with adoption.alone(folder):
        known = state.read(folder)
        skills, left_out = planned(folder, wishes.skills)
        asked = choices(known, wishes.mode, wishes.hooks, wishes.vscode, skills)
        found = adoption.look(folder, asked, known)
        if wishes.apply:
            removal.sweep(folder)
        applied = wishes.apply and adoption.apply(folder, asked, known, found)
    rows = [_row(one.action or "leave", one.path, one.says) for one in found if one.do or one.state != "ok"]
    rows += [_row("leave", step.path, step.says) for step in left_out]
    doing = any(one.do for one in found)
    head, next_step = _adopt_words(path, doing, wishes.apply, applied)
    warning = _tracked(folder, asked)
    return _answer(head, rows, next_step + warning, applied=bool(applied), mode=asked.mode, hooks=list(asked.hooks))


def _adopt_words(path, doing, wanted, applied):
    if applied:
        return (
            f"{path} uses Kaizen now:",
            f"Next, in {path}: `python3 kaizen.py K1`, then `git add` what is new and commit it.",
        )
    if not doing:
        return f"{path} uses Kaizen already; there is nothing to do.", ""
    assert not wanted
    return f"The plan for {path}; nothing was touched:", "--apply carries it out, --remove takes it out again."


def check(path: str, wishes: Wishes) -> dict[str, Any]:
    folder = adoption.opened(path)
    known = state.read(folder)
    asked = choices(known, wishes.mode, wishes.hooks, wishes.vscode, planned(folder, wishes.skills)[0])
    found = adoption.look(folder, asked, known)
    wrong = [one for one in found if one.state in CHECKED]
    rows = [_row(one.state, one.path, one.says) for one in wrong]
    rows += [] if known else [_row("missing", state.PATH, "how to take it out again")]
    warning = _tracked(folder, asked)
    rows += [_row("tracked", "kaizen_components", warning.strip())] if warning else []
    head = (
        f"{path} differs from what this engine would set up:" if rows else f"{path} is as this engine would set it up."
    )
    return _answer(head, rows, _repairs(wrong, known is None), **({"exit_code": 1} if rows else {}))


def _repairs(wrong: list[Finding], state_is_missing: bool) -> str:
    """What puts right what --check found: not everything is --apply's to repair."""
    stays = [one for one in wrong if not one.do]
    says = []
    if any(one.entry.get("kind") == "skill" for one in stays):
        says.append("--skills STORE --apply makes the links to skills again.")
    if any(one.state == "changed" for one in stays):
        says.append("What you changed stays; delete it, and --apply makes ours again.")
    if state_is_missing or len(stays) < len(wrong):
        says.append(f"--apply repairs {'the rest' if says else 'it'}; without it, the plan is shown.")
    return " ".join(says)


def remove(path: str, carry_out: bool) -> dict[str, Any]:
    folder = adoption.opened(path)
    with adoption.alone(folder):
        known = state.read(folder)
        steps = removal.plan(folder, known) if known else []
        if carry_out:
            removal.sweep(folder)
        if known and carry_out:
            removal.carry_out(folder, known, steps)
    rows = [_row(one.action, one.path, one.says) for one in steps]
    if not known:
        return _answer(f"{path} was not adopted; there is nothing to remove.", [], "", applied=False)
    kept = (
        "Your records in AI/ stay; our lines in .gitignore do not, so look before you commit."
        if folder.is_there("AI")
        else ""
    )
    head = "Removed:" if carry_out else f"The plan of removal for {path}; nothing was touched:"
    next_step = kept if carry_out else f"{kept} --remove --apply carries it out.".strip()
    return _answer(head, rows, next_step, applied=carry_out)


def _tracked(folder: Folder, asked: Choices) -> str:
    if not adoption.tracked_link(folder, asked):
        return ""
    return "\ngit has the link in its index, so others would get it: `git rm --cached kaizen_components` takes it out."


def _row(action: str, path: str, says: str) -> dict[str, str]:
    return {"action": action, "path": path, "says": says}


def _answer(head: str, rows: list[dict[str, str]], next_step: str, **facts: Any) -> dict[str, Any]:
    widths = [max((len(row[name]) for row in rows), default=0) for name in ("action", "path")]
    lines = [f"  {row['action']:<{widths[0]}}  {row['path']:<{widths[1]}}  {row['says']}" for row in rows]
    text = "\n".join([head, *lines, *([next_step.strip()] if next_step.strip() else [])])
    return {"text": text, "steps": rows, **facts}
