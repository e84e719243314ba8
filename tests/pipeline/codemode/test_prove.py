"""Every step of codemode proves itself on good and bad fixtures, and its protocol names all of them."""

import os
import pathlib

import jinja2
import pytest
import yaml

from kaizen_components.pipeline.ask.messages import BREAK
from kaizen_components.pipeline.codemode import step_fixtures
from kaizen_components.pipeline.codemode.analysis import Analysis
from kaizen_components.pipeline.codemode.box.piece import failed
from kaizen_components.pipeline.prompt import PROMPTS
from kaizen_components.pipeline.protocol import load_shipped
from kaizen_components.pipeline.verdict import REASONS

from .conftest import REQUEST, snippets, spec_text

PROTOCOL = load_shipped("codemode")


def test_every_step_has_a_good_fixture_and_a_bad_one():
    """Whether they are told apart is what `K11 --gates` says, in tests/pipeline/test_prove.py."""
    fixtures = yaml.safe_load(pathlib.Path(step_fixtures.FILE).read_text(encoding="utf-8"))

    assert list(fixtures) == list(PROTOCOL.steps)
    for step, cases in fixtures.items():
        assert {case["expects"] == "pass" for case in cases} == {True, False}, step


def test_a_fixture_that_expects_something_else_is_not_ok(monkeypatch, tmp_path):
    path = tmp_path / "evals.yml"
    path.write_text("spec-synthesis:\n  - {name: wrong, answer: prose, expects: pass}\n")
    monkeypatch.setattr(step_fixtures, "FILE", str(path))

    (row,) = step_fixtures.prove_steps()
    assert (row["ok"], row["expected"], row["got"]) == (False, "pass", "malformed")


def test_the_protocol_leads_every_reason_somewhere_and_bounds_its_rounds():
    for step in PROTOCOL.steps.values():
        assert set(step.next) <= set(REASONS)
        assert {to for to, _ in step.next.values()} <= {
            *PROTOCOL.steps,
            "accepted",
            "rejected",
            "blocked",
        }
    assert PROTOCOL.steps["execution-analysis"].next["more"] == ("exploration-plan", 2)
    assert PROTOCOL.steps["spec-refinement"].attempts == 2


VALUES = {
    "request": REQUEST, "function": "app.text:slugify", "source": "def slugify(text): ...", "earlier": snippets()[:2],
    "spec": spec_text(), "failing": "- C1 fails", "feedback": "It has 1 fault.", "previous": "{}",
    "schema": Analysis.model_json_schema(),
    "results": [
        {**snippets()[0], **failed("", ""), "success": True, "output": "'x'", "stdout": "hi", "stable": True},
        {**snippets()[9], **failed("Odd", "no"), "stable": False},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", [step.answer for step in PROTOCOL.steps.values() if step.answer])
def test_each_prompt_says_what_is_known_and_what_was_wrong(kind):
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PROMPTS),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    system, found, user = environment.get_template(f"{kind}.md").render(**VALUES).partition(BREAK)

    assert found and system.strip()
    for part in (REQUEST, "def slugify(text)", "It has 1 fault."):
        assert part in user
    if kind != "snippets":
        assert "gives 'x'" in user
    quiet = environment.get_template(f"{kind}.md").render(
        **{**VALUES, "feedback": "", "previous": "", "earlier": []}
    )
    assert "fault" not in quiet.partition(BREAK)[2]


def test_the_form_that_the_prompt_of_a_spec_shows_is_yaml():
    with open(os.path.join(PROMPTS, "cases.md"), encoding="utf-8") as file:
        shown = file.read().partition(BREAK)[0].partition("after a |:\n")[2]

    assert set(yaml.safe_load(shown.replace("{{ function }}", "m:f"))["cases"][0]) == {
        "id",
        "description",
        "call",
        "expect",
        "from",
    }
