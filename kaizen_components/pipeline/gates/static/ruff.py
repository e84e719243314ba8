"""Run ruff on a tree and read its JSON. Its exit code alone decides nothing."""

import json

from ...job import Job
from .findings import LocatedFinding, ToolResult, make_broken_result
from .tool_tree import ToolTree

# An export has no ignored files, so a .gitignore could only hide committed ones.
OPTIONS = ("--no-cache", "--no-fix", "--no-fix-only", "--no-respect-gitignore")
CLEAN, FOUND = 0, 1


def run_ruff(job: Job, files: ToolTree, tree: str) -> ToolResult:
    """Return what ruff reports, or a broken result if output and exit code disagree."""
    argv = [*job.tools.python, "-I", "-m", "ruff", "check", "--output-format", "json", *OPTIONS]
    boxed = files.run_tool([*argv, "."], tree)
    if boxed.timed_out or boxed.exit_code not in (CLEAN, FOUND):
        return make_broken_result("ruff", boxed, "it failed", files.folder)
    findings = []
    try:
        for row in json.loads(boxed.stdout.text()):
            path = files.make_relative_path(row["filename"])
            line = row["location"]["row"]
            rule = row["code"] or "invalid-syntax"
            source = files.read_line(path, line)
            findings.append(LocatedFinding(rule, row["message"], path, line, source))
    except (ValueError, TypeError, KeyError, AttributeError):
        return make_broken_result("ruff", boxed, "its output cannot be read", files.folder)
    if (boxed.exit_code == FOUND) != bool(findings):
        why = f"its exit code does not match its {len(findings)} findings"
        return make_broken_result("ruff", boxed, why, files.folder)
    return ToolResult("ruff", findings, boxed)
