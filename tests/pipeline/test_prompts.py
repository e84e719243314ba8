"""The question of each step: its examples match the contracts, and it shows the needed files."""

import json
import os
import subprocess
import sys
import sysconfig

import pytest

from kaizen_components.errors import Unavailable
from kaizen_components.pipeline import prompt
from kaizen_components.pipeline.answers.context import StepContext
from kaizen_components.pipeline.answers.contracts import MODELS
from kaizen_components.pipeline.answers.parse import validate_answer
from kaizen_components.pipeline.ask.messages import SEPARATOR, build_messages, check_answer
from kaizen_components.pipeline.edits import apply as edits
from kaizen_components.pipeline.prompt import PROMPTS
from kaizen_components.pipeline.protocol import load_shipped
from kaizen_components.pipeline.spec import check_spec
from kaizen_components.pipeline.target.examples import strip_tests
from kaizen_components.pipeline.target.target import Target
from kaizen_components.pipeline.target.workspace import ROOM_CHARS, Workspace
from kaizen_components.store.place import Place

from ..conftest import ROOT
from .factory import SPEC, whole
from .targets import FASTAPI, repository

FACTORY = load_shipped("factory")
STEPS = FACTORY.steps


@pytest.fixture
def asks(tmp_path, root):
    """`asks("build", scout=…)` returns the question of a step as (system, user)."""

    def ask(step, files=None, request="add /health", **answers):
        repo = repository(tmp_path / "target", {**FASTAPI, **(files or {})})
        run = {
            "id": "run_1", "repo": os.path.relpath(repo, root), "base_commit": Target(str(repo)).find_head(), "request": "r",
        }  # fmt: skip
        texts = {
            "plan": json.dumps(SPEC),
            **{name: json.dumps(given) for name, given in answers.items()},
        }
        work = Workspace(Place(str(root)), run, {})
        return [
            one["content"]
            for one in build_messages(STEPS[step], work, StepContext(FACTORY, request, texts))
        ]

    return ask


@pytest.mark.parametrize("contract", ["brief", "review"])
def test_prompt_example_matches_its_contract(contract):
    with open(os.path.join(PROMPTS, f"{contract}.md"), encoding="utf-8") as file:
        system = file.read().partition(SEPARATOR)[0]

    assert validate_answer(system, MODELS[contract])


@pytest.mark.parametrize(
    ("request_", "shown"),
    [("add a /health endpoint", "GET /zone"), ("add slug(text) in app/text.py", "double(3)")],
)
def test_plan_prompt_example_matches_kind_of_request(asks, request_, shown):
    system, _ = asks("plan", request=request_)

    assert shown in validate_answer(system, MODELS["spec"]).model_dump()["criteria"][0]["text"]


def test_builder_sees_whole_small_repository(asks):
    _, user = asks("build", scout={"files": ["tests/test_main.py"]})

    assert "=== app/main.py\nfrom fastapi import FastAPI" in user


def test_builder_prompt_never_lists_existing_file_as_new(asks):
    _, user = asks(
        "build",
        scout={"files": ["tests/test_main.py"], "new_files": ["app/__init__.py", "app/main.py"]},
    )

    assert user.count("=== app/main.py\n") == 1
    assert "Files to create" not in user


def test_builder_sees_cited_files_of_large_repository(asks):
    large = {f"app/part{number}.py": f"# {number}\n" * 300 for number in range(9)}
    _, user = asks("build", large, scout={"files": ["app/part8.py"]})

    assert "=== app/part8.py" in user
    assert len(user) < 2 * ROOM_CHARS


def test_builder_prompt_omits_paths_it_may_not_write(asks):
    files = ["tests/test_main.py", "pyproject.toml", "app/main.py"]
    brief = {"files": files, "new_files": ["tests/test_health.py", "app/health.py"]}
    _, user = asks("build", {"pyproject.toml": "[tool.ruff]\n"}, scout=brief)

    assert "=== pyproject.toml (read it, do not write it)\n[tool.ruff]" in user
    assert user.index("=== app/main.py\n") < user.index("=== pyproject.toml")
    assert "Files to create: app/health.py\n" in user
    assert "test_main" not in user and "test_health" not in user


def test_builder_prompt_omits_prior_art_without_path(asks):
    art = ["The /health endpoint is there already", "app/main.py makes the app"]
    _, user = asks("build", scout={"files": ["app/main.py"], "prior_art": art})

    assert "Exists already: app/main.py makes the app" in user
    assert "The /health endpoint is there" not in user


@pytest.mark.parametrize(
    ("request_", "counts"),
    [
        ("add a /health endpoint", []),
        ("add a /health endpoint and correct the tests", ["tests/**"]),
        ("write the version into pyproject.toml", ["pyproject.toml"]),
    ],
)
def test_plan_grants_only_requested_paths(request_, counts):
    plan = json.dumps({**SPEC, "grants": ["tests/**", "pyproject.toml"]})

    assert StepContext(FACTORY, request_, {"plan": plan}).spec["grants"] == counts


