"""What P11 says about protocols: which there are, whether each can be run, and how its own gates did."""

from typing import Any

from ...errors import KaizenError
from ..edits import apply as edits
from ..protocol import Protocol, list_shipped, load_shipped
from . import fixtures, skills
from .catalog import Source, find_source, list_sources, read_source
from .check import find_faults


def list_protocols(store, repo: str | None) -> dict[str, Any]:
    return {"protocols": [_listed(source) for source in list_sources(store.place.root, repo)]}


def _listed(source: Source) -> dict[str, Any]:
    protocol, wrong = read_source(source)
    about = (
        {"version": protocol.version, "about": protocol.about}
        if protocol
        else {"version": None, "about": None}
    )
    return {"name": source.name, "whose": source.whose, **about, "faults": len(wrong)}


def check_protocol(
    store, name: str, repo: str, options: dict[str, Any], write_skills: bool
) -> dict[str, Any]:
    """Everything about one protocol; its steps as skills are written only if it can be run."""
    source = find_source(name, store.place.root, repo)
    protocol, wrong = read_source(source)
    if protocol is None:
        return {
            "name": name,
            "whose": source.whose,
            "usable": False,
            "faults": wrong,
            "fixtures": [],
            "skills": [],
        }
    wrong = find_faults(protocol.given) + _find_taken_skills(source, protocol)
    rows, trouble = _proved(protocol, store, repo, options)
    usable = not wrong and not trouble and all(row["ok"] for row in rows)
    return {
        "name": name, "whose": source.whose, "version": protocol.version, "hash": protocol.hash,
        "about": protocol.about, "usable": usable, "faults": wrong + trouble, "fixtures": rows,
        "steps": [_step(step) for step in protocol.steps.values()],
        "skills": _write(store, protocol) if write_skills and usable else [],
    }  # fmt: skip


def _find_taken_skills(source: Source, protocol: Protocol) -> list[str]:
    """`codemode-spec` with a step `synthesis` would write the skill of another protocol."""
    ours = (
        {path for name in list_shipped() for path in skills.render_skills(load_shipped(name))}
        if source.text is not None
        else set()
    )
    return [
        f"{path} is a skill of a protocol that Kaizen ships; rename the step."
        for path in ours & {*skills.render_skills(protocol)}
    ]


def _proved(protocol: Protocol, store, repo, options):
    try:
        return list(fixtures.prove_commands(protocol, store, repo, options)), []
    except KaizenError as error:
        return [], [f"Its gates could not be tried: {error.what} {error.why} {error.next}".strip()]


def _step(step) -> dict[str, Any]:
    return {
        "step": step.name, "kind": step.kind, "what": step.answer or step.gate, "attempts": step.attempts,
        "next": {reason: to for reason, (to, _) in step.next.items()}, "about": step.about,
    }  # fmt: skip


def _write(store, protocol: Protocol) -> list[str]:
    found = skills.render_skills(protocol)
    edits.write_changes(store.place.root, {path: text.encode() for path, text in found.items()})
    return sorted(found)
