"""ruff on a tree: its JSON, and never its exit code alone."""

import json

from ...job import Job
from .findings import LocatedFinding, ToolResult, make_broken_result
from .tool_tree import ToolTree

# Ignored files are not in an export; a .gitignore would only hide some that are.
OPTIONS = ("--no-cache", "--no-fix", "--no-fix-only", "--no-respect-gitignore")
CLEAN, FOUND = 0, 1


def run_ruff(job: Job, files: ToolTree, tree: str) -> ToolResult:
    argv = [*job.tools.python, "-I", "-m", "ruff", "check", "--output-format", "json", *OPTIONS]
    boxed = files.run_tool([*argv, "."], tree)
    if boxed.timed_out or boxed.exit_code not in (CLEAN, FOUND):
        return make_broken_result("ruff", boxed, "it failed", files.folder)
    findings = []
    try:
        for row in json.loads(boxed.stdout.text()):
            path, line = files.relative_path(row["filename"]), row["location"]["row"]
            rule, source = row["code"] or "invalid-syntax", files.read_line(path, line)
            findings.append(LocatedFinding(rule, row["message"], path, line, source))
    except (ValueError, TypeError, KeyError, AttributeError):
        return make_broken_result("ruff", boxed, "its answer is not readable", files.folder)
    if (boxed.exit_code == FOUND) != bool(findings):
        why = f"it lists {len(findings)} findings"
        return make_broken_result("ruff", boxed, why, files.folder)
    return ToolResult("ruff", findings, boxed)
