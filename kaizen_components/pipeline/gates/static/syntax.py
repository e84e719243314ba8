"""Do the changed files compile, by the target's own interpreter? The cheapest question comes first."""

import json

from ....sandbox import run as sandbox
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


def find_syntax_errors(job: Job, room: ToolTree, tree: str) -> ToolResult:
    """Syntax errors in changed files; the room has head in it."""
    paths = sorted(
        path for path in job.changed if path.endswith((".py", ".pyi")) and path not in job.tests
    )
    if not paths:
        return ToolResult("py_compile", [])
    argv = [*job.tools.python, "-I", "-B", "-c", CODE, *paths]
    boxed = sandbox.run_in_sandbox(
        argv, room.folder, job.settings.timeout_s, tree=tree, reads=job.tools.reads
    )
    try:
        said = json.loads(boxed.stdout.text())
        found = [
            LocatedFinding("syntax", text, path, line, room.line(path, line))
            for path, line, text in said
        ]
    except (ValueError, TypeError):
        return make_broken_result("py_compile", boxed, "its answer cannot be read", room.folder)
    return (
        ToolResult("py_compile", found, boxed)
        if boxed.exit_code == 0
        else make_broken_result("py_compile", boxed, "it failed", room.folder)
    )
