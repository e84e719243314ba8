"""Q8: a payload is checked by the very checks of the command that would take it."""

import json

import pytest

from kaizen_components.errors import KaizenError, NotFound, Refused, Usage
from kaizen_components.faces.schema import build_schema
from kaizen_components.index import COMMANDS, Command, load_commands


def problems(kaizen, kind, payload):
    answer = kaizen("Q8", kind=kind, payload_json=payload)
    assert answer["valid"] is False and answer["exit_code"] == 1
    return {row["option"]: row["what"] for row in answer["problems"]}


def test_q8_without_kind_lists_every_writing_command(kaizen):
    listed = {row["code"]: row for row in kaizen("Q8")["records"]}

    assert set(listed) == {command.code for command in load_commands() if command.writes}
    assert listed["W3"]["name"] == "plan-create"
    assert listed["W3"]["required"] == ["task_id", "title", "summary"]
    assert listed["W3"]["options"] == ["task_id", "title", "summary", "body", "status"]


@pytest.mark.parametrize("kind", ["W1", "w1", "task-start", "TASK-START"])
def test_payload_with_known_options_is_valid(kaizen, root, kind):
    answer = kaizen(
        "Q8",
        kind=kind,
        payload_json={"title": "A", "summary": "B", "done_when": ["x"], "actor": "bob"},
    )

    assert (answer["valid"], answer["kind"], answer["command"]) == (True, "W1", "task-start")
    assert "exit_code" not in answer and "not checked" in answer["hint"]
    assert not (root / "AI").exists(), "nothing is written"


@pytest.mark.parametrize("code", COMMANDS)
def test_q8_without_payload_shows_schema_of_kind(kaizen, code):
    assert kaizen("Q8", kind=code)["schema"] == build_schema(Command(code))


def test_every_payload_problem_names_its_option(kaizen):
    found = problems(
        kaizen,
        "W1",
        {
            "title": " ",
            "priority": "urgent",
            "done_when": ["fine", 3],
            "bogus": 1,
            "parent": None,
            "test": "yes",
        },
    )

    assert set(found) == {
        "--title",
        "--summary",
        "--priority",
        "--done-when",
        "--bogus",
        "--parent",
        "--test",
    }
    assert all(option in what for option, what in found.items())


PAYLOADS = [
    {"title": "", "summary": "S"}, {"title": "T"}, {"title": "T", "summary": "S", "body": 3},
    {"title": "x" * 201, "summary": "S"}, {"title": "two\nlines", "summary": "S"},
    {"title": "T", "summary": "S", "priority": "urgent"}, {"title": "T", "summary": "S", "limit": 3},
    {"title": "T", "summary": "S", "depends_on": [1]}, {"title": "T", "summary": "S", "op_id": ""},
]  # fmt: skip


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payload_problem_equals_error_of_its_command(kaizen, payload):
    with pytest.raises(KaizenError) as caught:
        kaizen("W1", **payload)
    (problem,) = kaizen("Q8", kind="W1", payload_json=payload)["problems"]

    assert (problem["code"], problem["what"]) == (caught.value.code, caught.value.what)


@pytest.mark.parametrize(
    "kind, payload, option",
    [
        ("Q4", {"case_id": "x", "outcome": "passed", "score": 1.5}, "--score"),
        ("Q2", {"conclusion": "FINE", "summary": "S"}, "--conclusion"),
        ("Q2", {"conclusion": "PROOF_RECORDED", "summary": "S", "findings": "[1]"}, "--findings"),
        (
            "W5",
            {"task_id": "x", "title": "T", "summary": "S", "payload_json": "{"},
            "--payload-json",
        ),
        ("W9", {"since": "yesterday"}, "--since"),
        ("K5", {"file": ""}, "--file"),
    ],
)
def test_payload_check_covers_each_kind_of_value(kaizen, kind, payload, option):
    assert list(problems(kaizen, kind, payload)) == [option]


@pytest.mark.parametrize(
    "kind, payload", [("W2", {"id": "task_nope", "note": "n"}), ("K5", {"file": "/nowhere"})]
)
def test_payload_check_looks_up_no_ids_or_files(kaizen, kind, payload):
    assert kaizen("Q8", kind=kind, payload_json=payload)["valid"]


@pytest.mark.parametrize("payload", [[], [1], "text", 3, True, None])
def test_payload_that_is_no_object_is_invalid(kaizen, payload):
    assert list(problems(kaizen, "W1", json.dumps(payload))) == ["--payload-json"]


@pytest.mark.parametrize(
    "kind, near", [("W99", "W9"), ("task-strat", "task-start"), ("zzzz", None)]
)
def test_unknown_kind_names_similar_ones(kaizen, kind, near):
    with pytest.raises(NotFound) as caught:
        kaizen("Q8", kind=kind)

    assert caught.value.exit_code == 3
    assert near in caught.value.why if near else caught.value.why == ""


def test_payload_without_kind_is_usage_error(kaizen):
    with pytest.raises(Usage, match="--kind"):
        kaizen("Q8", payload_json={})


def test_secret_in_payload_is_not_repeated(kaizen):
    secret = "ghp_" + "a1B2c3D4" * 5
    with pytest.raises(Refused) as caught:
        kaizen("Q8", kind="W1", payload_json={"title": secret, "summary": "S"})

    assert "title" in caught.value.what and secret not in str(caught.value.as_dict())


def test_payload_check_prints_problems_as_text(cli):
    good = cli("Q8", "--kind", "W1", "--payload-json", '{"title": "A", "summary": "B"}')
    bad = cli("Q8", "--kind", "W1", "--payload-json", '{"title": ""}', "--json")

    assert good.exit_code == 0 and "valid    yes" in good.out
    assert bad.exit_code == 1 and [row["option"] for row in bad.json["problems"]] == [
        "--summary",
        "--title",
    ]
    assert cli("Q8", "--kind", "nope").exit_code == 3
    assert (
        "required" in cli("Q8", "--kind", "W1").out
        and '"maxLength":200' in cli("Q8", "--kind", "W1").out
    )
    assert "title, summary" in cli("Q8", env={"COLUMNS": "200"}).out
    assert cli("Q8", "--kind", "K5", "--payload-json", "{}", stdin=b"").exit_code == 0, (
        "stdin is not read"
    )
