"""Check snippets of code that explore a function, and normalize them for comparison.

The code is only parsed here, never run. The rules keep the results honest: a snippet must call the
real function and must not replace any part of it. The sandbox isolates snippets from each other.
"""

import ast
import warnings
from collections.abc import Iterator

from ..edits.format import quote_text
from .function import Function

CHARS_MAX = 4_000
# Enough to build arguments and inspect results, without access to the process, its files or frames.
ALLOWED = frozenset((
    "array", "asyncio", "base64", "bisect", "collections", "copy", "dataclasses", "datetime",
    "decimal", "enum", "fractions", "functools", "hashlib", "heapq", "html", "io", "ipaddress",
    "itertools", "json", "math", "numbers", "operator", "pathlib", "random", "re", "statistics",
    "string", "struct", "tempfile", "textwrap", "time", "types", "typing", "unicodedata",
    "urllib", "uuid", "zoneinfo",
))  # fmt: skip
FORBIDDEN = frozenset((
    "exec", "eval", "compile", "__import__", "globals", "locals", "vars", "setattr", "delattr",
    "breakpoint", "input", "exit", "quit",
))  # fmt: skip
DUNDERS = frozenset(
    ("__name__", "__qualname__", "__class__", "__doc__", "__module__", "__annotations__")
)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def find_code_faults(function: Function, code: str) -> list[str]:
    """Return the faults that make this code unusable; [] if there are none."""
    if len(code) > CHARS_MAX:
        return [f"has {len(code):,} characters; at most {CHARS_MAX:,} are allowed."]
    try:
        body = parse_code(code).body
    except ValueError as error:
        return [f"does not parse: {error}."]
    if not body:
        return ["is empty."]
    nodes = [node for statement in body for node in ast.walk(statement)]
    faults = [fault for node in nodes for fault in _find_node_faults(function, node)]
    faults += _find_patches(function, nodes)
    if not any(_is_call_of(function, node) for node in nodes):
        faults.append(f"never calls {function.name}(…): call the real function.")
    if not isinstance(body[-1], ast.Expr):
        faults.append("must end in an expression: the value of its last line is recorded.")
    return list(dict.fromkeys(faults))


def parse_code(code: str) -> ast.Module:
    """Parse a piece of code; raise ValueError with an explanation if it is not valid Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hide warnings about invalid escapes
            return ast.parse(code)
    except SyntaxError as error:
        line = quote_text((error.text or "").strip(), 60)
        raise ValueError(f"{error.msg} in line {error.lineno}: {line}") from None
    except (RecursionError, MemoryError):
        raise ValueError("it is nested too deeply") from None


def normalize_code(function: Function, code: str) -> str:
    """Return a text that is equal for two pieces of code that differ only in spaces, quotes,
    comments and the import of the function."""
    body = [node for node in parse_code(code).body if not _is_import_of(function, node)]
    return ast.dump(ast.Module(body, []))


def _find_node_faults(function: Function, node: ast.AST) -> Iterator[str]:
    """Yield the faults of one node: a forbidden statement, import or name."""
    if isinstance(node, ast.Try | ast.TryStar):
        yield "has try/except: do not catch errors, because they are recorded."
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from _find_import_faults(function, node)
    else:
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        is_dunder = name.startswith("__") and name.endswith("__") and name not in DUNDERS
        if is_dunder or (isinstance(node, ast.Name) and name in FORBIDDEN):
            dot = "" if isinstance(node, ast.Name) else "."
            yield f"uses {dot}{name}, which could change what is recorded."
    if function.name in _bound_names(node) and not _is_import_of(function, node):
        yield f"gives the name {function.name} to something else: call the real function."


def _find_import_faults(function: Function, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield a fault for each import that is neither allowed nor of the function's own package."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level or "*" in names:
            yield "imports by a relative name or a star: import each name from its module."
            return
        names = [node.module or ""]
    own_package = function.module.split(".")[0]
    for name in names:
        if name.split(".")[0] not in (*ALLOWED, own_package):
            yield (
                f"imports {name}; only {own_package} and plain modules such as datetime, json, math or re "
                "are allowed."
            )


def _bound_names(node: ast.AST) -> set[str | None]:
    """Return the names that a node assigns."""
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, (*DEFINITIONS, ast.MatchAs, ast.MatchStar)):
        return {node.name}
    return set(node.names) if isinstance(node, ast.Global | ast.Nonlocal) else set()


def _is_import_of(function: Function, node: ast.AST) -> bool:
    """Return whether the node imports the function without renaming it."""
    if not isinstance(node, ast.ImportFrom) or node.level or node.module != function.module:
        return False
    return all(
        (alias.name == function.name) == ((alias.asname or alias.name) == function.name)
        for alias in node.names
    )


def _is_call_of(function: Function, node: ast.AST) -> bool:
    """Return whether the node calls the function, such as `slugify(…)` or `text.slugify(…)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return False
    name = ast.unparse(node.func)
    full_name = f".{function.module}.{function.name}"
    return name == function.name or ("." in name and full_name.endswith("." + name))


def _find_patches(function: Function, nodes: list[ast.AST]) -> list[str]:
    """Return a fault if the code assigns to a part of the function or of an imported module."""
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {function.name} | {name for node in imports for name in _bound_names(node)}
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name) and root.id in names:
                return [f"changes {ast.unparse(node)}: explore the code as it is."]
    return []
