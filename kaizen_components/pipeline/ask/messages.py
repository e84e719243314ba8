"""The steps that somebody answers: what they are asked, and what is checked about what they say."""

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


def build_messages(step: Step, work: Workspace, asked: StepContext) -> list[dict[str, str]]:
    """The conversation that asks: a system text and a user text, made from records and the base alone."""
    try:
        values = _values(step, work, asked)
        made = (
            prompt.render_apart(step.prompt, values)
            if step.prompt
            else prompt.render_shipped(str(step.answer), values)
        )
    except KaizenError:
        raise
    except Exception as error:  # such as an answer that the prompt quotes and nobody has given
        raise Refused(
            "no_question",
            f"The prompt of {step.name} cannot be made.",
            (
                str(error)
                if type(error) is prompt.PromptError
                else f"{type(error).__name__}: {error}."
            )[:SAYS_CHARS_MAX],
            "Mend the prompt, and begin another run.",
        ) from None
    system, _, user = made.partition(BREAK)
    return [
        {"role": "system", "content": system.strip()},
        {"role": "user", "content": user.strip()},
    ]


def _values(step: Step, work: Workspace, asked: StepContext) -> dict[str, Any]:
    kind = kind_of(step)
    return {
        "request": asked.request, "feedback": asked.feedback, "previous": asked.previous, "listing": work.listing(),
        "spec": "" if step.answer == "spec" else render_spec(asked.spec), "answers": parse_answers(asked),
        "form": _form(kind.form(step)),
        **kind.values(work, asked),
    }  # fmt: skip


def parse_answers(asked: StepContext) -> dict[str, Any]:
    """The answers so far by their steps: objects as objects, others as text, and none that could not be read."""
    found: dict[str, Any] = {}
    for name, text in asked.texts.items():
        if text is not None:
            step = asked.protocol.steps[name]
            try:
                found[name] = kind_of(step).value(step, text)
            except AnswerRefused:
                continue
    return found


def _form(form):
    return (
        json.dumps(form["schema"], indent=1, ensure_ascii=False)
        if "schema" in form
        else form["format"]
    )


def check_answer(step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
    """What the checks say about an answer. The answer is `text`; `asked` has those before it."""
    try:
        return kind_of(step).judge(step, work, asked, text)
    except (AnswerRefused, edits.EditRefused) as error:
        return Verdict("malformed", str(error), [Finding("form", str(error))])
    except KaizenError:  # it is not the answer's fault
        raise
    except (
        Exception
    ) as error:  # an answer that our checks do not stand must not stop the run for ever
        says = f"The answer could not be checked: {type(error).__name__}: {error}"[:SAYS_CHARS_MAX]
        return Verdict("malformed", says, [Finding("form", says)])
