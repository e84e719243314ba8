"""What every kind of answer has: the values of its prompt, its form, its checks, and what of it is kept as a file."""

from typing import Any

from ..protocol import Step
from ..target.workspace import Workspace
from ..verdict import Verdict
from .context import StepContext
from .contracts import MODELS
from .parse import validate_answer


class Kind:
    """A plain kind: nothing is asked for, everything passes. Each of the others says what is different."""

    how = "plain text"
    checked = ""  # what its checks look at, as a skill says it
    reasons: tuple[str, ...] = ("pass", "malformed", "check")  # how its checks can end
    needs: tuple[
        str, ...
    ] = ()  # answers and gates that come before, because the prompt that we ship quotes them
    needs_for_checks: tuple[
        str, ...
    ] = ()  # those that its checks use, also with a prompt of the protocol's own
    is_result = True  # what it says is part of what the run delivers, so a gate has to see it
    is_edits = False

    def form(self, step: Step) -> dict[str, Any]:
        """The form of the answer: a JSON Schema, or a description."""
        return {"format": "Plain text."}

    def values(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        """What the prompt can use, besides what every prompt can."""
        return {}

    def judge(self, step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
        """What the checks say; AnswerRefused or EditRefused for what is not in the form that was asked for."""
        raise NotImplementedError

    def value(self, step: Step, text: str) -> Any:
        """An accepted answer as later prompts and commands see it."""
        return text

    def find_objection(self, work: Workspace, asked: StepContext) -> Verdict | None:
        """What speaks against asking at all."""
        return None

    def find_forbidden(self, work: Workspace, asked: StepContext, text: str) -> list[str]:
        """Paths that an answer would write and may not."""
        return []

    def write_set(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        return {"may": [], "may_not": ["**"]}

    def result_file(self, step: Step, text: str) -> tuple[str, str, str] | None:
        """(file, title, text) of what a finished run leaves of the answer."""
        return None


class Structured(Kind):
    """A JSON object that keeps to one of our contracts."""

    how = "one JSON object"
    contract = ""

    def form(self, step: Step) -> dict[str, Any]:
        return {"schema": MODELS[self.contract].model_json_schema()}

    def value(self, step: Step, text: str) -> Any:
        return self.read(text)

    def read(self, text: str) -> dict[str, Any]:
        return validate_answer(text, MODELS[self.contract]).model_dump()


def count_faults(wrong: list, word: str = "fault") -> str:
    return f"{len(wrong)} {word}{'s' * (len(wrong) != 1)}"
