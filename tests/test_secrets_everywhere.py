"""No option of any command takes a secret: each is tried, and the refusal names it and not the value."""

import pytest

from kaizen_components import fields
from kaizen_components.errors import KaizenError
from kaizen_components.index import COMMANDS, find_command

TOKEN = "ghp_" + "A1b2C3d4E5" * 4
PLAIN = {
    "line": "x", "prose": "x", "id": "@last", "ids": ["@last"], "words": ["x"], "items": ["x"], "float": 0.5,
    "flag": True, "json": {}, "time": "2026-11-18", "path": "x", "input": __file__, "argv": ["true"],
}  # fmt: skip
TOLD = {
    "line": TOKEN, "prose": f"It was {TOKEN}.", "id": TOKEN, "ids": [TOKEN], "words": ["x", TOKEN], "items": [TOKEN],
    "json": {"deep": [{"er": TOKEN}]}, "path": f"notes/{TOKEN}.md", "argv": ["curl", "-H", f"Authorization: {TOKEN}"],
}  # fmt: skip


def plain(field):
    if field.kind == "choice":
        return field.choices[0]
    return (field.least or 1) if field.kind == "int" else PLAIN[field.kind]


def has_room(field):
    """A week or a month has not."""
    return field.kind in TOLD and (field.most or len(TOKEN)) >= len(TOKEN)


CASES = [
    (code, name)
    for code in COMMANDS
    for name in find_command(code).options
    if has_room(fields.field(find_command(code), name))
]


@pytest.mark.parametrize(("code", "name"), CASES)
def test_a_secret_is_refused_wherever_it_is_given(kaizen, root, code, name):
    command = find_command(code)
    given = {one: plain(fields.field(command, one)) for one in command.required}
    with pytest.raises(KaizenError) as caught:
        kaizen(code, **{**given, name: TOLD[fields.field(command, name).kind]})

    said = str(caught.value.as_dict())
    assert (caught.value.code, caught.value.exit_code) == ("secret_refused", 1), said
    assert fields.option(name) in said and "GitHub" in said and TOKEN not in said
    assert list(root.iterdir()) == []
