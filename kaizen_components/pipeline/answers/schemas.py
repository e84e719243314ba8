"""JSON Schema (2020-12): is a schema one, and does an object keep to it? Importing jsonschema is slow; only runs do."""

import itertools
from collections.abc import Iterator
from typing import Any

from .parse import Fault

FAULTS_MAX = 20
TEXT_CHARS_MAX = 300


def find_faults(schema: dict[str, Any], value: Any) -> list[Fault]:
    """Where the value does not keep to the schema, and how; nothing is ever fetched."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    validator = Draft202012Validator(schema, registry=Registry())
    try:
        found = list(itertools.islice(validator.iter_errors(value), FAULTS_MAX))
        return [(tuple(error.absolute_path), error.message[:TEXT_CHARS_MAX]) for error in found]
    except Exception as error:  # a reference without an end, a number that no message can hold
        return [((), f"it cannot be held against the schema ({type(error).__name__})")]


def explain_bad_schema(schema: Any) -> str:
    """Why it is none that can be used here, in words; "" if it is one."""
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"{'.'.join(map(str, error.absolute_path)) or 'the schema'}: {error.message[:TEXT_CHARS_MAX]}"
    for one in map(str, _list_references(schema)):
        if not one.startswith("#"):
            return f"$ref {one[:60]!r} leads out of the file; write it into $defs"
        if one == "#" or not _resolves(schema, one[1:]):
            return f"$ref {one[:60]!r} leads nowhere; name a place such as #/$defs/NAME"
    return ""


def _resolves(schema: Any, pointer: str) -> bool:
    for word in pointer.strip("/").split("/"):
        word = word.replace("~1", "/").replace("~0", "~")
        if not isinstance(schema, dict) or word not in schema:
            return False
        schema = schema[word]
    return not (isinstance(schema, dict) and "$ref" in schema)  # one to another could go in circles


def _list_references(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (one for name, one in value.items() if name in ("$ref", "$dynamicRef"))
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _list_references(inner)
