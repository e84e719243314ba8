"""What a gate's verdict rests on besides the answers: our own code, the target's tools, the box, the trees.

Recorded with each verdict, so that a replay can name what has changed since.
"""

import functools
import hashlib
import os

from ...sandbox import run as sandbox
from ..job import Job
from ..verdict import Verdict

ENGINE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A verdict rests on all of the pipeline but its protocols and runs, and on the code that runs commands and git.
FOLDERS = ("git", "pipeline", "sandbox")
LEFT_OUT = ("pipeline/protocols", "pipeline/run")
HASH_CHARS = 16


def add_conditions(verdict: Verdict, job: Job) -> Verdict:
    """The verdict, with its conditions among its facts."""
    versions = {**job.tools.versions, **verdict.facts.get("versions", {})}
    verdict.facts = {
        "gate": gate_version(), "level": sandbox.detect_level(), "base_tree": job.base_tree, "head_tree": job.head_tree,
        **verdict.facts, "versions": versions,
    }  # fmt: skip
    return verdict


@functools.cache
def gate_version() -> str:
    """A hash of the code of the gates: no number that somebody could forget to raise."""
    digest = hashlib.sha256()
    for path in list_gate_files():
        with open(os.path.join(ENGINE, path), "rb") as file:
            digest.update(f"{path}\0".encode() + file.read() + b"\0")
    return digest.hexdigest()[:HASH_CHARS]


def list_gate_files() -> list[str]:
    """The modules that judge, as paths below the engine."""
    found = []
    for folder in FOLDERS:
        for here, folders, names in os.walk(os.path.join(ENGINE, folder)):
            inside = os.path.relpath(here, ENGINE).replace(os.sep, "/")
            folders[:] = [name for name in folders if f"{inside}/{name}" not in LEFT_OUT]
            found += [f"{inside}/{name}" for name in names if name.endswith(".py")]
    return sorted(found)
