"""Find new files that Python would import instead of an existing module."""

import os
import sys

from ...job import Job
from ...target import protected_files
from ...verdict import Finding

COMPILED = (".so", ".pyd", ".pyc", ".pyo", ".pth")


def find_shadowing_files(job: Job, installed_modules: set[str]) -> list[Finding]:
    """Return a finding for each new file that hides a module or has compiled code."""
    base = protected_files.list_files(job.base)
    folders = {os.path.normpath(path) for path in job.tools.paths}  # folders on the import path
    for path in (*base, *job.tests):
        if os.path.basename(path).startswith(("test", "conftest")):
            folders.add(os.path.dirname(path) or ".")
    findings = []
    for path in sorted(protected_files.list_files(job.head) - base - set(job.tests)):
        if path.endswith(COMPILED):
            text = f"{path} is compiled or changes the import path. Only source is accepted."
            findings.append(Finding("shadow", text, path))
            continue
        place = os.path.dirname(path) if os.path.basename(path) == "__init__.py" else path
        folder, name = os.path.split(place)
        module = name.removesuffix(".py")
        if not path.endswith(".py") or (folder or ".") not in folders:
            continue
        if module in sys.stdlib_module_names or module.lower() in installed_modules:
            text = f"{path} hides the existing module {module}."
            findings.append(Finding("shadow", text, path))
    return findings
