"""Parse a structured answer: the first JSON object in its text that keeps to the contract.

Prose and fences around the object are ignored; nothing is repaired. Faults become feedback.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ...errors import Refused
from ..edits.format import CUT, THOUGHTS, quote_text

if TYPE_CHECKING:
    from pydantic import BaseModel  # 60 ms to import: only validation needs it

    Model = TypeVar("Model", bound=BaseModel)

TEXT_CHARS_MAX = 1_000_000
FAULTS_MAX = 8
BRACES_MAX = 100  # each opening brace may cost a scan of the rest of the text
DEPTH_MAX = 100
# A string, or a brace outside strings.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}]', re.DOTALL)
Value = TypeVar("Value")
Fault = tuple[tuple[Any, ...], str]  # (its path in the object, a message)


class AnswerRefused(Refused):
    """An answer has a wrong form. The next prompt quotes this error."""

    reason = "malformed"

    def __init__(self, what: str, faults: list[str] | None = None):
        super().__init__(
            "answer_refused", what, "", "Answer with one JSON object that keeps to the schema."
        )
        self.faults = faults or []

    def __str__(self) -> str:
        return "\n".join([self.what, *(f"- {line}" for line in self.faults)])


def extract_json(text: str) -> dict[str, Any]:
    """Return the first JSON object in a text, or raise AnswerRefused."""
    return find_object(text, lambda candidate: (candidate, []))


def validate_answer(text: str, model: type[Model]) -> Model:
    """Return the first object in the text that keeps to the contract, or raise AnswerRefused."""
    from pydantic import ValidationError

    def try_object(candidate: dict[str, Any]) -> tuple[Model | None, list[Fault]]:
        try:
            return model.model_validate(candidate), []
        except ValidationError as error:
            return None, [(fault["loc"], fault["msg"]) for fault in error.errors(include_url=False)]

    return find_object(text, try_object)


def find_object(
    text: str, try_object: Callable[[dict[str, Any]], tuple[Value | None, list[Fault]]]
) -> Value:
    """Return the value that `try_object` returns for the first object without faults.

    Raise AnswerRefused with the faults of the first object, or with why none can be parsed.
    """
    if len(text) > TEXT_CHARS_MAX:
        raise AnswerRefused(
            f"The answer has {len(text):,} characters; {TEXT_CHARS_MAX:,} are read."
        )
    if text.rstrip().endswith(CUT):
        raise AnswerRefused(
            "The answer was cut off before its end, because it was too long. Answer with less text."
        )
    parse_errors: list[str] = []
    faults: list[Fault] = []
    for candidate in _iterate_objects(THOUGHTS.sub("", text), parse_errors):
        value, object_faults = try_object(candidate)
        if value is not None:
            return value
        faults = faults or object_faults
    if faults:
        lines = [
            f"{quote_text('.'.join(map(str, where))) or 'the object'}: {what}"
            for where, what in faults
        ]
        if len(lines) > FAULTS_MAX:
            lines[FAULTS_MAX:] = [f"and {len(lines) - FAULTS_MAX} more"]
        raise AnswerRefused("The object does not keep to the schema:", lines)
    if parse_errors:
        lines = list(dict.fromkeys(parse_errors))[:FAULTS_MAX]
        raise AnswerRefused("The answer has no JSON object that can be read:", lines)
    raise AnswerRefused("The answer has no JSON object.")


def _iterate_objects(text: str, parse_errors: list[str]) -> Iterator[dict[str, Any]]:
    """Yield each JSON object. For other text in braces, append the reason to `parse_errors`."""

    def refuse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    tried_count = 0
    at = text.find("{")
    while at >= 0 and tried_count < BRACES_MAX:
        tried_count += 1
        end = _find_end(text, at)
        if end:
            try:
                yield json.loads(text[at:end], parse_constant=refuse_constant)
            except json.JSONDecodeError as error:
                before = quote_text(error.doc[max(0, error.pos - 30) : error.pos], 40)
                parse_errors.append(f"{error.msg} at line {error.lineno}, after {before!r}")
            except (ValueError, RecursionError) as error:
                parse_errors.append(str(error)[:200])
        else:
            parse_errors.append("A brace is opened and never closed, or too many are nested.")
        at = text.find("{", end or at + 1)


def _find_end(text: str, start: int) -> int:
    """Return the end of the object that begins at `start`, or 0. Ignore braces in strings."""
    depth = 0
    for token in TOKEN.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if not depth:
            return token.end()
        if depth > DEPTH_MAX:
            return 0
    return 0