def test_answer_with_two_versions_of_file_is_refused(tmp_path, root):
    repo = repository(tmp_path / "target", FASTAPI)
    run = {
        "id": "run_1",
        "repo": os.path.relpath(repo, root),
        "base_commit": Target(str(repo)).find_head(),
        "request": "r",
    }
    asked = StepContext(FACTORY, "add /health", {"plan": json.dumps(SPEC)})

    verdict = check_answer(
        STEPS["build"],
        Workspace(Place(str(root)), run, {}),
        asked,
        whole("app/x.py", "x = 1\n=======\nx = 2\n"),
    )

    assert verdict.reason == "check"
    assert "invalid syntax: ======= (write the file once" in verdict.findings[0].text


@pytest.mark.parametrize(
    ("request_", "forgets"),
    [
        ("add a /health endpoint returning status ok", ["ok"]),
        ("add /health that returns 200, and nothing else", []),
        ("add /health, which returns the state of the service", []),
        ("add /health returning state", ["state"]),
        ("add /health in app/main.py", ["app/main.py"]),
    ],
)
def test_plan_without_requested_result_is_refused(request_, forgets):
    spec = {
        **SPEC,
        "criteria": [{"id": "C1", "text": "GET /health returns status 200"}],
        "constraints": [],
    }

    assert [
        one.text.split()[3].strip(",") for one in check_spec({**spec, "out_of_scope": []}, request_)
    ] == forgets


@pytest.mark.parametrize(
    "request_, forgets",
    [
        ("mul(a, b) in calc.py returns the product of a and b", ["mul"]),
        ("add a function mul to calc.py", ["mul"]),
        ("make parse() raise ValueError on empty text", ["parse", "ValueError"]),
        ("rename the class Cart to Basket", ["Cart", "Basket"]),
        ("add a function to calc.py for a class of numbers", []),
    ],
)  # fmt: skip
def test_plan_without_requested_names_is_refused(request_, forgets):
    spec = {
        "title": "Add",
        "criteria": [{"id": "C1", "text": "add(2, 3) in calc.py returns 5"}],
        "constraints": [],
    }

    assert [
        one.text.split()[3].strip(",") for one in check_spec({**spec, "out_of_scope": []}, request_)
    ] == forgets


def test_test_writer_is_given_an_unused_file_name(asks):
    _, user = asks(
        "tests",
        {"tests/test_add_a_health_endpoint.py": "def test_nothing() -> None:\n    assert 1 == 1\n"},
    )

    assert "Write the new file tests/test_add_a_health_endpoint_2.py." in user


def test_test_writer_sees_fixtures_but_not_assertions(asks):
    _, user = asks("tests")

    assert "from app.main import app\n\nclient = TestClient(app)\n" in user
    assert "def test_root" not in user


def test_example_for_test_writer_keeps_only_fixtures():
    kept = "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n"
    tests = "\n\n@pytest.mark.slow\ndef test_one(one):\n    assert one == 1\n\n\nclass TestTwo:\n    x = 1\n"

    assert strip_tests(kept + tests) == kept
    assert strip_tests("def test_one():\n    assert 1\n") == "def test_one():\n    assert 1\n"
    assert strip_tests("def test_one(:\n") == "def test_one(:\n"


def test_builder_prompt_explains_deletion_only_when_requested():
    assert "DELETE" not in edits.describe_format([], "- C1: GET /health answers")
    assert "DELETE" in edits.describe_format([], "- C1: app/old.py is removed")


def test_edit_blocks_are_explained_only_for_long_files():
    assert [edit.kind for edit in edits.parse_edits(edits.describe_format(["x = 1\n" * 199]))] == [
        "whole"
    ]
    assert [edit.kind for edit in edits.parse_edits(edits.describe_format(["x = 1\n" * 200]))] == [
        "whole",
        "replace",
    ]


def test_user_template_is_rendered_in_subprocess():
    assert (
        prompt.render_in_subprocess("{{ words|join(' ') }} {{ 'é\n' }}", {"words": {"b", "a"}})
        == "a b é\n"
    )
    assert prompt.list_variables("{{ a }}{% for b in c %}{{ b }}{% endfor %}") == {"a", "c"}
    with pytest.raises(prompt.PromptError, match="UndefinedError: 'x' is undefined"):
        prompt.render_in_subprocess("{{ x }}", {})


def test_template_subprocess_finds_jinja(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    script = "from kaizen_components.pipeline import prompt; print(prompt.render_in_subprocess('{{ x }}', {'x': 'made'}))"
    paths = os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [str(tmp_path / "bin" / "python"), "-c", script], env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
        text=True,
    )  # fmt: skip

    assert done.stdout == "made\n", done.stderr


def test_rendering_without_python_raises_unavailable(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(Unavailable):
        prompt.render_in_subprocess("{{ x }}", {"x": 1})
