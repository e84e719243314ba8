"""Coverage of changed lines, from the session that ran the whole suite on head."""

import ast
import os

from ...job import Job
from ...target import protected_files
from ...verdict import Finding
from .report import SessionReport

TESTS = ("tests/**", "test/**", "**/test_*.py", "**/*_test.py", "**/conftest.py")
SHOWN_MAX = 20


class Coverage:
    """What of a change can be run, and by which tests it was."""

    def __init__(self) -> None:
        self.executable: set[tuple[str, int]] = set()
        self.tests_by_line: dict[tuple[str, int], set[str]] = {}
        self.unparsed: list[str] = []  # files that could not be parsed

    @property
    def rate(self) -> float:
        return len(self.tests_by_line) / len(self.executable) if self.executable else 1.0


def list_product_files(job: Job) -> list[str]:
    """The changed Python files that are no tests."""
    return sorted(
        path for path, lines in job.changed.items()
        if lines and path.endswith(".py") and path not in job.tests and not protected_files.matches_any(path, TESTS)
    )  # fmt: skip


def measure_coverage(job: Job, head: SessionReport) -> Coverage:
    found = Coverage()
    for path in list_product_files(job):
        seen = head.lines.get(path, {"error": "not measured", "can_run": [], "ran": {}})
        if "error" in seen:
            found.unparsed.append(path)
            continue
        first = map_first_lines(os.path.join(job.head, path))
        lines = {first.get(line, line) for line in job.changed[path]} - list_excluded_lines(
            os.path.join(job.head, path)
        )
        for line in lines & set(seen["can_run"]):
            found.executable.add((path, line))
            if str(line) in seen["ran"]:
                found.tests_by_line[path, line] = set(seen["ran"][str(line)]) - {""}
    return found


def check_coverage(job: Job, covered: Coverage) -> list[Finding]:
    """One finding for each changed line that no test runs, if there are too many of them."""
    findings = [
        Finding("coverage", f"{path} cannot be measured: it is not valid Python.", path)
        for path in covered.unparsed
    ]
    if covered.rate >= job.settings.coverage_floor:
        return findings
    lines = sorted(covered.executable - covered.tests_by_line.keys())[:SHOWN_MAX]
    return findings + [
        Finding("coverage", "No test runs this changed line.", path, line) for path, line in lines
    ]


def map_first_lines(path: str) -> dict[int, int]:
    """Each line of a statement over several lines -> the line it begins on, which is the one that coverage counts."""
    first: dict[int, int] = {}
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            begins = body[0] if isinstance(body, list) and body else None
            last = (
                (begins.lineno if hasattr(begins, "lineno") else node.lineno + 1) - 1
                if begins
                else node.end_lineno
            )
            first.update(
                dict.fromkeys(range(node.lineno, max(last or 0, node.lineno) + 1), node.lineno)
            )
    return first


def list_excluded_lines(path: str) -> set[int]:
    """Lines that no test can be asked to run: for type checkers, and for running a file as a script."""
    lines: set[int] = set()
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.If) and is_outside_tests(node.test):
            lines |= set(range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1))
    return lines


def is_outside_tests(test: ast.expr) -> bool:
    """`TYPE_CHECKING`, or `__name__ == "__main__"`."""
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")


def _parsed(path):
    try:
        with open(path, encoding="utf-8") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])
