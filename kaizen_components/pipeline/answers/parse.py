"""Read a structured answer: the first JSON object in it that keeps to its contract.

Prose and fences round an object are tolerated; nothing is repaired. What is wrong is said in words to be fed back.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import Refused
from ..edits.format import CUT, THOUGHTS, quote_text

if TYPE_CHECKING:
    from pydantic import BaseModel  # 60 ms to import: only those who validate pay for it

TEXT_CHARS_MAX = 1_000_000
WRONG_MAX = 8
TRIED_MAX = 100  # braces that open something: each may cost a look at the rest of the text
DEPTH_MAX = 100
TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}]', re.DOTALL
)  # a string, or a brace outside of strings
Model = TypeVar("Model", bound="BaseModel")
Found = TypeVar("Found")
Fault = tuple[tuple[Any, ...], str]  # where in the object, and what is wrong there


class AnswerRefused(Refused):
    """An answer that is not in the form that was asked for. Its text is what the next prompt quotes."""

    reason = "malformed"

    def __init__(self, what: str, wrong: list[str] | None = None):
        super().__init__(
            "answer_refused", what, "", "Answer with one JSON object that keeps to the schema."
        )
        self.wrong = wrong or []

    def __str__(self) -> str:
        return "\n".join([self.what, *(f"- {line}" for line in self.wrong)])


def extract_json(text: str) -> dict[str, Any]:
    """The first JSON object in a text, or AnswerRefused."""
    wrong: list[str] = []
    for found in _iterate_objects(_bounded(text), wrong):
        return found
    raise _no_object(wrong)


def validate_answer(text: str, model: type[Model]) -> Model:
    """The first object in the text that keeps to the contract, or AnswerRefused with what is wrong with the first."""
    from pydantic import ValidationError

    def fits(found):
        try:
            return model.model_validate(found), []
        except ValidationError as error:
            return None, [(fault["loc"], fault["msg"]) for fault in error.errors(include_url=False)]

    return find_object(text, fits)


def find_object(
    text: str, fits: Callable[[dict[str, Any]], tuple[Found | None, list[Fault]]]
) -> Found:
    """What `fits` makes of the first object that has no faults, or AnswerRefused with the faults of the first."""
    wrong: list[str] = []
    refused: list[Fault] = []
    for found in _iterate_objects(_bounded(text), wrong):
        made, faults = fits(found)
        if made is not None:
            return made
        refused = refused or faults
    if not refused:
        raise _no_object(wrong)
    said = [f"{_place(where)}: {what}" for where, what in refused]
    more = [f"and {len(said) - WRONG_MAX} more"] if len(said) > WRONG_MAX else []
    raise AnswerRefused("The object does not keep to the schema:", [*said[:WRONG_MAX], *more])


def _bounded(text):
    if len(text) > TEXT_CHARS_MAX:
        raise AnswerRefused(
            f"The answer has {len(text):,} characters; {TEXT_CHARS_MAX:,} are read."
        )
    if text.rstrip().endswith(CUT):
        raise AnswerRefused(
            "The answer was cut off before its end, because it was too long. Answer with less text."
        )
    return THOUGHTS.sub("", text)


def _no_object(wrong):
    if wrong:
        return AnswerRefused(
            "The answer has no JSON object that can be read:",
            list(dict.fromkeys(wrong))[:WRONG_MAX],
        )
    return AnswerRefused("The answer has no JSON object.")


def _place(location):
    return quote_text(".".join(str(step) for step in location)) or "the object"


def _iterate_objects(text: str, wrong: list[str]) -> Iterator[dict[str, Any]]:
    """Each balanced object that is JSON, from the left; why the others are not goes into `wrong`."""
    at, tried = text.find("{"), 0
    while at >= 0 and tried < TRIED_MAX:
        end, tried = _find_end(text, at), tried + 1
        if end:
            try:
                yield json.loads(text[at:end], parse_constant=_refuse_constant)
            except (ValueError, RecursionError) as error:
                wrong.append(_said(error, text[at:end]))
        else:
            wrong.append("A brace is opened and never closed, or too many are nested.")
        at = text.find("{", end or at + 1)


def _find_end(text, start):
    """Where the object that begins here ends; 0 if it never does. Braces inside strings do not count."""
    depth = 0
    for token in TOKEN.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if not depth:
            return token.end()
        if depth > DEPTH_MAX:
            return 0
    return 0


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def _said(error, text):
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, after {quote_text(text[max(0, error.pos - 30) : error.pos], 40)!r}"
    return str(error)[:200]
