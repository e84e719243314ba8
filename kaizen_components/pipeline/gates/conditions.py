"""The conditions of a verdict besides the answers: our code, tool versions, sandbox level, trees.

They are recorded with each verdict, so that a replay can name what has changed since.
"""

import functools
import hashlib
import os

from ...sandbox import run as sandbox
from ..job import Job
from ..verdict import Finding, Verdict

ENGINE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The code that decides verdicts: git, the sandbox, and the pipeline without protocols and runs.
FOLDERS = ("git", "pipeline", "sandbox")
SKIPPED_FOLDERS = ("pipeline/protocols", "pipeline/run")
HASH_CHARS = 16


def add_conditions(verdict: Verdict, job: Job) -> Verdict:
    """Add the conditions to the verdict's facts."""
    facts = {
        "gate": hash_gate_code(),
        "level": sandbox.detect_level(),
        "base_tree": job.base_tree,
        "head_tree": job.head_tree,
    }
    versions = {**job.tools.versions, **verdict.facts.get("versions", {})}
    verdict.facts = {**facts, **verdict.facts, "versions": versions}
    return verdict


@functools.cache
def hash_gate_code() -> str:
    """Return a hash of the gates' code. A version number could be forgotten; a hash cannot."""
    digest = hashlib.sha256()
    for path in list_gate_files():
        with open(os.path.join(ENGINE, path), "rb") as file:
            digest.update(f"{path}\0".encode() + file.read() + b"\0")
    return digest.hexdigest()[:HASH_CHARS]


def list_gate_files() -> list[str]:
    """Return the modules whose code decides verdicts, as paths below the engine."""
    paths = []
    for folder in FOLDERS:
        for place, folders, names in os.walk(os.path.join(ENGINE, folder)):
            short_path = os.path.relpath(place, ENGINE).replace(os.sep, "/")
            folders[:] = [name for name in folders if f"{short_path}/{name}" not in SKIPPED_FOLDERS]
            paths += [f"{short_path}/{name}" for name in names if name.endswith(".py")]
    return sorted(paths)


def find_weak_sandbox(job: Job) -> list[Finding]:
    """Return a finding if the sandbox here is below the repository's minimum level."""
    level = sandbox.detect_level()
    minimum = job.settings.minimum_level
    if sandbox.LEVELS.index(level) >= sandbox.LEVELS.index(minimum):
        return []
    text = f"The sandbox here has level {level}; this repository requires at least {minimum}."
    return [Finding("sandbox", text)]
