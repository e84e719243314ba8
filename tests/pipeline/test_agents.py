"""Honest, lazy, malicious and confused agents, each a process that knows only the command line."""

import json

import pytest

from kaizen_components.call import Door

from ..model_server import html
from .agent_life import CHEATS, run_agents
from .factory import GOOD, QUICK, Model, environment, run_words, server, target
from .run_records import Records, branches
from .targets import everything

pytestmark = pytest.mark.usefixtures("fast_gates")


@pytest.fixture
def repo(tmp_path):
    return target(tmp_path / "targetapp", QUICK)


@pytest.fixture
def live(repo, door):
    """`live("honest")` runs an agent of that character and returns its moves and records."""
    return lambda character, *names, on=repo, **given: run_agents(
        door, character, on, *names, **given
    )


def test_run_of_honest_agent_is_accepted(live, repo):
    life = live("honest")

    assert [state["outcome"] for state in life.states()] == ["accepted"]
    assert branches(repo) == {life.moves[0]["id"]}
    assert life.refusals() == []


def test_run_of_lazy_agent_is_not_accepted(live, repo):
    before = everything(repo)
    life = live("lazy")

    assert life.answers_to("nothing in the file") == [(2, "bad_value")]
    assert life.answers_to("no file") == [(3, "file_not_found")]
    assert life.answers_to("skip to the review") == [(4, "another_step")]
    assert life.answers_to("done again") == [(1, "rejected_before")]
    assert life.answers_to("done under the first lease") == [
        (0, None)
    ]  # the same answer again: the same verdict
    assert life.refusals() == ["another-step", "rejected-before"]
    assert [state["outcome"] for state in life.states()] in (["stuck"], ["exhausted"])
    assert everything(repo) == before


def test_malicious_agent_changes_no_verdict(live, repo):
    before = everything(repo)
    life = live("malicious")

    assert life.answers_to_cheats() == CHEATS
    writes = [move for move in life.moves if move["move"].startswith("write ")]
    assert {(move["exit_code"], move["code"]) for move in writes} == {(1, "write_set")} and len(
        writes
    ) == 6
    assert all("write-set" in move["why"] and "P5 --id" in move["next"] for move in writes)
    before_the_end = [
        "unknown-lease",
        "gates-are-ours",
        "changed-base",
        "lease-used",
        *["write-set"] * 6,
    ]
    assert life.refusals() == [*before_the_end, "stale-lease", "run-ended"]
    tests = next(move for move in life.moves if move["move"] == "tests of what is not there")
    assert (tests["exit_code"], tests["reason"]) == (0, "pass")
    assert [move["step"] for move in life.moves if move["move"] == "ask"][
        -1
    ] == "build"  # the gate said no
    assert life.answers_to("abort") == [(0, None)]
    assert life.answers_to("ask after the abort") == [(1, None)]
    assert life.answers_to("abort again") == [(4, "run_ended")]
    assert [state["outcome"] for state in life.states()] == ["aborted"]
    assert everything(repo) == before


def test_good_run_of_meddling_agent_is_accepted(live):
    life = live("meddler")

    assert [state["outcome"] for state in life.states()] == ["accepted"]
    assert {move["exit_code"] for move in life.moves} == {0}


def test_both_runs_of_a_confused_agent_are_accepted(live, repo):
    life = live("confused")

    assert [state["outcome"] for state in life.states()] == ["accepted", "accepted"]
    assert [state["asks"] for state in life.states()] == [5, 5]
    assert life.answers_to("the next step too soon") == [(4, "another_step")]
    assert len(branches(repo)) == 2


def test_parallel_answers_to_one_step_count_once(live, cli, repo):
    begun = cli(
        *run_words(repo, "--driver", "agent", "--actor", "one"), env={"KAIZEN_SANDBOX_MAX": "L1"}
    ).json
    life = live("rival", "one", "two", on=begun["id"])

    assert [state["outcome"] for state in life.states()] == ["accepted"]
    (run,) = life.records.runs()
    events = life.records.events(run)
    holders = {
        event["id"]: event["payload"]["holder"] for event in events if event["event"] == "leased"
    }
    answers = [event for event in events if event["event"] == "answered"]
    assert [event["step"] for event in answers] == ["plan", "scout", "build", "tests", "review"]
    assert [holders[event["payload"]["lease"]] for event in answers] == [
        event["actor"] for event in answers
    ]
    twice = [move["exit_code"] for move in life.moves if move["move"] == "twice"]
    taken = [
        codes for codes in twice if codes != [6, 6]
    ]  # where both were told that the other agent is at it
    assert len(taken) == 5 and all(codes in ([0, 0], [0, 6]) for codes in taken), twice
    refused = {(move["exit_code"], move["code"]) for move in life.moves if move["move"] == "ask"}
    assert refused <= {(0, None), (4, "step_is_leased"), (6, "run_is_driven"), (6, "busy")}


def test_agent_answer_to_model_run_is_refused(cli, root, repo, door, tmp_path):
    with server(Model(plan=[html()])) as serving:
        cli(*run_words(repo), env=environment(serving.url))
    records = Records(door)
    (run,) = records.runs()
    lease = next(event["id"] for event in records.events(run) if event["event"] == "leased")
    (tmp_path / "answer.txt").write_text(GOOD["plan"][0])
    said = cli("P4", "--lease", lease, "--file", str(tmp_path / "answer.txt"), "--json")

    assert (said.exit_code, json.loads(said.err.splitlines()[-1])["code"]) == (
        4,
        "not_an_agents_run",
    )
    assert [event["reason"] for event in records.events(run) if event["event"] == "refused"] == [
        "not-an-agents-run"
    ]
    with server(Model()) as serving:
        assert (
            cli("P7", "--id", run["id"], "--json", env=environment(serving.url)).json["outcome"]
            == "accepted"
        )


def test_unjudged_answer_of_aborted_run_did_not_pass(root, repo, door, tmp_path):
    """P4 is killed between the answer and its verdict; then the run is aborted."""
    from .test_resume import kill_after

    kill_after(0, run_words(repo, "--driver", "agent"), {}, root)
    lease = Records(door).state(Records(door).runs()[0])["lease"]["id"]
    (tmp_path / "answer.txt").write_text(GOOD["plan"][0])
    number = len(Records(door).events(Records(door).runs()[0]))
    kill_after(
        number + 1, ["P4", "--lease", lease, "--file", str(tmp_path / "answer.txt")], {}, root
    )
    another = Door(str(root))
    another("P7", id="@last", abort=True)
    said = another("P4", lease=lease, file=str(tmp_path / "answer.txt"))
    another.close()

    assert (said["replayed"], said["passed"], said["outcome"]) == (True, False, "aborted")
