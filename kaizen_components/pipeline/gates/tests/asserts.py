"""Whether every new test asserts something that could be false. Read, not run."""

import ast
import os
from collections.abc import Iterator

from ...job import Job
from ...verdict import Finding

RAISES = ("raises", "warns", "deprecated_call", "fail")
CHECKERS = (
    "assert",
    "check",
    "verify",
    "expect",
)  # what an imported function that asserts is called
SWALLOWS = ("AssertionError", "Exception", "BaseException")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_empty_tests(job: Job) -> list[Finding]:
    """One finding for each test function that asserts nothing, or only what is always true."""
    found = []
    for path in job.tests:
        try:
            with open(os.path.join(job.head, path), encoding="utf-8") as file:
                module = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError):
            continue  # running it says so, with the line
        found += [
            Finding(
                "asserts-nothing",
                f"{name} asserts nothing that could be false.",
                path,
                function.lineno,
            )
            for name, function in _tests(module)
            if not _asserts(function, _functions(module), set())
        ]
    return found


def _tests(module: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in module.body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, Function) and inner.name.startswith("test"):
                    yield f"{node.name}.{inner.name}", inner


def _functions(module):
    return {node.name: node for node in ast.walk(module) if isinstance(node, Function)}


def _asserts(function, known, seen):
    """Whether the function, or one of the same file that it calls, asserts something."""
    return any(_strong(node, known, seen) for node in _reached(function.body))


def _reached(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes that are run and whose AssertionError gets out."""
    for statement in body:
        if (
            isinstance(statement, ast.If | ast.While)
            and isinstance(statement.test, ast.Constant)
            and not statement.test.value
        ):
            yield from _reached(statement.orelse)
        elif isinstance(statement, ast.Try) and any(
            _swallows(handler) for handler in statement.handlers
        ):
            yield from _reached([*statement.orelse, *statement.finalbody])
        else:
            yield statement
            for _, value in ast.iter_fields(statement):
                parts = value if isinstance(value, list) else [value]
                yield from _reached([part for part in parts if isinstance(part, ast.stmt)])
                for part in parts:
                    if isinstance(part, ast.AST) and not isinstance(part, ast.stmt):
                        yield from _inside(part)
        if isinstance(statement, ast.Return | ast.Raise):
            return


def _inside(part):
    if isinstance(part, ast.ExceptHandler | ast.match_case):
        yield from _reached(part.body)
    else:
        yield from ast.walk(part)


def _swallows(handler):
    if any(
        isinstance(node, ast.Raise | ast.Assert) or _is_fail(node) for node in ast.walk(handler)
    ):
        return False
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _name(kind) in SWALLOWS for kind in kinds)


def _is_fail(node):
    return isinstance(node, ast.Call) and _name(node.func) == "fail"


def _strong(node, known, seen):
    if isinstance(node, ast.Assert):
        return not _always(node.test)
    if isinstance(node, ast.Raise):
        return (
            _name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) == "AssertionError"
        )
    if not isinstance(node, ast.Call):
        return False
    name = _name(node.func)
    if name in known and name not in seen:
        return _asserts(known[name], known, {*seen, name})
    if name in RAISES:
        return True
    return (
        name.lower().startswith(CHECKERS)
        and name not in known
        and not _always_call(name, node.args)
    )


def _always(test):
    """Whether a condition cannot be false, or is only `is not None`, which nearly everything is."""
    if isinstance(test, ast.Constant | ast.Tuple | ast.Lambda | ast.JoinedStr):
        return not isinstance(test, ast.Tuple) or bool(test.elts)
    if isinstance(test, ast.BoolOp):
        return (any if isinstance(test.op, ast.Or) else all)(
            _always(value) for value in test.values
        )
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _always_compare(test.left, test.ops[0], test.comparators[0])
    if isinstance(test, ast.Call) and _name(test.func) == "isinstance" and len(test.args) == 2:
        return _name(test.args[1]) == "object"
    return False


def _always_compare(left, operator, right):
    if isinstance(operator, ast.IsNot) and isinstance(right, ast.Constant) and right.value is None:
        return True
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        return True
    return isinstance(operator, ast.Eq | ast.Is | ast.LtE | ast.GtE) and ast.dump(left) == ast.dump(
        right
    )


def _always_call(name, given):
    if name == "assertIsNotNone":
        return True
    if name in ("assertTrue", "assertFalse", "assert_"):
        return bool(given) and (
            isinstance(given[0], ast.Constant) or (name != "assertFalse" and _always(given[0]))
        )
    return len(given) >= 2 and ast.dump(given[0]) == ast.dump(given[1])


def _name(node):
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )
