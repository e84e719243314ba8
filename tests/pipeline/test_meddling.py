"""Gates ignore what an agent writes into the run's own folder between two calls."""

import hashlib
import os
import subprocess
import sys
import zlib

import pytest

from kaizen_components.errors import Unavailable
from kaizen_components.pipeline.run import journal

from .factory import GOOD, QUICK, REQUEST, ROUTE, main_with, target, whole
from .run_records import Records
from .targets import FASTAPI

NOTHING = main_with("\n# nothing\n")
EASY = QUICK.replace("'/health'", "'nothing'")  # gates that the agent's answer would pass
assert EASY != QUICK


class Agent:
    """An agent that drives a run and may change files around each answer."""

    def __init__(self, door, root, repo):
        self.door = door
        self.root = root
        self.records = Records(door)
        self.turn = door(
            "P1", request=REQUEST, repo=str(repo), driver="agent", python=sys.executable
        )
        self.folder = root / "AI" / "work" / "runs" / self.turn["id"]

    def hand_in(self, text, meddle=lambda: None):
        (self.root / "answer.txt").write_text(text)
        meddle()
        reply = self.door("P4", lease=self.turn["lease"], file=str(self.root / "answer.txt"))
        meddle()
        self.turn = reply if "outcome" in reply else self.door("P5", id=reply["id"])
        return reply

    def go_on(self, until=None, meddle=lambda: None):
        while "lease" in self.turn and self.turn["step"] != until:
            self.hand_in(GOOD[self.turn["step"]][0], meddle)

    def reasons(self, step):
        (run,) = self.records.runs()
        events = self.records.events(run)
        return [
            event["reason"]
            for event in events
            if (event["event"], event["step"]) == ("judged", step)
        ]


@pytest.fixture
def agent(door, root, tmp_path, monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")
    return Agent(door, root, target(tmp_path / "targetapp", QUICK))


def write_easy_settings(folder):
    (folder / ".kaizen").mkdir(parents=True, exist_ok=True)
    (folder / ".kaizen" / "pipeline.toml").write_text(EASY)


def test_settings_written_by_agent_are_ignored(agent):
    agent.go_on("build")
    agent.hand_in(NOTHING, lambda: write_easy_settings(agent.folder / "base"))
    agent.hand_in(GOOD["tests"][0], lambda: write_easy_settings(agent.folder / "base"))

    assert agent.reasons("test") == ["regression"]


def test_run_folder_symlinked_by_agent_is_ignored(agent):
    elsewhere = agent.root / "elsewhere"

    def meddle():
        write_easy_settings(elsewhere)
        for name in ("base", "head", "scratch"):
            if not (agent.folder / name).exists():
                (agent.folder / name).symlink_to(elsewhere)

    agent.go_on("build")
    agent.hand_in(NOTHING, meddle)
    agent.hand_in(GOOD["tests"][0], meddle)

    assert agent.reasons("test") == ["regression"]
    assert os.listdir(elsewhere) == [".kaizen"]  # the target of the link is unchanged


def test_files_planted_after_a_crash_are_ignored(agent, monkeypatch):
    agent.go_on("build")
    agent.hand_in(NOTHING)
    append = journal.Journal._append

    def append_and_die(self, event):
        append(self, event)
        if self.state["phase"] == "started":
            raise SystemExit(9)

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(journal.Journal, "_append", append_and_die)
        agent.hand_in(GOOD["tests"][0])
    write_easy_settings(agent.folder / "base")
    agent.door("P5", id=agent.turn["id"])

    assert agent.reasons("test") == ["regression"]


def test_forged_git_object_is_not_delivered(agent, tmp_path):
    good = (FASTAPI["app/main.py"] + ROUTE).encode()
    named = hashlib.sha1(b"blob %d\0" % len(good) + good).hexdigest()
    place = agent.folder / "objects" / named[:2] / named[2:]

    def meddle():
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.write_bytes(zlib.compress(b"blob 5\0evil\n"))

    agent.go_on(meddle=meddle)

    assert agent.turn["outcome"] == "accepted"
    words = ["git", "show", f"kaizen/{agent.turn['id']}:app/main.py"]
    assert (
        subprocess.run(words, cwd=tmp_path / "targetapp", capture_output=True, check=True).stdout
        == good
    )


def test_folder_in_place_of_lock_file_is_refused(agent):
    for name in ("lock", "trace.jsonl"):
        (agent.folder / name).unlink()
        (agent.folder / name).mkdir()

    with pytest.raises(Unavailable, match="cannot be used") as refused:
        agent.door("P5", id=agent.turn["id"])
    assert refused.value.code == "run_folder_not_usable"
    (agent.folder / "lock").rmdir()
    agent.go_on()
    assert agent.turn["outcome"] == "accepted"


def test_unchanged_brief_is_accepted_again_after_new_spec(agent):
    agent.go_on("build")
    agent.hand_in("AMBIGUOUS: which status?")
    agent.hand_in(GOOD["plan"][0].replace("keeps its answer", "keeps its answer and its status"))
    again = agent.hand_in(GOOD["scout"][0])

    assert (again["step"], again["attempt"], again["passed"]) == ("scout", 2, True)


def test_answer_file_with_a_gate_key_is_accepted(agent):
    agent.go_on("build")
    reply = agent.hand_in(
        whole("app/prices.json", '{"tier": "gold", "gate": "north"}\n') + GOOD["build"][0]
    )

    assert reply["passed"] is True
