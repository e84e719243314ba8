"""The engine as a Python class: one method for each command, named like the command.

    from kaizen_components import Kaizen

    with Kaizen("path/to/project", actor="ada") as kaizen:
        task = kaizen.task_start(title="Fix the parser", summary="It drops the last line.")
        kaizen.task_update(id=task["id"], status="active")

A method takes the options of its command as keywords and returns the dict that `--json` prints. Failures are
raised as the classes of `errors.py`. `python.pyi` beside this file is generated from the same declarations and gives
type checkers and editors each signature.
"""

import functools
import inspect
from keyword import iskeyword
from typing import Any

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

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Close the connection to the database."""
        self._door.close()

    def __dir__(self):
        return [*super().__dir__(), *map(get_method_name, COMMANDS.values())]

    def __getattr__(self, name):
        word = name.replace("_", "-")
        if word not in COMMANDS.values():
            raise AttributeError(f"Kaizen has no command {word!r}; dir(Kaizen(...)) lists them.")
        command = find_command(word)

        @functools.wraps(command.function)
        def call_command(**options):
            if self._actor and "actor" not in command.options:
                options.setdefault("actor", self._actor)
            given = {option.rstrip("_"): value for option, value in options.items()}
            return self._door(
                word, **{key: value for key, value in given.items() if value is not None}
            )

        call_command.__name__ = name
        call_command.__signature__ = build_signature(command)  # type: ignore[attr-defined]
        return call_command


def get_method_name(command_name: str) -> str:
    return command_name.replace("-", "_")


def build_signature(command: Command) -> inspect.Signature:
    """Return the keyword-only signature of a command's method."""
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(
                _argument_name(name),
                inspect.Parameter.KEYWORD_ONLY,
                default=empty if name in command.required else command.defaults.get(name),
            )
            for name in _option_names(command)
        ],
        return_annotation=dict[str, Any],
    )


def render_stub() -> str:
    """Return the text of `python.pyi`."""
    return STUB_HEADER + "".join(map(_render_method, load_commands()))


def _render_method(command):
    options = ", ".join(_render_option(command, name) for name in _option_names(command))
    docstring = command.help.replace("\\", "\\\\").replace('"', "'")
    return f'''    def {get_method_name(command.name)}(self, *, {options}) -> dict[str, Any]:
        """{command.code}: {docstring}"""
'''


def _render_option(command, name):
    default = "" if name in command.required else " = ..."
    return f"{_argument_name(name)}: {_annotate(fields.get_field(command, name), bool(default))}{default}"


def _option_names(command):
    shared = [name for name in fields.SHARED if name != "json" and name not in command.options]
    return sorted([*command.options, *shared], key=lambda name: name not in command.required)


def _argument_name(name):
    return f"{name}_" if iskeyword(name) else name


def _annotate(field, is_optional):
    if field.choices:
        annotation = f"Literal[{', '.join(repr(choice) for choice in field.choices)}]"
    elif field.kind in fields.LIST_KINDS:
        annotation = "list[str]"
    else:
        annotation = PYTHON_TYPES.get(field.kind, "str")
    return (
        f"{annotation} | None" if is_optional and annotation not in ("bool", "Any") else annotation
    )
