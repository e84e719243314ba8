"""Who thinks at a generative step. A driver gives an answer; whether it counts is decided by others."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...backends.chat import Chat, Messages, OnText
from ...backends.failure import RequestRejected
from ...backends.reply import Reply
from ...errors import Unavailable, Usage
from ..answers.parse import AnswerRefused, extract_json
from ..ask import scout_tools
from ..edits.format import CUT
from ..protocol import Step
from .replay.recorded_driver import RecordedDriver

STAGES = ("plan", "scout", "build", "test", "review")
NOTES = "What you have looked up:"


class ModelDriver:
    """An OpenAI-compatible server answers, for each stage the one that is configured for it."""

    name = "model"

    def __init__(self, work: scout_tools.Base | None = None):
        self.work = work  # what a scout may look at; without it there are no tools
        self._chats = {
            stage: Chat.from_environment(stage) for stage in STAGES
        }  # refused here if one is missing
        self._toolless: set[str] = set()

    def ask(
        self, step: Step, question: Messages, on_text: OnText | None = None, most_s: float | None = None,
        attempt: int = 1,
    ) -> Reply:  # fmt: skip
        """The answer to a step; Unavailable if nobody gives one in time: the stage's, and never more than `most_s`."""
        if step.stage not in self._chats:
            self._chats[step.stage] = Chat.from_environment(step.stage)
        talk = _Conversation(self._chats[step.stage], step, on_text, most_s)
        try:
            if step.calls and self.work is not None and step.stage not in self._toolless:
                reply = self._ask_with_tools(talk, question, self.work)
            else:
                reply = talk.ask(question)
        except Unavailable as error:
            error.total_spent = talk.total_spent()  # type: ignore[attr-defined]  # for what was answered before
            raise
        return replace(reply, text=f"{reply.text}\n{CUT}") if reply.is_cut else reply

    def _ask_with_tools(
        self, talk: "_Conversation", question: Messages, base: scout_tools.Base
    ) -> Reply:
        """With tools for as long as the server knows them and calls are left; then once without."""
        messages = list(question)
        notes: list[str] = []
        while len(notes) < talk.step.calls:
            try:
                reply = talk.ask(messages, scout_tools.SCHEMAS)
            except RequestRejected:
                self._toolless.add(talk.step.stage)
                break
            if not reply.tool_calls:
                if not _is_written_call(reply.text):
                    return replace(reply, calls=len(notes))
                self._toolless.add(talk.step.stage)  # it writes calls as text: nobody reads them
                break
            messages.append({
                "role": "assistant", "content": reply.text, "tool_calls": [one.as_dict() for one in reply.tool_calls],
            })  # fmt: skip
            for one in reply.tool_calls:
                left = talk.step.calls - len(notes)
                said = (
                    scout_tools.call_tool(base, one.name, one.arguments)
                    if left > 0
                    else "No call is left."
                )
                notes.append(f"{one.name} {one.arguments[:200]}\n{said}")
                talk.calls = min(len(notes), talk.step.calls)
                messages.append({"role": "tool", "tool_call_id": one.id, "content": said})
        notes = notes[: talk.step.calls]
        return replace(talk.ask(_with_notes(question, notes)), calls=len(notes))


class _Conversation:
    """The questions that make one answer: one limit of time, and one sum of what they cost."""

    def __init__(self, chat: Chat, step: Step, on_text: OnText | None, most_s: float | None):
        self.chat = chat
        self.step = step
        self.on_text = on_text
        given_s = chat.endpoint.timeout_s or step.timeout_s
        self.timeout_s = given_s if most_s is None else min(given_s, most_s)
        self.end = time.monotonic() + self.timeout_s
        self.replies: list[Reply] = []
        self.calls = 0  # of tools

    def ask(self, messages: Messages, tools: list[dict[str, Any]] | None = None) -> Reply:
        left_s = max(0.1, self.end - time.monotonic()) if self.replies else self.timeout_s
        reply = self.chat.ask(
            messages,
            temperature=self.step.temperature,
            timeout_s=left_s,
            tools=tools,
            on_text=self.on_text,
        )
        self.replies.append(reply)
        return replace(
            reply, tokens_in=self._sum("tokens_in"), tokens_out=self._sum("tokens_out"), cost_usd=self._sum("cost_usd"),
            seconds=self._sum("seconds"), retries=self._sum("retries"),
        )  # fmt: skip

    def total_spent(self) -> dict[str, Any]:
        """What it took so far, as far as it was told."""
        told = (
            {name: self._sum(name) for name in ("tokens_in", "tokens_out", "cost_usd")}
            if self.replies
            else {}
        )
        return {
            "calls": self.calls,
            **{name: value for name, value in told.items() if value is not None},
        }

    def _sum(self, name):
        """None if one of them is unknown: a part is not the whole."""
        values = [getattr(reply, name) for reply in self.replies]
        return None if None in values else round(sum(values), 6)


def _is_written_call(text):
    try:
        return extract_json(text).get("name") in scout_tools.NAMES
    except AnswerRefused:
        return False


def _with_notes(question, notes):
    """The question with what was found out as text: not every server takes tool messages without tools."""
    if not notes:
        return question
    *before, last = question
    return [*before, {**last, "content": "\n\n".join([last["content"], NOTES, *notes])}]


Driver = ModelDriver | RecordedDriver | None
DRIVERS_BY_NAME: dict[str, Callable[[Any, str | None], Driver]] = {
    "model": lambda look, source: ModelDriver(),
    "agent": lambda look, source: None,
    "replay": RecordedDriver,
}


def create_driver(name: str, look=None, source: str | None = None) -> Driver:
    """The driver of that name, ready to be asked; Unavailable if what it needs is not configured.

    An agent is not asked by us: it asks what is legal, and answers in its own time. A replay has the answers of the run
    that `source` names.
    """
    if name not in DRIVERS_BY_NAME:
        raise Usage(
            "unknown_driver",
            f"There is no driver {name[:60]!r}.",
            "There are: " + ", ".join(DRIVERS_BY_NAME) + ".",
            "Name one of them with --driver.",
        )
    return DRIVERS_BY_NAME[name](look, source)
