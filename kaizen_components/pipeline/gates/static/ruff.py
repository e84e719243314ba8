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
    sandbox_run = files.run_tool([*argv, "."], tree)
    if sandbox_run.timed_out or sandbox_run.exit_code not in (CLEAN, FOUND):
        return make_broken_result("ruff", sandbox_run, "it failed", files.folder)
    findings = []
    try:
        for row in json.loads(sandbox_run.stdout.text()):
            path = files.make_relative_path(row["filename"])
            line = row["location"]["row"]
            rule = row["code"] or "invalid-syntax"
            source = files.read_line(path, line)
            findings.append(LocatedFinding(rule, row["message"], path, line, source))
    except (ValueError, TypeError, KeyError, AttributeError):
        return make_broken_result("ruff", sandbox_run, "its output cannot be read", files.folder)
    if (sandbox_run.exit_code == FOUND) != bool(findings):
        why = f"its exit code does not match its {len(findings)} findings"
        return make_broken_result("ruff", sandbox_run, why, files.folder)
    return ToolResult("ruff", findings, sandbox_run)
