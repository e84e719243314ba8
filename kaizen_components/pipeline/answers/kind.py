"""What every kind of answer has: the values of its prompt, its form, its checks and its file."""

from collections.abc import Sequence
from typing import Any

from ..protocol import Step
from ..target.workspace import Workspace
from ..verdict import Verdict
from .context import StepContext
from .contracts import MODELS
from .parse import validate_answer


class Kind:
    """The defaults; each kind overrides what is different."""

    form_name = "plain text"
    checks = ""  # what its checks look at, for the skill
    reasons: tuple[str, ...] = ("pass", "malformed", "check")  # how its checks can end
    needs: tuple[str, ...] = ()  # earlier answers and gates that our prompt quotes
    needs_for_checks: tuple[str, ...] = ()  # those that its checks use, also with a user's prompt
    is_result = True  # the run delivers it, so a gate has to see it
    is_edits = False

    def describe_form(self, step: Step) -> dict[str, Any]:
        """Return the form of the answer: a JSON Schema, or a description."""
        return {"format": "Plain text."}

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        """Return the values of its prompt, besides those of every prompt."""
        return {}

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        """Return what the checks say; raise AnswerRefused or EditRefused for a wrong form."""
        raise NotImplementedError

    def parse_answer(self, step: Step, text: str) -> Any:
        """Return an accepted answer as later prompts and commands see it."""
        return text

    def find_objection(self, work: Workspace, context: StepContext) -> Verdict | None:
        """Return the verdict that makes asking pointless, if there is one."""
        return None

    def find_forbidden_paths(self, work: Workspace, context: StepContext, text: str) -> list[str]:
        """Return the paths that an answer would write and may not."""
        return []

    def describe_write_set(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        return {"may": [], "may_not": ["**"]}

    def build_result_file(self, step: Step, text: str) -> tuple[str, str, str] | None:
        """Return (file, title, text) of the answer's file in a finished run."""
        return None


class StructuredKind(Kind):
    """A JSON object that keeps to one of our contracts."""

    form_name = "one JSON object"
    contract = ""

    def describe_form(self, step: Step) -> dict[str, Any]:
        return {"schema": MODELS[self.contract].model_json_schema()}

    def parse_answer(self, step: Step, text: str) -> Any:
        return self.parse_object(text)

    def parse_object(self, text: str) -> dict[str, Any]:
        return validate_answer(text, MODELS[self.contract]).model_dump()


def format_count(wrong: Sequence[object], word: str = "fault") -> str:
    return f"{len(wrong)} {word}{'s' * (len(wrong) != 1)}"
