"""A driver that thinks nothing: it gives the answers of another run, where the very same questions are asked.

Keyed by step, attempt and the hash of the question. What has no such key ends the run as blocked, with what differs.
"""

from typing import Any

from ....backends.reply import Reply
from ....errors import Conflict, NotFound, Usage
from ...ask.question import Question, describe_difference, hash_question, render_question
from ...protocol import Step
from .. import recorder as ledger
from . import integrity

Place = tuple[str, int]


class RecordedDriver:
    name = "replay"

    def __init__(self, look, source: str | None):
        if not source:
            raise Usage(
                "no_source",
                "--driver replay needs --from.",
                "It gives the answers of a run again.",
                "Name the run.",
            )
        self.work: Any = None  # nothing is looked up: what a scout found is in its answer
        db = look()
        self.run = db.find("run", source)
        events = ledger.load_events(db, self.run)
        self.questions = _by_place(events, "asked")
        self.answers = _by_place(events, "answered")
        bodies = [*self.questions.values(), *self.answers.values()]
        self.texts = {event["id"]: ledger.load_body(db, event["id"]) for event in bodies}
        self.changed = {
            place: integrity.explain_changed_answer(db, event)
            for place, event in self.answers.items()
        }

    def ask(
        self, step: Step, question: Question, on_text=None, most_s=None, attempt: int = 1
    ) -> Reply:
        """The recorded answer, or the error that says which input differs. It costs nothing: nobody was asked."""
        place = (step.name, attempt)
        if place not in self.answers:
            raise self._none(place)
        if self.changed[place]:
            raise self._not_given(place)
        asked = self.questions[place]
        if asked["payload"]["input_hash"] != hash_question(question):
            raise self._other(
                place, describe_difference(self.texts[asked["id"]], render_question(question))
            )
        event = self.answers[place]
        return Reply(
            self.texts[event["id"]], model=event["payload"].get("model") or "", served_by=f"replay of {self.run['id']}",
            tokens_in=0, tokens_out=0, cost_usd=0.0,
        )  # fmt: skip

    def _none(self, place):
        there = ", ".join(f"{step} {attempt}" for step, attempt in self.answers) or "none"
        return NotFound(
            "no_recorded_answer",
            f"{self.run['id']} has no answer to {place[0]} {place[1]}.",
            f"A verdict or a budget led elsewhere then. It has answers to: {there}.",
            f"`P6 --id {self.run['id']}` says which verdicts differ.",
        )

    def _not_given(self, place):
        return Conflict(
            "answer_changed",
            f"The answer of {self.run['id']} to {place[0]} {place[1]} was changed.",
            self.changed[place],
            "`K8` says what else was changed in the records.",
        )

    def _other(self, place, difference):
        return Conflict(
            "input_differs",
            f"The question of {place[0]} {place[1]} is not the one that {self.run['id']} answered.",
            difference,
            "Replay it on the commit that it started from.",
        )


def _by_place(events, name) -> dict[Place, dict[str, Any]]:
    return {(event["step"], event["attempt"]): event for event in events if event["event"] == name}
