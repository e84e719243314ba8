"""Payloads against their schemas: Q8."""

from ..errors import NotFound, Usage
from ..records.secrets.excerpt import make_excerpt

NOT_CHECKED = "Whether an id or a file is there is not checked; only the command itself looks."


def validate(
    catalog, check, schema, *, kind=None, payload_json=()
):  # () is no JSON value, and null is one
    """Check a payload against the schema of a command; without a payload, show the schema; without --kind, list them.

    Example: kaizen Q8 --kind W1 --payload-json '{"title": "A", "summary": "B"}'
    """
    if kind is None:
        if payload_json != ():
            raise Usage(
                "missing_option",
                "--payload-json needs --kind.",
                "",
                "`Q8` alone lists what --kind can be.",
            )
        return _writes(catalog)
    found = _schema(schema, kind)
    code, _, name = found["title"].partition(" ")
    if payload_json == ():
        return {"kind": code, "command": name, "schema": found}
    problems = _problems(check, code, payload_json)
    answer = {"valid": not problems, "kind": code, "command": name}
    return (
        {**answer, "problems": problems, "exit_code": 1}
        if problems
        else {**answer, "hint": NOT_CHECKED}
    )


def _writes(catalog):
    found = [
        {"code": one.code, "name": one.name, "required": one.required, "options": list(one.options)}
        for one in catalog() if one.writes
    ]  # fmt: skip
    hint = (
        "`Q8 --kind CODE` shows a schema; what the commands that only read take can be checked too."
    )
    return {"records": found, "count": len(found), "hint": hint}


def _schema(schema, kind):
    try:
        return schema(kind)
    except (
        Usage
    ) as error:  # a typo in a command line is a usage error; here the command is what is looked for
        raise NotFound(
            "unknown_kind", error.what, error.why, "`Q8` alone lists what --kind can be."
        ) from None


def _problems(check, code, payload):
    if type(payload) is not dict:
        what = "--payload-json must be an object: option names and their values."
        return [{"option": "--payload-json", "code": "not_an_object", "what": what, "next": ""}]
    return [
        {
            "option": f"--{make_excerpt(name).replace('_', '-')}",
            "code": error.code,
            "what": error.what,
            "next": error.next,
        }
        for name, error in check(code, payload)
    ]
