"""Check that each step that an agent answers has a skill with the rules of the session."""

import json

import pytest
import yaml

from kaizen_components.pipeline.answers.contracts import MODELS
from kaizen_components.pipeline.protocol import list_shipped, load_shipped
from kaizen_components.pipeline.protocols.skills import render_skills

from ..conftest import ROOT

EVERY = {
    path: text
    for name in list_shipped()
    for path, text in render_skills(load_shipped(name)).items()
}


@pytest.mark.parametrize("path", EVERY)
def test_generated_skill_is_valid_and_current(path):
    _, front, body = EVERY[path].split("---\n", 2)
    given = yaml.safe_load(front)

    assert set(given) == {"name", "description"}
    assert (
        given["name"] == path.split("/")[-2] == given["name"].lower() and len(given["name"]) <= 64
    )
    assert 1 <= len(given["description"]) <= 1024
    assert [line for line in body.splitlines() if line.startswith("## ")] == [
        "## Input", "## Output", "## Validator", "## Next", "## Commands",
    ]  # fmt: skip
    assert "kaizen P5 --id RUN" in body and "kaizen P4 --lease LEASE" in body
    assert (ROOT / path).read_text() == EVERY[path], "run `make docs`"


def test_every_ask_step_has_a_generated_skill():
    names = {
        f"kaizen-{name}-{step.name}"
        for name in list_shipped()
        for step in load_shipped(name).steps.values()
        if step.kind == "ask"
    }

    assert {path.split("/")[-2] for path in EVERY} == names


def test_plan_skill_shows_the_spec_schema():
    text = EVERY[".agents/skills/kaizen-factory-plan/SKILL.md"]

    assert (
        json.loads(text.split("```json\n")[1].split("```")[0]) == MODELS["spec"].model_json_schema()
    )
