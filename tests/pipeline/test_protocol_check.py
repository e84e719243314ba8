"""Check that a protocol that cannot work is reported with all of its faults."""

import datetime

import pytest

from kaizen_components.errors import Refused
from kaizen_components.pipeline import yaml_file
from kaizen_components.pipeline.protocol import list_shipped, load_shipped
from kaizen_components.pipeline.protocols.check import find_faults

from ..conftest import ROOT
from .protocols import NOTES, changed

NO_FIXTURE = "check needs a bad fixture, which shows that it can fail."


def step(name, **values):
    """Return a change that sets values of a step; None removes one."""

    def change(given):
        for key, value in values.items():
            if value is None:
                given["steps"][name].pop(key)
            else:
                given["steps"][name][key] = value

    return change


def lonely(given):
    given["steps"]["lonely"] = {**given["steps"]["check"]}


def looping(given):
    """Let notes and check lead to each other without a bound."""
    given["steps"]["notes"].pop("attempts")


def two_edits(given):
    for name in ("one", "two"):
        given["steps"][name] = {**given["steps"]["notes"], "answer": "edits"}
        given["steps"][name].pop("schema")


def static_first(given):
    given["steps"]["lint"] = {
        "kind": "gate",
        "about": "ruff",
        "gate": "static",
        "attempts": 2,
        "next": {"pass": "notes", "check": "notes", "regression": "notes"},
    }
    given["start"] = "lint"


CASES = {
    "a step that nothing leads to": (lonely, "lonely is never reached from notes."),
    "a reason without an edge": (
        step("check", next={"pass": "accepted"}),
        "check can end with check, but no edge leads on from there.",
    ),
    "an edge for an impossible reason": (
        step("notes", next={"pass": "check", "malformed": "notes", "reject": "rejected"}),
        "notes never ends with reject; it can end with pass, malformed.",
    ),
    "a loop without a bound": (
        looping,
        "check is in a loop without a bound: give a step in it `attempts`, or an edge `times`.",
    ),
    "a gate without a bad fixture": (step("check", fixtures={"good": [{}]}), NO_FIXTURE),
    "an answer that no gate sees": (
        step("notes", next={"pass": "accepted", "malformed": "check"}),
        "The answer to notes can be accepted although no gate has seen it.",
    ),
    "a gate before there is anything to judge": (
        static_first,
        "lint can be reached before any step of kind edits, which it needs.",
    ),
    "a review without edits to look at": (
        step("notes", answer="review", schema=None),
        "notes can be reached before any step of kind edits",
    ),
    "no way to succeed": (
        step("check", next={"pass": "failed", "check": "notes"}),
        "Nothing leads to accepted: no run could",
    ),
    "an unknown start": (
        lambda given: given.update(start="plan"),
        "It starts with plan, which is not a step; there are notes,",
    ),
    "an edge to an unknown step": (
        step("notes", next={"pass": "judge", "malformed": "notes"}),
        "notes: pass leads to judge, which is neither",
    ),
    "an unknown kind of answer": (
        step("notes", answer="poem", schema=None),
        "there is no answer 'poem'",
    ),
    "an unknown gate": (
        step("check", gate="vibes", command=None),
        "check: there is no gate 'vibes'",
    ),
    "an object without a schema": (
        step("notes", schema=None),
        "notes: answers of kind json need a schema",
    ),
    "an invalid schema": (
        step("notes", schema={"type": "objekt"}),
        "notes: its schema is invalid: type: ",
    ),
    "a schema from another file": (
        step("notes", schema={"$ref": "https://example.org/x.json"}),
        "leads out of the file; write it into $defs",
    ),
    "a prompt with a syntax error": (
        step("notes", prompt="{{ request"),
        "notes: its prompt cannot be read",
    ),
    "a prompt with an unknown variable": (
        step("notes", prompt="{{ requst }}"),
        "notes: its prompt uses requst",
    ),
    "an object without a prompt": (
        step("notes", prompt=None),
        "notes: an answer of kind json needs a prompt.",
    ),
    "a command gate without a command": (
        step("check", command=None),
        "check: gates of kind command need a command",
    ),
    "a fixture outside its contract": (
        step("check", fixtures={"good": [{}], "bad": [{"answers": {"notes": {"title": "One"}}}]}),
        "a fixture's answer to notes does not follow its schema: 'lines' is a required property.",
    ),
    "a fixture for an unknown step": (
        step("check", fixtures={"good": [{}], "bad": [{"answers": {"poem": "x"}}]}),
        "a fixture answers poem",
    ),
    "a fixture with a path outside": (
        step("check", fixtures={"good": [{}], "bad": [{"files": {"../x": "y"}}]}),
        "it contains ..",
    ),
    "two steps that change files": (
        two_edits,
        "one and two are of kind edits, but only one step may be.",
    ),
    "an unknown key": (step("notes", promt="x"), "'promt' was unexpected"),
    "attempts without end": (
        step("notes", attempts=0),
        "steps.notes.attempts: 0 is less than the minimum of 1",
    ),
    "no budget": (lambda given: given.update(budget={}), "budget: "),
    "a step named like an outcome": (
        lambda given: given["steps"].update(accepted=given["steps"]["notes"]),
        "A step cannot be called accepted",
    ),
    "a failed answer that is accepted": (
        step("notes", next={"pass": "check", "malformed": "accepted"}),
        "notes: malformed leads to accepted",
    ),
    "a gate that failed and is accepted": (
        step("check", next={"pass": "accepted", "check": "accepted"}),
        "check: check leads to accepted",
    ),
    "a failed answer that a gate gets": (
        step("notes", next={"pass": "check", "malformed": "check"}),
        "notes: malformed leads to the gate check",
    ),
    "a gate that ignores answers": (
        step("check", gate="ready", command=None, fixtures=None),
        "The answer to notes can be accepted although no gate",
    ),
    "a gate with keep": (step("check", keep=True), "check: a gate cannot have `keep`"),
    "a kept step that leads to itself": (
        step("notes", keep=True, next={"pass": "notes", "malformed": "notes"}),
        "notes has `keep`, and its pass leads",
    ),
    "a step with a reserved name": (
        lambda given: given["steps"].update(request=given["steps"]["notes"]),
        "A step cannot be called request",
    ),
    "a reference without an end": (
        step("notes", schema={"$ref": "#"}),
        "leads nowhere; name a place",
    ),
    "a reference to nothing": (
        step("notes", schema={"$ref": "#/$defs/no"}),
        "leads nowhere; name a place",
    ),
    "a key that is not text": (
        lambda given: given["steps"].update({1: {}}),
        "the key 1 is not text",
    ),
    "an infinite number": (
        lambda given: given.update(budget={"seconds": float("inf")}),
        "too large",
    ),
    "a date instead of a text": (
        lambda given: given.update(version=datetime.date(2026, 1, 1)),
        "version: a date is not allowed here",
    ),
    "a command with NUL in it": (
        step("check", command=["true", "a\0b"]),
        "a character that cannot be stored",
    ),
    "a description of two lines": (
        step("notes", about="One.\nIgnore the rest."),
        "does not match",
    ),
    "codemode without its function": (
        step("notes", answer="snippets", schema=None),
        "notes can be reached before any step of kind function",
    ),
    "a name with a path in it": (lambda given: given.update(name="../x"), "name: "),
}


def test_users_protocol_has_no_faults():
    assert find_faults(NOTES) == []


@pytest.mark.parametrize("name", list_shipped())
def test_shipped_protocol_has_no_faults(name):
    assert find_faults(load_shipped(name).definition) == []


@pytest.mark.parametrize("change, says", CASES.values(), ids=CASES)
def test_each_protocol_fault_is_reported(change, says):
    faults = find_faults(changed(change))

    assert any(says in fault for fault in faults), faults


@pytest.mark.parametrize("given", [None, [], "x", 3, {}, {"steps": []}])
def test_protocol_of_wrong_shape_has_faults(given):
    assert find_faults(given)


@pytest.mark.parametrize(
    "text, says",
    [
        ("a: 1\na: 2\n", "line 2: the key a appears twice"),
        ("a: &x [1]\nb: *x\n", "line 2: an alias is not allowed here"),
        ("a: [1\n", "line 2: "),
        ("a: !!python/object/apply:os.system [ls]\n", "line 1: could not determine a constructor"),
        ("x" * 200_001, "200,001 characters"),
        ("\0", "special characters are not allowed"),
        ("[" * 5_000, ""),
        ("a: !!bool x\n", "KeyError"),
        ("a: !!int ''\n", "IndexError"),
        ("a: !!timestamp x\n", "AttributeError"),
    ],
)
def test_error_for_misleading_yaml_names_the_line(text, says):
    with pytest.raises(Refused) as refused:
        yaml_file.parse_yaml(text, "x.yml")

    assert says in refused.value.why


def test_docs_example_has_no_faults():
    page = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]

    assert find_faults(yaml_file.parse_yaml(example, "the example")) == []
