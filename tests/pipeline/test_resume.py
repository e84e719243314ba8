"""A run that is killed after any of its events and resumed has the same result as without a crash."""

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
from kaizen_components.pipeline.run import journal, machine, recorder

from .. import warm
from ..conftest import ROOT
from .factory import QUICK, REQUEST, ROUTE, Model, environment, main_with, run_words, server, target

pytestmark = pytest.mark.usefixtures("fast_gates")

# Before the command: kill its process as soon as the event with this number is on record.
KILL_AFTER = """
import os, signal
from kaizen_components.pipeline.run import journal
append = journal.Journal._append
def append_and_die(self, build_event):
    append(self, build_event)
    if self.number == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
journal.Journal._append = append_and_die
"""
# One build is refused and corrected: 25 events, and two more for the second attempt.
ANSWERS = {"build": ["nothing of use", main_with(ROUTE)]}
EVENTS = 27
ASKED = ["plan", "scout", "build", "build", "tests", "review"]
NUMBERS = (
    "outcome", "why", "build_attempts", "attempts", "tokens_in", "tokens_out", "cost_usd", "rejected_answers",
)  # fmt: skip


class Died(BaseException):
    """Raised instead of killing this process."""


def kill_after(number, words, env, root):
    variables = {**os.environ, **env, "KAIZEN_REPO_ROOT": str(root)}
    return warm.run(words, variables, root, first=KILL_AFTER.format(number=number))


def die_after(monkeypatch, number):
    append = journal.Journal._append

    def append_and_die(self, build_event):
        append(self, build_event)
        if self.number == number:
            raise Died

    monkeypatch.setattr(journal.Journal, "_append", append_and_die)


def kaizen_in(root, *words, env=None):
    variables = {**os.environ, **(env or {}), "KAIZEN_REPO_ROOT": str(root)}
    done = warm.run([*words, "--json"], variables, root)
    return done.returncode, json.loads((done.stdout or done.stderr).splitlines()[-1])


