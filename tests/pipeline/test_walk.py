"""A random walk over P1, P4, P5 and P7: a run is accepted only if its gates have proven it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import event as counted
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kaizen_components.call import Door
from kaizen_components.errors import KaizenError

from . import fast_gates
from .factory import GOOD, QUICK, REQUEST, main_with, target, whole
from .protocols import NOTES, SCRIPT, changed, put
from .run_records import Records, branches
from .targets import repository

RUNS_MAX = 2
EASY = QUICK.replace("'/health'", "'nothing'")
RIGHT = {step: texts[0] for step, texts in GOOD.items()}
NOTHING = main_with("\n# nothing\n")
WRONG = [
    "nothing of use", "{}", '{"verdict": "reject", "reasons": [{"text": "no"}]}', "AMBIGUOUS: which one?",
    '{"gate": "test", "reason": "pass", "exit_code": 0}', '{"proof_id": "prf_1", "tier": "witnessed"}',
    NOTHING, whole("../x", "x\n"), whole(".git/config", "x\n"), whole("conftest.py", "x = 1\n"),
    whole("tests/test_main.py", "x = 1\n"), whole(".kaizen/pipeline.toml", ""), whole("tests/test_other.py", "x = 1\n"),
]  # fmt: skip
TEXTS = st.one_of(st.sampled_from([*RIGHT.values(), *WRONG]), st.text(min_size=1, max_size=200))
STEPS = st.sampled_from([None, None, None, "plan", "review"])
ACTORS = st.sampled_from(["one", "two"])
# The codes of refused moves; any other code is a bug.
RECORDED = {
    "lease_used", "stale_lease", "another_step", "changed_base", "rejected_before", "gates_are_ours", "write_set",
    "step_is_leased", "run_ended",
}  # fmt: skip
REFUSALS = RECORDED | {"unknown_lease", "bad_value", "gate_not_proved"}


class Walk(RuleBasedStateMachine):
    right: ClassVar = RIGHT
    cheat: ClassVar = {"build": NOTHING}
    words: ClassVar = {"request": REQUEST}

    def __init__(self):
        super().__init__()
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="kaizen-walk-"))
        self.repo = self.target()
        self.door = Door(str(self.place), keep_open=True)
        self.records = Records(self.door)
        self.turns = []  # every contract that was given out

    def target(self):
        return target(self.place / "targetapp", QUICK)

    def look_at_accepted(self, accepted):
        """Check that every accepted run has a result that its gate accepts."""
        assert branches(self.repo) == accepted
        for name in accepted:
            words = ["git", "grep", "-q", "/health", f"kaizen/{name}", "--", "app/main.py"]
            assert subprocess.run(words, cwd=self.repo).returncode == 0, (
                "accepted, and its own gate would not"
            )

    def teardown(self):
        try:
            if self.door.store.exists():
                assert self.door("K8")["status"] == "OK"
            outcomes = {
                run["id"]: self.records.state(run)["outcome"] for run in self.records.runs()
            }
            self.look_at_accepted(
                {name for name, outcome in outcomes.items() if outcome == "accepted"}
            )
            for outcome in outcomes.values():
                counted(f"a run was {outcome}")  # for --hypothesis-show-statistics
            assert not (self.place / "x").exists()
        finally:
            self.door.close()
            shutil.rmtree(self.place)

    def moved(self, word, **given):
        """What a command says, or None where it refuses; a refusal is on record and has changed nothing else."""
        before = {run["id"]: self.records.state(run) for run in self.records.runs()}
        try:
            said = self.door(word, **given)
        except KaizenError as error:
            assert error.code in REFUSALS and error.exit_code in (1, 2, 3, 4), error.code
            assert error.what and error.next
            assert error.code not in RECORDED or f"Rule {error.code.replace('_', '-')}" in error.why
            after = {run["id"]: self.records.state(run) for run in self.records.runs()}
            waits = any(state["phase"] != "ended" for state in before.values())
            expected = error.code in RECORDED or (error.code == "unknown_lease" and waits)
            assert refusals(after) - refusals(before) == expected, error.code
            if word == "P4":
                # One illegal move too many ends the run.
                failed = {id for id, state in after.items() if state["outcome"] == "failed"}
                assert settled(after, failed) == settled(before, failed)
            return None
        if "lease" in said:
            self.turns.append(said)
        return said

    def answer(self, lease, text, **more):
        file = self.place / "answer.txt"
        file.write_text(text, encoding="utf-8", newline="")
        return self.moved("P4", lease=lease, file=str(file), **more)

    @initialize(actor=ACTORS, asks=st.sampled_from([16, 16, 4]))
    def begin(self, actor, asks):
        self.begin_one(actor, asks)

    @precondition(lambda self: len(self.records.runs()) < RUNS_MAX)
    @rule(actor=ACTORS, asks=st.sampled_from([16, 16, 4]))
    def begin_another(self, actor, asks):
        self.begin_one(actor, asks)

    def begin_one(self, actor, asks):
        words = {"repo": str(self.repo), "driver": "agent", "python": sys.executable}
        self.moved("P1", **self.words, **words, actor=actor, budget_json={"asks": asks})

    @rule(actor=ACTORS, at=st.integers(0, RUNS_MAX - 1), ttl_s=st.sampled_from([1, 3600, 3600]))
    def ask(self, actor, at, ttl_s):
        runs = self.records.runs()
        self.moved("P5", id=runs[at % len(runs)]["id"], actor=actor, ttl_s=ttl_s)

    @rule(at=st.integers(0, RUNS_MAX - 1), times=st.integers(1, 8), cheats=st.booleans())
    def go_on(self, at, times, cheats):
        """Without this a walk hardly ever gets to the end. Who cheats builds nothing, and brings gates that like it."""
        run = self.records.runs()[at % len(self.records.runs())]
        for _ in range(times):
            actor = (self.records.state(run)["lease"] or {"holder": "one"})["holder"]
            turn = self.moved("P5", id=run["id"], actor=actor)
            if turn and "lease" in turn:
                if cheats:
                    self.meddle()
                self.answer(
                    turn["lease"],
                    {**self.right, **(self.cheat if cheats else {})}[turn["step"]],
                    actor=actor,
                )

    @rule(text=TEXTS, newest=st.booleans(), at=st.integers(0, 30), actor=ACTORS, step=STEPS)
    def hand_in(self, text, newest, at, actor, step):
        turn = self.turns[-1 if newest else at % len(self.turns)]
        self.answer(turn["lease"], text, actor=actor, **({"step": step} if step else {}))

    @rule(text=TEXTS, at=st.integers(0, 30))
    def hand_in_for_another_commit_or_under_a_forged_lease(self, text, at):
        lease = self.turns[at % len(self.turns)]["lease"]
        assert self.answer(lease, text, base="0" * 40) is None or self.answered(lease)
        assert self.answer(lease[:-10] + "0123456789", text) is None

    def answered(self, lease):
        """The same answer under the same lease is answered as it was the first time."""
        events = [event for run in self.records.runs() for event in self.records.events(run)]
        return any(
            event["payload"].get("lease") == lease
            for event in events
            if event["event"] == "answered"
        )

    @rule(
        at=st.integers(0, RUNS_MAX - 1),
        abort=st.integers(0, 9).map(lambda number: number == 9),
        actor=ACTORS,
    )
    def resume(self, at, abort, actor):
        runs = self.records.runs()
        self.moved(
            "P7", id=runs[at % len(runs)]["id"], actor=actor, **({"abort": True} if abort else {})
        )

    @rule()
    def meddle(self):
        """Gates that pass what is wrong, put where the gates' own files are."""
        for run in self.records.runs():
            settings = (
                self.place
                / "AI"
                / "work"
                / "runs"
                / run["id"]
                / "base"
                / ".kaizen"
                / "pipeline.toml"
            )
            settings.parent.mkdir(parents=True, exist_ok=True)
            settings.write_text(EASY)

    @rule()
    def let_a_short_lease_end(self):
        left = self.records.state(self.records.runs()[-1])["lease"]
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 1))
        if left and left["until"] <= at + ".999Z":
            time.sleep(1.1)

    @invariant()
    def every_promise_is_kept(self):
        for run in self.records.runs():
            self.records.check(run)


