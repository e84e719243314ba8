"""Drive a run to its end: do what the machine says is next, and record each step before and after it.

Intent before effect: `asked`, `started` and `delivering` are rows before anything is done, so a process that dies
anywhere is resumed from its newest row. Whatever has no row after its intent is done again, and counted once.
"""

import time

from ...errors import KaizenError, Unavailable
from ...sandbox import run as sandbox
from ..answers.context import Asked
from ..answers.kinds import kind_of
from ..ask.asking import judged, messages
from ..ask.feedback import current, feedback, fingerprint
from ..ask.question import Question
from ..edits import apply as edits
from ..gates import registry as gates
from ..protocol import Step
from ..target.work import Work
from ..verdict import Finding, Verdict
from . import delivery, machine, recorder
from .book import Book
from .progress import Progress

FORM = "malformed"
NO_QUESTION = [{"role": "system", "content": "No question could be made."}]


class Engine:
    """`driver` is whoever is asked; None for an agent, who answers in its own time through `turn`."""

    def __init__(self, book: Book, work: Work, driver, progress: Progress):
        self.waits = False
        self.book = book
        self.work = work
        self.driver = driver
        self.progress = progress
        self.protocol = recorder.protocol_of(book.run)
        self._questions: dict[tuple[str, int], Question] = {}

    def drive(self) -> None:
        """Until the run has ended or waits for an agent; Unavailable if a model does not answer."""
        phases = {
            "due": self._due, "asked": self._asked, "answered": self._answered, "started": self._started,
            "ending": self._ending, "delivering": self._delivering,
        }  # fmt: skip
        while self.book.state["phase"] != "ended" and not self.waits:
            phases[self.book.state["phase"]](
                self.protocol.steps[self.book.state["step"]], self.book.state
            )

    def _due(self, step: Step, state: machine.State) -> None:
        attempt = state["tries"].get(step.name, 0) + 1
        if step.kind == "gate":
            self.book.add("started", step.name, attempt)
        else:
            self._ask(step, attempt, state)

    def _ask(self, step: Step, attempt: int, state: machine.State) -> None:
        """The question on record; one that cannot be made blocks the run, and does not hold it for ever."""
        question, trouble = self.made(step, state)
        self.book.ask(step.name, attempt, question)
        if trouble:
            self._judge(step, self.book.state, _missing("question", trouble), time.monotonic())

    def made(self, step: Step, state: machine.State) -> tuple[Question, KaizenError | None]:
        """(the question, or words for none; why there is none)."""
        try:
            return self.question(step, state), None
        except KaizenError as error:
            return NO_QUESTION, error

    def _asked(self, step: Step, state: machine.State) -> None:
        """Ask, or ask again after a crash: the attempt is the same, and charged once."""
        objection = self.objection(step, state)
        if objection:
            self._judge(step, state, objection, time.monotonic())
            return
        if self.driver is None:
            trouble = self.made(step, state)[1]
            if trouble:  # and whoever asked was killed before it was said
                self._judge(step, state, _missing("question", trouble), time.monotonic())
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
            self._judge(step, state, _missing("question", error), began)
            return
        self.book.answer(step.name, state["attempt"], reply)

    def _pause(self, step, error, began):
        """Nobody answers: let go, say why, and leave everything else as it is."""
        seconds = round(time.monotonic() - began, 3)
        spent = {**getattr(error, "spent", {}), "seconds": seconds}
        self.book.add("released", why=f"{error.what} {error.why}".strip(), spent=spent)
        if self.book.state["phase"] == "asked":  # or its time is up
            error.next = f"{error.next} Then go on with it: `P7 --id {self.book.run['id']}`."
            raise error

    def _answered(self, step: Step, state: machine.State) -> None:
        began = time.monotonic()
        self._judge(step, state, self.answer(step, state), began)

    def _started(self, step: Step, state: machine.State) -> None:
        """A gate, in no weaker box than there was when the run began: whoever answers may have lowered it since.

        A run from before that was recorded is held to the box of its first gate.
        """
        levels = [event["payload"]["facts"].get("level") for event in self._verdicts()]
        sandbox.require(next(filter(None, [self.work.options.get("sandbox"), *levels]), "L0"))
        self.progress.step(step.name, state["attempt"])
        began = time.monotonic()
        self._judge(step, state, self.gate(step, state), began)

    def objection(self, step: Step, state: machine.State) -> Verdict | None:
        """What speaks against asking at all."""
        return kind_of(step).objection(self.work, self.so_far(step, state))

    def answer(self, step: Step, state: machine.State) -> Verdict:
        """What the checks say about the newest answer to a step."""
        text = recorder.answer_text(self.book.db, state, step.name) or ""
        return judged(step, self.work, self.so_far(step, state), text)

    def gate(self, step: Step, state: machine.State) -> Verdict:
        """What a gate says about the answers that the state has."""
        try:
            return gates.judge(step, self.work, self.so_far(step, state))
        except KaizenError as error:  # a tool that is not there, a disk that is full: never a pass
            return _missing("gate", error)

    def _judge(self, step, state, verdict, began):
        self.book.judge(
            step,
            state["attempt"],
            verdict,
            fingerprint(verdict),
            round(max(0.0, time.monotonic() - began), 3),
        )
        self.progress.judged(step.name, state["attempt"], verdict)

    def _ending(self, step: Step, state: machine.State) -> None:
        if state["outcome"] == "accepted":
            self.book.add("delivering")
        else:
            self.book.end(self.work, {})

    def _delivering(self, step: Step, state: machine.State) -> None:
        self.book.end(self.work, delivery.deliver(self.book, self.work, self.so_far(step, state)))

    def question(self, step: Step, state: machine.State) -> Question:
        """Made once for each attempt: what it is made of does not change while the attempt lasts."""
        attempt = state["tries"].get(step.name, 0) + (state["phase"] == "due")
        if (step.name, attempt) not in self._questions:
            self._questions[step.name, attempt] = messages(
                step, self.work, self.so_far(step, state)
            )
        return self._questions[step.name, attempt]

    def _verdicts(self):
        return [event for event in self.book.events() if event["event"] == "judged"]

    def so_far(self, step: Step, state: machine.State) -> Asked:
        texts = {
            name: recorder.answer_text(self.book.db, state, name) for name in self.protocol.steps
        }
        history = self._verdicts()
        told, previous = feedback(history, step.name, self.protocol.plans), None
        if step.kind == "ask" and kind_of(step).is_edits:
            previous = texts[step.name]
            since = current(history, step.name, self.protocol.plans)
            refused = [one for one in since if (one["step"], one["reason"]) == (step.name, FORM)]
            told = "\n\n".join(filter(None, (told, edits.advice(len(refused)) if told else "")))
        return Asked(
            self.protocol,
            self.book.run["request"],
            texts,
            told,
            previous,
            history,
            self.work.options,
        )


def _missing(rule: str, error: KaizenError) -> Verdict:
    return Verdict(
        "missing", error.what, [Finding(rule, f"{error.what} {error.why} {error.next}".strip())]
    )
