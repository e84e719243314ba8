"""Check JSON Schemas (2020-12), and objects against them."""

import itertools
from collections.abc import Iterator
from typing import Any

from .parse import Fault

FAULTS_MAX = 20
TEXT_CHARS_MAX = 300


def find_faults(schema: dict[str, Any], value: Any) -> list[Fault]:
    """Return each place where the value breaks the schema. Remote references are not fetched."""
    from jsonschema import Draft202012Validator  # slow to import
    from referencing import Registry

    validator = Draft202012Validator(schema, registry=Registry())
    try:
        errors = itertools.islice(validator.iter_errors(value), FAULTS_MAX)
        return [(tuple(error.absolute_path), error.message[:TEXT_CHARS_MAX]) for error in errors]
    except Exception as error:  # such as a circular reference, or a number too long to print
        return [((), f"it cannot be checked against the schema ({type(error).__name__})")]


def explain_bad_schema(schema: Any) -> str:
    """Return why the schema cannot be used, or ""."""
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path)) or "the schema"
        return f"{place}: {error.message[:TEXT_CHARS_MAX]}"
    for reference in map(str, _list_references(schema)):
        if not reference.startswith("#"):
            return f"$ref {reference[:60]!r} leads out of the file; write it into $defs"
        if reference == "#" or not _can_resolve(schema, reference[1:]):
            return f"$ref {reference[:60]!r} leads nowhere; name a place such as #/$defs/NAME"
    return ""


def _can_resolve(schema: Any, pointer: str) -> bool:
    """Return whether a JSON pointer leads to a part of the schema that is not a reference."""
    for word in pointer.strip("/").split("/"):
        word = word.replace("~1", "/").replace("~0", "~")
        if not isinstance(schema, dict) or word not in schema:
            return False
        schema = schema[word]
    return not (isinstance(schema, dict) and "$ref" in schema)  # a chain could be circular


def _list_references(value: Any) -> Iterator[Any]:
    """Yield the value of each $ref and $dynamicRef, at any depth."""
    if isinstance(value, dict):
        yield from (inner for name, inner in value.items() if name in ("$ref", "$dynamicRef"))
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _list_references(inner)
