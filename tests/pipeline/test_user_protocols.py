"""Check a protocol that a user wrote, from its file to an accepted run."""

import json

import pytest

from ..model_server import Answer
from .factory import environment, server
from .protocols import EMPTY_NOTES as EMPTY
from .protocols import GOOD_NOTES as GOOD
from .protocols import NOTES, SCRIPT, changed, put
from .targets import repository


@pytest.fixture
def repo(tmp_path):
    return repository(tmp_path / "app", {"app.py": "X = 1\n", ".kaizen/check_notes.py": SCRIPT})


@pytest.fixture
def begun(cli, root, repo):
    put(root, NOTES)
    done = cli(*words(repo), "--json")
    assert done.exit_code == 0, done.err
    return done.json


def words(repo, *more, driver="agent"):
    return ["P1", "--protocol", "release-notes", "--driver", driver, "--request", "2.0 adds /health.", "--repo",
            str(repo), *more]  # fmt: skip


def hand_in(cli, tmp_path, turn, text):
    (tmp_path / "answer").write_text(text)
    return cli("P4", "--lease", turn["lease"], "--file", str(tmp_path / "answer"), "--json")


def test_command_gate_refuses_then_accepts_agent_answer(cli, root, repo, begun, tmp_path):
    assert (begun["step"], begun["schema"]) == ("notes", NOTES["steps"]["notes"]["schema"])
    assert "2.0 adds /health." in begun["question"]
    first = hand_in(cli, tmp_path, begun, EMPTY)
    assert first.json["then"] == [
        "check 1: check. `python .kaizen/check_notes.py` fails with exit code 1."
    ]
    turn = cli("P5", "--id", begun["id"], "--json").json
    assert "says nothing: Various fixes." in turn["feedback"]
    last = hand_in(cli, tmp_path, turn, GOOD)

    assert (last.json["outcome"], last.exit_code) == ("accepted", 0)
    notes = root / "AI" / "work" / "runs" / begun["id"] / "notes.json"
    assert json.loads(notes.read_text()) == json.loads(GOOD)
    gates = [
        row
        for row in cli("P2", "--id", begun["id"], "--json").json["gates"]
        if row["step"] == "check"
    ]
    proofs = [cli("Q7", "--id", row["proof_id"], "--json").json["record"] for row in gates]
    assert [(proof["outcome"], proof["tier"]) for proof in proofs] == [
        ("failed", "witnessed"),
        ("passed", "witnessed"),
    ]
    assert cli("P6", "--id", begun["id"], "--json").json["same"] is True


REFUSED = {  # (first answers of the model, how they are judged, what the next prompt says)
    "right": ([], [], None),
    "malformed": (["Sure: {}"], [("notes", 1, "malformed")], "'title' is a required property"),
    "caught by the gate": (
        [EMPTY],
        [("notes", 1, "pass"), ("check", 1, "check")],
        "says nothing: Various fixes.",
    ),
}


@pytest.mark.parametrize("first", REFUSED)
def test_model_answers_again_after_refusal(cli, root, repo, first):
    put(root, NOTES)
    texts, refused, feedback = REFUSED[first]
    with server([Answer(text) for text in (*texts, f"```json\n{GOOD}\n```")]) as serving:
        done = cli(*words(repo, driver="model"), "--json", env=environment(serving.url))

    assert (done.exit_code, done.json["outcome"]) == (0, "accepted"), done.err
    system, user = (message["content"] for message in serving.requests[0]["messages"])
    assert json.loads(system.partition(":\n")[2]) == NOTES["steps"]["notes"]["schema"]
    assert (user, len(serving.requests)) == ("2.0 adds /health.", len(texts) + 1)
    assert feedback is None or feedback in serving.requests[1]["messages"][1]["content"]
    assert (done.json["tokens_in"], done.json["rejected_answers"]) == (
        11 * (len(texts) + 1),
        len(texts),
    )
    card = cli("P2", "--id", done.json["id"], "--json").json
    judged = [(row["step"], row["attempt"], row["reason"]) for row in card["gates"]]
    assert judged[: len(refused)] == refused and judged[-1][0::2] == ("check", "pass")
    notes = root / "AI" / "work" / "runs" / done.json["id"] / "notes.json"
    assert json.loads(notes.read_text()) == json.loads(GOOD)


