"""Parse the name of the function to explore, and find its definition in the base."""

import ast
import difflib
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...errors import NotFound, Usage
from ..edits.format import quote_text
from ..job import Job

FORM = re.compile(r"(?P<module>[A-Za-z_][\w.]*?|[\w./-]+\.py):(?P<name>[A-Za-z_]\w*)")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PATHS = ("src", ".")
FILE_CHARS_MAX = 2_000_000


class Function(NamedTuple):
    module: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Function":
        """Read `app.text:slugify` or `app/text.py:slugify`; raise Usage for anything else."""
        match = FORM.fullmatch(text.strip())
        module = match["module"] if match else ""
        if module.endswith(".py"):
            path = module.removesuffix(".py").removeprefix("./").removeprefix("src/")
            parts = path.split("/")
            module = ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)
        if match and all(part.isidentifier() for part in module.split(".")):
            return cls(module, match["name"])
        why = "It is neither MODULE:FUNCTION nor FILE:FUNCTION."
        if re.fullmatch(r"[\w./-]+:[A-Za-z_]\w*(\.\w+)+", text.strip()):
            why = "It names a method, but only functions of a module can be explored."
        raise Usage(
            "bad_function",
            f"{quote_text(text, 60)!r} does not name a function.",
            why,
            "Name its module (--function app.text:slugify) or its file "
            "(--function app/text.py:slugify).",
        )

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


class Location(NamedTuple):
    """The definition of a function: its file in the tree, and its lines with decorators."""

    path: str
    text: str
    first: int
    last: int


def locate_function(where: Job | str, function: Function) -> Location:
    """Find the function in a base tree by parsing.

    Raise NotFound with a suggestion if the module or the function is missing.
    """
    folder, paths = (where, PATHS) if isinstance(where, str) else (where.base, where.tools.paths)
    *parents, last = function.module.split(".")
    places = [
        os.path.normpath(os.path.join(root, *parents, name))
        for root in paths
        for name in (last + ".py", os.path.join(last, "__init__.py"))
    ]
    place = next((name for name in places if os.path.isfile(os.path.join(folder, name))), None)
    if place is None:
        raise _no_module(folder, paths, function)
    path = place.replace(os.sep, "/")
    try:
        with open(os.path.join(folder, path), encoding="utf-8", newline="") as file:
            text = file.read(FILE_CHARS_MAX)
        statements = list(_flatten(ast.parse(text).body))
    except (SyntaxError, ValueError, RecursionError) as error:  # such as another encoding
        raise NotFound(
            "unreadable_module",
            f"{path} is not valid Python.",
            f"{error}.",
            "Fix this file and commit it.",
        ) from None
    for node in reversed(statements):
        if isinstance(node, DEFINITIONS) and node.name == function.name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return Location(path, text, first, node.end_lineno or node.lineno)
    raise _no_function(path, statements, function)


def read_source(where: Job | str, function: Function) -> str:
    """Return the source of the function with its decorators."""
    location = locate_function(where, function)
    lines = location.text.splitlines(keepends=True)
    return "".join(lines[location.first - 1 : location.last])


def _flatten(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, and those inside `if`, `try` and `with`."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for name in ("body", "orelse", "finalbody"):
                yield from _flatten(getattr(node, name, []))
            for handler in getattr(node, "handlers", []):
                yield from _flatten(handler.body)


def _no_module(folder: str, paths: Iterable[str], function: Function) -> NotFound:
    """Return the error for a missing module, with the most similar existing one."""
    modules = set()
    for root in (os.path.join(folder, path) for path in paths):
        for current, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name.isidentifier()]
            parts = [] if current == root else os.path.relpath(current, root).split(os.sep)
            for name in files:
                if name.endswith(".py"):
                    last = [] if name == "__init__.py" else [name.removesuffix(".py")]
                    modules.add(".".join([*parts, *last]))
    close = difflib.get_close_matches(function.module, sorted(modules), 1)
    places = " and ".join("the root" if path == "." else f"{path}/" for path in paths)
    return NotFound(
        "no_module",
        f"There is no module {function.module} in the base.",
        f"Kaizen searched {places} of the last commit.",
        f"Did you mean {close[0]}:{function.name}?"
        if close
        else "Name it as an import statement would.",
    )


def _no_function(path: str, statements: list[ast.stmt], function: Function) -> NotFound:
    """Return the error for a missing function; suggest a similar name or where it is defined."""
    names = [node.name for node in statements if isinstance(node, DEFINITIONS)]
    close = difflib.get_close_matches(function.name, names, 1)
    why = "It defines " + (", ".join(names[:10]) or "no function") + "."
    next_step = "Name a function that it defines."
    if close:
        next_step = f"Did you mean {function.module}:{close[0]}?"
    for node in statements:
        if isinstance(node, ast.ClassDef) and node.name == function.name:
            why = f"{function.name} is a class, but only functions can be explored."
        if isinstance(node, ast.ImportFrom) and function.name in [
            alias.asname or alias.name for alias in node.names
        ]:
            source = "." * node.level + (node.module or "")
            package = function.module if node.level else ""
            module = ".".join(filter(None, (package, node.module or "")))
            why = f"It only imports the name from {source}."
            next_step = f"Name it where it is defined, such as {module}:{function.name}."
    what = f"{path} does not define the function {function.name}."
    return NotFound("no_function", what, why, next_step)
