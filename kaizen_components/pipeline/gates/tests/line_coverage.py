"""Coverage of changed lines, from the session that ran the whole suite on head."""

import ast
import os

from ...job import Job
from ...target import protected_files
from ...verdict import Finding
from .report import SessionReport

TESTS = ("tests/**", "test/**", "**/test_*.py", "**/*_test.py", "**/conftest.py")
SHOWN_MAX = 20
NOT_MEASURED = {"error": "not measured"}


class Coverage:
    """The executable lines of a change, and the tests that ran each."""

    def __init__(self) -> None:
        self.executable: set[tuple[str, int]] = set()
        self.tests_by_line: dict[tuple[str, int], set[str]] = {}
        self.unparsed: list[str] = []  # files that could not be parsed

    @property
    def line_rate(self) -> float:
        return len(self.tests_by_line) / len(self.executable) if self.executable else 1.0


def list_product_files(job: Job) -> list[str]:
    """Return the changed Python files that are not tests."""
    return sorted(
        path
        for path, lines in job.changed.items()
        if lines and path.endswith(".py") and path not in job.tests
        if not protected_files.matches_any(path, TESTS)
    )


def measure_coverage(job: Job, head: SessionReport) -> Coverage:
    """Return the executable changed lines and the tests that ran each of them."""
    coverage = Coverage()
    for path in list_product_files(job):
        file_lines = head.lines.get(path, NOT_MEASURED)
        if "error" in file_lines:
            coverage.unparsed.append(path)
            continue
        source = os.path.join(job.head, path)
        first = map_first_lines(source)
        lines = {first.get(line, line) for line in job.changed[path]}
        for line in (lines - list_excluded_lines(source)) & set(file_lines["can_run"]):
            coverage.executable.add((path, line))
            if str(line) in file_lines["ran"]:
                coverage.tests_by_line[path, line] = set(file_lines["ran"][str(line)]) - {""}
    return coverage


def check_coverage(job: Job, coverage: Coverage) -> list[Finding]:
    """Return one finding for each changed line that no test runs, if there are too many of them."""
    findings = [
        Finding("coverage", f"{path} cannot be measured: it is not valid Python.", path)
        for path in coverage.unparsed
    ]
    if coverage.line_rate >= job.settings.coverage_floor:
        return findings
    lines = sorted(coverage.executable - coverage.tests_by_line.keys())[:SHOWN_MAX]
    return findings + [
        Finding("coverage", "No test runs this changed line.", path, line) for path, line in lines
    ]


def map_first_lines(path: str) -> dict[int, int]:
    """Map each line of a statement to the line it begins on, which coverage counts."""
    first: dict[int, int] = {}
    for node in ast.walk(_parse_file(path)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            last = node.end_lineno or 0
            if isinstance(body, list) and body:  # a `case` of a `match` has no line number
                last = getattr(body[0], "lineno", node.lineno + 1) - 1
            lines = range(node.lineno, max(last, node.lineno) + 1)
            first.update(dict.fromkeys(lines, node.lineno))
    return first


def list_excluded_lines(path: str) -> set[int]:
    """Return the lines below `if TYPE_CHECKING` and `if __name__ == "__main__"`."""
    lines: set[int] = set()
    for node in ast.walk(_parse_file(path)):
        if isinstance(node, ast.If) and is_outside_tests(node.test):
            lines |= set(range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1))
    return lines


def is_outside_tests(test: ast.expr) -> bool:
    """Return whether a condition is `TYPE_CHECKING` or `__name__ == "__main__"`."""
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")


def _parse_file(path: str) -> ast.Module:
    """Return the syntax tree of a file; an empty one if it cannot be parsed."""
    try:
        with open(path, encoding="utf-8") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])
