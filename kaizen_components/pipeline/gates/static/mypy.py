"""Run mypy on a tree and read its JSON, or its lines if it is older than 1.11."""

import json
import os
import re
from typing import Any

from ...job import Job
from .findings import LocatedFinding, ToolResult, make_broken_result
from .tool_tree import CACHE, ToolTree, read_mypy_settings

JSON_SINCE = (1, 11)
LINE = re.compile(
    r"^(?P<file>[^\n]+?):(?:(?P<line>\d+):)?(?:\d+:)? (?P<severity>error|note|warning): "
    r"(?P<message>.*?)(?:  \[(?P<code>[\w-]+)\])?$"
)
CLEAN, FOUND = 0, 1
KEYS = {"file", "line", "message", "code", "severity"}
# Not part of the product: mypy checks these only if its settings name them.
BESIDE = frozenset(
    [
        *("tests", "test", "docs", "doc", "examples", "build", "dist", "node_modules", "venv"),
        *("setup.py", "conftest.py", "noxfile.py"),
    ]
)


def run_mypy(job: Job, files: ToolTree, tree: str) -> ToolResult:
    """Run mypy on one tree and return its errors. If it failed, the list may be incomplete."""
    config, lists = read_mypy_settings(files.folder)
    has_sources = any(name in lists for name in ("files", "packages", "modules"))
    sources = [] if has_sources else _list_sources(files.folder, job.tools.paths)
    if not has_sources and not sources:
        return ToolResult("mypy", [])
    has_src = "src" in job.tools.paths
    version = re.findall(r"\d+", job.tools.versions.get("mypy", ""))[:2]
    format_options = ["--show-error-codes", "--no-pretty", "--no-color-output"]
    if tuple(map(int, version)) >= JSON_SINCE:
        format_options = ["--output", "json"]
    words = [*format_options, f"--config-file={config}", f"--cache-dir={CACHE}"]
    # Settings may name an interpreter that is not in an export, such as .venv/bin/python.
    words.append(f"--python-executable={job.tools.python[0]}")
    if not has_sources and not has_src:
        # Scripts of the same name in two folders are two modules; below src/, paths name modules.
        words.append("--explicit-package-bases")
    sandbox_run = files.run_tool(
        [*job.tools.python, "-I", "-m", "mypy", *words, *sources],
        tree,
        {"MYPYPATH": "src"} if has_src and not has_sources else {},
    )
    if sandbox_run.timed_out or sandbox_run.stdout.left_out:
        return make_broken_result("mypy", sandbox_run, "its output is too long", files.folder)
    errors = _parse_errors(files, sandbox_run.stdout.text() + "\n" + sandbox_run.stderr.text())
    if sandbox_run.exit_code not in (CLEAN, FOUND) or (sandbox_run.exit_code == FOUND) != bool(
        errors
    ):
        result = make_broken_result(
            "mypy", sandbox_run, "it could not check the project", files.folder
        )
        result.findings = errors
        return result
    return ToolResult("mypy", errors, sandbox_run)


def _list_sources(folder: str, roots: tuple[str, ...]) -> list[str]:
    """Return the packages and modules at the roots of the project, as arguments for mypy."""
    sources = []
    for root in roots:
        place = os.path.join(folder, root)
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            path = os.path.join(place, name)
            if name.startswith(".") or name in BESIDE or name in roots or os.path.islink(path):
                continue
            names = [name, *(name for _, _, names_below in os.walk(path) for name in names_below)]
            if any(each.endswith((".py", ".pyi")) for each in names):
                sources.append(os.path.normpath(os.path.join(root, name)))
    return sources


def _parse_errors(files: ToolTree, text: str) -> list[LocatedFinding]:
    """Return the errors in mypy's output, which is JSON or text depending on its version."""
    errors = []
    for line in text.splitlines():
        match = LINE.match(line.strip())
        row: dict[str, Any] = match.groupdict() if match else {}
        if line.strip().startswith("{"):
            try:
                row = json.loads(line)
            except ValueError:
                continue
        if row.keys() >= KEYS and row["severity"] == "error":
            path = files.make_relative_path(row["file"])
            number = max(int(row["line"] or 0), 0)
            message = " ".join(filter(None, (row["message"], row.get("hint"))))
            source = files.read_line(path, number)
            errors.append(LocatedFinding(row["code"] or "mypy", message, path, number, source))
    return errors
