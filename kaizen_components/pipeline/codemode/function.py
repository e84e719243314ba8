"""The function that is explored: its name, where it stands in the base, and whether it can be called in the sandbox."""

import ast
import difflib
import os
import re
from typing import NamedTuple

from ...errors import NotFound, Usage
from ..edits.format import quote_text
from ..job import Job

FORM = re.compile(r"(?P<module>[A-Za-z_][\w.]*?|[\w./-]+\.py):(?P<name>[A-Za-z_]\w*)")
DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)
PATHS = ("src", ".")
ROOM = 2_000_000  # characters of a file that is read


class Function(NamedTuple):
    module: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Function":
        """From `app.text:slugify` or `app/text.py:slugify`; Usage for anything else."""
        found = FORM.fullmatch(text.strip())
        module = _module(found["module"]) if found else ""
        if not found or not all(part.isidentifier() for part in module.split(".")):
            raise _unusable(text)
        return cls(module, found["name"])

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


class Location(NamedTuple):
    """Where a function stands: the path below the tree, and its lines with those of its decorators."""

    path: str
    text: str
    first: int
    last: int


def _module(text):
    if not text.endswith(".py"):
        return text
    parts = text.removesuffix(".py").removeprefix("./").removeprefix("src/").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _unusable(text):
    method = re.fullmatch(r"[\w./-]+:[A-Za-z_]\w*(\.\w+)+", text.strip())
    why = (
        "It names a method; only functions of a module can be explored."
        if method
        else "It is not in that form."
    )
    return Usage(
        "bad_function",
        f"{quote_text(text, 60)!r} does not name a function.",
        why,
        "Name it by its module: --function app.text:slugify, or by its file: --function app/text.py:slugify.",
    )


def locate_function(where: Job | str, function: Function) -> Location:
    """The function in a base tree, by reading it; NotFound with what is there instead."""
    folder, paths = (where, PATHS) if isinstance(where, str) else (where.base, where.tools.paths)
    path = _file(folder, paths, function.module)
    if path is None:
        raise _no_module(folder, paths, function)
    try:
        with open(os.path.join(folder, path), encoding="utf-8", newline="") as file:
            text = file.read(ROOM)
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError) as error:  # such as another encoding
        raise NotFound(
            "unreadable_module", f"{path} is not valid Python.", f"{error}.", "Mend it first."
        ) from None
    for node in reversed(_flat(body)):
        if isinstance(node, DEFINED) and node.name == function.name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            return Location(path, text, first, node.end_lineno or node.lineno)
    raise _no_function(path, _flat(body), function)


def read_source(where: Job | str, function: Function) -> str:
    """The text of the function, with its decorators."""
    found = locate_function(where, function)
    return "".join(found.text.splitlines(keepends=True)[found.first - 1 : found.last])


def _file(folder, paths, module):
    parts = module.split(".")
    for root in paths:
        for tail in ([*parts[:-1], parts[-1] + ".py"], [*parts, "__init__.py"]):
            path = os.path.normpath(os.path.join(root, *tail))
            if os.path.isfile(os.path.join(folder, path)):
                return path.replace(os.sep, "/")
    return None


def _flat(body):
    """The statements of a module, with those under its conditions."""
    found = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.If | ast.Try | ast.With):
            inner = [*node.body, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]
            found += _flat(
                [*inner, *(one for part in getattr(node, "handlers", []) for one in part.body)]
            )
    return found


def _no_module(folder, paths, function):
    there = sorted({name for root in paths for name in _modules(os.path.join(folder, root))})
    close = difflib.get_close_matches(function.module, there, 1)
    return NotFound(
        "no_module",
        f"There is no module {function.module} in the base.",
        "It is looked for in the last commit, in "
        + " and ".join(_said(path) for path in paths)
        + ".",
        f"Did you mean {close[0]}:{function.name}?"
        if close
        else "Name it as an import statement would.",
    )


def _said(path):
    return "the root" if path == "." else f"{path}/"


def _modules(root):
    for here, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name.isidentifier()]
        parts = [] if here == root else os.path.relpath(here, root).split(os.sep)
        for name in files:
            if name.endswith(".py"):
                yield ".".join(
                    [*parts, *([] if name == "__init__.py" else [name.removesuffix(".py")])]
                )


def _no_function(path, body, function):
    names = [node.name for node in body if isinstance(node, DEFINED)]
    close = difflib.get_close_matches(function.name, names, 1)
    next = (
        f"Did you mean {function.module}:{close[0]}?"
        if close
        else "Name one that is defined there."
    )
    why = "It defines " + (", ".join(names[:10]) or "no function") + "."
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name == function.name:
            why = f"{function.name} is a class there; only functions can be explored."
        if isinstance(node, ast.ImportFrom) and function.name in [
            one.asname or one.name for one in node.names
        ]:
            why, next = _imported(node, function)
    return NotFound(
        "no_function", f"{path} does not define the function {function.name}.", why, next
    )


def _imported(node, function):
    package = function.module if node.level else ""
    module = ".".join(filter(None, (package, node.module or "")))
    return (
        f"It only imports it from {'.' * node.level}{node.module or ''}.",
        f"Name it where it is defined, such as {module}:{function.name}.",
    )
