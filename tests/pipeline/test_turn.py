"""An agent's run on the command line: P1 --driver agent, P5 and P4."""

import json
import os
import shutil

import pytest

from kaizen_components.pipeline.run import results

from ..model_server import html
from .factory import (
    GOOD,
    QUICK,
    ROUTE,
    Model,
    environment,
    main_with,
    run_words,
    server,
    target,
    whole,
)
from .targets import everything

pytestmark = pytest.mark.usefixtures("fast_gates")

FORGED = "evt_20260101T000000000Z_0000000000"
STEPS = ("plan", "scout", "build", "tests", "review")


@pytest.fixture
def agent(cli, tmp_path):
    return Agent(cli, tmp_path)


class Agent:
    """An agent that uses only the command line and the JSON of P1, P5 and P4."""

    def __init__(self, cli, tmp_path, settings=QUICK):
        self.cli = cli
        self.file = tmp_path / "answer.txt"
        self.repo = target(tmp_path / "targetapp", settings)
        self.turn = {}

    def begin(self, *more):
        done = self.cli(*run_words(self.repo, "--driver", "agent", *more))
        assert done.exit_code == 0, done.err
        self.turn = done.json
        return self.turn

    def next(self, actor="agent"):
        done = self.cli("P5", "--id", self.turn["id"], "--actor", actor, "--json")
        if done.exit_code == 0:
            self.turn = done.json
        return done

    def hand_in(self, text, *more, lease=None, env=None):
        self.file.write_text(text)
        words = ["--lease", lease or self.turn["lease"], "--file", str(self.file), *more]
        return Said(self.cli("P4", *words, "--json", env=env))

    def answer(self, **answers):
        """Answer each question until the run ends."""
        for _ in range(12):
            step = self.turn["step"]
            said = self.hand_in({**GOOD, **answers}[step][0])
            if said.get("outcome"):
                return said
            assert self.next().exit_code == 0
        raise AssertionError("it never ends")

    def refusals(self):
        folder = self.repo.parent / "a project" / "AI" / "work" / "runs" / self.turn["id"]
        lines = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
        return [line["reason"] for line in lines if line["event"] == "refused"]


class Said(dict):
    def __init__(self, done):
        super().__init__(json.loads((done.out or done.err).splitlines()[-1]))
        self.exit_code = done.exit_code


def test_agent_that_follows_contracts_is_accepted(agent):
    first = agent.begin()

    assert (first["step"], first["attempt"], first["phase"]) == ("plan", 1, "asked")
    assert {
        "lease",
        "until",
        "question",
        "schema",
        "write_set",
        "budget_left",
        "base_commit",
        "inputs",
    } <= first.keys()
    assert first["lease"].startswith("evt_") and "/health" in first["question"]
    assert (agent.repo.parent / "a project" / first["inputs"] / "app" / "main.py").is_file()
    said = agent.answer()
    assert said["outcome"] == "accepted", said
    card = agent.cli("P2", "--id", first["id"], "--json").json
    assert [gate["step"] for gate in card["gates"]] == [
        "plan",
        "ready",
        "scout",
        "build",
        "validate",
        "tests",
        "test",
        "review",
    ]
    assert (card["tokens_in"], card["usage_unknown"], card["driver"]) == (None, 5, "agent")


def test_turn_gives_an_absolute_inputs_path(agent):
    inputs = agent.begin()["inputs"]

    assert os.path.isabs(inputs) and os.path.isfile(os.path.join(inputs, "app", "main.py"))


def test_run_card_marks_review_by_the_builder(agent):
    agent.begin()
    agent.answer()

    assert (
        "reviewed by  agent, who built it too: only the gates are independent here"
        in agent.cli("P2", "--id", "@last").out
    )


@pytest.mark.parametrize(("options", "allowed"), [((), 3), (("--strict",), 0)])
def test_too_many_illegal_moves_fail_the_run(agent, options, allowed):
    agent.begin(*options)
    for _ in range(allowed + 1):
        assert agent.cli("P2", "--id", agent.turn["id"], "--json").json["outcome"] is None
        said = agent.hand_in(GOOD["plan"][0], "--step", "review")
        assert said["code"] == "another_step"

    card = agent.cli("P2", "--id", agent.turn["id"], "--json").json
    moves = f"{allowed + 1} illegal move{'s' * (allowed > 0)}"
    assert (card["outcome"], card["phase"]) == ("failed", "ended")
    assert card["why"] == f"protocol: {moves}, and {allowed} may be made"
    assert agent.refusals() == ["another-step"] * (allowed + 1)
    assert agent.hand_in(GOOD["plan"][0])["code"] == "stale_lease"


