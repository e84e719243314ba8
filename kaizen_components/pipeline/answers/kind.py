"""The interface of an answer kind: the values of its prompt, its form, its checks and its file."""

from collections.abc import Sequence
from typing import Any

from ..protocol import Step
from ..target.workspace import Workspace
from ..verdict import Verdict
from .context import StepContext
from .contracts import MODELS
from .parse import validate_answer


class Kind:
    """A kind of answer. The methods here are the defaults."""

    form_name = "plain text"
    checks = ""  # a sentence for the skill
    reasons: tuple[str, ...] = (
        "pass",
        "malformed",
        "check",
    )  # the reasons that its verdicts can have
    needs: tuple[str, ...] = ()  # earlier answers and gates that our prompt quotes
    # Earlier answers that its checks use, even if a user wrote the prompt.
    needs_for_checks: tuple[str, ...] = ()
    is_result = True  # the run delivers it, so the protocol needs a gate for it
    is_edits = False

    def describe_form(self, step: Step) -> dict[str, Any]:
        """Return the form of the answer: a JSON Schema, or a description."""
        return {"format": "Plain text."}

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        """Return the prompt values that only this kind has."""
        return {}

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        """Return the verdict; raise AnswerRefused or EditRefused for a wrong form."""
        raise NotImplementedError

    def parse_answer(self, step: Step, text: str) -> Any:
        """Return an accepted answer in the form that later prompts and commands use."""
        return text

    def find_objection(self, work: Workspace, context: StepContext) -> Verdict | None:
        """Return a verdict that makes the question unnecessary, or None."""
        return None

    def find_forbidden_paths(self, work: Workspace, context: StepContext, text: str) -> list[str]:
        """Return the forbidden paths that the answer writes."""
        return []

    def describe_write_set(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        """Return the paths that an answer may and may not write, as globs."""
        return {"may": [], "may_not": ["**"]}

    def build_result_file(self, step: Step, text: str) -> tuple[str, str, str] | None:
        """Return (file, title, text) for the result files of a finished run."""
        return None


class StructuredKind(Kind):
    """An answer that is a JSON object of one of our contracts."""

    form_name = "one JSON object"
    contract = ""

    def describe_form(self, step: Step) -> dict[str, Any]:
        return {"schema": MODELS[self.contract].model_json_schema()}

    def parse_answer(self, step: Step, text: str) -> Any:
        return self.parse_object(text)

    def parse_object(self, text: str) -> dict[str, Any]:
        """Return the first object in the text that keeps to the contract."""
        return validate_answer(text, MODELS[self.contract]).model_dump()


def format_count(items: Sequence[object], word: str = "fault") -> str:
    """Return a number with its noun: "1 fault", "3 faults"."""
    return f"{len(items)} {word}{'s' * (len(items) != 1)}"
