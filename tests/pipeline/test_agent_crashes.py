"""Kaizen is killed during an agent's run after any event; the agent still gets the same result."""

import os
import signal
import subprocess
import sys

import pytest

from kaizen_components.call import Door

from .factory import GOOD, QUICK, REQUEST, ROUTE, main_with, run_words, target
from .run_records import Records
from .test_resume import Died, die_after, kill_after

pytestmark = pytest.mark.usefixtures("fast_gates")

ANSWERS = {**GOOD, "build": ["nothing of use", main_with(ROUTE)]}
EVENTS = 38
CHANGING = ("spent", "spent_on", "lease", "leases", "answers")  # ids, times, and repeated questions
COUNTS = (
    "SELECT (SELECT count(*) FROM proof), (SELECT count(*) FROM task), (SELECT count(*) FROM span)"
)


class Agent:
    """An agent that remembers the lease of an answer until P4 has returned."""

    def __init__(self, root, repo):
        self.root, self.repo = root, repo
        self.file, self.lease = root / "answer.txt", None

    def live(self, door, forgets=False):
        """Work until the run ends. After a crash, submit the same answer again, or forget it and ask P5."""
        if not door.store.exists() or not door("P3")["records"]:
            words = {"request": REQUEST, "repo": str(self.repo), "driver": "agent"}
            turn = door("P1", **words, python=sys.executable)
        else:
            if self.lease and not forgets:
                self.hand_in(door)
            turn = door("P5", id="@last")
        while "lease" in turn:
            texts = ANSWERS[turn["step"]]
            self.file.write_text(texts[min(turn["attempt"], len(texts)) - 1])
            self.lease = turn["lease"]
            said = self.hand_in(door)
            turn = said if "outcome" in said else door("P5", id="@last")

    def hand_in(self, door):
        said = door("P4", lease=self.lease, file=str(self.file))
        self.lease = None
        return said


def describe_run(root, repo):
    """Check the records of the run; return the facts that a crash must not change."""
    door = Door(str(root))
    records = Records(door)
    (run,) = records.runs()
    records.check(run)
    assert door("K8")["status"] == "OK"
    diff = ["git", "diff", "main", f"kaizen/{run['id']}"]
    events = [
        (event["event"], event["step"], event["attempt"], event["reason"])
        for event in records.events(run)
    ]
    found = {
        "events": [event for event in events if event[0] not in ("leased", "released")],
        "state": {
            name: value for name, value in records.state(run).items() if name not in CHANGING
        },
        "diff": subprocess.run(diff, cwd=repo, capture_output=True, check=True).stdout,
        "counts": list(records.db.one(COUNTS, ()).values()),
    }
    door.close()
    return found, len(events)


@pytest.fixture
def agent(tmp_path):
    return Agent(tmp_path, target(tmp_path / "targetapp", QUICK))


_undisturbed: dict = {}


@pytest.fixture
def undisturbed(tmp_path_factory):
    if not _undisturbed:
        root = tmp_path_factory.mktemp("undisturbed")
        repo = target(root / "targetapp", QUICK)
        Agent(root, repo).live(Door(str(root)))
        found, number = describe_run(root, repo)
        assert number == EVENTS
        _undisturbed.update(found)
    return _undisturbed


@pytest.mark.parametrize("number", [*range(1, EVENTS, 3), EVENTS])
def test_agent_finishes_run_after_a_crash(agent, monkeypatch, undisturbed, number):
    with monkeypatch.context() as patch, pytest.raises(Died):
        die_after(patch, number)
        agent.live(Door(str(agent.root)))
    agent.live(Door(str(agent.root)), forgets=number % 2 == 0)

    assert describe_run(agent.root, agent.repo)[0] == undisturbed


def test_agent_finishes_run_after_kill_9(agent, undisturbed):
    words = run_words(agent.repo, "--driver", "agent")
    number = 2  # the question is on record, the lease is not
    assert kill_after(number, words, {}, agent.root).returncode == -signal.SIGKILL
    door = Door(str(agent.root))
    agent.file.write_text(GOOD["plan"][0])
    lease = door("P5", id="@last")["lease"]
    words = ["P4", "--lease", lease, "--file", str(agent.file)]
    number = Records(door).runs() and len(Records(door).events(Records(door).runs()[0])) + 1
    dead = kill_after(number, words, os.environ, agent.root)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    agent.lease = lease
    agent.live(door)

    assert describe_run(agent.root, agent.repo)[0] == undisturbed
