"""Report on protocols for P11: list them, say whether each can be run, and prove its gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import KaizenError
from ..edits import apply as edits
from ..protocol import list_shipped, load_shipped
from . import fixtures, skills
from .catalog import find_source, list_sources, read_source
from .check import find_faults

if TYPE_CHECKING:
    from ...parameters import Store


def list_protocols(store: Store, repo: str | None) -> dict[str, Any]:
    """Return a row for each protocol, with the number of its faults."""
    rows = []
    for source in list_sources(store.place.root, repo):
        protocol, faults = read_source(source)
        rows.append(
            {
                "name": source.name,
                "whose": source.whose,
                "version": protocol.version if protocol else None,
                "about": protocol.about if protocol else None,
                "faults": len(faults),
            }
        )
    return {"protocols": rows}


def check_protocol(
    store: Store, name: str, repo: str, options: dict[str, Any], write_skills: bool
) -> dict[str, Any]:
    """Check one protocol and describe it; with `write_skills`, write its skills if it is usable."""
    source = find_source(name, store.place.root, repo)
    protocol, faults = read_source(source)
    if protocol is None:
        return {
            "name": name,
            "whose": source.whose,
            "usable": False,
            "faults": faults,
            "fixtures": [],
            "skills": [],
        }
    faults = find_faults(protocol.definition)
    pages = skills.render_skills(protocol)
    if (
        source.text is not None
    ):  # a protocol `codemode-spec` with a step `synthesis` would overwrite codemode's skill
        shipped_protocols = {
            path for other in list_shipped() for path in skills.render_skills(load_shipped(other))
        }
        faults += [
            f"{path} is a skill of a protocol that Kaizen ships; rename the step."
            for path in shipped_protocols & {*pages}
        ]
    rows: list[dict[str, Any]] = []
    try:
        rows = list(fixtures.prove_commands(protocol, store, repo, options))
    except KaizenError as error:
        says = f"Its gates could not be run on fixtures: {error.what} {error.why} {error.next}"
        faults.append(says.strip())
    usable = not faults and all(row["ok"] for row in rows)
    is_written = write_skills and usable
    if is_written:
        edits.write_changes(store.place.root, {path: text.encode() for path, text in pages.items()})
    return {
        "name": name,
        "whose": source.whose,
        "version": protocol.version,
        "hash": protocol.hash,
        "about": protocol.about,
        "usable": usable,
        "faults": faults,
        "fixtures": rows,
        "steps": [
            {
                "step": step.name,
                "kind": step.kind,
                "what": step.answer or step.gate,
                "attempts": step.attempts,
                "next": {reason: to for reason, (to, _) in step.next.items()},
                "about": step.about,
            }
            for step in protocol.steps.values()
        ],
        "skills": sorted(pages) if is_written else [],
    }