def test_feedback_names_each_schema_fault(cli, begun, tmp_path):
    said = hand_in(cli, tmp_path, begun, '{"title": "x", "line": []}').json

    assert (said["reason"], said["next_step"]) == ("malformed", "notes")
    for words_ in ("'lines' is a required property", "'x' is too short", "'line' was unexpected"):
        assert words_ in said["says"]


def test_protocol_change_does_not_affect_started_run(cli, root, begun, tmp_path):
    put(root, changed(lambda given: given["steps"]["check"].update(command=["true"])))
    said = hand_in(cli, tmp_path, begun, EMPTY).json

    assert said["then"][0].startswith("check 1: check.")


def test_protocol_whose_gate_misjudges_fixture_is_refused(cli, root, repo):
    put(root, changed(lambda given: given["steps"]["check"].update(command=["true"])))
    done = cli(*words(repo), "--json")

    assert (done.exit_code, done.error["code"]) == (1, "gate_not_proved")
    assert done.error["what"] == "The gate check gave the wrong verdict on a bad fixture: pass."
    assert cli("P3", "--json").exit_code == 3  # nothing was written, not even a database


def test_invalid_protocol_is_refused_with_all_faults(cli, root, repo):
    put(
        root,
        changed(
            lambda given: (given.update(start="x"), given["steps"]["check"].update(gate="vibes"))
        ),
    )
    done = cli(*words(repo), "--json")

    assert (done.exit_code, done.error["code"]) == (1, "bad_protocol")
    assert "It starts with x" in done.error["why"]
    assert "no gate 'vibes'" in done.error["why"]


def test_target_protocol_is_read_from_last_commit(cli, tmp_path):
    target = repository(
        tmp_path / "app", {".kaizen/check_notes.py": SCRIPT, ".kaizen/protocols/x.yml": "name: x\n"}
    )
    put(target, NOTES)

    assert cli(*words(target), "--json").error["code"] == "unknown_protocol"  # it is not committed
    assert [row["name"] for row in cli("P11", "--repo", str(target), "--json").json["protocols"]][
        -1
    ] == "x"


def test_user_protocol_with_shipped_name_is_refused(cli, root, repo):
    put(root, changed(lambda given: given.update(name="factory")))
    done = cli("P1", "--request", "x", "--repo", str(repo), "--driver", "agent", "--json")

    assert (done.exit_code, done.error["code"]) == (1, "protocol_name_taken")


def test_p11_proves_a_protocol_and_writes_its_skills(cli, root, repo):
    put(root, NOTES)
    done = cli("P11", "--name", "release-notes", "--repo", str(repo), "--write-skills")

    assert done.exit_code == 0
    assert "check on bad fixture 1: check, as expected" in done.out
    skill = root / ".agents" / "skills" / "kaizen-release-notes-notes" / "SKILL.md"
    assert skill.read_text().startswith("---\nname: kaizen-release-notes-notes\n")


def test_p11_suggests_sk3_until_skills_are_linked(cli, root, repo):
    put(root, NOTES)
    argv = ("P11", "--name", "release-notes", "--repo", str(repo))
    assert cli(*argv, "--json").json["hint"] is None
    assert "`kaizen SK3`" in cli(*argv, "--write-skills").out.splitlines()[-1]

    plan = cli("SK3", "--json").json
    assert cli("SK3", "--apply", plan["plan"]).exit_code == 0
    done = cli(*argv, "--write-skills", "--json")
    assert (done.exit_code, done.json["hint"]) == (0, None)


def test_p11_lists_faults_and_exits_1(cli, root, repo):
    put(root, changed(lambda given: given["steps"]["check"].pop("fixtures")))
    done = cli("P11", "--name", "release-notes", "--repo", str(repo), "--json")

    assert (done.exit_code, done.json["usable"]) == (1, False)
    assert "check needs a bad fixture, which shows that it can fail." in done.json["faults"]
    assert (
        cli("P11")
        .out.splitlines()[-1]
        .endswith("cannot be run: 2 faults; `P11 --name release-notes`")
    )


