"""Check payloads against the schemas of commands: Q8."""

from __future__ import annotations

from ..errors import NotFound, Usage
from ..records.secrets.excerpt import make_excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..index import Command
    from ..parameters import Row

NOT_CHECKED = "Ids and files are not checked here; the command itself looks for them."


def validate(
    catalog: Callable[[], list[Command]],
    check: Callable[..., Any],
    schema: Callable[[str], Row],
    *,
    kind: str | None = None,
    payload_json: Any = (),  # () is not a JSON value, and null is one
) -> Row:
    """Check a payload against the schema of a command; without a payload, show the schema; without
    --kind, list them.

    Example: kaizen Q8 --kind W1 --payload-json '{"title": "A", "summary": "B"}'
    """
    if kind is None:
        if payload_json != ():
            raise Usage(
                "missing_option",
                "--payload-json needs --kind.",
                "The payload is checked against the schema of a command.",
                "Add --kind; `Q8` alone lists the commands.",
            )
        rows = [
            {
                "code": command.code,
                "name": command.name,
                "required": command.required,
                "options": [*command.options],
            }
            for command in catalog()
            if command.writes
        ]
        hint = "`Q8 --kind CODE` shows a schema, also of the commands that only read."
        return {"records": rows, "count": len(rows), "hint": hint}
    try:
        definition = schema(kind)
    except Usage as error:  # for --kind an unknown command is a value that was not found
        next_step = "`Q8` alone lists the commands that --kind takes."
        raise NotFound("unknown_kind", error.what, error.why, next_step) from None
    code, _, name = definition["title"].partition(" ")
    if payload_json == ():
        return {"kind": code, "command": name, "schema": definition}
    if type(payload_json) is dict:
        problems = [
            {
                "option": f"--{make_excerpt(option).replace('_', '-')}",
                "code": error.code,
                "what": error.what,
                "next": error.next,
            }
            for option, error in check(code, payload_json)
        ]
    else:
        what = "--payload-json must be an object: option names and their values."
        problems = [{"option": "--payload-json", "code": "not_an_object", "what": what, "next": ""}]
    answer = {"valid": not problems, "kind": code, "command": name}
    if problems:
        return {**answer, "problems": problems, "exit_code": 1}
    return {**answer, "hint": NOT_CHECKED}
