"""What the target's interpreter has: asked once per process, through the sandbox; or the line that installs it."""

import json
import os
import shlex

from ....errors import KaizenError
from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding

NEEDED = {
    "pytest": 8,
    "coverage": 7,
}  # major versions: hook wrappers that see what was raised; lines by test
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
_known: dict[tuple[str, ...], "PytestTools"] = {}


class PytestTools:
    """Versions by name, and the top-level names that are installed."""

    def __init__(
        self,
        versions: dict[str, str],
        installed: set[str],
        boxed: sandbox.SandboxResult | None = None,
    ):
        self.versions = versions
        self.installed = installed
        self.boxed = boxed

    def list_missing(self) -> list[str]:
        """What has to be installed, as requirements."""
        return [
            f"{name}>={least}"
            for name, least in NEEDED.items()
            if _major(self.versions.get(name, "")) < least
        ]


def inspect_tools(job: Job) -> PytestTools:
    """What is there; an interpreter that does not answer has nothing."""
    known = _known.get(tuple(job.tools.python))
    if known is None or known.list_missing():  # what is missing may have been installed since
        known = _known[tuple(job.tools.python)] = _ask(job)
    return known


def _ask(job):
    try:
        boxed = sandbox.run_in_sandbox(
            [*job.tools.python, "-s", "-B", "-c", ASK],
            job.scratch or job.base,
            60,
            reads=job.tools.reads,
            tree=job.base_tree,
        )
        found = json.loads(boxed.stdout.text())
        return PytestTools(found["versions"], {name.lower() for name in found["installed"]}, boxed)
    except (KaizenError, ValueError, KeyError):
        return PytestTools({}, set())


def report_missing_tools(job: Job, lacks: list[str]) -> Finding:
    """The finding, with the install line of that environment."""
    if os.path.isfile(os.path.join(job.base, "uv.lock")):
        line = f"uv add --dev {shlex.join(lacks)}"
    else:
        line = f"{shlex.join(job.tools.python)} -m pip install {shlex.join(lacks)}"
    return Finding("missing", f"The target's Python lacks {' and '.join(lacks)}. Install: {line}")


def _major(version):
    digits = version.split(".")[0]
    return int(digits) if digits.isdecimal() else 0
