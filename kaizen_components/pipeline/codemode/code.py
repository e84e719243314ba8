"""A piece of code that explores a function: what it may do, and when two pieces are the same.

It is read, never run here. The box keeps pieces apart whatever they do; these rules keep what they show honest: the
real function is called, nothing hides what it does, and nothing is put in its place.
"""

import ast
import warnings
from collections.abc import Iterator

from ..edits.format import quote_text
from .function import Function

CHARS_MAX = 4_000
# Enough to make arguments and to look at results; nothing that reaches the process, its files or its frames.
ALLOWED = frozenset((
    "array", "asyncio", "base64", "bisect", "collections", "copy", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "hashlib", "heapq", "html", "io", "ipaddress", "itertools", "json", "math", "numbers",
    "operator", "pathlib", "random", "re", "statistics", "string", "struct", "tempfile", "textwrap", "time", "types",
    "typing", "unicodedata", "urllib", "uuid", "zoneinfo",
))  # fmt: skip
FORBIDDEN = frozenset((
    "exec", "eval", "compile", "__import__", "globals", "locals", "vars", "setattr", "delattr", "breakpoint", "input",
    "exit", "quit",
))  # fmt: skip
DUNDERS = frozenset(
    ("__name__", "__qualname__", "__class__", "__doc__", "__module__", "__annotations__")
)
DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def find_code_faults(function: Function, code: str) -> list[str]:
    """Why this code cannot be used, in words; empty if it can."""
    if len(code) > CHARS_MAX:
        return [f"has {len(code):,} characters; {CHARS_MAX:,} are read."]
    try:
        body = parse_code(code).body
    except ValueError as error:
        return [f"does not parse: {error}."]
    if not body:
        return ["is empty."]
    nodes = [node for part in body for node in ast.walk(part)]
    found = [said for node in nodes for said in _faults(function, node)] + _patched(function, nodes)
    if not any(_calls(function, node) for node in nodes):
        found.append(f"never calls {function.name}(…): call the real function.")
    if not isinstance(body[-1], ast.Expr):
        found.append("must end in an expression: its last line is what is recorded.")
    return list(dict.fromkeys(found))


def parse_code(code: str) -> ast.Module:
    """The tree of a piece of code; ValueError with a sentence for whatever cannot be one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an odd escape in somebody else's text
            return ast.parse(code)
    except SyntaxError as error:
        raise ValueError(
            f"{error.msg} in line {error.lineno}: {quote_text((error.text or '').strip(), 60)}"
        ) from None
    except (RecursionError, MemoryError):
        raise ValueError("it is nested too deeply") from None


def normalize_code(function: Function, code: str) -> str:
    """The same text for the same code, whatever its blanks, quotes and comments; its own import is left out."""
    body = [node for node in parse_code(code).body if not _imports_it(function, node)]
    return ast.dump(ast.Module(body, []))


def _faults(function: Function, node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Try | ast.TryStar):
        yield "has try/except: let errors out, they are recorded."
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from _import(function, node)
    elif isinstance(node, ast.Name) and (node.id in FORBIDDEN or _is_dunder(node.id)):
        yield f"uses {node.id}, which could change what is recorded."
    elif isinstance(node, ast.Attribute) and _is_dunder(node.attr):
        yield f"uses .{node.attr}, which could change what is recorded."
    if function.name in _bound(node) and not _imports_it(function, node):
        yield f"gives the name {function.name} to something else: call the real function."


def _import(function, node):
    if isinstance(node, ast.ImportFrom) and (
        node.level or any(one.name == "*" for one in node.names)
    ):
        yield "imports by a relative name or a star: import each name from its module."
        return
    modules = (
        [node.module or ""]
        if isinstance(node, ast.ImportFrom)
        else [one.name for one in node.names]
    )
    own = function.module.split(".")[0]
    for module in modules:
        if module.split(".")[0] not in (*ALLOWED, own):
            yield f"imports {module}; only {own} and plain modules such as datetime, json, math or re are allowed."


def _is_dunder(name):
    return name.startswith("__") and name.endswith("__") and name not in DUNDERS


def _bound(node):
    """The names that a node gives to something."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return {node.id}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {one.asname or one.name.split(".")[0] for one in node.names}
    if isinstance(node, DEFINED):
        return {node.name}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.MatchAs | ast.MatchStar):
        return {node.name}
    return set(node.names) if isinstance(node, ast.Global | ast.Nonlocal) else set()


def _imports_it(function, node):
    """`from app.text import slugify`, and nothing else in the line."""
    if not isinstance(node, ast.ImportFrom) or node.level or node.module != function.module:
        return False
    return all(
        (one.name == function.name) == ((one.asname or one.name) == function.name)
        for one in node.names
    )


def _calls(function, node):
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""
    return name == function.name or (
        "." in name and f".{function.module}.{function.name}".endswith("." + name)
    )


def _patched(function, nodes):
    """Assignments into what is imported: they would explore something else."""
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {function.name} | {name for node in imports for name in _bound(node)}
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name) and root.id in names:
                return [f"changes {ast.unparse(node)}: explore the code as it is."]
    return []
