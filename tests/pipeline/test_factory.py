"""The factory from the command line, with its real gates, against a scripted model and a real FastAPI project."""

import json
import os
import subprocess
import sys

import pytest

from kaizen_components.pipeline.gates import registry
from kaizen_components.pipeline.target.target import Target
from kaizen_components.pipeline.target.workspace import Workspace
from kaizen_components.store.place import Place

from ..conftest import find_tool, git
from . import fast_gates
from .factory import (
    GOOD,
    PLAIN,
    PLAIN_FILES,
    PLAIN_TEST,
    QUICK,
    ROUTE,
    SPEC,
    Model,
    main_with,
    target,
    whole,
)
from .targets import FASTAPI, everything, repository, write

ONLY_CHECK = QUICK[QUICK.index("[gates.test]") :]
ONLY_TEST = 'repeats = 1\n[gates.check]\ncommand = ["python", "-c", "pass"]\nreplace = true\n'
TYPE_ERROR = ROUTE.replace('"ok"', "1")


SCAFFOLD = """
uv init --package targetapp && cd targetapp
uv add fastapi uvicorn
uv add --dev ruff mypy pytest pytest-cov httpx
"""


@pytest.fixture(scope="module")
def scaffolded(tmp_path_factory):
    """Return a target made by uv as a user would: in editable mode, with the app beside src/."""
    folder = tmp_path_factory.mktemp("month 10")
    uv = os.path.dirname(find_tool("uv", os.path.dirname(sys.executable)))
    environment = {**os.environ, "PATH": uv + os.pathsep + os.environ["PATH"]}
    environment.pop("VIRTUAL_ENV", None)
    subprocess.run(
        ["bash", "-euc", SCAFFOLD], cwd=folder, env=environment, check=True, capture_output=True
    )
    repo = folder / "targetapp"
    write(repo, {**FASTAPI, ".kaizen/pipeline.toml": "repeats = 1\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "scaffold targetapp")
    write(repo, {"notes.txt": "not committed\n"})
    return repo


def test_scaffolded_fastapi_target_gets_health_route(factory, scaffolded, level):
    run = factory(Model(), repo=scaffolded, python="", env={"KAIZEN_SANDBOX_MAX": level})

    assert run.done.exit_code == 0, run.done.err
    assert (run.answer["outcome"], run.answer["build_attempts"]) == ("accepted", 1)
    steps = ("plan", "ready", "scout", "build", "validate", "tests", "test", "review")
    assert run.steps == [(step, 1, "pass") for step in steps]
    proofs = [
        run.cli("Q7", "--id", gate["proof_id"], "--json").json["record"]
        for gate in run.card["gates"]
        if gate["proof_id"]
    ]
    assert [(proof["tier"], proof["outcome"]) for proof in proofs] == [("witnessed", "passed")] * 3
    assert all(level in proof["protection"] for proof in proofs)

    assert run.answer["branch"] == f"kaizen/{run.id}"
    assert '+@app.get("/health")' in run.git("diff", "HEAD", run.answer["branch"])
    assert run.git("diff", "--stat", "HEAD", run.answer["branch"]).count("|") == 2
    assert run.git("status", "--short") == "?? notes.txt\n"

    ended = run.events("ended")[0]
    assert ended["build_attempts"] == 1 and ended["seconds"] > 1
    assert (ended["tokens_in"], ended["tokens_out"], ended["cost_usd"]) == (55, 35, 0.000125)
    assert ended["rejected_cost_usd"] == 0
    assert {event.get("step") for event in run.trace} >= {*steps}
    assert sorted(ended["artifacts"]) == ["brief.json", "change.diff", "spec.md"]
    assert run.cli("K8", "--json").json["status"] == "OK"
    assert "ready 1" in run.cli("T3", "--trace-id", run.id).out


def test_type_error_is_returned_to_builder_and_fixed(factory):
    model = Model(build=[main_with(TYPE_ERROR), main_with(ROUTE)])
    run = factory(model, settings=ONLY_CHECK)

    assert run.answer["outcome"] == "accepted", run.done.err
    assert [step for step in run.steps if step[0] in ("build", "validate")] == [
        ("build", 1, "pass"), ("validate", 1, "check"), ("build", 2, "pass"), ("validate", 2, "pass"),
    ]  # fmt: skip
    first, second = model.questions("build")
    assert "dict-item" not in first
    assert "app/main.py" in second and "dict-item" in second and '"status": 1' in second
    assert (run.answer["build_attempts"], run.answer["rejected_answers"]) == (2, 1)
    assert run.answer["rejected_cost_usd"] == 0.000025


def test_failing_test_is_returned_to_builder_and_fixed(factory, tmp_path):
    wrong = PLAIN["build"][0].replace('"ok"', '"fine"')
    model = Model(**{**PLAIN, "build": [wrong, *PLAIN["build"]]})
    run = factory(model, repo=target(tmp_path / "targetapp", ONLY_TEST, PLAIN_FILES))

    assert run.answer["outcome"] == "accepted", run.done.err
    assert [step for step in run.steps if step[0] in ("build", "tests", "test")] == [
        ("build", 1, "pass"), ("tests", 1, "pass"), ("test", 1, "check"), ("build", 2, "pass"), ("test", 2, "pass"),
    ]  # fmt: skip
    assert "test_health_is_ok" in model.questions("build")[1]
    assert len(model.questions("tests")) == 1  # kept, because they depend on the spec alone


def test_weak_tests_are_returned_to_test_writer(factory, tmp_path):
    idle = whole("tests/test_health.py", PLAIN_TEST.replace("health() ==", "health is not"))
    model = Model(**{**PLAIN, "tests": [idle, *PLAIN["tests"]]})
    run = factory(model, repo=target(tmp_path / "targetapp", ONLY_TEST, PLAIN_FILES))

    assert run.answer["outcome"] == "accepted", run.done.err
    assert ("test", 1, "weak") in run.steps and ("tests", 2, "pass") in run.steps
    assert run.answer["build_attempts"] == 1


def test_base_with_failing_tests_is_refused_unless_allowed(factory, tmp_path):
    broken = {"tests/test_old.py": "def test_old() -> None:\n    assert 1 == 2\n"}
    repo = target(tmp_path / "targetapp", ONLY_TEST, {**PLAIN_FILES, **broken})
    before = everything(repo)
    refused = factory(Model(**PLAIN), repo=repo)

    assert refused.done.exit_code == 5
    assert (refused.answer["outcome"], refused.steps) == (
        "blocked",
        [("plan", 1, "pass"), ("ready", 1, "check")],
    )
    assert "--allow-failing-baseline" in refused.card["gates"][1]["says"]
    assert everything(repo) == before
    allowed = factory(Model(**PLAIN), "--allow-failing-baseline", repo=repo)
    assert allowed.answer["outcome"] == "accepted", allowed.done.err


def test_src_layout_without_tests_is_accepted(factory, tmp_path):
    source = '"""Prices."""\n\n\ndef net(gross: float) -> float:\n    return gross / 1.2\n'
    repo = repository(
        tmp_path / "shop",
        {
            "src/shop/__init__.py": "", "src/shop/money/__init__.py": "", "src/shop/money/price.py": source,
            ".kaizen/pipeline.toml": "repeats = 1\n",
        },
    )  # fmt: skip
    added = source + "\n\ndef gross(net: float) -> float:\n    return net * 1.2\n"
    spec = {
        "title": "Add gross",
        "criteria": [{"id": "C1", "text": "gross(10) in src/shop/money/price.py returns 12"}],
    }
    test = "from shop.money.price import gross\n\n\ndef test_gross() -> None:\n    assert gross(10) == 12\n"
    model = Model(
        plan=[json.dumps(spec)], scout=[json.dumps({"files": ["src/shop/money/price.py"]})],
        build=[whole("src/shop/money/price.py", added)], tests=[whole("tests/test_gross.py", test)],
    )  # fmt: skip
    run = factory(model, repo=repo, request="add a function gross(net) to src/shop/money/price.py")

    assert run.answer["outcome"] == "accepted", (run.done.err, run.card["gates"])
    assert run.card["gates"][1]["says"] == "0 tests pass on the base."


def test_missing_tool_blocks_run_with_install_command(factory, tmp_path):
    repo = target(tmp_path / "targetapp")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(repo / ".venv")], check=True)
    run = factory(Model(), repo=repo, python=".venv/bin/python")

    assert run.done.exit_code == 5
    assert run.answer["outcome"] == "blocked"
    assert "uv pip install --python .venv/bin/python ruff" in run.answer["findings"][0]


