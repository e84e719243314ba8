"""Files that would be imported in place of the standard library, an installed package or their own source."""

import os
import sys

from ...job import Job
from ...target import protected_files
from ...verdict import Finding

COMPILED = (".so", ".pyd", ".pyc", ".pyo", ".pth")


def find_shadowing_files(job: Job, installed: set[str]) -> list[Finding]:
    """New files that hide a module that tests or product may import, or that no reader can check."""
    base = protected_files.list_files(job.base)
    found = []
    for path in sorted(protected_files.list_files(job.head) - base - set(job.tests)):
        if path.endswith(COMPILED):
            found.append(
                Finding(
                    "shadow",
                    f"{path} is compiled or changes the path: only source is accepted.",
                    path,
                )
            )
        elif (name := _module(job, path, base)) and (
            name in sys.stdlib_module_names or name.lower() in installed
        ):
            found.append(
                Finding("shadow", f"{path} hides the module {name} that is already there.", path)
            )
    return found


def _module(job, path, base):
    """The name under which a new file can be imported from a folder that is on the path, or nothing."""
    folder, name = os.path.split(path)
    places = {os.path.normpath(place) for place in job.tools.paths} | {
        os.path.dirname(test) or "."
        for test in (*base, *job.tests)
        if os.path.basename(test).startswith(("test", "conftest"))
    }
    if name == "__init__.py":
        folder, name = os.path.split(folder)
    elif not name.endswith(".py"):
        return ""
    return name.removesuffix(".py") if (folder or ".") in places else ""
