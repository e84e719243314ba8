"""Drive a run to its end: do what the machine says is next, and record each step before and after it.

Intent before effect: `asked`, `started` and `delivering` are rows before anything is done, so a process that dies
anywhere is resumed from its newest row. Whatever has no row after its intent is done again, and counted once.
"""

import time

from ...errors import KaizenError, Unavailable
from ...sandbox import run as sandbox
from ..answers.context import StepContext
from ..answers.kinds import kind_of
from ..ask.feedback import fingerprint_verdict, select_current, write_feedback
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

FORM = "malformed"
NO_QUESTION = [{"role": "system", "content": "No question could be made."}]


class Engine:
    """`driver` is whoever is asked; None for an agent, who answers in its own time through `turn`."""

    def __init__(self, book: Journal, work: Workspace, driver, progress: Progress):
        self.waits = False
        self.book = book
        self.work = work
        self.driver = driver
        self.progress = progress
        self.protocol = recorder.load_protocol(book.run)
        self._questions: dict[tuple[str, int], Question] = {}

    def drive(self) -> None:
        """Until the run has ended or waits for an agent; Unavailable if a model does not answer."""
        phases = {
            "due": self._begin_step, "asked": self._ask_driver, "answered": self._judge_answer, "started": self._judge_gate,
            "ending": self._begin_end, "delivering": self._deliver,
        }  # fmt: skip
        while self.book.state["phase"] != "ended" and not self.waits:
            phases[self.book.state["phase"]](
                self.protocol.steps[self.book.state["step"]], self.book.state
            )

    def _begin_step(self, step: Step, state: machine.State) -> None:
        attempt = state["tries"].get(step.name, 0) + 1
        if step.kind == "gate":
            self.book.add("started", step.name, attempt)
        else:
            self._record_question(step, attempt, state)

    def _record_question(self, step: Step, attempt: int, state: machine.State) -> None:
        """The question on record; one that cannot be made blocks the run, and does not hold it for ever."""
        question, trouble = self.made(step, state)
        self.book.ask(step.name, attempt, question)
        if trouble:
            self._judge(
                step, self.book.state, _explain_missing("question", trouble), time.monotonic()
            )

    def made(self, step: Step, state: machine.State) -> tuple[Question, KaizenError | None]:
        """(the question, or words for none; why there is none)."""
        try:
            return self.question(step, state), None
        except KaizenError as error:
            return NO_QUESTION, error

    def _ask_driver(self, step: Step, state: machine.State) -> None:
        """Ask, or ask again after a crash: the attempt is the same, and charged once."""
        objection = self.find_objection(step, state)
        if objection:
            self._judge(step, state, objection, time.monotonic())
            return
        if self.driver is None:
            trouble = self.made(step, state)[1]
            if trouble:  # and whoever asked was killed before it was said
                self._judge(step, state, _explain_missing("question", trouble), time.monotonic())
            self.waits = not trouble
            return
        self.progress.step(step.name, state["attempt"])
        began = time.monotonic()
        most_s = machine.seconds_left(self.protocol, state, step)
        try:
            reply = self.driver.ask(
                step, self.question(step, state), self.progress.text, most_s, state["attempt"]
            )
        except Unavailable as error:
            self._pause(step, error, began)
            return
        except (
            KaizenError
        ) as error:  # such as a secret in what would be sent: waiting would not help
            self._judge(step, state, _explain_missing("question", error), began)
            return
        self.book.answer(step.name, state["attempt"], reply)

    def _pause(self, step, error, began):
        """Nobody answers: let go, say why, and leave everything else as it is."""
        seconds = round(time.monotonic() - began, 3)
        spent = {**getattr(error, "total_spent", {}), "seconds": seconds}
        self.book.add("released", why=f"{error.what} {error.why}".strip(), spent=spent)
        if self.book.state["phase"] == "asked":  # or its time is up
            error.next = f"{error.next} Then go on with it: `P7 --id {self.book.run['id']}`."
            raise error

    def _judge_answer(self, step: Step, state: machine.State) -> None:
        began = time.monotonic()
        self._judge(step, state, self.answer(step, state), began)

    def _judge_gate(self, step: Step, state: machine.State) -> None:
        """A gate, in no weaker box than there was when the run began: whoever answers may have lowered it since.

        A run from before that was recorded is held to the box of its first gate.
        """
        levels = [event["payload"]["facts"].get("level") for event in self._verdicts()]
        sandbox.require_level(next(filter(None, [self.work.options.get("sandbox"), *levels]), "L0"))
        self.progress.step(step.name, state["attempt"])
        began = time.monotonic()
        self._judge(step, state, self.gate(step, state), began)

    def find_objection(self, step: Step, state: machine.State) -> Verdict | None:
        """What speaks against asking at all."""
        return kind_of(step).find_objection(self.work, self.build_context(step, state))

    def answer(self, step: Step, state: machine.State) -> Verdict:
        """What the checks say about the newest answer to a step."""
        text = recorder.load_answer(self.book.db, state, step.name) or ""
        return check_answer(step, self.work, self.build_context(step, state), text)

    def gate(self, step: Step, state: machine.State) -> Verdict:
        """What a gate says about the answers that the state has."""
        try:
            return gates.run_gate(step, self.work, self.build_context(step, state))
        except KaizenError as error:  # a tool that is not there, a disk that is full: never a pass
            return _explain_missing("gate", error)

    def _judge(self, step, state, verdict, began):
        self.book.judge(
            step,
            state["attempt"],
            verdict,
            fingerprint_verdict(verdict),
            round(max(0.0, time.monotonic() - began), 3),
        )
        self.progress.end_step(step.name, state["attempt"], verdict)

    def _begin_end(self, step: Step, state: machine.State) -> None:
        if state["outcome"] == "accepted":
            self.book.add("delivering")
        else:
            self.book.end(self.work, {})

    def _deliver(self, step: Step, state: machine.State) -> None:
        self.book.end(
            self.work, delivery.deliver(self.book, self.work, self.build_context(step, state))
        )

    def question(self, step: Step, state: machine.State) -> Question:
        """Made once for each attempt: what it is made of does not change while the attempt lasts."""
        attempt = state["tries"].get(step.name, 0) + (state["phase"] == "due")
        if (step.name, attempt) not in self._questions:
            self._questions[step.name, attempt] = build_messages(
                step, self.work, self.build_context(step, state)
            )
        return self._questions[step.name, attempt]

    def _verdicts(self):
        return [event for event in self.book.events() if event["event"] == "judged"]

    def build_context(self, step: Step, state: machine.State) -> StepContext:
        texts = {
            name: recorder.load_answer(self.book.db, state, name) for name in self.protocol.steps
        }
        history = self._verdicts()
        told, previous = write_feedback(history, step.name, self.protocol.planning_steps), None
        if step.kind == "ask" and kind_of(step).is_edits:
            previous = texts[step.name]
            since = select_current(history, step.name, self.protocol.planning_steps)
            refused = [one for one in since if (one["step"], one["reason"]) == (step.name, FORM)]
            told = "\n\n".join(
                filter(None, (told, edits.advise_whole_files(len(refused)) if told else ""))
            )
        return StepContext(
            self.protocol,
            self.book.run["request"],
            texts,
            told,
            previous,
            history,
            self.work.options,
        )


def _explain_missing(rule: str, error: KaizenError) -> Verdict:
    return Verdict(
        "missing", error.what, [Finding(rule, f"{error.what} {error.why} {error.next}".strip())]
    )
