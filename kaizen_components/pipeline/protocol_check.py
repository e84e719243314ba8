"""Is a protocol one that can be run, and that ends? Everything that is wrong with it, each in a sentence."""

import functools
import json
import os
from collections.abc import Iterator
from typing import Any

from .edit_paths import PathRefused, checked
from .gates import GATES
from .kinds import KINDS
from .protocol import FOLDER, OUTCOMES, Protocol, Step
from .schemas import faults as schema_faults
from .schemas import not_a_schema

OWN = ("json", "text", "command")  # kinds that a protocol may have as often as it likes


def faults(given: Any) -> list[str]:
    wrong = [f"{'.'.join(map(str, where)) or 'the file'}: {what}" for where, what in schema_faults(_shape(), given)]
    if wrong:
        return wrong
    protocol = Protocol(given)
    wrong = [*_names(protocol), *_contracts(protocol)]
    return wrong or [one for check in CHECKS for one in check(protocol)]


@functools.cache
def _shape() -> dict[str, Any]:
    with open(os.path.join(FOLDER, "schema.json"), encoding="utf-8") as file:
        return json.load(file)


def _names(protocol: Protocol) -> Iterator[str]:
    """Whatever is named must be there."""
    there = ", ".join(protocol.steps)
    if protocol.start not in protocol.steps:
        yield f"It starts with {protocol.start}, and there is no such step; there are {there}."
    for step in protocol.steps.values():
        if step.name in OUTCOMES:
            yield f"A step cannot be called {step.name}: that is how a run ends."
        if step.answer and step.answer not in KINDS:
            yield f"{step.name}: there is no answer {step.answer!r}; there are {', '.join(KINDS)}."
        if step.gate and step.gate not in GATES:
            yield f"{step.name}: there is no gate {step.gate!r}; there are {', '.join(GATES)}."
        for reason, (to, _) in step.next.items():
            if to not in protocol.steps and to not in OUTCOMES:
                yield f"{step.name}: {reason} leads to {to}, which is neither a step nor one of {', '.join(OUTCOMES)}."
        for name in step.clears:
            if name not in protocol.steps:
                yield f"{step.name}: clears {name}, and there is no such step."


def _contracts(protocol: Protocol) -> Iterator[str]:
    """Each step has what its kind needs, and nothing that would be ignored."""
    for step in protocol.steps.values():
        asks_itself = step.answer in ("json", "text")
        if asks_itself and not step.prompt:
            yield f"{step.name}: an answer of kind {step.answer} needs a prompt."
        if (step.answer == "json") != (step.schema is not None):
            yield f"{step.name}: an answer of kind json has a schema, and no other."
        if step.schema is not None and not_a_schema(step.schema):
            yield f"{step.name}: its schema is none: {not_a_schema(step.schema)}."
        if (step.gate == "command") != bool(step.command):
            yield f"{step.name}: a gate of kind command has a command, and no other."
        if step.prompt:
            yield from _prompt(step)
    for kind in [*KINDS, *GATES]:
        having = [step.name for step in protocol.steps.values() if kind in (step.answer, step.gate)]
        if len(having) > 1 and kind not in OWN:
            yield f"{' and '.join(having)} are both of kind {kind}: there can be one."


def _prompt(step: Step) -> Iterator[str]:
    from jinja2 import TemplateError, meta

    from .asking import PROMPTS, VALUES, environment

    here = environment()
    try:
        used = meta.find_undeclared_variables(here.parse(step.prompt or ""))
    except TemplateError as error:
        yield f"{step.name}: its prompt cannot be read: {error}."
        return
    known = set(VALUES)
    if os.path.exists(os.path.join(PROMPTS, f"{step.answer}.md")):
        known |= meta.find_undeclared_variables(here.parse(here.loader.get_source(here, f"{step.answer}.md")[0]))
    for name in sorted(used - known):
        yield f"{step.name}: its prompt uses {name}, which is not there; there are {', '.join(sorted(known))}."


def _edges(protocol: Protocol) -> Iterator[str]:
    """Every way in which a step can end leads somewhere, and nothing else is said to."""
    for step in protocol.steps.values():
        can = _reasons(step)
        for reason in can:
            if reason not in step.next:
                yield f"{step.name} can end with {reason}, and no edge says where that leads."
        for reason in step.next:
            if reason not in can:
                yield f"{step.name} never ends with {reason}; it can end with {', '.join(can)}."


