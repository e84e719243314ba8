"""The driver "replay" repeats the answers of another run instead of asking a model.

An answer is found by its step, its attempt and the hash of its question. Without a match the run
ends as blocked and says what differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....backends.reply import Reply
from ....errors import Conflict, NotFound, Usage
from ...ask.question import Question, describe_difference, hash_question, render_question
from ...protocol import Step
from .. import recorder
from . import integrity

if TYPE_CHECKING:
    from ....backends.chat import OnText
    from ....parameters import ReadNow

Place = tuple[str, int]


class RecordedDriver:
    """Answers questions with the recorded answers of another run."""

    name = "replay"

    def __init__(self, look: ReadNow, source: str | None):
        if not source:
            raise Usage(
                "no_source",
                "--driver replay needs --from.",
                "The replay driver repeats the answers of another run.",
                "Name that run with --from RUN.",
            )
        self.work: Any = None  # unused: a recorded answer needs no tools
        db = look()
        self.run = db.find("run", source)
        self.questions: dict[Place, dict[str, Any]] = {}
        self.answers: dict[Place, dict[str, Any]] = {}
        events = recorder.load_events(db, self.run)
        for event in events:
            place = event["step"], event["attempt"]
            if event["event"] == "asked":
                self.questions[place] = event
            elif event["event"] == "answered":
                self.answers[place] = event
        self.texts = {
            event["id"]: recorder.load_body(db, event["id"])
            for event in (*self.questions.values(), *self.answers.values())
        }
        self.changed = {
            place: integrity.explain_changed_answer(db, event)
            for place, event in self.answers.items()
        }

    def ask(
        self, step: Step, question: Question, on_text: OnText | None = None,
        limit_s: float | None = None, attempt: int = 1,
    ) -> Reply:  # fmt: skip
        """Return the recorded answer, or raise an error that says which input differs."""
        place = (step.name, attempt)
        run_id = self.run["id"]
        if place not in self.answers:
            answered_steps = (
                ", ".join(f"{name} {number}" for name, number in self.answers) or "none"
            )
            raise NotFound(
                "no_recorded_answer",
                f"{run_id} has no recorded answer to {step.name} {attempt}.",
                f"The original run took another path. It has answers to: {answered_steps}.",
                f"Run `P6 --id {run_id}` to see which verdicts differ.",
            )
        if self.changed[place]:
            raise Conflict(
                "answer_changed",
                f"The answer of {run_id} to {step.name} {attempt} was changed.",
                self.changed[place],
                "Run `K8` to list every changed record.",
            )
        recorded_question = self.questions[place]
        answer = self.answers[place]
        if recorded_question["payload"]["input_hash"] != hash_question(question):
            raise Conflict(
                "input_differs",
                f"The question of {step.name} {attempt} differs from the one in {run_id}.",
                describe_difference(self.texts[recorded_question["id"]], render_question(question)),
                f"Replay on the commit {self.run['base_commit'][:12]} from which that run started.",
            )
        return Reply(
            self.texts[answer["id"]], model=answer["payload"].get("model") or "",
            served_by=f"replay of {run_id}", tokens_in=0, tokens_out=0, cost_usd=0.0,
        )  # fmt: skip
