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
    return (field.most or len(TOKEN)) >= len(TOKEN)


def options_of_kind(kind):
    """(command, option) for each option of any command that takes this kind of value."""
    for command in map(find_command, COMMANDS):
        for name in command.options:
            field = fields.get_field(command, name)
            if field.kind == kind and has_room(field):
                yield command, name


@pytest.mark.parametrize("kind", TOLD)
def test_secret_is_refused_in_every_option(kaizen, root, kind):
    for command, name in options_of_kind(kind):
        given = {one: plain(fields.get_field(command, one)) for one in command.required}
        example = f"{command.code} {fields.format_option(name)}"
        with pytest.raises(KaizenError) as caught:
            kaizen(command.code, **{**given, name: TOLD[kind]})

        said = str(caught.value.as_dict())
        assert (caught.value.code, caught.value.exit_code) == ("secret_refused", 1), (example, said)
        assert fields.format_option(name) in said and "GitHub" in said and TOKEN not in said, (
            example
        )
        assert list(root.iterdir()) == [], example
