"""An agent's run in which kaizen is killed after any event: the agent goes on, and the end is the same."""

import os
import signal
import subprocess

import pytest

from kaizen_components.call import Door

from .. import warm
from ..conftest import ROOT
from .factory import QUICK, target
from .witnessed import Records

# A whole life in one process, which is killed as soon as the event with the given number is on record. Whoever lives
# on hands the same answer in again, if there was one under way, or asks what is legal.
LIFE = """
import os, signal, sys
from kaizen_components.pipeline.run import book
from kaizen_components.call import Door
from tests.pipeline.factory import GOOD, REQUEST, ROUTE, main_with
root, repo, number, forgets = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "forgets"
append = book.Book._append
def killed(self, made):
    append(self, made)
    if self.number == number:
        os.kill(os.getpid(), signal.SIGKILL)
book.Book._append = killed
door, memory, file = Door(root, keep_open=True), os.path.join(root, "memory"), os.path.join(root, "answer.txt")
answers = {**GOOD, "build": ["nothing of use", main_with(ROUTE)]}
def hand_in(lease):
    said = door("P4", lease=lease, file=file)
    os.unlink(memory)
    return said
try:
    known = door("P3")["records"]
except Exception:
    known = []
if known and os.path.exists(memory) and not forgets:
    hand_in(open(memory).read())
words = {"request": REQUEST, "repo": repo, "driver": "agent", "python": sys.executable}
turn = door("P5", id="@last") if known else door("P1", **words)
while "lease" in turn:
    texts = answers[turn["step"]]
    with open(file, "w") as out:
        out.write(texts[min(turn["attempt"], len(texts)) - 1])
    with open(memory, "w") as out:
        out.write(turn["lease"])
    said = hand_in(turn["lease"])
    turn = said if "outcome" in said else door("P5", id="@last")
sys.exit(0)
"""
EVENTS = 38
UNLIKE = ("spent", "spent_on", "lease", "leases", "answers")  # ids, times, and who had to ask again
COUNTS = (
    "SELECT (SELECT count(*) FROM proof), (SELECT count(*) FROM task), (SELECT count(*) FROM span)"
)


def live(root, repo, number=0, memory="remembers"):
    return warm.run([root, repo, number, memory], os.environ, ROOT, first=LIFE)


def told(root, repo):
    """What must be the same with and without a crash; every promise of the run is checked as well."""
    door = Door(str(root))
    records = Records(door)
    (run,) = records.runs()
    records.check(run)
    assert door("K8")["status"] == "OK"
    words = ["git", "diff", "main", f"kaizen/{run['id']}"]
    events = [
        event for event in records.events(run) if event["event"] not in ("leased", "released")
    ]
    found = {
        "events": [
            (event["event"], event["step"], event["attempt"], event["reason"]) for event in events
        ],
        "state": {name: value for name, value in records.state(run).items() if name not in UNLIKE},
        "diff": subprocess.run(words, cwd=repo, capture_output=True, check=True).stdout,
        "counts": list(records.db.one(COUNTS, ()).values()),
    }
    door.close()
    return found


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    root = tmp_path_factory.mktemp("undisturbed")
    done = live(root, target(root / "targetapp", QUICK))
    assert done.returncode == 0, done.stderr
    return told(root, root / "targetapp")


@pytest.mark.parametrize(
    "number", [*range(1, EVENTS, 5), EVENTS]
)  # each takes seconds; test_resume has them all
def test_an_agent_goes_on_after_a_crash_as_if_there_had_been_none(
    tmp_path, monkeypatch, undisturbed, number
):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")
    repo = target(tmp_path / "targetapp", QUICK)
    dead = live(tmp_path, repo, number)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    done = live(tmp_path, repo, memory="forgets" if number % 2 == 0 else "remembers")

    assert done.returncode == 0, done.stderr
    assert told(tmp_path, repo) == undisturbed


def test_the_whole_run_has_as_many_events_as_are_killed(tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    assert live(tmp_path, repo).returncode == 0
    door = Door(str(tmp_path))
    records = Records(door)

    assert len(records.events(records.runs()[0])) == EVENTS
    door.close()
