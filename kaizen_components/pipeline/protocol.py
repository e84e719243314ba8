"""Protocols as data: steps with their kind, their attempts, and where each reason leads."""

from __future__ import annotations

import os
from typing import Any

from ..errors import Usage
from ..records.ledger.canonical import encode_canonical
from ..records.ledger.hashing import hash_text
from . import prompt, yaml_file

FOLDER = os.path.join(os.path.dirname(__file__), "protocols")
BUDGETS = ("asks", "calls", "tokens", "cost_usd", "seconds")


class Step:
    """One step: a model or an agent answers an `ask` step, tools decide a `gate` step."""

    def __init__(self, name: str, given: dict[str, Any]):
        self.name = name
        self.kind: str = given["kind"]
        self.stage: str = given.get("stage") or name
        self.about: str = given.get("about", "")
        self.answer: str | None = given.get("answer")
        self.prompt: str | None = given.get("prompt")  # a template that replaces ours
        self.schema: dict[str, Any] | None = given.get("schema")  # of an answer of the kind json
        self.gate: str | None = given.get("gate")
        self.command: list[str] = given.get("command") or []  # of a gate of the kind command
        # Good and bad examples, to prove a command on.
        self.fixtures: dict[str, list[dict[str, Any]]] = given.get("fixtures", {})
        self.temperature: float = given.get("temperature", 0.0)
        self.attempts: int = given.get("attempts", 3)
        self.timeout_s: float = given.get("timeout_s", 600)
        self.calls: int = given.get("calls", 0)  # of tools, for one answer
        self.budget: dict[str, float] = given.get("budget", {})  # of all attempts together
        self.keep: bool = given.get("keep", False)
        self.clears: list[str] = given.get("clears", [])
        # reason -> (where it leads, how often at most; 0 means as often as attempts allow)
        self.next: dict[str, tuple[str, int]] = {
            reason: (edge["to"], edge["times"]) if isinstance(edge, dict) else (edge, 0)
            for reason, edge in given.get("next", {}).items()
        }


class Protocol:
    def __init__(self, given: dict[str, Any]):
        self.definition = given
        self.name: str = given["name"]
        self.version: str = given["version"]
        self.about: str = given.get("about", "")
        self.start: str = given["start"]
        self.budget: dict[str, float] = given["budget"]
        # A run with more illegal moves of an agent fails; None means no limit.
        self.illegal_moves_max: int | None = given.get("illegal_moves_max")
        self.steps = {name: Step(name, step) for name, step in given["steps"].items()}

    @property
    def hash(self) -> str:
        """The hash of the steps and their prompts. The budget is not part of it."""
        prompts = {
            step.answer: prompt.read_template(step.answer)
            for step in self.steps.values()
            if step.answer and not step.prompt
        }
        hashed = {name: value for name, value in self.definition.items() if name != "budget"}
        return hash_text(encode_canonical({**hashed, "prompts": prompts}))

    @property
    def planning_steps(self) -> frozenset[str]:
        """The names of the steps whose pass clears the answers of other steps."""
        return frozenset(step.name for step in self.steps.values() if step.clears)

    @property
    def stages(self) -> list[str]:
        return list(dict.fromkeys(step.stage for step in self.steps.values()))


def list_shipped() -> list[str]:
    return sorted(name.removesuffix(".yml") for name in os.listdir(FOLDER) if name.endswith(".yml"))


def load_shipped(name: str) -> Protocol:
    """Return one of the protocols that we ship."""
    with open(os.path.join(FOLDER, name + ".yml"), encoding="utf-8") as file:
        return Protocol(yaml_file.parse_yaml(file.read(), f"{name}.yml"))


def override_budget(protocol: Protocol, budget: dict[str, float]) -> Protocol:
    """Return a copy of the protocol with these budgets instead of its own."""
    unknown = sorted(set(budget) - set(BUDGETS))
    if unknown:
        raise Usage(
            "unknown_budget",
            f"There is no budget {unknown[0]!r}.",
            f"The budgets are {', '.join(BUDGETS)}.",
            "Use one of these names.",
        )
    return Protocol({**protocol.definition, "budget": {**protocol.budget, **budget}})


def override_steps(protocol: Protocol, attempts: dict[str, int], strict: bool) -> Protocol:
    """Return a copy with these attempts by step; if strict, the first illegal move ends a run."""
    steps = {
        name: {**step, "attempts": attempts[name]} if name in attempts else step
        for name, step in protocol.definition["steps"].items()
    }
    definition = {**protocol.definition, "steps": steps}
    return Protocol({**definition, "illegal_moves_max": 0} if strict else definition)
