"""mypy on a tree: its JSON where it has that, else its lines; and never its exit code alone."""

import json
import os
import re

from ....sandbox import run as sandbox
from ...job import Job
from .findings import LocatedFinding, ToolResult, make_broken_result
from .tool_tree import CACHE, ToolTree, read_mypy_settings

JSON_SINCE = (1, 11)
LINE = re.compile(r"^(?P<file>[^\n]+?):(?:(?P<line>\d+):)?(?:\d+:)? (?P<severity>error|note|warning): (?P<message>.*?)"
                  r"(?:  \[(?P<code>[\w-]+)\])?$")  # fmt: skip
CLEAN, FOUND = 0, 1
# Not what a project is made of: mypy looks at these only where its settings name them.
BESIDE = frozenset({"tests", "test", "docs", "doc", "examples", "build", "dist", "node_modules", "venv", "setup.py",
                    "conftest.py", "noxfile.py"})  # fmt: skip


def run_mypy(job: Job, room: ToolTree, tree: str) -> ToolResult:
    """The errors of one tree; a blocked run is one whose other findings nobody knows."""
    config, lists = read_mypy_settings(room.folder)
    own = any(name in lists for name in ("files", "packages", "modules"))
    sources = [] if own else _sources(room.folder, job.tools.paths)
    if not own and not sources:
        return ToolResult("mypy", [])
    boxed = sandbox.run_in_sandbox(
        [*job.tools.python, "-I", "-m", "mypy", *_words(job, config), *([] if own else _layout(job)), *sources],
        room.folder, job.settings.timeout_s, tree=tree, reads=job.tools.reads,
        variables={"MYPYPATH": "src"} if "src" in job.tools.paths and not own else {},
    )  # fmt: skip
    if boxed.timed_out or boxed.stdout.left_out:
        return make_broken_result("mypy", boxed, "it said too much", room.folder)
    found = _errors(room, boxed.stdout.text() + "\n" + boxed.stderr.text())
    if boxed.exit_code not in (CLEAN, FOUND) or (boxed.exit_code == FOUND) != bool(found):
        seen = make_broken_result("mypy", boxed, "it could not check the project", room.folder)
        seen.found = found
        return seen
    return ToolResult("mypy", found, boxed)


def _words(job, config):
    version = tuple(
        int(part) for part in re.findall(r"\d+", job.tools.versions.get("mypy", ""))[:2]
    )
    form = (
        ["--output", "json"]
        if version >= JSON_SINCE
        else ["--show-error-codes", "--no-pretty", "--no-color-output"]
    )
    python = job.tools.python[
        0
    ]  # settings may name one that is not in an export, such as .venv/bin/python
    return [
        *form,
        f"--config-file={config}",
        f"--cache-dir={CACHE}",
        f"--python-executable={python}",
    ]


def _layout(job):
    """Two scripts of one name in two folders are two modules; below src/ the path says what a module is called."""
    return [] if "src" in job.tools.paths else ["--explicit-package-bases"]


def _sources(folder, roots):
    """Packages and modules at the roots of the project, as mypy takes them."""
    found = []
    for root in roots:
        place = os.path.join(folder, root)
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            path = os.path.join(place, name)
            if name.startswith(".") or name in BESIDE or name in roots or os.path.islink(path):
                continue
            if name.endswith((".py", ".pyi")) or (os.path.isdir(path) and _has_source(path)):
                found.append(os.path.normpath(os.path.join(root, name)))
    return found


def _has_source(folder):
    return any(name.endswith((".py", ".pyi")) for _, _, files in os.walk(folder) for name in files)


def _errors(room, text):
    found = []
    for line in text.splitlines():
        one = _parsed(line.strip())
        if one and one["severity"] == "error":
            path, number = room.relative(one["file"]), max(int(one["line"] or 0), 0)
            said = " ".join(filter(None, (one["message"], one.get("hint"))))
            found.append(
                LocatedFinding(one["code"] or "mypy", said, path, number, room.line(path, number))
            )
    return found


def _parsed(line):
    if line.startswith("{"):
        try:
            one = json.loads(line)
            return one if {"file", "line", "message", "code", "severity"} <= one.keys() else None
        except ValueError:
            return None
    found = LINE.match(line)
    return found.groupdict() if found else None
