"""Each step and gate on good and bad fixtures of its own: what cannot tell them apart is not used (K11, CI)."""

import os
import subprocess
import tempfile
from typing import Any

from ...store.place import Place
from ..answers.context import Asked
from ..answers.kinds import kind_of
from ..ask.asking import judged
from ..codemode import prove as codemode
from ..gates import ready
from ..gates.static import prove as static
from ..gates.tests import prove as testing
from ..job import Settings
from ..protocol import Protocol, load
from ..target.fixture_tree import lay_out
from ..target.target import Target
from ..target.work import Work

FOLDER = os.path.join(os.path.dirname(__file__), "evals")
REQUEST = "add a /health endpoint returning status ok"
FILES = {
    "app/main.py": 'def root():\n    return {"service": "app"}\n',
    "tests/test_main.py": "from app.main import root\n\n\ndef test_root():\n    assert root()\n",
    "requirements.txt": "fastapi\n",
}
SPEC = '{"title": "Add /health", "criteria": [{"id": "C1", "text": "GET /health answers with status ok"}]}'
NOBODY = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")


def prove() -> list[dict[str, Any]]:
    """A row for each fixture of all protocols: the step, what it should say, what it said; half a minute."""
    gates = {"validate": static.prove(), "test": testing.prove()}
    factory = [
        *answers("factory"),
        *base(),
        *({"step": step, **row} for step, rows in gates.items() for row in rows),
    ]
    return [*_in_order("codemode", codemode.prove()), *_in_order("factory", factory)]


def _in_order(protocol, rows):
    order = list(load(protocol).steps)
    rows = sorted(rows, key=lambda row: order.index(row["step"]))
    return [{**row, "step": f"{protocol} {row['step']}"} for row in rows]


def answers(protocol: str) -> list[dict[str, Any]]:
    """The fixtures of the steps that somebody answers; a second or two."""
    import yaml

    with open(os.path.join(FOLDER, protocol + ".yml"), encoding="utf-8") as file:
        cases = yaml.safe_load(file)
    given = load(protocol)
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        work = _work(place)
        try:
            return [
                _answered(given, name, work, case) for name, rows in cases.items() for case in rows
            ]
        finally:
            work.close()


def _work(place):
    repo = os.path.join(place, "repo")
    lay_out(repo, FILES)
    for words in (
        ["init", "-q"],
        ["add", "-A", "-f"],
        [*NOBODY, "commit", "-q", "--no-verify", "-m", "base"],
    ):
        subprocess.run(["git", *words], cwd=repo, check=True, capture_output=True)
    run = {"id": "run_0", "repo": "repo", "base_commit": Target(repo).head(), "request": REQUEST}
    return Work(Place(place), run, {})


def _answered(protocol: Protocol, name: str, work: Work, case: dict[str, str]) -> dict[str, Any]:
    """A case with a `build` is about what speaks against asking at all."""
    step, before = protocol.steps[name], {"plan": SPEC, "build": case.get("build")}
    asked = Asked(protocol, REQUEST, {**dict.fromkeys(protocol.steps), **before})
    objects = (
        kind_of(step).objection(work, asked)
        if "build" in case
        else judged(step, work, asked, case["answer"])
    )
    return _row(name, case["name"], case["expects"], objects)


def base() -> list[dict[str, Any]]:
    """`ready` on a base that passes a command of its own, and on one that does not."""
    found = []
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        work = _work(place)
        for name, code, expects in (
            ("a base that passes", "pass", "pass"),
            ("a base that fails", "1/0", "check"),
        ):
            job = work.untouched()
            job.settings = Settings(
                commands={"check": ["true"], "test": ["python", "-c", code]}, replaces=("check", "test"),
                minimum_level="L0",
            )  # fmt: skip
            found.append(_row("ready", name, expects, ready.judge(job)))
        work.close()
    return found


def _row(step, name, expects, verdict):
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