@pytest.mark.parametrize("text", ["", "name: [", "\0", "name: release-notes\nname: x\n", "- 1\n"])
def test_p11_reports_unreadable_file(cli, root, repo, text):
    put(root, text, "release-notes")
    done = cli("P11", "--name", "release-notes", "--repo", str(repo), "--json")

    assert (done.exit_code, done.json["usable"], bool(done.json["faults"])) == (1, False, True)


def test_answer_refused_in_weak_sandbox_can_be_repeated(cli, begun, tmp_path, strongest):
    hand_in(cli, tmp_path, begun, EMPTY)
    turn = cli("P5", "--id", begun["id"], "--json").json
    (tmp_path / "answer").write_text(GOOD)
    hand = ("P4", "--lease", turn["lease"], "--file", str(tmp_path / "answer"), "--json")
    lowered = cli(*hand, env={"KAIZEN_SANDBOX_MAX": "L1"})

    said = json.loads(lowered.err.splitlines()[-1])  # after the progress
    assert (lowered.exit_code, said["code"]) == (5, "sandbox_too_weak")
    assert cli(*hand).json["outcome"] == "accepted"


DEEP = '{"a": ' + "[" * 3_000 + "]" * 3_000 + "}"


@pytest.mark.parametrize("text", [DEEP, '{"title": "Two", "lines": ' + "[" * 500])
def test_deep_json_is_malformed_and_run_continues(cli, begun, tmp_path, text):
    said = hand_in(cli, tmp_path, begun, text).json

    assert (said["reason"], said["next_step"]) == ("malformed", "notes")
    turn = cli("P5", "--id", begun["id"], "--json").json
    assert hand_in(cli, tmp_path, turn, GOOD).json["outcome"] == "accepted"


def test_failing_prompt_blocks_run(cli, root, repo):
    put(root, changed(lambda given: given["steps"]["notes"].update(prompt="{{ answers.check.x }}")))
    done = cli(*words(repo), "--json")

    assert (done.exit_code, done.json["outcome"]) == (5, "blocked")
    assert "The prompt of the step notes cannot be rendered." in done.json["says"]


def test_prompt_that_multiplies_text_is_refused(cli, root, repo):
    put(
        root,
        changed(lambda given: given["steps"]["notes"].update(prompt="{{ 'x' * 10000000000 }}")),
    )

    assert "* is not allowed in a prompt" in cli(*words(repo), "--json").json["findings"][0]


@pytest.mark.parametrize(
    "hostile",
    [
        "{{ 'x'|center(9999999999) }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% set all = namespace(x='x') %}{% for a in range(99999) %}{% set all.x = all.x ~ all.x %}{% endfor %}",
    ],
)
def test_endless_prompt_blocks_run(cli, root, repo, hostile):
    put(root, changed(lambda given: given["steps"]["notes"].update(prompt=hostile)))
    done = cli(*words(repo), "--json")

    assert (done.exit_code, done.json["outcome"]) == (5, "blocked")
    assert "It takes more than" in done.json["findings"][0]


def test_spent_step_budget_ends_run(cli, root, repo, tmp_path):
    put(root, changed(lambda given: given["steps"]["notes"].update(budget={"asks": 1})))
    turn = cli(*words(repo), "--json").json
    said = hand_in(cli, tmp_path, turn, EMPTY).json

    assert (said["outcome"], said["run"]["why"]) == (
        "exhausted",
        "the budget of asks for notes is spent",
    )


def test_folder_named_yml_is_faulty_protocol(cli, root, repo):
    (root / ".kaizen" / "protocols" / "folder.yml").mkdir(parents=True)
    put(root, NOTES)
    rows = {row["name"]: row["faults"] for row in cli("P11", "--json").json["protocols"]}

    assert rows["folder"] > 0 and rows["release-notes"] == 0


def test_gate_key_outside_schema_is_refused(cli, root, repo, tmp_path):
    def tiered(given):
        given["steps"]["notes"]["schema"]["properties"]["tier"] = {"type": "string"}

    put(root, changed(tiered))
    turn = cli(*words(repo), "--json").json
    offered = hand_in(cli, tmp_path, turn, '{"gate": "check", "reason": "pass"}')
    assert (offered.exit_code, "it says gate" in offered.error["what"]) == (1, True)
    said = hand_in(cli, tmp_path, turn, json.dumps({**json.loads(GOOD), "tier": "gold"})).json

    assert said["outcome"] == "accepted"
