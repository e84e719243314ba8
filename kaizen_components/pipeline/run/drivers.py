"""Drivers answer the questions of a run. Checks and gates then decide whether to accept them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...backends.chat import Chat, Messages, OnText
from ...backends.failure import RequestRejected
from ...backends.reply import Reply
from ...errors import Unavailable, Usage
from ..answers.parse import AnswerRefused, extract_json
from ..ask import scout_tools
from ..edits.format import CUT
from ..protocol import Step
from .replay.recorded_driver import RecordedDriver

if TYPE_CHECKING:
    from ...parameters import ReadNow

STAGES = ("plan", "scout", "build", "test", "review")
NOTES = "What you have looked up:"


class ModelDriver:
    """Answers from an OpenAI-compatible server; each stage may have its own server."""

    name = "model"

    def __init__(self, work: scout_tools.Base | None = None):
        self.work = work  # the files that a scout may read; without it there are no tools
        self._chats = {stage: Chat.from_environment(stage) for stage in STAGES}  # fail early
        self._toolless: set[str] = set()  # stages whose server cannot call tools

    def ask(
        self, step: Step, question: Messages, on_text: OnText | None = None,
        limit_s: float | None = None, attempt: int = 1,
    ) -> Reply:  # fmt: skip
        """Return the answer to a step; raise Unavailable after the stage's timeout or `limit_s`."""
        if step.stage not in self._chats:
            self._chats[step.stage] = Chat.from_environment(step.stage)
        conversation = _Conversation(self._chats[step.stage], step, on_text, limit_s)
        try:
            if step.calls and self.work is not None and step.stage not in self._toolless:
                reply = self._ask_with_tools(conversation, question, self.work)
            else:
                reply = conversation.ask(question)
        except Unavailable as error:
            # The earlier requests of this conversation have a cost too.
            error.total_spent = conversation.sum_spending()  # type: ignore[attr-defined]
            raise
        return replace(reply, text=f"{reply.text}\n{CUT}") if reply.is_cut else reply

    def _ask_with_tools(
        self, conversation: _Conversation, question: Messages, base: scout_tools.Base
    ) -> Reply:
        """Ask with tools until no call is left or the server rejects tools; then without."""
        messages = list(question)
        notes: list[str] = []
        while len(notes) < conversation.step.calls:
            try:
                reply = conversation.ask(messages, scout_tools.SCHEMAS)
            except RequestRejected:
                self._toolless.add(conversation.step.stage)
                break
            if not reply.tool_calls:
                try:
                    is_call_as_text = extract_json(reply.text).get("name") in scout_tools.NAMES
                except AnswerRefused:
                    is_call_as_text = False
                if not is_call_as_text:
                    return replace(reply, calls=len(notes))
                self._toolless.add(conversation.step.stage)
                break
            calls = [call.as_dict() for call in reply.tool_calls]
            messages.append({"role": "assistant", "content": reply.text, "tool_calls": calls})
            for call in reply.tool_calls:
                result = "No call is left."
                if len(notes) < conversation.step.calls:
                    result = scout_tools.call_tool(base, call.name, call.arguments)
                notes.append(f"{call.name} {call.arguments[:200]}\n{result}")
                conversation.calls = min(len(notes), conversation.step.calls)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        notes = notes[: conversation.step.calls]
        if notes:
            # As text, because not every server accepts tool messages in a request without tools.
            *before, last = question
            content = "\n\n".join([last["content"], NOTES, *notes])
            question = [*before, {**last, "content": content}]
        return replace(conversation.ask(question), calls=len(notes))


class _Conversation:
    """The requests for one answer. They share a time limit, and their costs are added up."""

    def __init__(self, chat: Chat, step: Step, on_text: OnText | None, limit_s: float | None):
        self.chat = chat
        self.step = step
        self.on_text = on_text
        allowed_s = chat.endpoint.timeout_s or step.timeout_s
        self.timeout_s = allowed_s if limit_s is None else min(allowed_s, limit_s)
        self.end = time.monotonic() + self.timeout_s
        self.replies: list[Reply] = []
        self.calls = 0  # of tools

    def ask(self, messages: Messages, tools: list[dict[str, Any]] | None = None) -> Reply:
        """Send one more request; return its reply with the cost of all requests so far."""
        remaining_s = max(0.1, self.end - time.monotonic()) if self.replies else self.timeout_s
        reply = self.chat.ask(
            messages,
            temperature=self.step.temperature,
            timeout_s=remaining_s,
            tools=tools,
            on_text=self.on_text,
        )
        self.replies.append(reply)
        names = ("tokens_in", "tokens_out", "cost_usd", "seconds", "retries")
        return replace(reply, **{name: self._sum_figure(name) for name in names})

    def sum_spending(self) -> dict[str, Any]:
        """Return the cost so far; omit a figure that the server does not report."""
        names = ("tokens_in", "tokens_out", "cost_usd") if self.replies else ()
        sums = {name: self._sum_figure(name) for name in names}
        return {
            "calls": self.calls,
            **{name: sums[name] for name in names if sums[name] is not None},
        }

    def _sum_figure(self, name: str) -> Any:
        """Return the sum of a figure over the requests; None if one of them does not report it."""
        values = [getattr(reply, name) for reply in self.replies]
        return None if None in values else round(sum(values), 6)


Driver = ModelDriver | RecordedDriver | None
DRIVERS_BY_NAME: dict[str, Callable[[Any, str | None], Driver]] = {
    "model": lambda look, source: ModelDriver(),
    "agent": lambda look, source: None,
    "replay": RecordedDriver,
}


def create_driver(name: str, look: ReadNow | None = None, source: str | None = None) -> Driver:
    """Return the driver of that name; raise Unavailable if its model is not configured.

    An agent has no driver: it fetches each question and submits its answer later. A replay
    repeats the answers of the run `source`.
    """
    if name not in DRIVERS_BY_NAME:
        raise Usage(
            "unknown_driver",
            f"There is no driver {name[:60]!r}.",
            f"The drivers are {', '.join(DRIVERS_BY_NAME)}.",
            "Give --driver one of these names.",
        )
    return DRIVERS_BY_NAME[name](look, source)
