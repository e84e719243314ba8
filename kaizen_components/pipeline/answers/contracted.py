"""The answers that a user's protocol defines: JSON that keeps to a schema, or plain text."""

import json
from typing import Any

from ..protocol import Step
from ..target.workspace import Workspace
from ..verdict import Verdict
from .context import StepContext
from .kind import Kind
from .parse import AnswerRefused, Fault, find_object
from .schemas import find_faults

SUMMARY_CHARS = 80
TEXT_CHARS_MAX = 200_000


class JsonKind(Kind):
    form_name = "one JSON object"
    reasons = ("pass", "malformed")
    checks = "Keeps to the schema."

    def describe_form(self, step: Step) -> dict[str, Any]:
        return {"schema": step.schema or {}}

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        names = list(self.parse_answer(step, text))
        return Verdict("pass", f"An object with {', '.join(names[:5]) or 'nothing'}.")

    def parse_answer(self, step: Step, text: str) -> dict[str, Any]:
        """Return the first object in the text that keeps to the schema."""

        def try_object(candidate: dict[str, Any]) -> tuple[dict[str, Any] | None, list[Fault]]:
            faults = find_faults(step.schema or {}, candidate)
            return (None if faults else candidate), faults

        return find_object(text, try_object)

    def build_result_file(self, step: Step, text: str) -> tuple[str, str, str]:
        data = json.dumps(self.parse_answer(step, text), indent=1, ensure_ascii=False)
        return f"{step.name}.json", f"The answer to {step.name}", data + "\n"


class TextKind(Kind):
    reasons = ("pass", "malformed")
    checks = "Is not empty."

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        """Accept any text that is neither empty nor too long."""
        if not text.strip():
            raise AnswerRefused("The answer is empty.")
        if len(text) > TEXT_CHARS_MAX:
            raise AnswerRefused(
                f"The answer has {len(text):,} characters; {TEXT_CHARS_MAX:,} are read."
            )
        return Verdict("pass", text.strip().splitlines()[0][:SUMMARY_CHARS])

    def build_result_file(self, step: Step, text: str) -> tuple[str, str, str]:
        return f"{step.name}.txt", f"The answer to {step.name}", text
