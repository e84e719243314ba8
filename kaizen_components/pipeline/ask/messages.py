"""Build the question of a step and check its answer."""

import json
from typing import Any

from ...errors import KaizenError, Refused
from .. import prompt
from ..answers.context import StepContext
from ..answers.kinds import get_kind
from ..answers.parse import AnswerRefused
from ..edits import apply as edits
from ..protocol import Step
from ..spec import render_spec
from ..target.workspace import Workspace
from ..verdict import Finding, Verdict

SEPARATOR = "\n-----\n"  # between the system text and the user text of a prompt
SAYS_CHARS_MAX = 500
# The values of every prompt.
VALUES = ("request", "feedback", "previous", "listing", "spec", "answers", "form")


def build_messages(step: Step, work: Workspace, context: StepContext) -> list[dict[str, str]]:
    """Return a system and a user message, built only from records and the base commit."""
    try:
        kind = get_kind(step)
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
    except Exception as error:  # such as a prompt that quotes a missing answer
        is_prompt_error = type(error) is prompt.PromptError
        why = str(error) if is_prompt_error else f"{type(error).__name__}: {error}."
        raise Refused(
            "no_question",
            f"The prompt of the step {step.name} cannot be rendered.",
            why[:SAYS_CHARS_MAX],
            "Fix the prompt, then start another run.",
        ) from None
    system, _, user = text.partition(SEPARATOR)
    return [
        {"role": "system", "content": system.strip()},
        {"role": "user", "content": user.strip()},
    ]


def parse_answers(context: StepContext) -> dict[str, Any]:
    """Return {step name: parsed answer} for the answers whose form is valid."""
    values: dict[str, Any] = {}
    for name, text in context.texts.items():
        if text is not None:
            step = context.protocol.steps[name]
            try:
                values[name] = get_kind(step).parse_answer(step, text)
            except AnswerRefused:
                continue
    return values


def check_answer(step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
    """Return the verdict of the step's checks on its answer `text`."""
    try:
        return get_kind(step).check_answer(step, work, context, text)
    except (AnswerRefused, edits.EditRefused) as error:
        return Verdict("malformed", str(error), [Finding("form", str(error))])
    except KaizenError:  # not a fault of the answer
        raise
    except Exception as error:  # an answer that crashes a check must not block the run
        says = f"The answer could not be checked: {type(error).__name__}: {error}"[:SAYS_CHARS_MAX]
        return Verdict("malformed", says, [Finding("form", says)])
