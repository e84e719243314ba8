"""Compare two texts as Python values: a recorded repr and an expected value."""

import ast
from typing import Any

from .code import parse_code

NO_LITERAL = object()


def is_same_value(text: str, other_text: str) -> bool:
    """Return whether two reprs are the same value of the same type.

    Quotes, spaces and the order of sets and dicts do not count.
    """
    if text == other_text:
        return True
    value, other = parse_literal(text), parse_literal(other_text)
    if value is not NO_LITERAL and other is not NO_LITERAL:
        return _equal_values(value, other)
    try:
        return ast.dump(parse_code(text.strip())) == ast.dump(parse_code(other_text.strip()))
    except ValueError:
        return False


def is_expected_value(text: str, recorded: str) -> bool:
    """Compare an expected value with a recorded repr.

    A text that is not a Python value stands for a string, so its quotes may be omitted.
    """
    if is_same_value(text, recorded):
        return True
    return not is_python_value(text) and parse_literal(recorded) == text


def is_python_value(text: str) -> bool:
    """Return whether a text is a literal or a call, such as `[1, 2]` or `Decimal('1.5')`."""
    if parse_literal(text) is not NO_LITERAL:
        return True
    try:
        body = parse_code(text.strip()).body
    except ValueError:
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call)


def parse_literal(text: str) -> Any:
    """Return the value of a literal, or NO_LITERAL."""
    try:
        statement: Any = parse_code(text.strip()).body[0]
        return ast.literal_eval(statement.value)
    except (ValueError, TypeError, IndexError, AttributeError, RecursionError, MemoryError):
        return NO_LITERAL


def _equal_values(one: Any, other: Any) -> bool:
    """Return whether two values and all their parts are equal and have the same types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal_values, one, other))
    if isinstance(one, dict):
        types = {(type(key), key) for key in other}
        return len(one) == len(other) and all(
            (type(key), key) in types and _equal_values(value, other[key])
            for key, value in one.items()
        )
    if isinstance(one, set):
        return {(type(item), item) for item in one} == {(type(item), item) for item in other}
    return one == other and repr(one) == repr(other)  # 0.0 is not -0.0
