"""ruff on a tree: its JSON, and never its exit code alone."""

import json

from ....sandbox import run as sandbox
from ...job import Job
from .findings import LocatedFinding, ToolResult, make_broken_result
from .tool_tree import ToolTree

# Ignored files are not in an export; a .gitignore would only hide some that are.
WORDS = (
    "check",
    "--output-format",
    "json",
    "--no-cache",
    "--no-fix",
    "--no-fix-only",
    "--no-respect-gitignore",
    ".",
)
CLEAN, FOUND = 0, 1


def run_ruff(job: Job, room: ToolTree, tree: str) -> ToolResult:
    argv = [*job.tools.python, "-I", "-m", "ruff", *WORDS]
    boxed = sandbox.run_in_sandbox(
        argv, room.folder, job.settings.timeout_s, tree=tree, reads=job.tools.reads
    )
    if boxed.timed_out or boxed.exit_code not in (CLEAN, FOUND):
        return make_broken_result("ruff", boxed, "it failed", room.folder)
    try:
        found = [_located(room, one) for one in json.loads(boxed.stdout.text())]
    except (ValueError, TypeError, KeyError, AttributeError):
        return make_broken_result("ruff", boxed, "its answer cannot be read", room.folder)
    if (boxed.exit_code == FOUND) != bool(found):
        return make_broken_result("ruff", boxed, f"it names {len(found)} findings", room.folder)
    return ToolResult("ruff", found, boxed)


def _located(room, one):
    path, line = room.relative(one["filename"]), one["location"]["row"]
    return LocatedFinding(
        one["code"] or "invalid-syntax", one["message"], path, line, room.line(path, line)
    )
