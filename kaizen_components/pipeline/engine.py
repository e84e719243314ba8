"""Drive a run to its end: do what the machine says is next, and record each step before and after it.

Intent before effect: `asked`, `started` and `delivering` are rows before anything is done, so a process that dies
anywhere is resumed from its newest row. Whatever has no row after its intent is done again, and counted once.
"""

import time
from typing import Any

from ..errors import KaizenError, Unavailable
from . import ledger, machine
from .asking import Asked, before_review, judged, messages
from .book import Book
from .checking import own
from .feedback import feedback, fingerprint
from .protocol import Step
from .verdict import Finding, Verdict
from .work import Work, answer_text

GATES = {"ready": "ready", "static": "static", "testing": "testing.gate"}


class Engine:
    def __init__(self, book: Book, work: Work, driver, progress):
        self.book = book
        self.work = work
        self.driver = driver
        self.progress = progress
        self.protocol = ledger.protocol_of(book.run)

    def drive(self) -> machine.State:
        """Until the run has ended, or waits for an agent."""
        state = self.book.state
        while state["phase"] != "ended":
            step = self.protocol.steps[state["step"]]
            if not getattr(self, "_" + state["phase"])(step, state):
                break
            state = self.book.state
        return self.book.state

    def _due(self, step: Step, state) -> bool:
        attempt = state["tries"].get(step.name, 0) + 1
        if step.kind == "gate":
            self.book.add("started", step.name, attempt)
            return True
        self.book.add("asked", step.name, attempt, input_hash=self.book.hashed(self.question(step, state)))
        return True

    def _asked(self, step: Step, state) -> bool:
        """Ask, or ask again after a crash: the attempt is the same, and charged once."""
        if step.name == "review":
            objection = before_review(self.work, self._so_far(step, state))
            if objection:
                self._judge(step, state, objection, 0)
                return True
        self.progress.step(step.stage, state["attempt"])
        began = time.monotonic()
        try:
            reply = self.driver.ask(step, self.question(step, state), self.progress.text)
        except Unavailable as error:
            self._judge(
                step, state, Verdict("missing", error.what, [Finding("backend", f"{error.what} {error.next}")]), began
            )
            return True
        if reply is None:
            return False  # an agent answers in its own time
        self.book.answer(step.name, state["attempt"], reply)
        return True

    def _answered(self, step: Step, state) -> bool:
        text = answer_text(self.book.db, state, step.name) or ""
        began = time.monotonic()
        self._judge(step, state, judged(step, self.work, self._so_far(step, state), text), began)
        return True

    def _started(self, step: Step, state) -> bool:
        from importlib import import_module

        self.progress.step(step.stage, state["attempt"])
        began = time.monotonic()
        asked = self._so_far(step, state)
        try:
            gate = import_module(f"{__package__}.{GATES[step.gate or '']}")
            build = asked.texts["build"]
            job = self.work.job(asked.spec, build, asked.texts["tests"]) if build else self.work.untouched()
            verdict = own.around(job, "test", gate.judge) if step.gate == "testing" else gate.judge(job)
        except KaizenError as error:  # a tool that is not there, a disk that is full: never a pass
            verdict = Verdict(
                "missing", error.what, [Finding("gate", f"{error.what} {error.why} {error.next}".strip())]
            )
        self._judge(step, state, verdict, began)
        return True

    def _judge(self, step, state, verdict, began):
        seconds = round(time.monotonic() - began, 3) if began else 0.0
        self.book.judge(step, state["attempt"], verdict, fingerprint(verdict), seconds)
        self.progress.judged(step.stage, state["attempt"], verdict)

    def _ending(self, step: Step, state) -> bool:
        if state["outcome"] == "accepted":
            self.book.add("delivering")
        else:
            self.book.end(self.work, {})
        return True

    def _delivering(self, step: Step, state) -> bool:
        """A branch, and with --apply the change in the tree; both are the same when done twice."""
        asked = self._so_far(step, state)
        commit = self.work.candidate(asked.spec, asked.texts["build"] or "", asked.texts["tests"])
        self.work.target.adopt(self.work.objects, commit)
        name = f"kaizen/{self.book.run['id']}"
        self.work.target.branch(name, commit)
        delivered = {"branch": name, "commit": commit, "applied": False}
        if self.work.options.get("apply"):
            try:
                if not self.work.target.is_applied(self.work.commit, commit):
                    self.work.target.apply(self.work.commit, commit)
                delivered["applied"] = True
            except KaizenError as error:
                delivered["not_applied"] = f"{error.what} {error.why}"
        self.book.end(self.work, delivered)
        return True

    def question(self, step: Step, state) -> list[dict[str, str]]:
        return messages(step, self.work, self._so_far(step, state))

    def _so_far(self, step, state) -> Asked:
        db = self.book.db
        texts = {name: answer_text(db, state, name) for name in self.protocol.steps}
        history = [event for event in self.book.events() if event["event"] == "judged"]
        return Asked(
            self.book.run["request"], texts, feedback(history, step.name),
            texts[step.name] if state["tries"].get(step.name, 0) and step.name in ("build", "tests") else None,
        )  # fmt: skip


def summary(state: machine.State, events: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of a run: what its last event says."""
    rejected = [event for event in events if event["event"] == "judged" and event["reason"] != "pass"]
    spent = {
        (event["step"], event["attempt"]): event["payload"].get("spent", {})
        for event in events
        if event["event"] == "answered"
    }
    wasted = [spent.get((event["step"], event["attempt"]), {}).get("cost_usd") for event in rejected]
    return {
        "outcome": state["outcome"],
        "why": state["why"],
        "build_attempts": state["tries"].get("build", 0),
        "attempts": dict(state["tries"]),
        **state["spent"],
        "usage_unknown": state["usage_unknown"],
        "rejected": len(rejected),
        "rejected_cost_usd": round(sum(cost or 0 for cost in wasted), 6),
    }
