"""The engine as a Python class: one method for each command, named like the command.

    from kaizen_components import Kaizen

    with Kaizen("path/to/project", actor="ada") as kaizen:
        task = kaizen.task_start(title="Fix the parser", summary="It drops the last line.")
        kaizen.task_update(id=task["id"], status="active")

A method takes the options of its command as keywords and returns the dict that `--json` prints.
Failures raise the classes of `errors.py`. `api.pyi` beside this file is generated from the same
declarations and gives type checkers and editors each signature.
"""

from __future__ import annotations

import functools
import inspect
from keyword import iskeyword
from typing import Any, Self

from . import fields
from .call import Door
from .index import COMMANDS, Command, find_command, load_commands

PYTHON_TYPES = {"int": "int", "float": "float", "flag": "bool", "json": "Any"}
STUB_HEADER = '''\
"""Generated from the declarations by `make docs`; a test compares it."""

from typing import Any, Literal, Self

def render_stub() -> str: ...

class Kaizen:
    def __init__(self, root: str | None = None, actor: str | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None: ...
'''


class Kaizen:
    """Open the records of the project at `root` (default: KAIZEN_REPO_ROOT or the working folder).

    Use one object per thread. `actor` is who the records name as their author.
    """

    def __init__(self, root: str | None = None, actor: str | None = None) -> None:
        self._door = Door(root and str(root), keep_open=True)
        self._actor = actor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection to the database."""
        self._door.close()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(get_method_name, COMMANDS.values())]

    def __getattr__(self, name: str) -> Any:
        """Return the method that runs the command of this name."""
        word = name.replace("_", "-")
        if word not in COMMANDS.values():
            raise AttributeError(f"Kaizen has no command {word!r}; dir(Kaizen(...)) lists them.")
        command = find_command(word)

        @functools.wraps(command.function)
        def call_command(**options: Any) -> dict[str, Any]:
            if self._actor and "actor" not in command.options:
                options.setdefault("actor", self._actor)
            values = {
                option.rstrip("_"): value for option, value in options.items() if value is not None
            }
            return self._door(word, **values)

        call_command.__name__ = name
        call_command.__signature__ = build_signature(command)  # type: ignore[attr-defined]
        return call_command


def get_method_name(command_name: str) -> str:
    return command_name.replace("-", "_")


def build_signature(command: Command) -> inspect.Signature:
    """Return the keyword-only signature of a command's method."""
    empty = inspect.Parameter.empty
    parameters = [
        inspect.Parameter(
            get_argument_name(name),
            inspect.Parameter.KEYWORD_ONLY,
            default=empty if name in command.required else command.defaults.get(name),
        )
        for name in list_method_options(command)
    ]
    return inspect.Signature(parameters, return_annotation=dict[str, Any])


def list_method_options(command: Command) -> list[str]:
    """Return the names of a method's options, the required ones first."""
    shared = [name for name in fields.SHARED if name != "json" and name not in command.options]
    return sorted([*command.options, *shared], key=lambda name: name not in command.required)


def get_argument_name(option: str) -> str:
    return f"{option}_" if iskeyword(option) else option


def render_stub() -> str:
    """Return the text of `api.pyi`."""
    lines = [STUB_HEADER]
    for command in load_commands():
        arguments = []
        for name in list_method_options(command):
            field = fields.get_field(command, name)
            if field.choices:
                annotation = f"Literal[{', '.join(map(repr, field.choices))}]"
            elif field.kind in fields.LIST_KINDS:
                annotation = "list[str]"
            else:
                annotation = PYTHON_TYPES.get(field.kind, "str")
            if name not in command.required:
                annotation += "" if annotation in ("bool", "Any") else " | None"
                annotation += " = ..."
            arguments.append(f"{get_argument_name(name)}: {annotation}")
        docstring = command.help.replace("\\", "\\\\").replace('"', "'")
        lines.append(
            f"    def {get_method_name(command.name)}"
            f"(self, *, {', '.join(arguments)}) -> dict[str, Any]:\n"
            f'        """{command.code}: {docstring}"""\n'
        )
    return "".join(lines)