def test_malformed_answers_are_not_illegal_moves(agent):
    agent.begin("--strict")
    agent.hand_in("no JSON at all")
    agent.next()

    assert agent.answer()["outcome"] == "accepted"


def test_run_card_marks_review_by_another_agent(agent):
    agent.begin()
    while agent.turn["step"] != "review":
        agent.hand_in(GOOD[agent.turn["step"]][0])
        agent.next(actor="agent" if agent.turn["step"] != "tests" else "another")
    agent.hand_in(GOOD["review"][0], "--actor", "another")

    card = agent.cli("P2", "--id", agent.turn["id"], "--json").json
    assert (card["reviewed_by"], card["reviewed_by_author"]) == ("another", False)


def test_next_turn_has_findings_of_last_answer(agent):
    agent.begin()
    said = agent.hand_in('{"title": "x"}')

    assert (said.exit_code, said["passed"], said["reason"]) == (0, False, "malformed")
    agent.next()
    assert (agent.turn["step"], agent.turn["attempt"]) == ("plan", 2)
    assert "criteria" in agent.turn["feedback"]


def test_same_answer_under_lease_counts_once(agent):
    lease = agent.begin()["lease"]
    first = agent.hand_in(GOOD["plan"][0])
    again = agent.hand_in(GOOD["plan"][0], lease=lease)

    assert (again["replayed"], again["reason"]) == (True, first["reason"])
    other = agent.hand_in(GOOD["scout"][0], lease=lease)
    assert (other.exit_code, other["code"]) == (4, "lease_used")
    assert agent.refusals() == ["lease-used"]


def test_repeated_turn_request_returns_the_same_lease(agent):
    lease = agent.begin()["lease"]

    assert agent.next().json["lease"] == lease
    other = Said(agent.next(actor="another"))
    assert (other.exit_code, other["code"]) == (
        4,
        "step_is_leased",
    ) and "Rule step-is-leased" in other["why"]


@pytest.mark.parametrize(
    "rule, text, more, code",
    [
        ("another-step", GOOD["plan"][0], ["--step", "build"], 4),
        ("changed-base", GOOD["plan"][0], ["--base", "0" * 40], 4),
        ("gates-are-ours", '{"gate": "test", "reason": "pass", "exit_code": 0}', [], 1),
    ],
)
def test_illegal_move_is_refused_and_recorded(agent, rule, text, more, code):
    agent.begin()
    said = agent.hand_in(text, *more)

    assert (said.exit_code, said["code"]) == (code, rule.replace("-", "_"))
    assert rule in said["why"] and "plan 1" in said["why"] and "P5 --id" in said["next"]
    assert agent.refusals() == [rule]
    assert agent.hand_in(GOOD["plan"][0])["passed"] is True


def test_first_turn_runs_no_target_code(agent):
    assert agent.begin()["step"] == "plan"
    card = agent.cli("P2", "--id", agent.turn["id"], "--json").json
    assert card["gates"] == []


def test_answer_with_unknown_lease_is_recorded(agent):
    agent.begin()
    said = agent.hand_in(GOOD["plan"][0], lease=FORGED)

    assert (said.exit_code, said["code"]) == (3, "unknown_lease") and "Rule unknown-lease" in said[
        "why"
    ]
    assert agent.refusals() == ["unknown-lease"]
    assert agent.hand_in(GOOD["plan"][0])["passed"] is True


def test_unknown_lease_after_all_runs_ended_is_refused(agent):
    agent.begin()
    agent.cli("P7", "--id", "@last", "--abort")

    assert agent.hand_in(GOOD["plan"][0], lease=FORGED).exit_code == 3
    assert agent.refusals() == []


def test_agent_move_after_run_end_is_refused(agent):
    lease = agent.begin()["lease"]
    agent.cli("P7", "--id", "@last", "--abort")
    before = agent.cli("P2", "--id", "@last", "--json").json
    late = agent.hand_in(GOOD["plan"][0], lease=lease)
    again = Said(agent.cli("P7", "--id", "@last", "--abort", "--json"))

    assert (late.exit_code, late["code"]) == (4, "stale_lease")
    assert "the run is aborted" in late["why"] and "P2 --id" in late["next"]
    assert (again.exit_code, again["code"]) == (4, "run_ended") and "Rule run-ended" in again["why"]
    assert agent.refusals() == ["stale-lease", "run-ended"]
    after = agent.cli("P2", "--id", "@last", "--json").json
    assert {**after, "events": before["events"]} == before
    assert agent.cli("P5", "--id", "@last", "--json").json["outcome"] == "aborted"
    assert agent.cli("K8").exit_code == 0


