"""Ask the target's interpreter, once per process, for its versions of pytest and coverage."""

import json
import os
import shlex

from ....errors import KaizenError
from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding

# Major versions. pytest 8 has the hook wrappers we use, coverage 7 records lines by test.
NEEDED = {"pytest": 8, "coverage": 7}
ASK = """
import json, sys
from importlib import metadata
found = {"python": sys.version.split()[0]}
for name in ("pytest", "coverage"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        found[name] = ""
names = sorted(metadata.packages_distributions()) if sys.version_info >= (3, 10) else []
sys.stdout.write(json.dumps({"versions": found, "installed": names}))
"""
_cache: dict[tuple[str, ...], "PytestTools"] = {}


class PytestTools:
    """Versions by package, and the installed top-level modules."""

    def __init__(self, versions: dict[str, str], installed: set[str]):
        self.versions = versions
        self.installed = installed

    def list_missing(self) -> list[str]:
        """Return what is missing or too old, as requirements."""
        majors = {name: self.versions.get(name, "").split(".")[0] for name in NEEDED}
        return [
            f"{name}>={least}"
            for name, least in NEEDED.items()
            if not majors[name].isdecimal() or int(majors[name]) < least
        ]


def inspect_tools(job: Job) -> PytestTools:
    """Return the installed versions and modules; none if the interpreter fails."""
    python = tuple(job.tools.python)
    cached_tools = _cache.get(python)
    if (
        cached_tools and not cached_tools.list_missing()
    ):  # a missing package may have been installed since
        return cached_tools
    argv = [*job.tools.python, "-s", "-B", "-c", ASK]
    folder, reads = job.scratch or job.base, job.tools.reads
    try:
        sandbox_run = sandbox.run_in_sandbox(argv, folder, 60, reads=reads, tree=job.base_tree)
        facts = json.loads(sandbox_run.stdout.text())
        tools = PytestTools(facts["versions"], {name.lower() for name in facts["installed"]})
    except (KaizenError, ValueError, KeyError):
        tools = PytestTools({}, set())
    _cache[python] = tools
    return tools


def report_missing_tools(job: Job, requirements: list[str]) -> Finding:
    """Return a finding with the command that installs what is missing."""
    if os.path.isfile(os.path.join(job.base, "uv.lock")):
        line = f"uv add --dev {shlex.join(requirements)}"
    else:
        line = f"{shlex.join(job.tools.python)} -m pip install {shlex.join(requirements)}"
    names = " and ".join(requirements)
    return Finding("missing", f"The target's Python lacks {names}. Install with: {line}")
