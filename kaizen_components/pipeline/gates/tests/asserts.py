"""Parse the new tests, and check that every test asserts something that could be false."""

import ast
import os
from collections.abc import Iterator

from ...job import Job
from ...verdict import Finding

RAISES = ("raises", "warns", "deprecated_call", "fail")
# How names of imported functions that assert something begin.
CHECKERS = ("assert", "check", "verify", "expect")
SWALLOWED = ("AssertionError", "Exception", "BaseException")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_empty_tests(job: Job) -> list[Finding]:
    """Return one finding for each test that asserts nothing, or only what is always true."""
    findings = []
    for path in job.tests:
        try:
            with open(os.path.join(job.head, path), encoding="utf-8") as file:
                module = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError):
            continue  # the test session reports it
        functions = {node.name: node for node in ast.walk(module) if isinstance(node, Function)}
        for node in module.body:
            prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for test in node.body if isinstance(node, ast.ClassDef) else [node]:
                if not isinstance(test, Function) or not test.name.startswith("test"):
                    continue
                if not _has_assertion(test, functions, set()):
                    text = f"{prefix}{test.name} asserts nothing that could be false."
                    findings.append(Finding("asserts-nothing", text, path, test.lineno))
    return findings


def _has_assertion(function: Function, functions: dict[str, Function], visited: set[str]) -> bool:
    """Return whether the function, or one that it calls in the same file, asserts something."""
    for node in _list_reachable(function.body):
        if isinstance(node, ast.Assert) and not _is_always_true(node.test):
            return True
        if isinstance(node, ast.Raise):
            exception = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if _read_name(exception) == "AssertionError":
                return True
        if isinstance(node, ast.Call):
            name = _read_name(node.func)
            if name in functions and name not in visited:
                if _has_assertion(functions[name], functions, {*visited, name}):
                    return True
            elif name in RAISES or (name not in functions and _is_checker(name, node.args)):
                return True
    return False


def _list_reachable(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes that can run, except where an AssertionError is caught and ignored."""
    for statement in body:
        test = statement.test if isinstance(statement, ast.If | ast.While) else None
        if isinstance(test, ast.Constant) and not test.value:
            yield from _list_reachable(getattr(statement, "orelse", []))
        elif isinstance(statement, ast.Try) and any(map(_swallows_failure, statement.handlers)):
            yield from _list_reachable([*statement.orelse, *statement.finalbody])
        else:
            yield statement
            for _, value in ast.iter_fields(statement):
                parts = value if isinstance(value, list) else [value]
                yield from _list_reachable([part for part in parts if isinstance(part, ast.stmt)])
                for part in parts:
                    if isinstance(part, ast.ExceptHandler | ast.match_case):
                        yield from _list_reachable(part.body)
                    elif isinstance(part, ast.AST) and not isinstance(part, ast.stmt):
                        yield from ast.walk(part)
        if isinstance(statement, ast.Return | ast.Raise):
            return


def _swallows_failure(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches AssertionError and does not fail the test itself."""
    for node in ast.walk(handler):
        if isinstance(node, ast.Raise | ast.Assert):
            return False
        if isinstance(node, ast.Call) and _read_name(node.func) == "fail":
            return False
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _read_name(kind) in SWALLOWED for kind in kinds)


def _is_always_true(test: ast.expr) -> bool:
    """Return whether a condition cannot be false. `is not None` counts, because it rarely is."""
    if isinstance(test, ast.Constant | ast.Tuple | ast.Lambda | ast.JoinedStr):
        return not isinstance(test, ast.Tuple) or bool(test.elts)
    if isinstance(test, ast.BoolOp):
        combine = any if isinstance(test.op, ast.Or) else all
        return combine(_is_always_true(value) for value in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left_side, operator, right_side = test.left, test.ops[0], test.comparators[0]
        if isinstance(right_side, ast.Constant):
            is_none = isinstance(operator, ast.IsNot) and right_side.value is None
            if is_none or isinstance(left_side, ast.Constant):
                return True
        is_reflexive = isinstance(operator, ast.Eq | ast.Is | ast.LtE | ast.GtE)
        return is_reflexive and ast.dump(left_side) == ast.dump(right_side)
    if isinstance(test, ast.Call) and _read_name(test.func) == "isinstance":
        return len(test.args) == 2 and _read_name(test.args[1]) == "object"
    return False


def _is_checker(name: str, args: list[ast.expr]) -> bool:
    """Return whether a call asserts something, by its name, with arguments that could fail."""
    if name == "assertIsNotNone" or not name.lower().startswith(CHECKERS):
        return False
    if name in ("assertTrue", "assertFalse", "assert_"):
        is_true = bool(args) and name != "assertFalse" and _is_always_true(args[0])
        return not is_true and not (args and isinstance(args[0], ast.Constant))
    return len(args) < 2 or ast.dump(args[0]) != ast.dump(args[1])


def _read_name(node: ast.expr | None) -> str:
    """Return the last part of a dotted name; "" for other nodes."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
