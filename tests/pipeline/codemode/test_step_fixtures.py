"""Check that each step of codemode has good and bad fixtures and a complete prompt."""

import os
import pathlib

import jinja2
import pytest
import yaml

from kaizen_components.pipeline.ask.messages import SEPARATOR
from kaizen_components.pipeline.codemode import step_fixtures
from kaizen_components.pipeline.codemode.analysis import Analysis
from kaizen_components.pipeline.codemode.box.piece import build_failure
from kaizen_components.pipeline.prompt import PROMPTS
from kaizen_components.pipeline.protocol import load_shipped
from kaizen_components.pipeline.verdict import REASONS

from .conftest import REQUEST, snippets, spec_text

PROTOCOL = load_shipped("codemode")


def test_every_step_has_good_and_bad_fixtures():
    """`K11 --gates` runs them, in tests/pipeline/test_prove.py."""
    fixtures = yaml.safe_load(pathlib.Path(step_fixtures.FILE).read_text(encoding="utf-8"))

    assert list(fixtures) == list(PROTOCOL.steps)
    for step, cases in fixtures.items():
        assert {case["expects"] == "pass" for case in cases} == {True, False}, step


def test_fixture_with_unexpected_result_is_not_ok(monkeypatch, tmp_path):
    path = tmp_path / "evals.yml"
    path.write_text("spec-synthesis:\n  - {name: wrong, answer: prose, expects: pass}\n")
    monkeypatch.setattr(step_fixtures, "FILE", str(path))

    (row,) = step_fixtures.prove_steps()
    assert (row["ok"], row["expected"], row["got"]) == (False, "pass", "malformed")


def test_codemode_protocol_limits_its_rounds():
    places = {*PROTOCOL.steps, "accepted", "rejected", "blocked"}
    for step in PROTOCOL.steps.values():
        assert set(step.next) <= set(REASONS)
        assert {to for to, _ in step.next.values()} <= places
    assert PROTOCOL.steps["execution-analysis"].next["more"] == ("exploration-plan", 2)
    assert PROTOCOL.steps["spec-refinement"].attempts == 2


VALUE = {**build_failure("", ""), "success": True, "output": "'x'", "stdout": "hi", "stable": True}
VALUES = {
    "request": REQUEST,
    "function": "app.text:slugify",
    "source": "def slugify(text): ...",
    "earlier": snippets()[:2],
    "spec": spec_text(),
    "failing": "- C1 fails",
    "feedback": "It has 1 fault.",
    "previous": "{}",
    "schema": Analysis.model_json_schema(),
    "results": [
        {**snippets()[0], **VALUE},
        {**snippets()[9], **build_failure("Odd", "no"), "stable": False},
    ],
}


@pytest.mark.parametrize("kind", [step.answer for step in PROTOCOL.steps.values() if step.answer])
def test_prompt_shows_request_source_and_results(kind):
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PROMPTS),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template(f"{kind}.md")

    system, separator, user = template.render(**VALUES).partition(SEPARATOR)

    assert separator and system.strip()
    parts = [REQUEST, "def slugify(text)", "It has 1 fault."]
    parts += [] if kind == "snippets" else ["gives 'x'"]
    assert [part for part in parts if part not in user] == []
    quiet = template.render(**{**VALUES, "feedback": "", "previous": "", "earlier": []})
    assert "fault" not in quiet.partition(SEPARATOR)[2]


def test_example_in_spec_prompt_is_valid_yaml():
    with open(os.path.join(PROMPTS, "cases.md"), encoding="utf-8") as file:
        example = file.read().partition(SEPARATOR)[0].partition("after a |:\n")[2]

    cases = yaml.safe_load(example.replace("{{ function }}", "m:f"))["cases"]
    assert set(cases[0]) == {"id", "description", "call", "expect", "from"}