def test_unknown_lease_is_refused_if_run_cannot_open(agent):
    agent.begin()
    lock = agent.repo.parent / "a project" / "AI" / "work" / "runs" / agent.turn["id"] / "lock"
    lock.unlink()
    lock.mkdir()

    assert agent.hand_in(GOOD["plan"][0], lease=FORGED)["code"] == "unknown_lease"


def test_answer_in_weaker_sandbox_than_start_is_refused(agent, strongest):
    agent.begin()
    said = agent.hand_in(GOOD["plan"][0], env={"KAIZEN_SANDBOX_MAX": "L0"})

    assert (said.exit_code, said["code"]) == (5, "sandbox_too_weak")
    assert agent.cli("P5", "--id", agent.turn["id"], "--json").json["step"] == "scout"


def test_second_abort_finishes_an_interrupted_abort(agent, door, monkeypatch):
    agent.begin()
    monkeypatch.setattr(results, "write_results", killed)
    with pytest.raises(KeyboardInterrupt):
        door("P7", id=agent.turn["id"], abort=True)
    shutil.rmtree(agent.repo)
    done = agent.cli("P7", "--id", "@last", "--abort", "--json")

    assert (done.exit_code, done.json["outcome"]) == (0, "aborted")
    assert agent.refusals() == []


def killed(work, db):
    raise KeyboardInterrupt


def test_run_without_target_can_be_aborted(agent):
    agent.begin()
    shutil.rmtree(agent.repo)

    lost = Said(agent.next())
    assert (lost.exit_code, lost["code"]) == (3, "target_gone")
    assert "targetapp" in lost["what"] and "--abort" in lost["next"]
    assert agent.hand_in(GOOD["plan"][0]).exit_code == 3
    done = agent.cli("P7", "--id", "@last", "--abort", "--json")
    assert (done.exit_code, done.json["outcome"]) == (0, "aborted")


def test_lease_of_earlier_attempt_is_refused(agent):
    old = agent.begin()["lease"]
    agent.hand_in("nothing of use")
    agent.next()
    said = agent.hand_in(GOOD["plan"][0], lease=old)

    assert (said.exit_code, said["code"]) == (4, "lease_used")


def test_repeated_rejected_answer_is_refused(agent):
    agent.begin()
    agent.hand_in("nothing of use")
    agent.next()
    said = agent.hand_in("nothing of use")

    assert (said.exit_code, said["code"]) == (1, "rejected_before")
    assert agent.turn["attempt"] == 2


def test_path_outside_write_set_is_refused(agent):
    agent.begin()
    for step in ("plan", "scout"):
        agent.hand_in(GOOD[step][0])
        agent.next()
    before = everything(agent.repo)
    said = agent.hand_in(
        GOOD["build"][0] + whole("tests/test_main.py", "def test_root():\n    assert True\n")
    )

    assert (said.exit_code, said["code"]) == (1, "write_set")
    assert "tests/test_main.py" in said["what"]
    assert everything(agent.repo) == before
    assert agent.turn["write_set"]["may_not"]


def test_rejected_change_returns_to_builder_with_findings(agent):
    agent.begin()
    wrong = {**GOOD, "build": [main_with(ROUTE.replace("/health", "/wrong"))]}
    for step in ("plan", "scout", "build", "tests"):
        assert agent.turn["step"] == step
        agent.hand_in(wrong[step][0])
        agent.next()

    assert (agent.turn["step"], agent.turn["attempt"]) == ("build", 2)
    assert "test 1 ended with regression" in agent.turn["feedback"]
    assert agent.hand_in(wrong["build"][0])["code"] == "rejected_before"
    agent.hand_in(GOOD["build"][0])
    agent.next()
    assert agent.hand_in(GOOD["review"][0])["outcome"] == "accepted"


def test_agent_cannot_take_turn_of_model_run(cli, tmp_path):

    repo = target(tmp_path / "targetapp", QUICK)
    with server(Model(plan=[html()])) as serving:
        cli(*run_words(repo), env=environment(serving.url))
    run_id = cli("P3", "--json").json["records"][0]["id"]

    assert cli("P5", "--id", run_id).exit_code == 4


def test_changed_run_folder_does_not_affect_verdicts(agent):
    run = agent.begin()
    for step in ("plan", "scout"):
        agent.hand_in(GOOD[step][0])
        agent.next()
    folder = agent.repo.parent / "a project" / "AI" / "work" / "runs" / run["id"]
    (folder / "base" / "app").mkdir(parents=True, exist_ok=True)
    (folder / "base" / "app" / "main.py").write_text("# /health\n")
    (agent.repo.parent / "a project" / run["inputs"] / "app" / "main.py").write_text("# nothing\n")
    agent.hand_in(GOOD["build"][0])
    agent.next()
    said = agent.hand_in(GOOD["tests"][0])

    assert said["passed"] is True and said.get("outcome") is None, said