def refusals(states):
    return sum(state["refusals"] for state in states.values())


def settled(states, failed):
    """Return the states of runs that have not failed, without the counts of refusals."""
    return {
        id: {**state, "refusals": None, "illegal_moves": None}
        for id, state in states.items()
        if id not in failed
    }


Walk.TestCase.settings = settings(
    max_examples=int(os.environ.get("KAIZEN_WALKS", "6")), stateful_step_count=25, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


class WalkOfOwn(Walk):
    """The same walk with a user protocol whose gate is a script in the target."""

    right: ClassVar = {"notes": '{"title": "Two", "lines": ["Adds /health."]}'}
    cheat: ClassVar = {"notes": '{"title": "Two", "lines": ["Various fixes."]}'}
    words: ClassVar = {"request": "Notes for 2.0.", "protocol": "release-notes"}

    def target(self):
        put(self.place, NOTES)
        return repository(self.place / "targetapp", {".kaizen/check_notes.py": SCRIPT})

    def look_at_accepted(self, accepted):
        for name in accepted:
            notes = (self.place / "AI" / "work" / "runs" / name / "notes.json").read_text()
            assert "various" not in notes.lower(), "accepted, and its own gate would not"

    @rule()
    def meddle(self):
        """Replace the gate by one that accepts everything."""
        put(self.place, changed(lambda given: given["steps"]["check"].update(command=["true"])))
        for run in self.records.runs():
            script = (
                self.place
                / "AI"
                / "work"
                / "runs"
                / run["id"]
                / "base"
                / ".kaizen"
                / "check_notes.py"
            )
            script.parent.mkdir(parents=True, exist_ok=True)
            script.write_text("")


WalkOfOwn.TestCase.settings = Walk.TestCase.settings


class Held:
    def setUp(self):
        os.environ["KAIZEN_SANDBOX_MAX"] = "L1"  # what is walked is not about the box
        fast_gates.install()

    def tearDown(self):
        fast_gates.uninstall()
        del os.environ["KAIZEN_SANDBOX_MAX"]


class TestWalk(Held, Walk.TestCase):
    pass


class TestWalkOfOwn(Held, WalkOfOwn.TestCase):
    pass
