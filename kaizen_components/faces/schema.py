"""Describe each command's input as JSON Schema (2020-12), for `help CODE --json` and K5's lines."""

from typing import Any

from .. import fields
from ..index import Command

TYPES = {"int": "integer", "float": "number", "flag": "boolean", "json": None}


def build_schema(command: Command) -> dict[str, Any]:
    """Return the JSON Schema of a command's options."""
    shared = [name for name in fields.SHARED if name not in command.options and name != "json"]
    properties = {}
    for name in (*command.options, *shared):
        field = fields.get_field(command, name)
        schema: dict[str, Any] = {"description": field.help}
        kind = TYPES.get(field.kind, "string")
        default = command.defaults.get(name)
        if field.kind in fields.LIST_KINDS:
            items = {"type": "string", "maxLength": field.most}
            properties[name] = {"type": "array", "items": items, **schema}
            continue
        if kind:
            schema["type"] = kind
        if field.choices:
            schema["enum"] = list(field.choices)
        if kind == "string" and field.most:
            schema.update(minLength=1, maxLength=field.most)
        if kind in ("integer", "number") and field.least is not None:
            schema.update(minimum=field.least, maximum=field.most)
        if default not in (None, (), "-"):
            schema["default"] = default
        properties[name] = schema
    return {
        "title": f"{command.code} {command.name}",
        "description": command.help,
        "type": "object",
        "properties": properties,
        "required": command.required,
        "additionalProperties": False,
    }
