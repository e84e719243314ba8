"""P6: judge a run again from its records alone, and say whether every verdict is the one that was recorded.

Each recorded answer is checked again and each gate runs again on the candidate of that moment, in a folder of its own.
Neither the run nor the target is changed.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .... import __version__
from ....errors import KaizenError, Unavailable
from ....records.ledger.canonical import encode_canonical
from ...ask.question import describe_difference, hash_question, render_question
from ...target.clearing import delete_path
from ...target.workspace import Workspace
from ...verdict import Verdict
from .. import machine
from .. import recorder as ledger
from ..engine import Engine
from ..journal import Journal
from ..progress import Progress
from . import integrity
from .difference import Row, compare_verdict

PROOF = "SELECT tree_hash, protection FROM proof WHERE id = ?"
FOLDER = "replays"


class PastJournal(Journal):
    """A run's book that is only read, up to the event that is looked at."""

    def __init__(self, look, store, run: dict[str, Any]):
        super().__init__(self._closed, look, store, run)
        self.all = super().events()
        self.states = ledger.load_states(self.db, run)

    def _closed(self, do):
        raise AssertionError("a replay writes nothing into a run")

    def before(self, event: dict[str, Any]) -> machine.State:
        """Open the book as it was before an event."""
        self.number, self.state = event["n"] - 1, self.states[event["n"] - 1]
        return self.state

    def events(self) -> list[dict[str, Any]]:
        return self.all[: self.number]


class Replay:
    def __init__(self, past: PastJournal, work: Workspace, progress: Progress):
        self.past = past
        self.progress = progress
        self.engine = Engine(past, work, None, progress)
        self.box = ""  # the protection of the newest command that was run

    def build_report(self) -> dict[str, Any]:
        """Everything that was found; the same records, code and tools give the same report."""
        looks = {"asked": self._compare_question, "judged": self._compare_verdict}
        rows: list[Row] = []
        questions: list[Row] = []
        for event in self.past.all:
            state = self.past.before(event)
            if event["event"] in looks:
                (questions if event["event"] == "asked" else rows).append(
                    looks[event["event"]](event, state)
                )
            rows += (
                integrity.list_changed_answers(self.past.db, event)
                if event["event"] == "answered"
                else []
            )
            rows += self._compare_state(event, state)
        run, changed = self.past.run, [one for row in rows for one in row.get("changed", [])]
        changed += integrity.list_changed_files(self.past.db, self.past.store.place, self.past.all)
        return {
            "run": run["id"], "base_commit": run["base_commit"], "same": all(row["same"] is not False for row in rows),
            "steps": rows, "questions": questions, "changed": list(dict.fromkeys(changed)), "engine": __version__,
        }  # fmt: skip

    def _compare_question(self, event, state) -> Row:
        """Is the question the one that was asked? Another prompt is named, and is no other verdict."""
        question, _ = self.engine.made(self.engine.protocol.steps[event["step"]], state)
        same = hash_question(question) == event["payload"]["input_hash"]
        why = (
            ""
            if same
            else describe_difference(
                ledger.load_body(self.past.db, event["id"]), render_question(question)
            )
        )
        return {"step": event["step"], "attempt": event["attempt"], "same": same, "why": why}

    def _compare_verdict(self, event, state) -> Row:
        self.progress.step(event["step"], event["attempt"])
        verdict = self._again(self.engine.protocol.steps[event["step"]], state)
        proof_id = event["payload"].get("proof_id")
        row = compare_verdict(
            event, self.past.db.one(PROOF, (proof_id,)) if proof_id else None, verdict
        )
        if verdict:
            self.progress.end_step(event["step"], event["attempt"], verdict)
            self.box = verdict.runs[-1].protection if verdict.runs else self.box
        return row

    def _again(self, step, state) -> Verdict | None:
        if step.kind == "gate":
            return self.engine.gate(step, state)
        objection = self.engine.find_objection(step, state)
        return objection or (
            self.engine.answer(step, state) if state["phase"] == "answered" else None
        )

    def _compare_state(self, event, state) -> list[Row]:
        """Does the machine lead where it led then? A row only if it does not."""
        given = {
            name: event[name]
            for name in ("event", "step", "attempt", "reason", "at")
            if event[name] is not None
        }
        then = self.past.states[event["n"]]
        try:
            now = json.loads(
                encode_canonical(
                    machine.next_state(self.engine.protocol, state, {**event["payload"], **given})
                )
            )
        except machine.IllegalEvent as error:
            now = {**then, "phase": "illegal", "why": str(error)}
        if now == then:
            return []
        was, is_now = (f"{one['phase']} {one['outcome'] or one['step']}" for one in (then, now))
        why = f"After {event['event']} of {state['step']} the run leads elsewhere, or counts otherwise."
        place = {"step": event["step"] or event["event"], "attempt": event["attempt"]}
        return [{**place, "recorded": was, "replayed": is_now, "same": False, "why": why}]


def replay_run(look, store, run: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the report, what a proof says about how it was made); Unavailable if the base is not there any more."""
    began = time.monotonic()
    progress = Progress()
    with _open_copy(store, run) as work:
        try:
            progress.begin(run["id"], "replay")
            again = Replay(PastJournal(look, store, run), work, progress)
            report = again.build_report()
            return report, {
                "tree_hash": work.target.tree(run["base_commit"]), "protection": again.box or "no command was run",
                "duration_ms": round((time.monotonic() - began) * 1000),
            }  # fmt: skip
        finally:
            progress.close()


@contextmanager
def _open_copy(store, run) -> Iterator[Workspace]:
    """The run's files made anew, in a folder that is gone afterwards."""
    place = os.path.join(store.place.work, FOLDER)
    os.makedirs(place, exist_ok=True)
    _remove_leftovers(place)
    folder = tempfile.mkdtemp(prefix=f"{run['id']}-{os.getpid()}-", dir=place)
    try:
        work = _work(store, run, folder)
        try:
            yield work
        finally:
            work.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(place):
    """What a replay left that was killed: its process is gone, and nobody else will take it away."""
    for name in os.listdir(place):
        process = name.split("-")[1:2]
        if process and process[0].isdigit() and not _is_alive(int(process[0])):
            delete_path(os.path.join(place, name))


def _is_alive(process):
    if os.name != "posix":  # where signal 0 would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _work(store, run, folder):
    try:
        work = Workspace(store.place, run, json.loads(run["options"]), folder)
        work.paths()
    except KaizenError as error:
        raise Unavailable(
            "base_is_gone",
            f"The commit that {run['id']} started from cannot be read: {run['base_commit'][:12]} in {run['repo']}.",
            f"{error.what} {error.why}".strip(),
            "Bring the target or its commit back, such as by `git fetch`, then replay again.",
        ) from None
    return work
