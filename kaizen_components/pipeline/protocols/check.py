"""Is a protocol one that can be run, and that ends? Everything that is wrong with it, each in a sentence."""

import functools
import json
import os
from collections.abc import Iterator
from typing import Any

from ...limits import RUN_OUTCOME
from ..answers.kinds import KINDS, load_kind
from ..answers.schemas import explain_bad_schema
from ..answers.schemas import find_faults as schema_faults
from ..edits.paths import PathRefused, check_path
from ..gates.registry import GATES
from ..protocol import FOLDER, Protocol, Step

LARGE = 2**53
OWN = ("json", "text", "command")  # kinds that a protocol may have as often as it likes


def find_faults(given: Any) -> list[str]:
    wrong = list(_check_values(given, "the file")) or [
        f"{'.'.join(map(str, where)) or 'the file'}: {what}"
        for where, what in schema_faults(_load_schema(), given)
    ]
    if wrong:
        return wrong
    protocol = Protocol(given)
    wrong = [*_check_names(protocol), *_check_contracts(protocol)]
    return wrong or [one for check in CHECKS for one in check(protocol)]


def _check_values(value: Any, place: str) -> Iterator[str]:
    """What YAML can say and a record cannot hold."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                yield f"{place}: the key {name!r:.60} is no text; write it in quotes."
            else:
                yield from _check_values(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _check_values(inner, place)
    elif isinstance(value, str):
        if (
            "\0" in value or value.encode(errors="ignore").decode() != value
        ):  # NUL, or half of a character
            yield f"{place}: it has a character that cannot be kept."
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if not -LARGE < value < LARGE:
            yield f"{place}: the number is too large."
    elif value is not None and not isinstance(value, bool):
        yield f"{place}: {type(value).__name__} is no kind of value here; write it in quotes."


@functools.cache
def _load_schema() -> dict[str, Any]:
    with open(os.path.join(FOLDER, "schema.json"), encoding="utf-8") as file:
        return json.load(file)


def _check_names(protocol: Protocol) -> Iterator[str]:
    """Whatever is named must be there."""
    there = ", ".join(protocol.steps)
    if protocol.start not in protocol.steps:
        yield f"It starts with {protocol.start}, and there is no such step; there are {there}."
    for step in protocol.steps.values():
        if step.name in RUN_OUTCOME:
            yield f"A step cannot be called {step.name}: that is how a run ends."
        if step.name == "request" or (step.name, step.answer) == ("brief", "json"):
            yield f"A step cannot be called {step.name}: a file of that name is ours."
        if step.keep and step.kind == "gate":
            yield f"{step.name}: a gate is never kept; it judges each time."
        if step.answer and step.answer not in KINDS:
            yield f"{step.name}: there is no answer {step.answer!r}; there are {', '.join(KINDS)}."
        if step.gate and step.gate not in GATES:
            yield f"{step.name}: there is no gate {step.gate!r}; there are {', '.join(GATES)}."
        for reason, (to, _) in step.next.items():
            if to not in protocol.steps and to not in RUN_OUTCOME:
                ends = ", ".join(RUN_OUTCOME)
                yield f"{step.name}: {reason} leads to {to}, which is neither a step nor one of {ends}."
        for name in step.clears:
            if name not in protocol.steps:
                yield f"{step.name}: clears {name}, and there is no such step."


def _check_contracts(protocol: Protocol) -> Iterator[str]:
    """Each step has what its kind needs, and nothing that would be ignored."""
    for step in protocol.steps.values():
        asks_itself = step.answer in ("json", "text")
        if asks_itself and not step.prompt:
            yield f"{step.name}: an answer of kind {step.answer} needs a prompt."
        if (step.answer == "json") != (step.schema is not None):
            yield f"{step.name}: an answer of kind json has a schema, and no other."
        if step.schema is not None and explain_bad_schema(step.schema):
            yield f"{step.name}: its schema is none: {explain_bad_schema(step.schema)}."
        if (step.gate == "command") != bool(step.command):
            yield f"{step.name}: a gate of kind command has a command, and no other."
        if step.prompt:
            yield from _check_prompt(step)
    for kind in [*KINDS, *GATES]:
        having = [step.name for step in protocol.steps.values() if kind in (step.answer, step.gate)]
        if len(having) > 1 and kind not in OWN:
            yield f"{' and '.join(having)} are both of kind {kind}: there can be one."


def _check_prompt(step: Step) -> Iterator[str]:
    from jinja2 import meta

    from .. import prompt
    from ..ask.messages import VALUES

    try:
        used = prompt.list_variables(step.prompt or "")
    except prompt.PromptError as error:
        yield f"{step.name}: its prompt cannot be read: {error}"
        return
    known = set(VALUES)
    if step.answer and os.path.exists(prompt.template_path(step.answer)):
        known |= meta.find_undeclared_variables(
            prompt.create_environment().parse(prompt.read_template(step.answer))
        )
    for name in sorted(used - known):
        yield f"{step.name}: its prompt uses {name}, which is not there; there are {', '.join(sorted(known))}."


def _check_edges(protocol: Protocol) -> Iterator[str]:
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
    return load_kind(step.answer).reasons if step.answer else GATES[step.gate or ""].reasons


def _check_reachable(protocol: Protocol) -> Iterator[str]:
    found = _list_reachable(protocol, [protocol.start])
    for name in protocol.steps:
        if name not in found:
            yield f"{name} is never reached from {protocol.start}."
    if "accepted" not in found:
        yield "Nothing leads to accepted: no run could ever succeed."


def _list_reachable(
    protocol: Protocol, start: list[str], goes_on=lambda step, reason: True
) -> set[str]:
    """Steps and outcomes that can follow, over the edges that `goes_on` lets through."""
    found, open_ = set(start), list(start)
    while open_:
        step = protocol.steps.get(open_.pop())
        for reason, (to, _) in step.next.items() if step else ():
            if to not in found and goes_on(step, reason):
                found.add(to)
                open_.append(to)
    return found


def _check_loops(protocol: Protocol) -> Iterator[str]:
    """A loop has a bound of its own: `attempts` of a step in it, or `times` of an edge."""
    free = {name for name, given in protocol.given["steps"].items() if "attempts" not in given}

    def unbounded(step, reason):
        to, times = step.next[reason]
        return step.name in free and to in free and not times

    for name in sorted(free):
        step = protocol.steps[name]
        following = [to for reason, (to, _) in step.next.items() if unbounded(step, reason)]
        if name in _list_reachable(protocol, following, unbounded):
            yield f"{name} is in a loop without a bound: give a step in it `attempts`, or an edge `times`."


def _check_kept_steps(protocol: Protocol) -> Iterator[str]:
    """A kept step is passed over once it has passed, so a ring of them has no end."""
    for step in protocol.steps.values():
        seen: list[str] = []
        here: Step | None = step
        while here and here.keep and here.name not in seen:
            seen.append(here.name)
            here = protocol.steps.get(here.next["pass"][0])
        if here and here.keep and here.name == step.name:
            yield f"{step.name} is kept, and its pass leads back to it: it would be passed over for ever."


def _check_acceptance(protocol: Protocol) -> Iterator[str]:
    """Only what passed goes on to be accepted, and on every way a gate has passed."""
    for step in protocol.steps.values():
        for reason, (to, _) in step.next.items():
            if reason != "pass" and to == "accepted":
                yield f"{step.name}: only pass may lead to accepted, and {reason} does."
            if (
                reason != "pass"
                and step.kind == "ask"
                and to in protocol.steps
                and protocol.steps[to].kind == "gate"
            ):
                yield f"{step.name}: {reason} leads to the gate {to}; an answer that failed is asked for again first."
    if "accepted" in _list_reachable(
        protocol, [protocol.start], lambda one, why: one.kind == "ask" or why != "pass"
    ):
        yield "A run can be accepted without a gate having passed."


def _check_gates_see_results(protocol: Protocol) -> Iterator[str]:
    """Nothing that is delivered counts before a gate that looks at it has passed."""
    for step in protocol.steps.values():
        if step.answer and load_kind(step.answer).is_result:

            def unseen(one, why, kind=step.answer):
                return why != "pass" or one.kind == "ask" or kind not in GATES[one.gate or ""].sees

            if "accepted" in _list_reachable(protocol, [step.next["pass"][0]], unseen):
                yield f"The answer to {step.name} can be accepted without a gate having seen it."


def _check_needs(protocol: Protocol) -> Iterator[str]:
    """What a step quotes or judges has been answered on every way to it."""
    for step in protocol.steps.values():
        needs = GATES[step.gate].needs if step.gate else _quoted(step)
        for kind in needs:
            givers = {one.name for one in protocol.steps.values() if kind in (one.answer, one.gate)}
            start = [protocol.start] if protocol.start not in givers else []
            if step.name in _list_reachable(
                protocol, start, lambda one, why, givers=givers: one.next[why][0] not in givers
            ):
                yield f"{step.name} can be reached before any step of kind {kind}, which it needs."


def _quoted(step: Step) -> tuple[str, ...]:
    kind = load_kind(step.answer or "")
    return kind.needs_for_checks if step.prompt else kind.needs


def _check_fixtures(protocol: Protocol) -> Iterator[str]:
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
            yield from (f"{step.name}: {wrong}" for wrong in _check_fixture(protocol, fixture))


def _check_fixture(protocol: Protocol, fixture: dict[str, Any]) -> Iterator[str]:
    """A bad fixture is bad in the eyes of its gate; what keeps to no contract never comes so far."""
    for name, value in fixture.get("answers", {}).items():
        step = protocol.steps.get(name)
        if step is None or step.kind != "ask":
            yield f"a fixture answers {name}, and no such step is asked."
        elif step.answer == "json":
            wrong = schema_faults(step.schema or {}, value)
            yield from (
                f"a fixture's answer to {name} does not keep to its schema: {what}."
                for _, what in wrong[:1]
            )
    for path in fixture.get("files", {}):
        try:
            check_path(path)
        except PathRefused as error:
            yield f"a fixture cannot have that file. {error.what}"


CHECKS = (
    _check_edges,
    _check_reachable,
    _check_loops,
    _check_kept_steps,
    _check_acceptance,
    _check_gates_see_results,
    _check_needs,
    _check_fixtures,
)
