"""Small wrong versions of changed lines. A test that means something fails on most of them.

What no test is expected to notice is left alone: docstrings, logging, annotations, `__all__`, the words of an
exception, code for type checkers. A mutant is spliced into the source, so that its change can be shown.
"""

import ast
import copy
from collections.abc import Iterator

from .line_coverage import is_outside_tests

COMPARE: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}  # fmt: skip
LOGS = ("log", "logger", "logging", "warnings", "_log", "_logger", "LOG", "LOGGER")
REMOVED = (ast.AugAssign, ast.Raise, ast.Break, ast.Continue, ast.Delete)
NODES = (ast.expr, ast.stmt)


class Mutant:
    """One change: where, what it was, what it became, and the whole file with it."""

    def __init__(self, path: str, line: int, was: str, becomes: str, text: str):
        self.path = path
        self.line = line
        self.was = was
        self.becomes = becomes
        self.text = text

    def __str__(self) -> str:
        return f"{self.was}  ->  {self.becomes}"


def make_mutants(path: str, source: str, lines: set[int]) -> list[Mutant]:
    """All mutants of a file on the given lines, in the order of the source."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    rows = [row.encode() for row in source.splitlines(keepends=True)]
    made: dict[str, Mutant] = {}
    for node in _nodes(module):
        if node.lineno in lines:
            for changed in _changes(node):
                mutant = _spliced(path, rows, node, changed)
                if mutant and mutant.text != source:
                    made.setdefault(mutant.text, mutant)
    return list(made.values())


def gut_functions(path: str, source: str, lines: set[int]) -> Mutant | None:
    """The file in which every function with a changed line raises at once; nothing if no function was changed."""
    module, changed = ast.parse(source), []
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines & set(
            range(node.lineno, _end(node) + 1)
        ):
            changed.append(node.name)
            node.body = ast.parse("raise SystemError('gutted by the gate')").body
    if not changed:
        return None
    return Mutant(
        path,
        0,
        ", ".join(changed),
        "raises at once",
        ast.unparse(ast.fix_missing_locations(module)),
    )


def _end(node):
    return node.end_lineno or node.lineno


def _nodes(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The nodes that may be changed, without those that nobody tests."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "type_comment"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and not _ignored(part) and not _counted(part, node):
                if isinstance(part, NODES):
                    yield part
                if not isinstance(
                    part, ast.JoinedStr | ast.Raise | ast.Assert
                ):  # their words and columns
                    yield from _nodes(part)


def _ignored(part):
    if isinstance(part, ast.Expr):
        call = part.value
        return isinstance(call, ast.Constant) or (isinstance(call, ast.Call) and _logs(call.func))
    if isinstance(part, ast.Assign):
        return any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in part.targets
        )
    return isinstance(part, ast.Import | ast.ImportFrom) or (
        isinstance(part, ast.If) and is_outside_tests(part.test)
    )


def _counted(part, parent):
    """Whether a constant is changed by its neighbour already: the bound of a comparison, an element of a table, -1."""
    value = getattr(part, "operand", part)
    if not isinstance(value, ast.Constant):
        return False
    if isinstance(parent, ast.Compare):
        return isinstance(parent.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    if isinstance(parent, ast.List | ast.Tuple | ast.Set):
        return part is not parent.elts[0]
    return isinstance(parent, ast.UnaryOp)


def _logs(function):
    while isinstance(function, ast.Attribute | ast.Call):
        function = function.value if isinstance(function, ast.Attribute) else function.func
    return isinstance(function, ast.Name) and (function.id in LOGS or function.id == "print")


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    kinds = {
        ast.Compare: _compare, ast.BinOp: _arithmetic, ast.BoolOp: _boolean, ast.UnaryOp: _unary,
        ast.Constant: _constant,
        ast.Return: _return, ast.If: _condition, ast.While: _condition, ast.IfExp: _condition, ast.Expr: _remove,
        ast.Call: _range, ast.Slice: _slice,
    }  # fmt: skip
    if isinstance(node, REMOVED):
        yield ast.Pass()
    elif change := kinds.get(type(node)):
        yield from change(node)


def _compare(node):
    for place, operator in enumerate(node.ops):
        new = copy.deepcopy(node)
        new.ops[place] = COMPARE[type(operator)]()
        yield new


def _arithmetic(node):
    words = isinstance(node.left, ast.Constant | ast.JoinedStr) and not isinstance(
        getattr(node.left, "value", 0), int | float
    )
    if type(node.op) in ARITHMETIC and not words:  # "%s" % x and its like only crash
        yield _with(node, op=ARITHMETIC[type(node.op)]())


def _boolean(node):
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _unary(node):
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        yield from (_with(node, operand=changed) for changed in _constant(node.operand))
    elif isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand


def _constant(node):
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1)
    elif isinstance(value, str | bytes):
        yield ast.Constant(
            value[:0] if value else "kaizen" if isinstance(value, str) else b"kaizen"
        )


def _return(node):
    if node.value and not isinstance(node.value, ast.Constant):  # a constant is changed itself
        yield ast.Return(ast.Constant(None))


def _condition(node):
    yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _remove(node):
    if isinstance(node.value, ast.Call | ast.Await):
        yield ast.Pass()


def _range(node):
    if (
        isinstance(node.func, ast.Name)
        and node.func.id == "range"
        and node.args
        and not node.keywords
    ):
        place = 0 if len(node.args) == 1 else 1
        if not isinstance(node.args[place], ast.Constant | ast.BinOp):  # n + 1 is changed itself
            yield _with(
                node, args=[_less(arg) if at == place else arg for at, arg in enumerate(node.args)]
            )


def _slice(node):
    for name in ("lower", "upper"):
        bound = getattr(node, name)
        if bound is not None and not isinstance(
            getattr(bound, "operand", bound), ast.Constant
        ):  # 1 and -1 likewise
            yield _with(node, **{name: _less(bound)})


def _less(value):
    return ast.BinOp(value, ast.Sub(), ast.Constant(1))


def _with(node, **parts):
    new = copy.copy(node)
    for name, value in parts.items():
        setattr(new, name, value)
    return new


def _spliced(path, rows, node, changed):
    """The source with the node's own text replaced; of a statement with a body only the condition."""
    if isinstance(node, ast.If | ast.While):
        node, changed = node.test, changed.test
    becomes = ast.unparse(ast.fix_missing_locations(changed))
    if isinstance(changed, ast.expr) and not isinstance(changed, ast.Constant | ast.Slice):
        becomes = f"({becomes})"
    first, last = node.lineno - 1, _end(node) - 1
    before, after = rows[first][: node.col_offset], rows[last][node.end_col_offset :]
    text = b"".join([*rows[:first], before + becomes.encode() + after, *rows[last + 1 :]]).decode()
    try:
        compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return Mutant(
        path,
        node.lineno,
        ast.unparse(node),
        becomes.strip("()") if becomes.count("(") == 1 else becomes,
        text,
    )
