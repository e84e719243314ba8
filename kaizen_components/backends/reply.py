"""Assemble a model's answer from one JSON object or from the pieces of a stream."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolCall:
    """A tool call of the model; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(frozen=True)
class Reply:
    """One answer with its cost. What the server does not report is None, never zero."""

    text: str
    tool_calls: list[ToolCall] = field(default_factory=list)
    model: str = ""
    served_by: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0
    finish_reason: str | None = None
    retries: int = 0
    calls: int = 0  # tool calls before this answer
    requested: str = ""  # the model that was asked for; `model` is the one that the server reports

    @property
    def is_cut(self) -> bool:
        """Return whether the server cut the answer off."""
        return self.finish_reason == "length"


class InvalidReply(Exception):
    """The answer is not in the format of an OpenAI-compatible API."""


class ReplyParts:
    """Collects the pieces of an answer as they come in."""

    def __init__(self, on_text: Callable[[str], object] | None = None) -> None:
        self._on_text = on_text
        self._texts: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self.usage: dict[str, Any] = {}
        self.model = ""
        self.finish_reason: str | None = None

    def take(self, data: bytes) -> None:
        """Add one JSON object: the whole answer, or a piece of a stream."""
        try:
            answer = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise InvalidReply("it is not JSON") from None
        if not isinstance(answer, dict):
            raise InvalidReply("it is not a JSON object")
        error = answer.get("error")
        if error:
            message = error.get("message", error) if isinstance(error, dict) else error
            raise InvalidReply(f"it says: {str(message)[:300]}")
        self.model = keep_string(answer.get("model")) or self.model
        if isinstance(answer.get("usage"), dict):
            self.usage = answer["usage"]
        choices = answer.get("choices")
        if not isinstance(choices, list):
            raise InvalidReply("it has no choices")
        choice = choices[0] if choices and isinstance(choices[0], dict) else {}
        self.finish_reason = keep_string(choice.get("finish_reason")) or self.finish_reason
        piece = choice.get("delta") or choice.get("message")
        if not isinstance(piece, dict):
            return
        content = piece.get("content")
        if isinstance(content, list):  # some servers give a list of parts
            parts = [part.get("text") for part in content if isinstance(part, dict)]
            content = "".join(map(keep_string, parts))
        text = replace_unstorable(keep_string(content))
        if text:
            self._texts.append(text)
            if self._on_text:
                self._on_text(text)
        calls = piece.get("tool_calls")
        for at, call in enumerate(calls if isinstance(calls, list) else []):
            if isinstance(call, dict):
                self._take_call(at, call)

    def _take_call(self, at: int, call: dict[str, Any]) -> None:
        """Add a piece of a tool call to the pieces with the same index."""
        index = call.get("index")
        key = index if isinstance(index, int) else at
        parts = self._calls.setdefault(key, {"id": "", "name": "", "arguments": ""})
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # some servers give the object instead of its text
            arguments = json.dumps(arguments)
        parts["id"] += replace_unstorable(keep_string(call.get("id")))
        parts["name"] += replace_unstorable(keep_string(function.get("name")))
        parts["arguments"] += replace_unstorable(keep_string(arguments))

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def calls(self) -> list[ToolCall]:
        return [
            ToolCall(**self._calls[at]) for at in sorted(self._calls) if self._calls[at]["name"]
        ]

    def count_tokens(self, name: str) -> int | None:
        count = self.usage.get(name)
        is_count = isinstance(count, int) and not isinstance(count, bool) and count >= 0
        return count if is_count else None


def read_events(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each server-sent event, up to [DONE]."""
    incomplete_line = b""
    data: list[bytes] = []
    end = [b"\n\n"]  # some servers omit the blank line at the end
    for block in itertools.chain(blocks, end):
        *lines, incomplete_line = (incomplete_line + block).split(b"\n")
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif not line and data:
                event, data = b"\n".join(data), []
                if event == b"[DONE]":
                    return
                yield event


def replace_unstorable(text: str) -> str:
    """Replace what a database or file cannot store: NUL, and halves of characters."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def keep_string(value: Any) -> str:
    return value if isinstance(value, str) else ""
