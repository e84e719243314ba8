"""What a gate's verdict rests on besides the answers: our own code, the target's tools, the box, the trees.

Recorded with each verdict, so that a replay can name what has changed since.
"""

import functools
import hashlib
import os

from . import sandbox
from .job import Job
from .verdict import Verdict

HERE = os.path.dirname(__file__)
CODE = (  # every gate judges with these; how a job is made for it shows in the hashes of its trees
    "checking", "codemode", "testing", "box.py", "bubblewrap.py", "command.py", "confine.py", "gates.py", "job.py",
    "landlock.py", "limits.py", "probe.py", "ready.py", "review.py", "runner.py", "sandbox.py", "seatbelt.py",
    "signed.py", "static.py", "toolchain.py", "tree.py", "verdict.py", "watch.py",
)  # fmt: skip
HASH_CHARS = 16


def noted(verdict: Verdict, job: Job) -> Verdict:
    """The verdict, with its conditions among its facts."""
    versions = {**job.tools.versions, **verdict.facts.get("versions", {})}
    verdict.facts = {
        "gate": gate_version(), "level": sandbox.level(), "base_tree": job.base_tree, "head_tree": job.head_tree,
        **verdict.facts, "versions": versions,
    }  # fmt: skip
    return verdict


@functools.cache
def gate_version() -> str:
    """A hash of the code of the gates: no number that somebody could forget to raise."""
    digest = hashlib.sha256()
    for path in files():
        with open(os.path.join(HERE, path), "rb") as file:
            digest.update(f"{path}\0".encode() + file.read() + b"\0")
    return digest.hexdigest()[:HASH_CHARS]


def files() -> list[str]:
    found = []
    for name in CODE:
        walked = os.walk(os.path.join(HERE, name))
        inside = [os.path.join(here, one) for here, _, names in walked for one in names if one.endswith(".py")]
        found += [os.path.relpath(path, HERE).replace(os.sep, "/") for path in inside] or [name]
    return sorted(found)
