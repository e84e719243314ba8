"""What a verdict rests on besides the answers: our code, the target's tools, the sandbox, the trees.

It is recorded with each verdict, so that a replay can name what has changed since.
"""

import functools
import hashlib
import os

from ...sandbox import run as sandbox
from ..job import Job
from ..verdict import Finding, Verdict

ENGINE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A verdict rests on the pipeline without its protocols and runs, and on what runs commands and git.
FOLDERS = ("git", "pipeline", "sandbox")
SKIPPED_FOLDERS = ("pipeline/protocols", "pipeline/run")
HASH_CHARS = 16


def add_conditions(verdict: Verdict, job: Job) -> Verdict:
    """Add the conditions to the verdict's facts."""
    facts = {
        "gate": gate_version(),
        "level": sandbox.detect_level(),
        "base_tree": job.base_tree,
        "head_tree": job.head_tree,
    }
    versions = {**job.tools.versions, **verdict.facts.get("versions", {})}
    verdict.facts = {**facts, **verdict.facts, "versions": versions}
    return verdict


@functools.cache
def gate_version() -> str:
    """Return a hash of the gates' code: unlike a number, it cannot be forgotten."""
    digest = hashlib.sha256()
    for path in list_gate_files():
        with open(os.path.join(ENGINE, path), "rb") as file:
            digest.update(f"{path}\0".encode() + file.read() + b"\0")
    return digest.hexdigest()[:HASH_CHARS]


def list_gate_files() -> list[str]:
    """Return the modules that judge, as paths below the engine."""
    paths = []
    for folder in FOLDERS:
        for place, folders, names in os.walk(os.path.join(ENGINE, folder)):
            inside = os.path.relpath(place, ENGINE).replace(os.sep, "/")
            folders[:] = [name for name in folders if f"{inside}/{name}" not in SKIPPED_FOLDERS]
            paths += [f"{inside}/{name}" for name in names if name.endswith(".py")]
    return sorted(paths)


def find_weak_sandbox(job: Job) -> list[Finding]:
    """Return a finding if the sandbox here is weaker than the repository asks for."""
    level, least = sandbox.detect_level(), job.settings.minimum_level
    if sandbox.LEVELS.index(level) >= sandbox.LEVELS.index(least):
        return []
    text = f"The sandbox here is {level}, and this repository asks for {least}."
    return [Finding("sandbox", text)]
