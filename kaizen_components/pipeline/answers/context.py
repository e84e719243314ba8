"""What a step is asked with: the request, the answers so far, and what was said about the last one."""

from typing import Any

from ..protocol import Protocol
from ..spec import filter_grants
from .contracts import MODELS
from .parse import validate_answer

TITLE_CHARS = 120


class StepContext:
    """The answers as they were given, by step; read by the kind of answer, whatever the protocol calls its steps."""

    def __init__(
        self, protocol: Protocol, request: str, texts: dict[str, str | None], feedback: str = "",
        previous: str | None = None, judged: list[dict[str, Any]] | None = None,
        options: dict[str, Any] | None = None,
    ):  # fmt: skip
        self.protocol = protocol
        self.request = request
        self.texts = texts
        self.feedback = feedback
        self.previous = previous
        self.judged = judged or []  # every verdict so far, in order
        self.options = options or {}  # of the run

    def text(self, kind: str) -> str | None:
        """The newest answer of that kind; None if there is none."""
        return next(
            (
                self.texts.get(step.name)
                for step in self.protocol.steps.values()
                if step.answer == kind
            ),
            None,
        )

    def read(self, kind: str) -> dict[str, Any]:
        """An accepted answer as its contract has it."""
        return validate_answer(self.text(kind) or "", MODELS[kind]).model_dump()

    def facts(self, gate: str) -> list[dict[str, Any]]:
        """What a gate found each time that it passed, in order."""
        return [one["payload"]["facts"] for one in self._verdicts(gate) if one["reason"] == "pass"]

    def newest_facts(self, gate: str) -> dict[str, Any]:
        """What a gate found the last time, however it ended."""
        return self._verdicts(gate)[-1]["payload"]["facts"]

    def _verdicts(self, gate):
        steps = {step.name for step in self.protocol.steps.values() if step.gate == gate}
        return [one for one in self.judged if one["step"] in steps and one["reason"] != "missing"]

    @property
    def spec(self) -> dict[str, Any]:
        """The plan; a protocol that plans nothing has only what was requested, and grants nothing."""
        if self.text("spec") is None:
            title = self.request.strip().splitlines()[0][:TITLE_CHARS]
            return {
                "title": title,
                "criteria": [],
                "constraints": [],
                "out_of_scope": [],
                "grants": [],
            }
        spec = self.read("spec")
        return {**spec, "grants": filter_grants(spec["grants"], self.request)}

    @property
    def brief(self) -> dict[str, Any]:
        return self.read("brief")
