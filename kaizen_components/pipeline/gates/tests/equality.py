"""Find values that equal everything: run the new tests with probes around the compared values.

A value that equals a newly created object would pass any test. A value that equals only what the
tests expect is not found.
"""

import ast
import os

from ...job import Job
from ...verdict import Finding
from .report import SessionReport

LIE = "KaizenEqualsEverything"
PRELUDE = f"""
class {LIE}(AssertionError):
    pass
def _kaizen_lies(value, depth=0):
    kind = type(value)
    if kind in (list, tuple, set, frozenset, dict) and depth < 4:
        parts = [*value, *value.values()] if kind is dict else list(value)
        return any(_kaizen_lies(part, depth + 1) for part in parts[:1000])
    if kind.__module__ in ("builtins", "unittest.mock") or isinstance(value, type):
        return False
    stranger = object()
    for ask in (
        lambda: value == stranger and stranger == value,
        lambda: value < stranger and value > stranger,
    ):
        try:
            if ask() is True:
                return True
        except Exception:
            pass
    return False
def _kaizen_honest(value):
    if _kaizen_lies(value):
        raise {LIE}(type(value).__name__)
    return value
"""


def add_equality_probes(job: Job) -> dict[str, str]:
    """Return {path: text} of the new tests, with a probe around each value that they compare.

    Compared values are the sides of each comparison and the arguments of each assert method.
    """
    edits = {}
    for path in job.tests:
        try:
            with open(os.path.join(job.head, path), encoding="utf-8") as file:
                module = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError):
            continue
        module = EqualityProbe().visit(module)
        start = 0  # after the docstring and `from __future__`
        for place, node in enumerate(module.body[:20]):
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                start = place + 1
        module.body[start:start] = ast.parse(PRELUDE).body
        edits[path] = ast.unparse(ast.fix_missing_locations(module))
    return edits


def check_equality(probe: SessionReport) -> list[Finding]:
    """Return one finding for each new test that compared a value that equals everything."""
    findings = []
    for id, outcome in sorted(probe.outcomes.items()):
        if outcome.type == LIE:
            text = f"{id} compares with a value that equals everything: {outcome.text[-200:]}"
            findings.append(Finding("equals-everything", text, outcome.path))
    return findings


class EqualityProbe(ast.NodeTransformer):
    """Wrap the sides of each comparison, and the arguments of each assert method, in a probe."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.left = _wrap_value(node.left)
        node.comparators = [_wrap_value(side) for side in node.comparators]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("assert"):
            node.args = [
                arg if isinstance(arg, ast.Starred) else _wrap_value(arg) for arg in node.args
            ]
        return node


def _wrap_value(side: ast.expr) -> ast.Call:
    return ast.Call(ast.Name("_kaizen_honest", ast.Load()), [side], [])
