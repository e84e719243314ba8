"""Prove that each step and gate that we ship tells good from bad fixtures (K11, CI)."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from ...git.client import run_git
from ...store.place import Place
from ..answers.context import StepContext
from ..answers.kinds import get_kind
from ..ask.messages import check_answer
from ..codemode import step_fixtures as codemode
from ..gates import prove as gate_proofs
from ..gates import ready
from ..job import Settings
from ..protocol import load_shipped
from ..target.fixture_tree import write_tree
from ..target.target import Target
from ..target.workspace import Workspace
from ..verdict import Verdict

FOLDER = os.path.join(os.path.dirname(__file__), "evals")
REQUEST = "add a /health endpoint returning status ok"
FILES = {
    "app/main.py": 'def root():\n    return {"service": "app"}\n',
    "tests/test_main.py": "from app.main import root\n\n\ndef test_root():\n    assert root()\n",
    "requirements.txt": "fastapi\n",
}
CRITERION = {"id": "C1", "text": "GET /health answers with status ok"}
SPEC = json.dumps({"title": "Add /health", "criteria": [CRITERION]})
NOBODY = {
    f"GIT_{role}_{fact}": value
    for role in ("AUTHOR", "COMMITTER")
    for fact, value in (("NAME", "nobody"), ("EMAIL", "nobody@localhost"))
}


def prove_all() -> list[dict[str, Any]]:
    """Run the fixtures of all shipped protocols; return a row for each, with what was expected and
    what came. Takes half a minute.
    """
    gates = {"validate": gate_proofs.prove_static_gate(), "test": gate_proofs.prove_test_gate()}
    factory = [
        *prove_answers("factory"),
        *prove_base(),
        *({"step": step, **row} for step, rows in gates.items() for row in rows),
    ]
    proofs = []
    for protocol, rows in (("codemode", codemode.prove_steps()), ("factory", factory)):
        order = list(load_shipped(protocol).steps)
        rows = sorted(rows, key=lambda row: order.index(row["step"]))
        proofs += [{**row, "step": f"{protocol} {row['step']}"} for row in rows]
    return proofs


def prove_answers(protocol_name: str) -> list[dict[str, Any]]:
    """Run the fixtures of the steps that a model or agent answers; takes a second or two."""
    import yaml

    with open(os.path.join(FOLDER, protocol_name + ".yml"), encoding="utf-8") as file:
        cases = yaml.safe_load(file)
    protocol = load_shipped(protocol_name)
    rows = []
    with _create_workspace() as workspace:
        for step_name, case in ((name, case) for name in cases for case in cases[name]):
            step = protocol.steps[step_name]
            answers = {"plan": SPEC, "build": case.get("build")}
            context = StepContext(protocol, REQUEST, {**dict.fromkeys(protocol.steps), **answers})
            if "build" in case:  # the fixture is about objections that come before the question
                verdict = get_kind(step).find_objection(workspace, context)
            else:
                verdict = check_answer(step, workspace, context, case["answer"])
            rows.append(_compare_verdict(step_name, case["name"], case["expects"], verdict))
    return rows


@contextlib.contextmanager
def _create_workspace() -> Iterator[Workspace]:
    """Yield the workspace of a small repository with one commit."""
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        repo = os.path.join(place, "repo")
        write_tree(repo, FILES)
        for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "base"]):
            run_git(repo, *words, variables=NOBODY)
        with contextlib.closing(Target(repo)) as target:
            commit = target.find_head()
        run = {"id": "run_0", "repo": "repo", "base_commit": commit, "request": REQUEST}
        with contextlib.closing(Workspace(Place(place), run, {})) as workspace:
            yield workspace


def prove_base() -> list[dict[str, Any]]:
    """Run the gate `ready` on a base whose test command passes, and on one whose command fails."""
    rows = []
    with _create_workspace() as workspace:
        for name, code, expected in (
            ("a base that passes", "pass", "pass"),
            ("a base that fails", "1/0", "check"),
        ):
            job = workspace.make_base_job()
            job.settings = Settings(
                commands={"check": ["true"], "test": ["python", "-c", code]},
                replaces=("check", "test"),
                minimum_level="L0",
            )
            rows.append(_compare_verdict("ready", name, expected, ready.judge_baseline(job)))
    return rows


def _compare_verdict(
    step: str, case: str, expected: str, verdict: Verdict | None
) -> dict[str, Any]:
    """Return a row with the expected and the actual reason; no verdict counts as `pass`."""
    got = verdict.reason if verdict else "pass"
    says = verdict.says if verdict else ""
    return {
        "step": step,
        "case": case,
        "expected": expected,
        "got": got,
        "says": says,
        "ok": got == expected,
    }
