"""The examples in the help of commands, run as a user would run them."""

import functools
import json
import subprocess
import sys

from kaizen_components.index import Command

from .adoption.skills import skill
from .conftest import ROOT
from .model_server import ModelServer
from .pipeline.factory import GOOD, QUICK, Model, environment, target

BEFORE = {  # whose examples a command's own example stands on
    "W2": "W1", "W3": "W1", "W4": "W1 W3", "W5": "W1", "W6": "W1 W5", "W7": "W1", "W8": "W1 W7", "W10": "W1",
    "W11": "W1", "W13": "W1", "W14": "W1 W3", "W9": "W1", "W12": "W1", "W15": "W1 W5", "G2": "G1", "G3": "G1",
    "G4": "G1", "G5": "G1", "L2": "G1", "L3": "L1", "L4": "L1", "L5": "L1", "L6": "L1", "L7": "L1 L3", "L8": "L1 L3",
    "L9": "L1 L3", "L10": "L1 L3", "L11": "L1", "Q2": "W1", "Q4": "Q3", "Q6": "Q5", "Q7": "Q3", "Q9": "W1 Q2",
    "X2": "X1", "X3": "X1", "X4": "X1", "X5": "X1", "X6": "X1", "A3": "A1", "A4": "A1", "A5": "A1", "S2": "S1",
    "S3": "S1", "S4": "S1", "I2": "I1", "I3": "I1", "I4": "I1 I2", "I5": "I1 I2 I4", "T3": "T1", "T4": "T2",
    "O1": "Q3", "O2": "Q3 O1", "O3": "Q3 O1 O2", "M4": "M3", "M5": "M3", "R3": "G1 L1 L3", "R5": "Q3 Q4", "R6": "S1",
    "R7": "Q5", "P2": "P1", "P3": "P1", "P6": "P1", "P8": "P1",
}  # fmt: skip


def prepare_example(code, root):
    """Files to name, and the records that the example of this command stands on."""
    (root / "kaizen.py").write_text("# so that there is a file to name\n")
    (root / "GOTCHA.md").write_text("# GOTCHA\n\n- A pitfall from a file.\n")
    if code.startswith("SK"):
        skill(root / ".agents" / "skills", "mine")
    if code.startswith("P"):
        target(root.parent / "targetapp", QUICK)
    if code in ("P4", "P5"):  # an agent's run, which waits for its first answer
        begun = run_example("P1", root, Command("P1").example + " --driver agent --json")
        (root / "lease").write_text(json.loads(begun.stdout)["lease"])
        (root / "answer.txt").write_text(GOOD["plan"][0])
    if code == "D1":
        (root.parent / "other" / ".git").mkdir(parents=True)
    if code == "P8":  # an agent's run with the same request that has ended
        begun = run_example("P1", root, Command("P1").example + " --driver agent --json")
        run_example("P7", root, f"kaizen P7 --id {json.loads(begun.stdout)['id']} --abort")
    if code == "P7":  # a run that stands still, because no model answers
        assert run_example("P1", root, env=environment("http://127.0.0.1:9/v1")).returncode == 5
    for earlier in BEFORE.get(code, "W1").split():
        done = run_example(earlier, root)
        assert done.returncode == 0, done.stderr


def _lease(root):
    path = root / "lease"
    return path.read_text() if path.exists() else ""


@functools.cache
def model_url():
    """Of a scripted model that answers for as long as the tests run."""
    return ModelServer(lambda request: Model()(request)).__enter__().url


def run_example(code, root, example=None, env=None):
    example = example or Command(code).example
    env = environment(model_url()) if code.startswith("P") and env is None else env or {}
    script = example.replace("kaizen " + code, f'"{sys.executable}" "{ROOT / "kaizen.py"}" {code}')
    return subprocess.run(
        ["bash", "-c", "set -o pipefail; " + script], cwd=root, capture_output=True, text=True,
        env={"KAIZEN_REPO_ROOT": str(root), "PATH": "/usr/bin:/bin", "LEASE": _lease(root), **env},
    )  # fmt: skip