def _reasons(step: Step) -> tuple[str, ...]:
    return KINDS[step.answer].reasons if step.answer else GATES[step.gate or ""].reasons


def _reachable(protocol: Protocol) -> Iterator[str]:
    found = _from(protocol, [protocol.start])
    for name in protocol.steps:
        if name not in found:
            yield f"{name} is never reached from {protocol.start}."
    if "accepted" not in found:
        yield "Nothing leads to accepted: no run could ever succeed."


def _from(protocol: Protocol, start: list[str], goes_on=lambda step, reason: True) -> set[str]:
    """Steps and outcomes that can follow, over the edges that `goes_on` lets through."""
    found, open_ = set(start), list(start)
    while open_:
        step = protocol.steps.get(open_.pop())
        for reason, (to, _) in step.next.items() if step else ():
            if to not in found and goes_on(step, reason):
                found.add(to)
                open_.append(to)
    return found


def _loops(protocol: Protocol) -> Iterator[str]:
    """A loop has a bound of its own: `attempts` of a step in it, or `times` of an edge."""
    free = {name for name, given in protocol.given["steps"].items() if "attempts" not in given}

    def unbounded(step, reason):
        to, times = step.next[reason]
        return step.name in free and to in free and not times

    for name in sorted(free):
        step = protocol.steps[name]
        following = [to for reason, (to, _) in step.next.items() if unbounded(step, reason)]
        if name in _from(protocol, following, unbounded):
            yield f"{name} is in a loop without a bound: give a step in it `attempts`, or an edge `times`."


def _seen(protocol: Protocol) -> Iterator[str]:
    """Nothing that somebody said counts before a gate has seen it; a review is an opinion and comes on top."""
    for step in protocol.steps.values():
        if step.kind == "ask" and step.answer != "review":
            beyond = _from(protocol, [step.next["pass"][0]], lambda one, why: one.kind == "ask" or why != "pass")
            if "accepted" in beyond:
                yield f"The answer to {step.name} can be accepted without a gate having seen it."


def _needs(protocol: Protocol) -> Iterator[str]:
    """What a step quotes or judges has been answered on every way to it."""
    for step in protocol.steps.values():
        needs = GATES[step.gate].needs if step.gate else () if step.prompt else KINDS[step.answer or ""].needs
        for kind in needs:
            givers = {one.name for one in protocol.steps.values() if kind in (one.answer, one.gate)}
            start = [protocol.start] if protocol.start not in givers else []
            if step.name in _from(protocol, start, lambda one, why, givers=givers: one.next[why][0] not in givers):
                yield f"{step.name} can be reached before any step of kind {kind}, which it needs."


def _fixtures(protocol: Protocol) -> Iterator[str]:
    """A gate that has refused nothing yet may be one that refuses nothing."""
    for step in protocol.steps.values():
        if step.gate != "command":
            if step.fixtures:
                yield f"{step.name}: fixtures are for a gate of kind command; the others have their own."
            continue
        for which in ("good", "bad"):
            if not step.fixtures.get(which):
                yield f"{step.name} has no {which} fixture: nobody has seen it {'pass' if which == 'good' else 'fail'}."
        for fixture in (one for rows in step.fixtures.values() for one in rows):
            yield from (f"{step.name}: {wrong}" for wrong in _fixture(protocol, fixture))


def _fixture(protocol: Protocol, fixture: dict[str, Any]) -> Iterator[str]:
    """A bad fixture is bad in the eyes of its gate; what keeps to no contract never comes so far."""
    for name, value in fixture.get("answers", {}).items():
        step = protocol.steps.get(name)
        if step is None or step.kind != "ask":
            yield f"a fixture answers {name}, and no such step is asked."
        elif step.answer == "json":
            wrong = schema_faults(step.schema or {}, value)
            yield from (f"a fixture's answer to {name} does not keep to its schema: {what}." for _, what in wrong[:1])
    for path in fixture.get("files", {}):
        try:
            checked(path)
        except PathRefused as error:
            yield f"a fixture cannot have that file. {error.what}"


CHECKS = (_edges, _reachable, _loops, _seen, _needs, _fixtures)
