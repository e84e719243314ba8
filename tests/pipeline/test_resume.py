"""A run that is killed after any of its events and resumed ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Conflict
from kaizen_components.pipeline.protocol import load_shipped
from kaizen_components.pipeline.run import machine
from kaizen_components.pipeline.run import recorder as ledger

from .. import warm
from ..conftest import ROOT
from .factory import QUICK, ROUTE, Model, environment, main_with, run_words, server, target

# Before the command: its process is to be killed as soon as the event with this number is on record.
KILLED = """
import os, signal
from kaizen_components.pipeline.run import book
number, append = {number}, book.Book._append
def killed(self, made):
    append(self, made)
    if self.number == number:
        os.kill(os.getpid(), signal.SIGKILL)
book.Book._append = killed
"""
# One build that is refused and mended: 25 events and a few more for the second attempt.
ANSWERS = {"build": ["nothing of use", main_with(ROUTE)]}
EVENTS = 27


def killed_after(number, words, env, root):
    everything = {**os.environ, **env, "KAIZEN_REPO_ROOT": str(root)}
    return warm.run(words, everything, root, first=KILLED.format(number=number))


def kaizen_in(root, *words, env=None):
    done = warm.run(
        [*words, "--json"], {**os.environ, **(env or {}), "KAIZEN_REPO_ROOT": str(root)}, root
    )
    return done.returncode, json.loads((done.stdout or done.stderr).splitlines()[-1])


def told(root, repo, answer):
    """What must be the same with and without a crash."""
    path = root / "AI" / "work" / "runs" / answer["id"] / "trace.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    diff = subprocess.run(
        ["git", "diff", "main", answer["branch"]], cwd=repo, capture_output=True, check=True
    ).stdout
    same = (
        "outcome",
        "why",
        "build_attempts",
        "attempts",
        "tokens_in",
        "tokens_out",
        "cost_usd",
        "rejected_answers",
    )
    return {
        "events": [
            (event["event"], event.get("step"), event.get("attempt"), event.get("reason"))
            for event in events
            if event["event"] not in ("leased", "released")
        ],
        "numbers": {name: answer[name] for name in same},
        "diff": diff,
        "applied": (repo / "app" / "main.py").read_bytes(),
        **counted(root),
    }


def counted(root):
    """How many tasks and proofs there are; by our own door, which is quicker than a process for each question."""
    door = Door(str(root))
    try:
        assert door("K8")["status"] == "OK"
        return {
            "tasks": len(door("W9")["records"]),
            "proofs": len(door("R4", format="json")["data"]["proofs"]),
        }
    finally:
        door.close()


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """What a run is like that nobody kills."""
    root = tmp_path_factory.mktemp("undisturbed")
    repo = target(root / "targetapp", QUICK)
    with server(Model(**ANSWERS)) as serving:
        words = run_words(repo, "--apply")[:-1]
        code, answer = kaizen_in(root, *words, env=environment(serving.url))
    assert code == 0, answer
    return told(root, repo, answer)


@pytest.mark.parametrize("number", range(1, EVENTS + 1))
def test_a_run_that_is_killed_after_an_event_ends_as_if_it_had_not_been(
    root, tmp_path, undisturbed, number
):
    repo = target(tmp_path / "targetapp", QUICK)
    model = Model(**ANSWERS)
    with server(model) as serving:
        dead = killed_after(number, run_words(repo, "--apply"), environment(serving.url), root)
        assert dead.returncode == -signal.SIGKILL, dead.stderr
        run_id = kaizen_in(root, "P3")[1]["records"][0]["id"]
        code, answer = kaizen_in(root, "P7", "--id", run_id, env=environment(serving.url))
    if number == EVENTS:
        assert (code, answer["code"]) == (4, "run_ended")
        answer = kaizen_in(root, "P2", "--id", run_id)[1]
    else:
        assert code == 0, answer

    assert told(root, repo, answer) == undisturbed
    assert [step for step, _ in model.asked] == [
        "plan",
        "scout",
        "build",
        "build",
        "tests",
        "review",
    ]


def test_the_whole_run_has_as_many_events_as_are_killed(factory):
    run = factory(Model(**ANSWERS), settings=QUICK)

    assert len(run.trace) == EVENTS


def test_a_run_that_is_killed_while_a_gate_runs_is_resumed(cli, root, tmp_path):
    slow = (
        '[gates.check]\ncommand = ["python", "-c", "import time; time.sleep(3)"]\nreplace = true\n'
    )
    repo = target(tmp_path / "targetapp", slow + QUICK[QUICK.index("[gates.test]") :])
    with server(Model()) as serving:
        env = {**os.environ, **environment(serving.url), "KAIZEN_REPO_ROOT": str(root)}
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "kaizen.py"), *run_words(repo)], cwd=root, env=env, stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        while True:
            found = cli("P3", "--json")
            records = found.json["records"] if found.exit_code == 0 else []
            if records and records[0]["phase"] == "started" and records[0]["events"] > 12:
                break
            assert process.poll() is None
            time.sleep(0.1)
        process.kill()
        process.wait()
        resumed = cli("P7", "--id", records[0]["id"], "--json", env=environment(serving.url))

    assert (resumed.json["outcome"], resumed.json["attempts"]["validate"]) == ("accepted", 1)


def test_a_budget_is_not_refilled_by_a_restart(cli, root, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    with server(Model()) as serving:
        words = run_words(repo, "--budget-json", '{"asks": 3}')
        killed_after(11, words, environment(serving.url), root)  # two answers are in
        run_id = cli("P3", "--json").json["records"][0]["id"]
        resumed = cli("P7", "--id", run_id, "--json", env=environment(serving.url))

    assert (resumed.json["outcome"], resumed.json["why"]) == (
        "exhausted",
        "the budget of asks is spent",
    )
    assert len(serving.requests) == 3


def test_what_is_not_legal_is_refused_at_the_door_and_nothing_is_written(door):
    """Every event that cannot follow the first one, through the only way into the table."""
    protocol = load_shipped("factory")
    values = {
        "driver": "model",
        "request": "r",
        "repo": ".",
        "base_commit": "0" * 40,
        "options": {},
    }
    command = SimpleNamespace(code="P1", can_be_first=True)

    def write(do):
        return door._write(command, {}, "somebody", None, False, do)

    task = door("W1", title="t", summary="s")["id"]
    run = write(lambda tx: dict(ledger.start_run(tx, protocol, tx.find("task", task), values)))
    write(
        lambda tx: ledger.append_event(
            tx, run, {"event": "asked", "step": "plan", "attempt": 1}, 0
        )[0]
    )
    names = sorted(
        {name for allowed in machine.TABLE.values() for name in allowed}
        - {"answered", "judged", "aborted"}
    )
    for name in names:
        with pytest.raises(Conflict, match="not legal"):
            write(
                lambda tx, name=name: ledger.append_event(
                    tx, run, {"event": name, "step": "plan", "attempt": 1}, 1
                )
            )
    with pytest.raises(Conflict, match="moved on"):
        write(lambda tx: ledger.append_event(tx, run, {"event": "aborted"}, 0))

    assert door("P3")["records"][0]["events"] == 1
