"""Make mutants: small wrong versions of changed lines. A useful test fails on most of them.

Code that tests need not check is left alone: docstrings, logging, annotations, `__all__`, messages
of exceptions, code for type checkers. A mutant is spliced into the source, so that its change can
be shown.
"""

import ast
import copy
from collections.abc import Iterator
from typing import Any

from .line_coverage import is_outside_tests

COMPARE: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip
LOGGERS = ("log", "logger", "logging", "warnings", "_log", "_logger", "LOG", "LOGGER", "print")
SKIPPED_FIELDS = ("annotation", "returns", "decorator_list", "type_params", "type_comment")


class Mutant:
    """One change of a file: its line, the code before and after, and the whole text."""

    def __init__(self, path: str, line: int, was: str, becomes: str, text: str):
        self.path = path
        self.line = line
        self.was = was
        self.becomes = becomes
        self.text = text

    def __str__(self) -> str:
        return f"{self.was}  ->  {self.becomes}"


def make_mutants(path: str, source: str, lines: set[int]) -> list[Mutant]:
    """Return all mutants of a file on the given lines, in the order of the source."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    rows = [row.encode() for row in source.splitlines(keepends=True)]
    by_text: dict[str, Mutant] = {}
    for node in _list_nodes(module):
        if node.lineno in lines:
            for new_node in _list_changes(node):
                mutant = _splice_change(path, rows, node, new_node)
                if mutant and mutant.text != source:
                    by_text.setdefault(mutant.text, mutant)
    return list(by_text.values())


def gut_functions(path: str, source: str, lines: set[int]) -> Mutant | None:
    """Return a mutant in which every changed function raises at once, or None without any."""
    module = ast.parse(source)
    changed = []
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if lines & set(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
            changed.append(node.name)
            node.body = ast.parse("raise SystemError('gutted by the gate')").body
    if not changed:
        return None
    text = ast.unparse(ast.fix_missing_locations(module))
    return Mutant(path, 0, ", ".join(changed), "raises at once", text)


def _list_nodes(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes that may be mutated."""
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if name in SKIPPED_FIELDS or not isinstance(part, ast.AST):
                continue
            if _is_ignored(part) or _is_changed_with(part, node):
                continue
            if isinstance(part, ast.expr | ast.stmt):
                yield part
            if not isinstance(part, ast.JoinedStr | ast.Raise | ast.Assert):  # only messages
                yield from _list_nodes(part)


def _is_ignored(part: ast.AST) -> bool:
    """Return whether no test is expected to check this part, such as logging and imports."""
    if isinstance(part, ast.Expr):
        value = part.value
        function: Any = value.func if isinstance(value, ast.Call) else None
        while isinstance(function, ast.Attribute | ast.Call):
            function = function.value if isinstance(function, ast.Attribute) else function.func
        is_log = isinstance(function, ast.Name) and function.id in LOGGERS
        return is_log or isinstance(value, ast.Constant)
    if isinstance(part, ast.Assign):
        return any(isinstance(to, ast.Name) and to.id == "__all__" for to in part.targets)
    if isinstance(part, ast.If):
        return is_outside_tests(part.test)
    return isinstance(part, ast.Import | ast.ImportFrom)


def _is_changed_with(part: ast.AST, parent: ast.AST) -> bool:
    """Return whether this constant is mutated elsewhere, such as the bound of a comparison."""
    if not _is_constant(part):
        return False
    if isinstance(parent, ast.Compare):
        return isinstance(parent.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    if isinstance(parent, ast.List | ast.Tuple | ast.Set):
        return part is not parent.elts[0]
    return isinstance(parent, ast.UnaryOp)


def _is_constant(node: ast.AST) -> bool:
    """Return whether the node is a constant or one with a sign, such as -1."""
    return isinstance(getattr(node, "operand", node), ast.Constant)


def _list_changes(node: Any) -> Iterator[ast.AST]:
    """Yield the wrong versions of one node."""
    match node:
        case ast.AugAssign() | ast.Raise() | ast.Break() | ast.Continue() | ast.Delete():
            yield ast.Pass()
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                new = copy.deepcopy(node)
                new.ops[place] = COMPARE[type(operator)]()
                yield new
        case ast.BinOp():
            value = node.left.value if isinstance(node.left, ast.Constant) else 0
            is_text = not isinstance(value, int | float)
            if type(node.op) in ARITHMETIC and not is_text:  # "%s" * x would only crash
                yield _copy_with(node, op=ARITHMETIC[type(node.op)]())
        case ast.BoolOp():
            yield _copy_with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            for changed in _list_changes(node.operand):
                yield _copy_with(node, operand=changed)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str()):
            yield ast.Constant("" if node.value else "kaizen")
        case ast.Constant(value=bytes()):
            yield ast.Constant(b"" if node.value else b"kaizen")
        case ast.Return():
            if node.value and not isinstance(
                node.value, ast.Constant
            ):  # a constant is mutated itself
                yield ast.Return(ast.Constant(None))
        case ast.If() | ast.While() | ast.IfExp():
            yield _copy_with(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield ast.Pass()
        case ast.Call(func=ast.Name(id="range"), args=[_, *_], keywords=[]):
            place = 0 if len(node.args) == 1 else 1
            if not isinstance(
                node.args[place], ast.Constant | ast.BinOp
            ):  # those are mutated themselves
                args = list(node.args)
                args[place] = _subtract_one(args[place])
                yield _copy_with(node, args=args)
        case ast.Slice():
            for name in ("lower", "upper"):
                bound = getattr(node, name)
                if bound is not None and not _is_constant(bound):
                    yield _copy_with(node, **{name: _subtract_one(bound)})


def _subtract_one(value: ast.expr) -> ast.BinOp:
    return ast.BinOp(value, ast.Sub(), ast.Constant(1))


def _copy_with(node: ast.AST, **parts: Any) -> ast.AST:
    """Return a shallow copy of a node with new values for some fields."""
    new = copy.copy(node)
    for name, value in parts.items():
        setattr(new, name, value)
    return new


def _splice_change(path: str, rows: list[bytes], node: Any, new_node: Any) -> Mutant | None:
    """Return the mutant, or None if it does not compile. Of `if` replace only the condition."""
    if isinstance(node, ast.If | ast.While):
        node, new_node = node.test, new_node.test
    becomes = ast.unparse(ast.fix_missing_locations(new_node))
    if isinstance(new_node, ast.expr) and not isinstance(new_node, ast.Constant | ast.Slice):
        becomes = f"({becomes})"
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before, after = rows[first][: node.col_offset], rows[last][node.end_col_offset :]
    text = b"".join([*rows[:first], before + becomes.encode() + after, *rows[last + 1 :]]).decode()
    try:
        compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    short = becomes.strip("()") if becomes.count("(") == 1 else becomes
    return Mutant(path, node.lineno, ast.unparse(node), short, text)
