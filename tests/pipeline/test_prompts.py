"""What each step is asked: the example keeps to the contract, and a weak scout does not leave the builder blind."""

import json
import os

import pytest

from kaizen_components.pipeline import edits
from kaizen_components.pipeline.answers import validated
from kaizen_components.pipeline.asking import BREAK, PROMPTS, Asked, messages
from kaizen_components.pipeline.contracts import MODELS
from kaizen_components.pipeline.protocol import load
from kaizen_components.pipeline.target import Target
from kaizen_components.pipeline.work import ROOM_CHARS, Work
from kaizen_components.store.place import Place

from .factory import SPEC
from .targets import FASTAPI, repository

STEPS = load("factory").steps


@pytest.fixture
def asks(tmp_path, root):
    """`asks("build", brief=…)`: what the step is asked, as (system, user)."""

    def ask(step, files=None, **answers):
        repo = repository(tmp_path / "target", {**FASTAPI, **(files or {})})
        run = {
            "id": "run_1", "repo": os.path.relpath(repo, root), "base_commit": Target(str(repo)).head(), "request": "r",
        }  # fmt: skip
        texts = {"plan": json.dumps(SPEC), **{name: json.dumps(given) for name, given in answers.items()}}
        work = Work(Place(str(root)), run, {})
        return [one["content"] for one in messages(STEPS[step], work, Asked("add /health", texts, "", None))]

    return ask


@pytest.mark.parametrize(("step", "contract"), [("plan", "spec"), ("scout", "brief"), ("review", "review")])
def test_the_example_in_a_prompt_keeps_to_its_contract(step, contract):
    with open(os.path.join(PROMPTS, f"{step}.md"), encoding="utf-8") as file:
        system = file.read().partition(BREAK)[0]

    assert validated(system, MODELS[contract])


def test_the_builder_sees_the_sources_of_a_small_repository_that_its_scout_forgot(asks):
    _, user = asks("build", scout={"files": ["tests/test_main.py"]})

    assert "=== app/main.py\nfrom fastapi import FastAPI" in user


def test_a_new_file_that_is_there_already_is_shown_as_one_to_change(asks):
    _, user = asks("build", scout={"files": ["tests/test_main.py"], "new_files": ["app/__init__.py", "app/main.py"]})

    assert user.count("=== app/main.py\n") == 1
    assert "Files that should be made" not in user


def test_of_a_large_repository_the_builder_sees_what_was_cited(asks):
    large = {f"app/part{number}.py": f"# {number}\n" * 300 for number in range(9)}
    _, user = asks("build", large, scout={"files": ["app/part8.py"]})

    assert "=== app/part8.py" in user
    assert len(user) < 2 * ROOM_CHARS


def test_the_builder_is_told_which_files_it_may_not_write(asks):
    brief = {"files": ["tests/test_main.py", "app/main.py"], "new_files": ["tests/test_health.py", "app/health.py"]}
    _, user = asks("build", scout=brief)

    assert "=== tests/test_main.py (read it, do not write it)" in user
    assert user.index("=== app/main.py\n") < user.index("=== tests/test_main.py")
    assert "Files that should be made: app/health.py\n" in user


def test_whoever_writes_tests_is_given_a_path_that_is_free(asks):
    _, user = asks("tests", {"tests/test_add_a_health_endpoint.py": "def test_nothing() -> None:\n    assert 1 == 1\n"})

    assert "Write the new file tests/test_add_a_health_endpoint_2.py." in user


def test_blocks_are_explained_only_where_a_file_is_long():
    assert [edit.kind for edit in edits.parse(edits.form(["x = 1\n" * 199]))] == ["whole"]
    assert [edit.kind for edit in edits.parse(edits.form(["x = 1\n" * 200]))] == ["whole", "replace"]
