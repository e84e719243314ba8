"""The context of a step: the request, the answers so far, and the feedback on the last one."""

from typing import Any

from ..protocol import Protocol
from ..spec import filter_grants
from .contracts import MODELS
from .parse import validate_answer

TITLE_CHARS = 120
SPEC_LISTS = ("criteria", "constraints", "out_of_scope", "grants")


class StepContext:
    """What a step knows. It finds answers by kind, so a protocol can name its steps freely."""

    def __init__(
        self, protocol: Protocol, request: str, texts: dict[str, str | None],
        feedback: str = "", previous: str | None = None,
        judged: list[dict[str, Any]] | None = None,
        options: dict[str, Any] | None = None,
    ):  # fmt: skip
        self.protocol = protocol
        self.request = request
        self.texts = texts
        self.feedback = feedback
        self.previous = previous
        self.judged = judged or []  # every verdict so far, in order
        self.options = options or {}  # of the run

    def find_answer(self, kind: str) -> str | None:
        """Return the newest answer of that kind, or None."""
        for step in self.protocol.steps.values():
            if step.answer == kind:
                return self.texts.get(step.name)
        return None

    def parse_answer(self, kind: str) -> dict[str, Any]:
        """Return the newest answer of that kind as an object of its contract."""
        return validate_answer(self.find_answer(kind) or "", MODELS[kind]).model_dump()

    def list_facts(self, gate: str) -> list[dict[str, Any]]:
        """Return the facts of each verdict `pass` of a gate, in order."""
        return [
            verdict["payload"]["facts"]
            for verdict in self._list_verdicts(gate)
            if verdict["reason"] == "pass"
        ]

    def find_newest_facts(self, gate: str) -> dict[str, Any]:
        """Return the facts of the gate's newest verdict."""
        return self._list_verdicts(gate)[-1]["payload"]["facts"]

    def _list_verdicts(self, gate: str) -> list[dict[str, Any]]:
        """Return the verdicts of a gate, without `missing`: there the gate decided nothing."""
        steps = {step.name for step in self.protocol.steps.values() if step.gate == gate}
        return [
            event
            for event in self.judged
            if event["step"] in steps and event["reason"] != "missing"
        ]

    @property
    def spec(self) -> dict[str, Any]:
        """The spec, or a spec with only the request's first line as its title."""
        if self.find_answer("spec") is None:
            title = self.request.strip().splitlines()[0][:TITLE_CHARS]
            return {"title": title, **{name: [] for name in SPEC_LISTS}}
        spec = self.parse_answer("spec")
        return {**spec, "grants": filter_grants(spec["grants"], self.request)}

    @property
    def brief(self) -> dict[str, Any]:
        return self.parse_answer("brief")
