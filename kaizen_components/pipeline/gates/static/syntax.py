"""Compile the changed files with the target's interpreter; as the cheapest check it runs first."""

import json

from ...job import Job
from .findings import LocatedFinding, ToolResult, make_broken_result
from .tool_tree import ToolTree

CODE = """
import json, sys, warnings
warnings.simplefilter("ignore")
found = []
for path in sys.argv[1:]:
    try:
        with open(path, "rb") as file:
            compile(file.read(), path, "exec", 0, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        found.append([path, getattr(error, "lineno", 0) or 0, str(getattr(error, "msg", error))])
sys.stdout.write(json.dumps(found))
"""


def find_syntax_errors(job: Job, files: ToolTree, tree: str) -> ToolResult:
    """Compile the changed files and return their syntax errors. `files` must hold head."""
    paths = sorted(
        path for path in job.changed if path.endswith((".py", ".pyi")) and path not in job.tests
    )
    if not paths:
        return ToolResult("py_compile", [])
    sandbox_run = files.run_tool([*job.tools.python, "-I", "-B", "-c", CODE, *paths], tree)
    try:
        findings = [
            LocatedFinding("syntax", text, path, line, files.read_line(path, line))
            for path, line, text in json.loads(sandbox_run.stdout.text())
        ]
    except (ValueError, TypeError):
        return make_broken_result(
            "py_compile", sandbox_run, "its output cannot be read", files.folder
        )
    if sandbox_run.exit_code != 0:
        return make_broken_result("py_compile", sandbox_run, "it failed", files.folder)
    return ToolResult("py_compile", findings, sandbox_run)