def test_broken_tools_block_run_before_the_build(factory, tmp_path):
    repo = target(tmp_path / "targetapp")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(repo / ".venv")], check=True)
    (packages,) = (repo / ".venv").glob("lib/python3*/site-packages")
    for name in ("ruff", "mypy", "pytest", "coverage"):
        write(packages, {f"{name}/__init__.py": "raise ImportError('half of it is gone')\n"})
        write(
            packages,
            {
                f"{name}-9.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n"
            },
        )
    model = Model()
    run = factory(model, repo=repo, python=".venv/bin/python")

    assert (run.done.exit_code, run.answer["outcome"]) == (5, "blocked")
    assert [stage for stage, _ in model.asked] == ["plan"]
    assert "no report with a valid signature: ModuleNotFoundError" in run.answer["findings"][0]


def test_javascript_project_uses_its_own_commands(factory, tmp_path, tool):
    tool("node")
    settings = (
        '[gates.check]\ncommand = ["node", "--check", "sums.js"]\nreplace = true\n'
        '[gates.test]\ncommand = ["node", "--test"]\nreplace = true\n'
    )
    source = "exports.add = (a, b) => a + b;\n"
    start = 'const test = require("node:test");\nconst assert = require("node:assert");\n'
    old = (
        start
        + 'const { add } = require("../sums.js");\ntest("add", () => assert.strictEqual(add(1, 2), 3));\n'
    )
    new = old.replace("add", "double").replace("double(1, 2), 3", "double(3), 6")
    repo = repository(
        tmp_path / "sums",
        {"sums.js": source, "test/add.test.js": old, ".kaizen/pipeline.toml": settings},
    )
    spec = {
        "title": "Add double",
        "criteria": [{"id": "C1", "text": "double(3) in sums.js returns 6"}],
    }
    wrong, right = (source + f"exports.double = (a) => a {word};\n" for word in ("+ 2", "* 2"))
    model = Model(
        plan=[json.dumps(spec)], scout=[json.dumps({"files": ["sums.js"]})],
        build=[whole("sums.js", text) for text in (source + "exports.double = (a => {;\n", wrong, right)],
        tests=[whole("test/idle.test.js", start), whole("test/add_double.test.js", new)],
    )  # fmt: skip
    run = factory(model, repo=repo, request="add a function double(a) to sums.js")

    assert run.answer["outcome"] == "accepted", (run.done.err, run.card["gates"])
    assert [step for step in run.steps if step[0] in ("validate", "test")] == [
        ("validate", 1, "check"), ("validate", 2, "pass"), ("test", 1, "weak"), ("test", 2, "regression"),
        ("validate", 3, "pass"), ("test", 3, "pass"),
    ]  # fmt: skip
    assert "Write the new file test/add_double.test.js." in model.questions("tests")[0]
    assert "pytest" not in model.questions("tests")[0]


FAST_CASES = {  # expected reason -> answers of the builder and the test writer
    "pass": (GOOD["build"][0], GOOD["tests"][0]),
    "regression": (main_with("\n# no route\n"), GOOD["tests"][0]),
    "weak": (GOOD["build"][0], whole("tests/test_other.py", "def test() -> None:\n    assert 1\n")),
}


@pytest.mark.parametrize("reason", FAST_CASES)
def test_fast_test_gates_decide_like_real_gates(tmp_path, root, reason):
    repo = target(tmp_path / "targetapp", QUICK)
    run = {
        "id": "run_1",
        "repo": "../targetapp",
        "base_commit": Target(str(repo)).find_head(),
        "request": "r",
    }
    workspace = Workspace(Place(str(root)), run, {"python": sys.executable})
    job = workspace.make_job(
        {**SPEC, "constraints": [], "out_of_scope": [], "grants": []}, *FAST_CASES[reason]
    )

    for name in ("ready", "static", "testing"):
        real = fast_gates.load_judge(registry.GATES[name].judge)
        assert fast_gates.SCRIPTED[name](job).reason == real(job).reason
    assert fast_gates.judge_tests(job).reason == reason
