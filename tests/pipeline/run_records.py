"""Check what must hold for every run, from its records alone."""

import json
import subprocess

from kaizen_components.pipeline.run import machine, recorder
from kaizen_components.pipeline.target.target import Target
from kaizen_components.records.ledger.transaction import RecordReader

BEFORE = ("ready", "function")  # gates that check the base
RUNS = "SELECT * FROM run ORDER BY seq"
PASSED = "SELECT tree_hash FROM proof WHERE id = ? AND about_id = ? AND tier = 'witnessed' AND outcome = 'passed'"


class Records:
    """Reads the runs of one project."""

    def __init__(self, door):
        self.door = door

    @property
    def db(self):
        return RecordReader(self.door.store.reader(), "test")

    def runs(self):
        return [dict(row) for row in self.db.rows(RUNS, ())] if self.door.store.exists() else []

    def events(self, run):
        return recorder.load_events(self.db, run)

    def state(self, run):
        return recorder.load_state(self.db, run)[1]

    def check(self, run):
        """Check the events, attempts and budgets of a run, and the proofs if it was accepted."""
        protocol, events, state = recorder.load_protocol(run), self.events(run), self.state(run)
        assert fold_events(protocol, events) == state
        assert all(
            tries <= protocol.steps[name].attempts for name, tries in state["tries"].items()
        ), state["tries"]
        assert state["asks"] <= protocol.budget["asks"]
        assert state["refusals"] == sum(event["event"] == "refused" for event in events)
        once = [
            (event["step"], event["attempt"]) for event in events if event["event"] == "answered"
        ]
        leases = [event["payload"].get("lease") for event in events if event["event"] == "answered"]
        assert len(once) == len(set(once)) and len(leases) == len(set(leases))
        if state["outcome"] == "accepted":
            self.check_accepted(run, protocol, events)

    def check_accepted(self, run, protocol, events):
        """Check that each step has passed, and each gate has a witnessed proof after the newest build."""
        edits = [name for name, step in protocol.steps.items() if step.answer in ("edits", "json")]
        built = max(
            event["n"]
            for event in events
            if event["event"] == "answered" and event["step"] in edits
        )
        trees = {}
        for name, step in protocol.steps.items():
            passed = [
                event for event in events if event["event"] == "judged" and event["step"] == name
            ]
            assert passed and passed[-1]["reason"] == "pass", name
            if step.kind == "gate":
                assert step.gate in BEFORE or passed[-1]["n"] > built, name
                trees[name] = self.db.value(PASSED, (passed[-1]["payload"]["proof_id"], run["id"]))
                assert trees[name], name
        ended = [event["payload"] for event in events if event["event"] == "ended"]
        if ended and "test" in trees:
            assert trees["test"] == tree(self.door, run, ended[0]["delivered"]["commit"])


def tree(door, run, commit):
    target = Target(f"{door.store.place.root}/{run['repo']}")
    try:
        return target.hash_files(commit)
    finally:
        target.close()


def fold_events(protocol, events):
    """Return the state that follows from the events."""
    state = machine.make_initial_state(protocol)
    for event in events:
        named = {
            name: event[name]
            for name in ("event", "step", "attempt", "reason", "at")
            if event[name] is not None
        }
        state = machine.compute_next_state(protocol, state, {**named, **event["payload"]})
    return json.loads(json.dumps(state))


def branches(repo):
    """Return the ids of the runs with a branch in the target."""
    words = ["git", "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/kaizen/"]
    return set(
        subprocess.run(words, cwd=repo, check=True, capture_output=True, text=True).stdout.split()
    )
