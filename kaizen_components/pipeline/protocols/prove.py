"""Each step and gate on good and bad fixtures of its own: what cannot tell them apart is not used (K11, CI)."""

import os
import tempfile
from typing import Any

from ...git.client import run_git
from ...store.place import Place
from ..answers.context import StepContext
from ..answers.kinds import kind_of
from ..ask.messages import check_answer
from ..codemode import step_fixtures as codemode
from ..gates import prove as gate_proofs
from ..gates import ready
from ..job import Settings
from ..protocol import Protocol, load_shipped
from ..target.fixture_tree import write_tree
from ..target.target import Target
from ..target.workspace import Workspace

FOLDER = os.path.join(os.path.dirname(__file__), "evals")
REQUEST = "add a /health endpoint returning status ok"
FILES = {
    "app/main.py": 'def root():\n    return {"service": "app"}\n',
    "tests/test_main.py": "from app.main import root\n\n\ndef test_root():\n    assert root()\n",
    "requirements.txt": "fastapi\n",
}
SPEC = '{"title": "Add /health", "criteria": [{"id": "C1", "text": "GET /health answers with status ok"}]}'
NOBODY = {
    f"GIT_{role}_{fact}": value
    for role in ("AUTHOR", "COMMITTER")
    for fact, value in (("NAME", "nobody"), ("EMAIL", "nobody@localhost"))
}


def prove_all() -> list[dict[str, Any]]:
    """A row for each fixture of all protocols: the step, what it should say, what it said; half a minute."""
    gates = {"validate": gate_proofs.prove_static_gate(), "test": gate_proofs.prove_test_gate()}
    factory = [
        *prove_answers("factory"),
        *prove_base(),
        *({"step": step, **row} for step, rows in gates.items() for row in rows),
    ]
    return [*_in_order("codemode", codemode.prove_steps()), *_in_order("factory", factory)]


def _in_order(protocol, rows):
    order = list(load_shipped(protocol).steps)
    rows = sorted(rows, key=lambda row: order.index(row["step"]))
    return [{**row, "step": f"{protocol} {row['step']}"} for row in rows]


def prove_answers(protocol: str) -> list[dict[str, Any]]:
    """The fixtures of the steps that somebody answers; a second or two."""
    import yaml

    with open(os.path.join(FOLDER, protocol + ".yml"), encoding="utf-8") as file:
        cases = yaml.safe_load(file)
    given = load_shipped(protocol)
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        work = _create_target(place)
        try:
            return [
                _answered(given, name, work, case) for name, rows in cases.items() for case in rows
            ]
        finally:
            work.close()


def _create_target(place):
    repo = os.path.join(place, "repo")
    write_tree(repo, FILES)
    for words in (
        ["init", "-q"],
        ["add", "-A", "-f"],
        ["commit", "-q", "-m", "base"],
    ):
        run_git(repo, *words, variables=NOBODY)
    run = {"id": "run_0", "repo": "repo", "base_commit": Target(repo).head(), "request": REQUEST}
    return Workspace(Place(place), run, {})


def _answered(
    protocol: Protocol, name: str, work: Workspace, case: dict[str, str]
) -> dict[str, Any]:
    """A case with a `build` is about what speaks against asking at all."""
    step, before = protocol.steps[name], {"plan": SPEC, "build": case.get("build")}
    asked = StepContext(protocol, REQUEST, {**dict.fromkeys(protocol.steps), **before})
    objects = (
        kind_of(step).find_objection(work, asked)
        if "build" in case
        else check_answer(step, work, asked, case["answer"])
    )
    return _compare_verdict(name, case["name"], case["expects"], objects)


def prove_base() -> list[dict[str, Any]]:
    """`ready` on a base that passes a command of its own, and on one that does not."""
    found = []
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        work = _create_target(place)
        for name, code, expects in (
            ("a base that passes", "pass", "pass"),
            ("a base that fails", "1/0", "check"),
        ):
            job = work.make_base_job()
            job.settings = Settings(
                commands={"check": ["true"], "test": ["python", "-c", code]}, replaces=("check", "test"),
                minimum_level="L0",
            )  # fmt: skip
            found.append(_compare_verdict("ready", name, expects, ready.judge_baseline(job)))
        work.close()
    return found


def _compare_verdict(step, name, expects, verdict):
    got = verdict.reason if verdict else "pass"
    says = verdict.says if verdict else ""
    return {
        "step": step,
        "case": name,
        "expected": expects,
        "got": got,
        "says": says,
        "ok": got == expects,
    }
