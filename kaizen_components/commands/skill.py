"""Skills: SK1 to SK3."""

import os

from ..errors import NotFound, Refused


def inventory(store, *, store_=None):
    """List the skills in .agents/skills and .claude/skills, and with --store those of a folder outside.

    Example: kaizen SK1
    """
    from ..projects.skills.check import check_skill
    from ..projects.skills.skill import list_skills

    root = store.place.root
    rows = [_listed(one, check_skill(one, root), root) for one in list_skills(root, store_)]
    hint = "`SK2` says what the problems are." if any(row["problems"] for row in rows) else None
    return {"records": rows, "count": len(rows), "hint": hint}


def _listed(entry, findings, root):
    from ..projects.skills.page import Unreadable, read_page
    from ..projects.skills.skill import PAGE

    try:
        front = read_page(os.path.join(entry.path, PAGE)).front
    except Unreadable:
        front = {}
    about = front.get("description")
    return {
        "name": entry.name,
        "where": entry.where,
        "form": entry.form,
        "problems": sum(one.level == "problem" for one in findings),
        "target": entry.target,
        "description": about if isinstance(about, str) else None,
    }


def validate(store, *, store_=None, path=None):
    """Check skills as a host would load them: front matter, name, description, links, scripts, evals; exit 1 if not.

    Example: kaizen SK2
    """
    from ..projects.skills.check import check_skill

    root = store.place.root
    entries = _asked(root, store_, path)
    found = [_said(one, finding) for one in entries for finding in check_skill(one, root)]
    problems = [row for row in found if row.pop("level") == "problem"]
    if problems:
        raise _refused(problems, len(entries))
    return {"valid": True, "skills": len(entries), "remarks": found}


def _asked(root, store, path):
    from ..projects.skills.skill import SkillEntry, list_skills, read_link

    if path is None:
        return list_skills(root, store)
    full = os.path.normpath(os.path.join(root, path.removesuffix("SKILL.md")))
    if not os.path.lexists(full):
        raise NotFound(
            "no_skill",
            f"There is no folder {os.path.basename(full)!r}.",
            "",
            "`SK1` lists the skills.",
        )
    return [SkillEntry("path", full, read_link(full))]


def _said(entry, finding):
    where = "/".join(filter(None, [entry.where, entry.name, finding.file]))
    at = f"{where}:{finding.line}" if finding.line else where
    return {"where": at, "says": finding.says, "level": finding.level}


def _refused(problems, skills):
    count = len(problems)
    error = Refused(
        "skill_invalid",
        f"{count} problem{'s' * (count > 1)} in {skills} skill{'s' * (skills > 1)}.",
        f"{problems[0]['where']}: {problems[0]['says']}",
        "Correct what is named, and run SK2 again.",
    )
    error.findings = problems
    return error


def links(store, *, store_=".agents/skills", apply=None, remove=False):
    """Plan the links from .agents/skills and .claude/skills to the skills of a store; --apply HASH makes them.

    Example: kaizen SK3
    """
    from ..projects.skills import links as skill_links

    made = skill_links.plan_links(store.place.root, store_, remove)
    todo = [step for step in made.steps if step.action in skill_links.DOES]
    if apply is None:
        return {
            "plan": made.sha256,
            "to_do": len(todo),
            "records": [step._asdict() for step in made.steps],
            "hint": _next(made.sha256, store_, remove) if todo else "There is nothing to do.",
        }
    if apply != made.sha256:
        raise skill_links.plan_changed_error()
    done = skill_links.apply_links(made)
    return {"applied": made.sha256, "done": len(done), "records": [step._asdict() for step in done]}


def _next(plan, store, remove):
    from ..records.work.command_line import join_words

    words = ["kaizen", "SK3", "--store", store, *(["--remove"] if remove else []), "--apply", plan]
    return f"Nothing is changed yet. `{join_words(words)}` does exactly this."
