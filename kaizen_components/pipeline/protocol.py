"""Protocols as data: named steps, each with its kind, its attempts and where every reason leads."""

import os
from typing import Any

from ..errors import Usage
from ..records.ledger.canonical import encode_canonical
from ..records.ledger.hashing import hash_text
from . import prompt, yaml_file

FOLDER = os.path.join(os.path.dirname(__file__), "protocols")
STEP_DEFAULTS: dict[str, Any] = {
    "stage": "", "about": "", "answer": None, "gate": None, "temperature": 0.0, "attempts": 3,
    "timeout_s": 600, "calls": 0, "budget": {}, "keep": False, "clears": [], "next": {},
    "prompt": None, "schema": None, "command": None, "fixtures": {},
}  # fmt: skip
BUDGETS = ("asks", "calls", "tokens", "cost_usd", "seconds")


class Step:
    """One step: a model or an agent answers `ask` steps, tools decide `gate` steps."""

    def __init__(self, name: str, given: dict[str, Any]):
        values = {**STEP_DEFAULTS, **given}
        self.name = name
        self.kind: str = values["kind"]
        self.stage: str = values["stage"] or name
        self.about: str = values["about"]
        self.answer: str | None = values["answer"]
        self.prompt: str | None = values["prompt"]  # a template; by default that of the answer
        self.schema: dict[str, Any] | None = values["schema"]  # of an answer of kind json
        self.gate: str | None = values["gate"]
        self.command: list[str] = values["command"] or []  # of a gate of kind command
        # Good and bad ones, to prove a command on.
        self.fixtures: dict[str, list[dict[str, Any]]] = values["fixtures"]
        self.temperature: float = values["temperature"]
        self.attempts: int = values["attempts"]
        self.timeout_s: float = values["timeout_s"]
        self.calls: int = values["calls"]  # of tools, for one answer
        self.budget: dict[str, float] = values["budget"]  # of all its attempts together
        self.keep: bool = values["keep"]
        self.clears: list[str] = values["clears"]
        # reason -> (where it leads, how often at most); 0 is as often as attempts allow.
        self.next: dict[str, tuple[str, int]] = {
            reason: (edge["to"], edge["times"]) if isinstance(edge, dict) else (edge, 0)
            for reason, edge in values["next"].items()
        }


class Protocol:
    def __init__(self, given: dict[str, Any]):
        self.given = given
        self.name: str = given["name"]
        self.version: str = given["version"]
        self.about: str = given.get("about", "")
        self.start: str = given["start"]
        self.budget: dict[str, float] = given["budget"]
        self.steps = {name: Step(name, step) for name, step in given["steps"].items()}

    @property
    def hash(self) -> str:
        """Return the hash of the steps and their prompts; the budget does not count."""
        prompts = {
            step.answer: prompt.read_template(step.answer)
            for step in self.steps.values()
            if step.answer and not step.prompt
        }
        rest = {name: value for name, value in self.given.items() if name != "budget"}
        return hash_text(encode_canonical({**rest, "prompts": prompts}))

    @property
    def planning_steps(self) -> frozenset[str]:
        """Return the steps that make the answers to others void."""
        return frozenset(step.name for step in self.steps.values() if step.clears)

    @property
    def stages(self) -> list[str]:
        return list(dict.fromkeys(step.stage for step in self.steps.values()))


def list_shipped() -> list[str]:
    return sorted(name.removesuffix(".yml") for name in os.listdir(FOLDER) if name.endswith(".yml"))


def load_shipped(name: str) -> Protocol:
    """Load one of the shipped protocols."""
    with open(os.path.join(FOLDER, name + ".yml"), encoding="utf-8") as file:
        return Protocol(yaml_file.parse_yaml(file.read(), f"{name}.yml"))


def override_budget(protocol: Protocol, given: dict[str, float]) -> Protocol:
    """Return the same protocol with some budgets replaced."""
    unknown = sorted(set(given) - set(BUDGETS))
    if unknown:
        raise Usage(
            "unknown_budget",
            f"There is no budget {unknown[0]!r}.",
            "There are: " + ", ".join(BUDGETS) + ".",
            "",
        )
    return Protocol({**protocol.given, "budget": {**protocol.budget, **given}})
