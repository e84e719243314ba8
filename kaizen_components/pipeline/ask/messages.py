"""Build the question of a step and check the answer."""

import json
from typing import Any

from ...errors import KaizenError, Refused
from .. import prompt
from ..answers.context import StepContext
from ..answers.kinds import kind_of
from ..answers.parse import AnswerRefused
from ..edits import apply as edits
from ..protocol import Step
from ..spec import render_spec
from ..target.workspace import Workspace
from ..verdict import Finding, Verdict

BREAK = "\n-----\n"
SAYS_CHARS_MAX = 500
VALUES = (
    "request",
    "feedback",
    "previous",
    "listing",
    "spec",
    "answers",
    "form",
)  # of every prompt


def build_messages(step: Step, work: Workspace, context: StepContext) -> list[dict[str, str]]:
    """Return the question: a system and a user text, from records and the base alone."""
    try:
        kind = kind_of(step)
        form = kind.describe_form(step)
        form_text = form.get("format")
        if "schema" in form:
            form_text = json.dumps(form["schema"], indent=1, ensure_ascii=False)
        values = {
            "request": context.request, "feedback": context.feedback, "previous": context.previous,
            "listing": work.render_listing(), "answers": parse_answers(context), "form": form_text,
            "spec": "" if step.answer == "spec" else render_spec(context.spec),
            **kind.collect_values(work, context),
        }  # fmt: skip
        text = (
            prompt.render_in_subprocess(step.prompt, values)
            if step.prompt
            else prompt.render_shipped(str(step.answer), values)
        )
    except KaizenError:
        raise
    except Exception as error:  # such as a prompt that quotes an answer which does not exist
        is_prompt_error = type(error) is prompt.PromptError
        why = str(error) if is_prompt_error else f"{type(error).__name__}: {error}."
        raise Refused(
            "no_question",
            f"The prompt of {step.name} cannot be made.",
            why[:SAYS_CHARS_MAX],
            "Fix the prompt, and begin another run.",
        ) from None
    system, _, user = text.partition(BREAK)
    return [
        {"role": "system", "content": system.strip()},
        {"role": "user", "content": user.strip()},
    ]


def parse_answers(context: StepContext) -> dict[str, Any]:
    """Return the readable answers by their steps: objects as objects, others as text."""
    values: dict[str, Any] = {}
    for name, text in context.texts.items():
        if text is not None:
            step = context.protocol.steps[name]
            try:
                values[name] = kind_of(step).parse_answer(step, text)
            except AnswerRefused:
                continue
    return values


def check_answer(step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
    """Return what the checks say about the answer `text`; `context` has the answers before it."""
    try:
        return kind_of(step).check_answer(step, work, context, text)
    except (AnswerRefused, edits.EditRefused) as error:
        return Verdict("malformed", str(error), [Finding("form", str(error))])
    except KaizenError:  # not the answer's fault
        raise
    except Exception as error:  # an answer that crashes a check must not stop the run for ever
        says = f"The answer could not be checked: {type(error).__name__}: {error}"[:SAYS_CHARS_MAX]
        return Verdict("malformed", says, [Finding("form", says)])
