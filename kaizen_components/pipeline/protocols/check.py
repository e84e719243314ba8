"""Find what prevents a protocol from running or from ending; each fault is one sentence."""

import itertools
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from ...limits import RUN_OUTCOME
from ..answers.kinds import KINDS, load_kind
from ..answers.schemas import explain_bad_schema
from ..answers.schemas import find_faults as find_schema_faults
from ..edits.paths import PathRefused, check_path
from ..gates.registry import GATES
from ..protocol import FOLDER, Protocol, Step

INT_MAX = 2**53
REPEATABLE = ("json", "text", "command")  # the only kinds that a protocol may have twice
Follows = Callable[[Step, str], bool]


def find_faults(definition: Any) -> list[str]:
    """Return the faults of a definition.

    Stop after the first group of rules that finds a fault: later groups assume that the earlier
    ones passed.
    """
    faults = list(_find_bad_values(definition, "the file"))
    if not faults:
        with open(os.path.join(FOLDER, "schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        faults = [
            f"{'.'.join(map(str, where)) or 'the file'}: {what}"
            for where, what in find_schema_faults(schema, definition)
        ]
    for rules in ((check_names, check_contracts), RULES):
        if not faults:
            protocol = Protocol(definition)
            faults = [fault for rule in rules for fault in rule(protocol)]
    return faults


def _find_bad_values(value: Any, place: str) -> Iterator[str]:
    """Yield values that are valid in YAML but cannot be stored in a record."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(name, str):
                yield from _find_bad_values(inner, name)
            else:
                yield f"{place}: the key {name!r:.60} is not text; write it in quotes."
    elif isinstance(value, list):
        for inner in value:
            yield from _find_bad_values(inner, place)
    elif isinstance(value, str):
        if "\0" in value or value.encode(errors="ignore").decode() != value:  # half a character
            yield f"{place}: it has a character that cannot be stored."
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if not -INT_MAX < value < INT_MAX:
            yield f"{place}: the number is too large."
    elif value is not None and not isinstance(value, bool):
        yield f"{place}: a {type(value).__name__} is not allowed here; write it in quotes."


def check_names(protocol: Protocol) -> Iterator[str]:
    """Yield a fault for each step, kind or gate that does not exist, and for reserved names."""
    steps = ", ".join(protocol.steps)
    if protocol.start not in protocol.steps:
        yield f"It starts with {protocol.start}, which is not a step; there are {steps}."
    for step in protocol.steps.values():
        if step.name in RUN_OUTCOME:
            yield f"A step cannot be called {step.name}: that is an outcome of a run."
        if step.name == "request" or (step.name, step.answer) == ("brief", "json"):
            yield f"A step cannot be called {step.name}: Kaizen writes a file of that name."
        if step.keep and step.kind == "gate":
            yield f"{step.name}: a gate cannot have `keep`, because it judges each time."
        if step.answer and step.answer not in KINDS:
            yield f"{step.name}: there is no answer {step.answer!r}; there are {', '.join(KINDS)}."
        if step.gate and step.gate not in GATES:
            yield f"{step.name}: there is no gate {step.gate!r}; there are {', '.join(GATES)}."
        for reason, (to, _) in step.next.items():
            if to not in protocol.steps and to not in RUN_OUTCOME:
                yield (
                    f"{step.name}: {reason} leads to {to}, which is neither a step nor one of "
                    f"{', '.join(RUN_OUTCOME)}."
                )
        for name in step.clears:
            if name not in protocol.steps:
                yield f"{step.name}: clears {name}, which is not a step."


def check_contracts(protocol: Protocol) -> Iterator[str]:
    """Yield a fault for each setting that a step lacks, or that its kind would ignore."""
    for step in protocol.steps.values():
        if step.answer in ("json", "text") and not step.prompt:
            yield f"{step.name}: an answer of kind {step.answer} needs a prompt."
        if (step.answer == "json") != (step.schema is not None):
            yield f"{step.name}: answers of kind json need a schema; other kinds cannot have one."
        if step.schema is not None and (why := explain_bad_schema(step.schema)):
            yield f"{step.name}: its schema is invalid: {why}."
        if (step.gate == "command") != bool(step.command):
            yield f"{step.name}: gates of kind command need a command; others cannot have one."
        if step.prompt:
            yield from _check_prompt(step, step.prompt)
    for kind in [*KINDS, *GATES]:
        names = [step.name for step in protocol.steps.values() if kind in (step.answer, step.gate)]
        if len(names) > 1 and kind not in REPEATABLE:
            yield f"{' and '.join(names)} are of kind {kind}, but only one step may be."


def _check_prompt(step: Step, template: str) -> Iterator[str]:
    """Yield a fault if the prompt is not a valid template or uses an unknown variable."""
    from jinja2 import meta

    from .. import prompt
    from ..ask.messages import VALUES

    try:
        used_names = prompt.list_variables(template)
    except prompt.PromptError as error:
        yield f"{step.name}: its prompt cannot be read: {error}"
        return
    known_names = set(VALUES)
    if step.answer and os.path.exists(prompt.template_path(step.answer)):
        shipped_prompt = prompt.create_environment().parse(prompt.read_template(step.answer))
        known_names |= meta.find_undeclared_variables(shipped_prompt)
    for name in sorted(used_names - known_names):
        yield (
            f"{step.name}: its prompt uses {name}, which does not exist; "
            f"there are {', '.join(sorted(known_names))}."
        )


def check_edges(protocol: Protocol) -> Iterator[str]:
    """Yield a fault for each reason without an edge, and for each step that is never reached."""
    for step in protocol.steps.values():
        reasons = load_kind(step.answer).reasons if step.answer else GATES[step.gate or ""].reasons
        for reason in reasons:
            if reason not in step.next:
                yield f"{step.name} can end with {reason}, but no edge leads on from there."
        for reason in step.next:
            if reason not in reasons:
                yield f"{step.name} never ends with {reason}; it can end with {', '.join(reasons)}."
    reachable = _list_reachable(protocol, [protocol.start])
    for name in protocol.steps:
        if name not in reachable:
            yield f"{name} is never reached from {protocol.start}."
    if "accepted" not in reachable:
        yield "Nothing leads to accepted: no run could ever succeed."


def _list_reachable(
    protocol: Protocol, start: list[str], follows: Follows = lambda step, reason: True
) -> set[str]:
    """Return the names reachable from `start` over the edges for which `follows` is true."""
    names, pending = set(start), list(start)
    while pending:
        step = protocol.steps.get(pending.pop())
        if step:
            next_names = {
                to for reason, (to, _) in step.next.items() if follows(step, reason)
            } - names
            names |= next_names
            pending += next_names
    return names


def check_loops(protocol: Protocol) -> Iterator[str]:
    """Yield a fault for each loop without a bound: `attempts` of a step, or `times` of an edge.

    A loop of `keep` steps is a fault too: a passed step is skipped, so the loop never ends.
    """
    without_attempts = {
        name
        for name, step_data in protocol.definition["steps"].items()
        if "attempts" not in step_data
    }

    def is_unbounded(step: Step, reason: str) -> bool:
        to, times = step.next[reason]
        return step.name in without_attempts and to in without_attempts and not times

    for name in sorted(without_attempts):
        step = protocol.steps[name]
        following = [to for reason, (to, _) in step.next.items() if is_unbounded(step, reason)]
        if name in _list_reachable(protocol, following, is_unbounded):
            yield (
                f"{name} is in a loop without a bound: "
                "give a step in it `attempts`, or an edge `times`."
            )
    for step in protocol.steps.values():
        visited: list[str] = []
        current: Step | None = step
        while current and current.keep and current.name not in visited:
            visited.append(current.name)
            current = protocol.steps.get(current.next["pass"][0])
        if current and current.keep and current.name == step.name:
            yield f"{step.name} has `keep`, and its pass leads back to it: the run would never end."


def check_acceptance(protocol: Protocol) -> Iterator[str]:
    """Yield a fault if a run can be accepted before each answer and its gate have passed."""
    for step in protocol.steps.values():
        for reason, (to, _) in step.next.items():
            if reason == "pass":
                continue
            if to == "accepted":
                yield f"{step.name}: {reason} leads to accepted, but only pass may."
            if step.kind == "ask" and to in protocol.steps and protocol.steps[to].kind == "gate":
                yield (
                    f"{step.name}: {reason} leads to the gate {to}; "
                    "after a failed answer, a new one must be asked for first."
                )
    if "accepted" in _list_reachable(
        protocol, [protocol.start], lambda step, reason: step.kind == "ask" or reason != "pass"
    ):
        yield "A run can be accepted although no gate has passed."
    for step in protocol.steps.values():
        if step.answer and load_kind(step.answer).is_result:

            def is_unseen(gate: Step, reason: str, kind: str = step.answer) -> bool:
                return (
                    reason != "pass"
                    or gate.kind == "ask"
                    or kind not in GATES[gate.gate or ""].sees
                )

            if "accepted" in _list_reachable(protocol, [step.next["pass"][0]], is_unseen):
                yield f"The answer to {step.name} can be accepted although no gate has seen it."


def check_needs(protocol: Protocol) -> Iterator[str]:
    """Yield a fault for each step that can run before the answers that it quotes or judges."""
    for step in protocol.steps.values():
        if step.gate:
            needs = GATES[step.gate].needs
        else:
            answer = load_kind(step.answer or "")
            needs = answer.needs_for_checks if step.prompt else answer.needs
        for kind in needs:
            givers = {
                giver.name
                for giver in protocol.steps.values()
                if kind in (giver.answer, giver.gate)
            }
            start = [protocol.start] if protocol.start not in givers else []

            def avoids(other: Step, reason: str, givers: set[str] = givers) -> bool:
                return other.next[reason][0] not in givers

            if step.name in _list_reachable(protocol, start, avoids):
                yield f"{step.name} can be reached before any step of kind {kind}, which it needs."


def check_fixtures(protocol: Protocol) -> Iterator[str]:
    """Yield a fault for each command gate that lacks a usable good or bad fixture."""
    for step in protocol.steps.values():
        if step.gate != "command":
            if step.fixtures:
                yield f"{step.name}: only a gate of kind command can have fixtures."
            continue
        for quality, verb in (("good", "pass"), ("bad", "fail")):
            if not step.fixtures.get(quality):
                yield f"{step.name} needs a {quality} fixture, which shows that it can {verb}."
        for fixture in itertools.chain.from_iterable(step.fixtures.values()):
            for name, value in fixture.get("answers", {}).items():
                ask_step = protocol.steps.get(name)
                if ask_step is None or ask_step.kind != "ask":
                    yield f"{step.name}: a fixture answers {name}, which is not an ask step."
                elif ask_step.answer == "json":
                    for _, what in find_schema_faults(ask_step.schema or {}, value)[:1]:
                        yield (
                            f"{step.name}: a fixture's answer to {name} does not follow its schema:"
                            f" {what}."
                        )
            for path in fixture.get("files", {}):
                try:
                    check_path(path)
                except PathRefused as error:
                    yield f"{step.name}: a fixture has a file with an invalid path. {error.what}"


RULES = (check_edges, check_loops, check_acceptance, check_needs, check_fixtures)
