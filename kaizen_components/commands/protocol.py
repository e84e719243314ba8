"""Protocols: P11."""

import os


def check(store, *, name=None, repo=None, python=None, write_skills=False):
    """Check a protocol, its gates on their fixtures, and say what is wrong with it; without --name list them all.

    Example: kaizen P11 --name factory
    """
    from ..pipeline.protocols import report as protocol_report
    from ..reports.runs import protocol_card

    place = repo or store.place.root
    if name is None:
        found = protocol_report.list_protocols(store, repo)
        return {**found, "text": protocol_card.format_protocols(found)}
    found = protocol_report.check_protocol(store, name, place, {"python": python}, write_skills)
    found["hint"] = _linking(store.place.root, found["skills"])
    return {
        **found,
        "text": protocol_card.format_protocol(found),
        **({} if found["usable"] else {"exit_code": 1}),
    }


def _linking(root, written):
    """What was written lies where Codex looks; Claude Code looks elsewhere."""
    from ..projects.skills.skill import FOLDERS

    ours, claudes = FOLDERS
    there = (path.replace(ours, claudes, 1) for path in written)
    if all(os.path.exists(os.path.join(root, path)) for path in there):
        return None
    return (
        f"Claude Code looks in {claudes}: `kaizen SK3` plans the links, and says how to make them."
    )
