"""Each command's input as JSON Schema (2020-12): for `help CODE --json`, for K5's lines, for MCP."""

from typing import Any

from .. import fields
from ..index import Command

TYPES = {"int": "integer", "float": "number", "flag": "boolean", "json": None}


def build_schema(command: Command) -> dict[str, Any]:
    names = (
        *command.options,
        *(name for name in fields.SHARED if name not in command.options and name != "json"),
    )
    return {
        "title": f"{command.code} {command.name}",
        "description": command.help,
        "type": "object",
        "properties": {name: _build_property(command, name) for name in names},
        "required": command.required,
        "additionalProperties": False,
    }


def _build_property(command, name):
    field = fields.get_field(command, name)
    if field.kind in fields.LIST_KINDS:
        return {
            "type": "array",
            "items": {"type": "string", "maxLength": field.most},
            "description": field.help,
        }
    found: dict[str, Any] = {"description": field.help}
    kind = TYPES.get(field.kind, "string")
    if kind:
        found["type"] = kind
    if field.choices:
        found["enum"] = list(field.choices)
    if kind == "string" and field.most:
        found.update(minLength=1, maxLength=field.most)
    if kind in ("integer", "number") and field.least is not None:
        found.update(minimum=field.least, maximum=field.most)
    default = command.defaults.get(name)
    if default not in (None, (), "-"):
        found["default"] = default
    return found
