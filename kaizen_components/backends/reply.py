"""What a model gave back, put together from one JSON object or from the pieces of a stream."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model wants to be called; `arguments` is the JSON text as the model wrote it."""

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
    """One answer with what it cost. What the server does not say is None, never zero."""

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
    calls: int = 0  # of tools, before it was given
    requested: str = ""  # the model that was asked for; `model` is the one that the server reports

    @property
    def is_cut(self) -> bool:
        """Did the server end it before the model did?"""
        return self.finish_reason == "length"


class InvalidReply(Exception):
    """The server's words are not in the form of an OpenAI-compatible API."""


class ReplyParts:
    """An answer while it comes in."""

    def __init__(self, on_text: Callable[[str], object] | None = None):
        self._on_text = on_text
        self._texts: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self.usage: dict[str, Any] = {}
        self.model = ""
        self.finish_reason: str | None = None

    def take(self, data: bytes) -> None:
        """One JSON object: the whole answer, or a piece of a stream."""
        try:
            given = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise InvalidReply("it is not JSON") from None
        if not isinstance(given, dict):
            raise InvalidReply("it is not a JSON object")
        if given.get("error"):
            raise InvalidReply(f"it says: {_message(given['error'])}")
        self.model = _string(given.get("model")) or self.model
        if isinstance(given.get("usage"), dict):
            self.usage = given["usage"]
        choices = given.get("choices")
        if not isinstance(choices, list):
            raise InvalidReply("it has no choices")
        for choice in choices[:1]:
            self._choice(choice if isinstance(choice, dict) else {})

    def _choice(self, choice):
        self.finish_reason = _string(choice.get("finish_reason")) or self.finish_reason
        piece = choice.get("delta") or choice.get("message")
        if not isinstance(piece, dict):
            return
        text = replace_unstorable(_content(piece.get("content")))
        if text:
            self._texts.append(text)
            if self._on_text:
                self._on_text(text)
        calls = piece.get("tool_calls")
        for at, call in enumerate(calls if isinstance(calls, list) else []):
            if isinstance(call, dict):
                self._call(at, call)

    def _call(self, at, call):
        index = call.get("index")
        known = self._calls.setdefault(
            index if isinstance(index, int) else at, {"id": "", "name": "", "arguments": ""}
        )
        function = call.get("function")
        if not isinstance(function, dict):
            function = {}
        known["id"] += replace_unstorable(_string(call.get("id")))
        known["name"] += replace_unstorable(_string(function.get("name")))
        arguments = function.get("arguments")  # some servers give the object instead of its text
        known["arguments"] += replace_unstorable(
            json.dumps(arguments) if isinstance(arguments, dict) else _string(arguments)
        )

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
        return (
            count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
        )


def read_events(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The data of each server-sent event, up to [DONE]."""
    rest = b""
    data: list[bytes] = []
    for block in _and_end(blocks):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif not line and data:
                event, data = b"\n".join(data), []
                if event == b"[DONE]":
                    return
                yield event


def _and_end(blocks):
    yield from blocks
    yield b"\n\n"  # some servers end without the blank line


def replace_unstorable(text: str) -> str:
    """Without what no database and no file takes: NUL, and halves of characters."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _content(given):
    """The text of a message; some servers give a list of parts."""
    if isinstance(given, list):
        return "".join(_string(part.get("text")) for part in given if isinstance(part, dict))
    return _string(given)


def _string(given):
    return given if isinstance(given, str) else ""


def _message(error):
    return str(error.get("message", error) if isinstance(error, dict) else error)[:300]
