"""Drive a run to its end: take the next step of the state machine, and record it.

`asked`, `started` and `delivering` are recorded before the step does anything. So after a crash the
run resumes from its newest event. A step without a result runs again, but counts as one attempt.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ...errors import KaizenError, Unavailable
from ...sandbox import run as sandbox
from ..answers.context import StepContext
from ..answers.kinds import get_kind
from ..ask.feedback import fingerprint_verdict, select_current_verdicts, write_feedback
from ..ask.messages import build_messages, check_answer
from ..ask.question import Question
from ..edits import apply as edits
from ..gates import registry as gates
from ..protocol import Step
from ..target.workspace import Workspace
from ..verdict import Finding, Verdict
from . import delivery, machine, recorder
from .journal import Journal
from .progress import Progress

if TYPE_CHECKING:
    from .drivers import Driver

MALFORMED = "malformed"
NO_QUESTION = [{"role": "system", "content": "No question could be made."}]  # its hash is stored


class Engine:
    """Drives one run. Without a `driver` an agent answers, through `turn`."""

    def __init__(self, journal: Journal, work: Workspace, driver: Driver, progress: Progress):
        self.waits = False  # true while an agent has to answer
        self.journal = journal
        self.work = work
        self.driver = driver
        self.progress = progress
        self.protocol = recorder.load_protocol(journal.run)
        self._questions: dict[tuple[str, int], Question] = {}

    def drive(self) -> None:
        """Do steps until the run ends or waits for an agent; raise Unavailable without a model."""
        while not self.waits:
            state = self.journal.state
            step = self.protocol.steps[state["step"]]
            match state["phase"]:
                case "due" if step.kind == "gate":
                    self.journal.add_event(
                        "started", step.name, state["tries"].get(step.name, 0) + 1
                    )
                case "due":
                    question, error = self.try_question(step, state)
                    self.journal.record_question(
                        step.name, state["tries"].get(step.name, 0) + 1, question
                    )
                    if error:
                        self._record_verdict(step, _explain_missing("question", error))
                case "asked":
                    self._ask_driver(step, state)
                case "answered":
                    start_s = time.monotonic()
                    self._record_verdict(step, self.check_answer(step, state), start_s)
                case "started":
                    # The sandbox must be as strong as at the start: an answer may have weakened
                    # it. Old runs did not record its level then, so their first gate has it.
                    facts = [event["payload"]["facts"] for event in self._list_verdicts()]
                    levels = [
                        self.work.options.get("sandbox"),
                        *(fact.get("level") for fact in facts),
                    ]
                    sandbox.require_level(next(filter(None, levels), "L0"))
                    self.progress.begin_step(step.name, state["attempt"])
                    start_s = time.monotonic()
                    self._record_verdict(step, self.run_gate(step, state), start_s)
                case "ending" if state["outcome"] == "accepted":
                    self.journal.add_event("delivering")
                case "ending":
                    self.journal.record_end(self.work, {})
                case "delivering":
                    context = self.build_context(step, state)
                    self.journal.record_end(
                        self.work, delivery.deliver(self.journal, self.work, context)
                    )
                case "ended":
                    return

    def try_question(self, step: Step, state: machine.State) -> tuple[Question, KaizenError | None]:
        """Return (the question, None), or (a placeholder, the error) if it cannot be built."""
        try:
            return self.build_question(step, state), None
        except KaizenError as error:
            return NO_QUESTION, error

    def _ask_driver(self, step: Step, state: machine.State) -> None:
        """Ask the driver and record its answer. After a crash, ask again in that attempt."""
        objection = self.find_objection(step, state)
        if objection:
            self._record_verdict(step, objection)
            return
        if self.driver is None:
            error = self.try_question(step, state)[1]
            if error:  # a crash prevented this verdict
                self._record_verdict(step, _explain_missing("question", error))
            self.waits = not error
            return
        self.progress.begin_step(step.name, state["attempt"])
        start_s = time.monotonic()
        limit_s = machine.compute_seconds_left(self.protocol, state, step)
        try:
            question = self.build_question(step, state)
            reply = self.driver.ask(
                step, question, self.progress.count_text, limit_s, state["attempt"]
            )
        except Unavailable as error:
            # Pause the run: release the lease and record the reason.
            seconds = round(time.monotonic() - start_s, 3)
            spent = {**getattr(error, "total_spent", {}), "seconds": seconds}
            self.journal.add_event("released", why=f"{error.what} {error.why}".strip(), spent=spent)
            if self.journal.state["phase"] == "asked":  # otherwise the time budget is used up
                error.next = (
                    f"{error.next} Then resume the run: `P7 --id {self.journal.run['id']}`."
                )
                raise
            return
        except KaizenError as error:  # such as a secret in the question: a retry is useless
            self._record_verdict(step, _explain_missing("question", error), start_s)
            return
        self.journal.record_answer(step.name, state["attempt"], reply)

    def find_objection(self, step: Step, state: machine.State) -> Verdict | None:
        """Return a verdict that makes the question unnecessary, or None."""
        return get_kind(step).find_objection(self.work, self.build_context(step, state))

    def check_answer(self, step: Step, state: machine.State) -> Verdict:
        """Return the verdict of the checks on the newest answer to a step."""
        text = recorder.load_answer(self.journal.db, state, step.name) or ""
        return check_answer(step, self.work, self.build_context(step, state), text)

    def run_gate(self, step: Step, state: machine.State) -> Verdict:
        """Return the verdict of a gate on the answers in the state."""
        try:
            return gates.run_gate(step, self.work, self.build_context(step, state))
        except KaizenError as error:  # such as a missing tool or a full disk
            return _explain_missing("gate", error)

    def _record_verdict(self, step: Step, verdict: Verdict, start_s: float | None = None) -> None:
        """Record a verdict with the seconds since `start_s`, and show it."""
        seconds = 0.0 if start_s is None else round(max(0.0, time.monotonic() - start_s), 3)
        attempt = self.journal.state["attempt"]
        self.journal.record_verdict(step, attempt, verdict, fingerprint_verdict(verdict), seconds)
        self.progress.end_step(step.name, attempt, verdict)

    def build_question(self, step: Step, state: machine.State) -> Question:
        """Return the question of the current attempt, built once because its inputs are fixed."""
        attempt = state["tries"].get(step.name, 0) + (state["phase"] == "due")
        if (step.name, attempt) not in self._questions:
            self._questions[step.name, attempt] = build_messages(
                step, self.work, self.build_context(step, state)
            )
        return self._questions[step.name, attempt]

    def _list_verdicts(self) -> list[dict[str, Any]]:
        """Return the verdicts of the run so far."""
        return [event for event in self.journal.load_events() if event["event"] == "judged"]

    def build_context(self, step: Step, state: machine.State) -> StepContext:
        """Return what a step knows: the answers, the verdicts and the feedback so far."""
        texts = {
            name: recorder.load_answer(self.journal.db, state, name) for name in self.protocol.steps
        }
        previous = None
        history = self._list_verdicts()
        plans = self.protocol.planning_steps
        feedback = write_feedback(history, step.name, plans)
        if step.kind == "ask" and get_kind(step).is_edits:
            previous = texts[step.name]
            malformed_verdicts = [
                event
                for event in select_current_verdicts(history, step.name, plans)
                if (event["step"], event["reason"]) == (step.name, MALFORMED)
            ]
            advice = edits.advise_whole_files(len(malformed_verdicts)) if feedback else ""
            feedback = "\n\n".join(filter(None, (feedback, advice)))
        request = self.journal.run["request"]
        options = self.work.options
        return StepContext(self.protocol, request, texts, feedback, previous, history, options)


def _explain_missing(rule: str, error: KaizenError) -> Verdict:
    """Return the verdict `missing` with an error as its finding."""
    text = f"{error.what} {error.why} {error.next}".strip()
    return Verdict("missing", error.what, [Finding(rule, text)])
