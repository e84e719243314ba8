"""Skills: SK1 to SK3."""

from __future__ import annotations

import os

from ..errors import NotFound, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Row, Store


def inventory(store: Store, *, store_: str | None = None) -> Row:
    """List the skills in .agents/skills and .claude/skills, and with --store those in another
    folder.

    Example: kaizen SK1
    """
    from ..projects.skills.check import check_skill
    from ..projects.skills.page import Unreadable, read_page
    from ..projects.skills.skill import PAGE, list_skills

    rows = []
    for entry in list_skills(store.place.root, store_):
        findings = check_skill(entry, store.place.root)
        try:
            description = read_page(os.path.join(entry.path, PAGE)).front.get("description")
        except Unreadable:
            description = None
        row: Row = {"name": entry.name, "where": entry.where, "form": entry.form}
        row["problems"] = sum(finding.level == "problem" for finding in findings)
        row["target"] = entry.target
        row["description"] = description if isinstance(description, str) else None
        rows.append(row)
    hint = "`SK2` explains the problems." if any(row["problems"] for row in rows) else None
    return {"records": rows, "count": len(rows), "hint": hint}


def validate(store: Store, *, store_: str | None = None, path: str | None = None) -> Row:
    """Check skills as a host would load them: front matter, name, description, links, scripts,
    evals; exit 1 on a problem.

    Example: kaizen SK2
    """
    from ..projects.skills.check import check_skill
    from ..projects.skills.skill import SkillEntry, list_skills, read_link

    root = store.place.root
    if path is None:
        entries = list_skills(root, store_)
    else:
        folder = os.path.normpath(os.path.join(root, path.removesuffix("SKILL.md")))
        if not os.path.lexists(folder):
            raise NotFound(
                "no_skill",
                f"There is no folder {os.path.basename(folder)!r}.",
                "--path must name the folder of one skill.",
                "`SK1` lists the skills.",
            )
        entries = [SkillEntry("path", folder, read_link(folder))]
    problems: list[Row] = []
    remarks: list[Row] = []
    for entry in entries:
        for finding in check_skill(entry, root):
            where = "/".join(filter(None, [entry.where, entry.name, finding.file]))
            where = f"{where}:{finding.line}" if finding.line else where
            rows = problems if finding.level == "problem" else remarks
            rows.append({"where": where, "says": finding.says})
    if not problems:
        return {"valid": True, "skills": len(entries), "remarks": remarks}
    count, skills = len(problems), len(entries)
    error = Refused(
        "skill_invalid",
        f"{count} problem{'s' * (count > 1)} in {skills} skill{'s' * (skills > 1)}.",
        f"{problems[0]['where']}: {problems[0]['says']}",
        "Correct the problems, and run `SK2` again.",
    )
    error.findings = problems
    raise error


def links(
    store: Store, *, store_: str = ".agents/skills", apply: str | None = None, remove: bool = False
) -> Row:
    """Plan the links from .agents/skills and .claude/skills to the skills of a store; --apply HASH
    makes them.

    Example: kaizen SK3
    """
    from ..projects.skills import links as skill_links
    from ..records.work.command_line import join_words

    plan = skill_links.plan_links(store.place.root, store_, remove)
    if apply is None:
        hint = "There is nothing to do."
        todo = [step for step in plan.steps if step.action in skill_links.DOES]
        if todo:
            words = ["kaizen", "SK3", "--store", store_, *["--remove"] * remove]
            words += ["--apply", plan.sha256]
            hint = f"Nothing is changed yet. `{join_words(words)}` does exactly this."
        rows = [step._asdict() for step in plan.steps]
        return {"plan": plan.sha256, "to_do": len(todo), "records": rows, "hint": hint}
    if apply != plan.sha256:
        raise skill_links.plan_changed_error()
    done = skill_links.apply_links(plan)
    return {"applied": plan.sha256, "done": len(done), "records": [step._asdict() for step in done]}
