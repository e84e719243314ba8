"""When two texts are the same Python value: what was recorded is a repr, what is expected is written by somebody."""

import ast
from typing import Any

from .code import parse_code

NO_LITERAL = object()


def is_same_value(left: str, right: str) -> bool:
    """Whether two reprs say the same: quotes, blanks and the order of sets and dicts do not count, types do."""
    if left == right:
        return True
    one, other = parse_literal(left), parse_literal(right)
    if one is not NO_LITERAL and other is not NO_LITERAL:
        return _equal(one, other)
    return _dumped(left) == _dumped(right) is not None


def is_expected_value(text: str, recorded: str) -> bool:
    """Whether what somebody expects is what was recorded; a text that is no Python value is the string itself."""
    if is_same_value(text, recorded):
        return True
    return not is_python_value(text) and parse_literal(recorded) == text


def is_python_value(text: str) -> bool:
    """`'a'`, `[1, 2]`, `Decimal('1.5')`: a value as a repr has it, not words such as hello-world."""
    if parse_literal(text) is not NO_LITERAL:
        return True
    try:
        body = parse_code(text.strip()).body
    except ValueError:
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call)


def parse_literal(text: str) -> Any:
    """The value of a literal, or NO_LITERAL."""
    try:
        return ast.literal_eval(parse_code(text.strip()).body[0].value)  # type: ignore[attr-defined]
    except (ValueError, TypeError, IndexError, AttributeError, RecursionError, MemoryError):
        return NO_LITERAL


def _equal(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            key in other and _typed(other, key) and _equal(value, other[key])
            for key, value in one.items()
        )
    if isinstance(one, set):
        return one == other and {(type(part), part) for part in one} == {
            (type(part), part) for part in other
        }
    return one == other and repr(one) == repr(other)  # 0.0 is not -0.0


def _typed(found, key):
    return any(type(one) is type(key) and one == key for one in found)


def _dumped(text):
    try:
        return ast.dump(parse_code(text.strip()))
    except ValueError:
        return None
