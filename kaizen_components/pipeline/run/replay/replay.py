"""Replay a run from its records alone (P6), and compare each verdict with the recorded one.

Each answer is checked again, and each gate runs again on the candidate of that time, in a temporary
folder. Neither the run nor the target is changed.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from .... import __version__
from ....errors import KaizenError, Unavailable
from ....records.ledger.canonical import encode_canonical
from ...ask.question import describe_difference, hash_question, render_question
from ...target.clearing import delete_path
from ...target.workspace import Workspace
from ...verdict import Verdict
from .. import machine, recorder
from ..engine import Engine
from ..journal import Journal
from ..progress import Progress
from . import integrity
from .difference import Row, compare_verdict

if TYPE_CHECKING:
    from ....parameters import ReadNow, Store, Writer

PROOF = "SELECT tree_hash, protection FROM proof WHERE id = ?"
FOLDER = "replays"


class PastJournal(Journal):
    """A read-only journal that shows a run as it was before one of its events."""

    def __init__(self, look: ReadNow, store: Store, run: dict[str, Any]):
        def refuse_write(record: Callable[[Writer], Any]) -> NoReturn:
            raise AssertionError("a replay must not write into a run")

        super().__init__(refuse_write, look, store, run)
        self.all = super().load_events()
        self.states = recorder.load_states(self.db, run)

    def go_before(self, event: dict[str, Any]) -> machine.State:
        """Show the run as it was before an event, and return its state then."""
        self.number = event["n"] - 1
        self.state = self.states[self.number]
        return self.state

    def load_events(self) -> list[dict[str, Any]]:
        """Return the events up to the one to which `go_before` went back."""
        return self.all[: self.number]


class Replay:
    """Replays the events of one run, and compares the verdicts."""

    def __init__(self, past: PastJournal, work: Workspace, progress: Progress):
        self.past = past
        self.progress = progress
        self.engine = Engine(past, work, None, progress)
        self.protection = ""  # how the newest command was sandboxed

    def build_report(self) -> dict[str, Any]:
        """Replay every event and return the comparison; equal inputs give equal reports."""
        run, db = self.past.run, self.past.db
        rows: list[Row] = []
        questions: list[Row] = []
        for event in self.past.all:
            state = self.past.go_before(event)
            if event["event"] == "asked":
                # A changed question is reported, but does not count as a different verdict.
                step = self.engine.protocol.steps[event["step"]]
                question, _ = self.engine.try_question(step, state)
                is_same = hash_question(question) == event["payload"]["input_hash"]
                why = ""
                if not is_same:
                    recorded = recorder.load_body(db, event["id"])
                    why = describe_difference(recorded, render_question(question))
                place = {"step": event["step"], "attempt": event["attempt"]}
                questions.append({**place, "same": is_same, "why": why})
            elif event["event"] == "answered":
                rows += integrity.list_changed_answers(db, event)
            elif event["event"] == "judged":
                rows.append(self._judge_again(event, state))
            rows += self._compare_state(event, state)
        changed = [change for row in rows for change in row.get("changed", [])]
        changed += integrity.list_changed_files(db, self.past.store.place, self.past.all)
        return {
            "run": run["id"], "base_commit": run["base_commit"],
            "same": all(row["same"] is not False for row in rows), "steps": rows,
            "questions": questions, "changed": list(dict.fromkeys(changed)), "engine": __version__,
        }  # fmt: skip

    def _judge_again(self, event: dict[str, Any], state: machine.State) -> Row:
        """Run the checks or the gate of a verdict again, and compare the result."""
        self.progress.begin_step(event["step"], event["attempt"])
        step = self.engine.protocol.steps[event["step"]]
        verdict: Verdict | None
        if step.kind == "gate":
            verdict = self.engine.run_gate(step, state)
        else:
            verdict = self.engine.find_objection(step, state)
            if verdict is None and state["phase"] == "answered":
                verdict = self.engine.check_answer(step, state)
        proof_id = event["payload"].get("proof_id")
        proof = self.past.db.one(PROOF, (proof_id,)) if proof_id else None
        row = compare_verdict(event, proof, verdict)
        if verdict:
            self.progress.end_step(event["step"], event["attempt"], verdict)
            self.protection = verdict.runs[-1].protection if verdict.runs else self.protection
        return row

    def _compare_state(self, event: dict[str, Any], state: machine.State) -> list[Row]:
        """Return a row if the state machine now gives another state after this event."""
        names = ("event", "step", "attempt", "reason", "at")
        fields = {name: event[name] for name in names if event[name] is not None}
        recorded_state = self.past.states[event["n"]]
        try:
            new_state = machine.compute_next_state(
                self.engine.protocol, state, {**event["payload"], **fields}
            )
            now = json.loads(encode_canonical(new_state))
        except machine.IllegalEvent as error:
            now = {**recorded_state, "phase": "illegal", "why": str(error)}
        if now == recorded_state:
            return []
        was, is_now = (
            f"{at['phase']} {at['outcome'] or at['step']}" for at in (recorded_state, now)
        )
        after = f"{event['event']} of {state['step']}"
        return [{
            "step": event["step"] or event["event"], "attempt": event["attempt"], "recorded": was,
            "replayed": is_now, "same": False,
            "why": f"After {after} the state machine now gives another state.",
        }]  # fmt: skip


def replay_run(
    look: ReadNow, store: Store, run: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (the report, values of its proof); raise Unavailable if the base commit is gone."""
    start_s = time.monotonic()
    progress = Progress()
    with _open_copy(store, run) as work:
        try:
            progress.begin_run(run["id"], "replay")
            replay = Replay(PastJournal(look, store, run), work, progress)
            report = replay.build_report()
            return report, {
                "tree_hash": work.target.hash_files(run["base_commit"]),
                "protection": replay.protection or "no command was run",
                "duration_ms": round((time.monotonic() - start_s) * 1000),
            }
        finally:
            progress.close()


@contextmanager
def _open_copy(store: Store, run: dict[str, Any]) -> Iterator[Workspace]:
    """Yield a copy of the run's workspace in a folder that is deleted afterwards."""
    place = os.path.join(store.place.work, FOLDER)
    os.makedirs(place, exist_ok=True)
    for name in os.listdir(place):  # delete the folders of killed replays
        process = name.split("-")[1:2]
        if process and process[0].isdigit() and not _is_alive(int(process[0])):
            delete_path(os.path.join(place, name))
    folder = tempfile.mkdtemp(prefix=f"{run['id']}-{os.getpid()}-", dir=place)
    work = None
    try:
        try:
            work = Workspace(store.place, run, json.loads(run["options"]), folder)
            work.list_paths()
        except KaizenError as error:
            commit = f"{run['base_commit'][:12]} in {run['repo']}"
            raise Unavailable(
                "base_is_gone",
                f"The commit that {run['id']} started from cannot be read: {commit}.",
                f"{error.what} {error.why}".strip(),
                "Restore the target or fetch the commit, then replay again.",
            ) from None
        yield work
    finally:
        if work:
            work.close()
        shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    """Return whether a process with that id runs."""
    if os.name != "posix":  # on Windows, os.kill would end the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        return True
    return True
