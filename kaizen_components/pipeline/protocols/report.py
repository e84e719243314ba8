"""What P11 says about protocols: which there are, whether each can be run, and how its own gates did."""

from typing import Any

from ...errors import KaizenError
from ..edits import apply as edits
from ..protocol import Protocol, load, shipped
from . import fixtures, skills
from .check import faults
from .load import Source, one, read, sources


def listed(store, repo: str | None) -> dict[str, Any]:
    return {"protocols": [_listed(source) for source in sources(store.place.root, repo)]}


def _listed(source: Source) -> dict[str, Any]:
    protocol, wrong = read(source)
    about = (
        {"version": protocol.version, "about": protocol.about}
        if protocol
        else {"version": None, "about": None}
    )
    return {"name": source.name, "whose": source.whose, **about, "faults": len(wrong)}


def checked(
    store, name: str, repo: str, options: dict[str, Any], write_skills: bool
) -> dict[str, Any]:
    """Everything about one protocol; its steps as skills are written only if it can be run."""
    source = one(name, store.place.root, repo)
    protocol, wrong = read(source)
    if protocol is None:
        return {
            "name": name,
            "whose": source.whose,
            "usable": False,
            "faults": wrong,
            "fixtures": [],
            "skills": [],
        }
    wrong = faults(protocol.given) + _taken(source, protocol)
    rows, trouble = _proved(protocol, store, repo, options)
    usable = not wrong and not trouble and all(row["ok"] for row in rows)
    return {
        "name": name, "whose": source.whose, "version": protocol.version, "hash": protocol.hash,
        "about": protocol.about, "usable": usable, "faults": wrong + trouble, "fixtures": rows,
        "steps": [_step(step) for step in protocol.steps.values()],
        "skills": _write(store, protocol) if write_skills and usable else [],
    }  # fmt: skip


def _taken(source: Source, protocol: Protocol) -> list[str]:
    """`codemode-spec` with a step `synthesis` would write the skill of another protocol."""
    ours = (
        {path for name in shipped() for path in skills.documents(load(name))}
        if source.text is not None
        else set()
    )
    return [
        f"{path} is a skill of a protocol that Kaizen ships; rename the step."
        for path in ours & {*skills.documents(protocol)}
    ]


def _proved(protocol: Protocol, store, repo, options):
    try:
        return list(fixtures.proved(protocol, store, repo, options)), []
    except KaizenError as error:
        return [], [f"Its gates could not be tried: {error.what} {error.why} {error.next}".strip()]


def _step(step) -> dict[str, Any]:
    return {
        "step": step.name, "kind": step.kind, "what": step.answer or step.gate, "attempts": step.attempts,
        "next": {reason: to for reason, (to, _) in step.next.items()}, "about": step.about,
    }  # fmt: skip


def _write(store, protocol: Protocol) -> list[str]:
    found = skills.documents(protocol)
    edits.write(store.place.root, {path: text.encode() for path, text in found.items()})
    return sorted(found)
