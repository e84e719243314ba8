"""Protocols: P11."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Row, Store


def check(
    store: Store,
    *,
    name: str | None = None,
    repo: str | None = None,
    python: str | None = None,
    write_skills: bool = False,
) -> Row:
    """Check a protocol and its gates on their fixtures, and say what is wrong; without --name list
    all protocols.

    Example: kaizen P11 --name factory
    """
    from ..pipeline.protocols import report as protocol_report
    from ..projects.skills.skill import FOLDERS
    from ..reports.runs import card

    if name is None:
        report = protocol_report.list_protocols(store, repo)
        return {**report, "text": card.format_protocols(report)}
    place = repo or store.place.root
    report = protocol_report.check_protocol(store, name, place, {"python": python}, write_skills)
    # The skills are written to where Codex looks; Claude Code needs links to them.
    codex_folder, claude_folder = FOLDERS
    links = (path.replace(codex_folder, claude_folder, 1) for path in report["skills"])
    report["hint"] = None
    if not all(os.path.exists(os.path.join(store.place.root, path)) for path in links):
        report["hint"] = (
            f"Claude Code looks in {claude_folder}: `kaizen SK3` plans the links and shows "
            "how to make them."
        )
    report["text"] = card.format_protocol(report)
    return report if report["usable"] else {**report, "exit_code": 1}