def describe_run(door, repo, answer):
    """Return the facts that a crash must not change."""
    run = door.store.place.root + f"/AI/work/runs/{answer['id']}/trace.jsonl"
    with open(run, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    diff = ["git", "diff", "main", answer["branch"]]
    assert door("K8")["status"] == "OK"
    return {
        "events": [
            (event["event"], event.get("step"), event.get("attempt"), event.get("reason"))
            for event in events
            if event["event"] not in ("leased", "released")
        ],
        "numbers": {name: answer[name] for name in NUMBERS},
        "diff": subprocess.run(diff, cwd=repo, capture_output=True, check=True).stdout,
        "applied": (repo / "app" / "main.py").read_bytes(),
        "tasks": len(door("W9")["records"]),
        "proofs": len(door("R4", format="json")["data"]["proofs"]),
    }


def start_run(door, repo):
    words = {"request": REQUEST, "repo": str(repo), "python": sys.executable, "apply": True}
    return door("P1", **words)


@pytest.fixture
def set_model(monkeypatch):
    def use(url):
        for name, value in environment(url).items():
            monkeypatch.setenv(name, value)

    return use


@pytest.fixture
def undisturbed(tmp_path_factory, set_model):
    """Return the facts of a run without a crash, computed once."""
    if not _undisturbed:
        root = tmp_path_factory.mktemp("undisturbed")
        repo, door = target(root / "targetapp", QUICK), Door(str(root))
        with server(Model(**ANSWERS)) as serving:
            set_model(serving.url)
            answer = start_run(door, repo)
        _undisturbed.update(describe_run(door, repo, answer))
        door.close()
        assert len(_undisturbed["events"]) == EVENTS - 1  # and a lease
    return _undisturbed


_undisturbed: dict = {}


@pytest.mark.parametrize("number", range(1, EVENTS + 1))
def test_run_resumes_after_dying_at_any_event(
    door, tmp_path, monkeypatch, set_model, undisturbed, number
):
    repo, model = target(tmp_path / "targetapp", QUICK), Model(**ANSWERS)
    with server(model) as serving:
        set_model(serving.url)
        with monkeypatch.context() as patch, pytest.raises(Died):
            die_after(patch, number)
            start_run(door, repo)
        run_id = door("P3")["records"][0]["id"]
        if number == EVENTS:
            with pytest.raises(Conflict, match="has ended"):
                door("P7", id=run_id)
        else:
            door("P7", id=run_id)

    assert describe_run(door, repo, door("P2", id=run_id)) == undisturbed
    assert [step for step, _ in model.asked] == ASKED


@pytest.mark.parametrize("number", [2, 14, EVENTS - 1])
def test_run_resumes_after_kill_9(door, root, tmp_path, undisturbed, number):
    repo, model = target(tmp_path / "targetapp", QUICK), Model(**ANSWERS)
    with server(model) as serving:
        env = environment(serving.url)
        dead = kill_after(number, run_words(repo, "--apply"), env, root)
        assert dead.returncode == -signal.SIGKILL, dead.stderr
        run_id = kaizen_in(root, "P3")[1]["records"][0]["id"]
        code, answer = kaizen_in(root, "P7", "--id", run_id, env=env)

    assert code == 0, answer
    assert describe_run(door, repo, answer) == undisturbed
    assert [step for step, _ in model.asked] == ASKED


def test_run_killed_during_gate_repeats_it(cli, root, tmp_path):
    slow = "import time; time.sleep(3)"
    settings = f'[gates.check]\ncommand = ["python", "-c", "{slow}"]\nreplace = true\n'
    repo = target(tmp_path / "targetapp", settings + QUICK[QUICK.index("[gates.test]") :])
    with server(Model()) as serving:
        env = {**os.environ, **environment(serving.url), "KAIZEN_REPO_ROOT": str(root)}
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "kaizen.py"), *run_words(repo)],
            cwd=root,
            env=env,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
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


def test_resumed_run_keeps_its_spent_budget(door, monkeypatch, tmp_path, set_model):
    repo = target(tmp_path / "targetapp", QUICK)
    words = {"request": REQUEST, "repo": str(repo), "python": sys.executable}
    with server(Model()) as serving:
        set_model(serving.url)
        with monkeypatch.context() as patch, pytest.raises(Died):
            die_after(patch, 11)  # two answers are in
            door("P1", **words, budget_json={"asks": 3})
        resumed = door("P7", id=door("P3")["records"][0]["id"])

    assert (resumed["outcome"], resumed["why"]) == ("exhausted", "the budget of asks is spent")
    assert len(serving.requests) == 3


def test_illegal_event_is_refused_and_not_recorded(door):
    """Try to append every event that may not follow the first one."""
    protocol = load_shipped("factory")
    values = {
        "driver": "model", "request": "r", "repo": ".", "base_commit": "0" * 40, "options": {},
    }  # fmt: skip
    command = SimpleNamespace(code="P1", can_be_first=True)

    def write(do):
        return door._write(command, {}, "somebody", None, False, do)

    def append(event, known):
        return write(lambda tx: recorder.append_event(tx, run, event, known)[0])

    task = door("W1", title="t", summary="s")["id"]
    run = write(lambda tx: dict(recorder.start_run(tx, protocol, tx.find("task", task), values)))
    append({"event": "asked", "step": "plan", "attempt": 1}, 0)
    names = {name for allowed in machine.TABLE.values() for name in allowed}
    for name in sorted(names - {"answered", "judged", "aborted"}):
        with pytest.raises(Conflict, match="is not allowed"):
            append({"event": name, "step": "plan", "attempt": 1}, 1)
    with pytest.raises(Conflict, match="newer events"):
        append({"event": "aborted"}, 0)

    assert door("P3")["records"][0]["events"] == 1
