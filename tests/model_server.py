"""A scripted OpenAI-compatible server on loopback: real sockets, and exactly the answers that a test asks for.

    with ModelServer([Answer("first"), Answer(status=429, headers={"Retry-After": "0"}), Answer("then")]) as server:
        … server.url …
        assert server.requests[0]["temperature"] == 0

A script is a list (each answer once, the last one for ever) or a function from the request to an Answer. Each request
is recorded as its JSON body; `server.headers` has the headers beside it, `server.paths` the paths.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PIECE_CHARS = 16


@dataclass
class Answer:
    """One answer. Only `text` matters for a good one; everything else makes it go wrong in one way."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None  # sent as it is instead of an answer
    content_type: str | None = None
    tool_calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # (name, arguments)
    usage: tuple[int, int] | None = (11, 7)
    finish: str | None = "stop"  # "length": truncated
    model: str = "scripted"
    delay_s: float = 0.0  # before anything is sent
    piece_delay_s: float = 0.0  # between the pieces of a stream, or the bytes of an answer
    drop: str = ""  # "before" an answer, or in the "middle" of it: the connection is reset
    streams: bool = True  # False: a server without streams, which answers 400 to them


def rate_limited(after: str = "0") -> Answer:
    return Answer(
        status=429, headers={"Retry-After": after}, raw=b'{"error": {"message": "slow down"}}'
    )


def broken(status: int = 500) -> Answer:
    return Answer(status=status, raw=b'{"error": {"message": "out of memory"}}')


def html(status: int = 200) -> Answer:
    return Answer(
        status=status,
        raw=b"<!doctype html><h1>Sign in</h1>",
        content_type="text/html; charset=utf-8",
    )


def wrong_json() -> Answer:
    return Answer(raw=b'{"choices": [{"message": {"content": "half')


def huge(size: int) -> Answer:
    return Answer("x" * size)


class ModelServer:
    def __init__(self, script: list[Answer] | Callable[[dict[str, Any]], Answer]):
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def answer(self, path: str, headers: dict[str, str], request: dict[str, Any]) -> Answer:
        with self._lock:
            self.paths.append(path)
            self.headers.append(headers)
            self.requests.append(request)
            if callable(self.script):
                return self.script(request)
            return self.script[min(len(self.requests), len(self.script)) - 1]


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self._send(404, "application/json", b'{"error": "only POST"}', {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body)
        answer = self.server.owner.answer(self.path, dict(self.headers), request)
        time.sleep(answer.delay_s)
        try:
            self._reply(answer, request)
        except OSError:
            pass  # the client has gone, as it may

    def _reply(self, answer, request):
        if answer.drop == "before":
            self._reset()
        elif request.get("stream") and not answer.streams:
            self._send(
                400, "application/json", b'{"error": {"message": "streaming is not supported"}}', {}
            )
        elif answer.raw is not None:
            self._send(
                answer.status, answer.content_type or "application/json", answer.raw, answer.headers
            )
        elif request.get("stream"):
            self._stream(answer)
        else:
            self._whole(answer)

    def _whole(self, answer):
        message = {
            "role": "assistant",
            "content": answer.text or None,
            "tool_calls": _calls(answer),
        }
        given = {
            "id": "1", "object": "chat.completion", "model": answer.model,
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}], **_usage(answer),
        }  # fmt: skip
        data = json.dumps(given).encode()
        if answer.drop:
            self._head(
                answer.status,
                "application/json",
                answer.headers | {"Content-Length": str(len(data))},
            )
            self.wfile.write(data[: len(data) // 2])
            self._reset()
            return
        self._head(
            answer.status, "application/json", answer.headers | {"Content-Length": str(len(data))}
        )
        pieces = [bytes([one]) for one in data] if answer.piece_delay_s else [data]
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()
            time.sleep(answer.piece_delay_s)

    def _stream(self, answer):
        self._head(answer.status, "text/event-stream", answer.headers)
        self.wfile.write(b": hello\n\n")
        pieces = [
            answer.text[at : at + PIECE_CHARS] for at in range(0, len(answer.text), PIECE_CHARS)
        ]
        size = max(1, len(pieces) // 1_000)  # a huge answer in fewer pieces
        pieces = ["".join(pieces[at : at + size]) for at in range(0, len(pieces), size)]
        for number, piece in enumerate(pieces):
            if answer.drop and number >= len(pieces) // 2:
                self._reset()
                return
            self._event(
                {"model": answer.model, "choices": [{"index": 0, "delta": {"content": piece}}]}
            )
            time.sleep(answer.piece_delay_s)
        for call in _calls(answer):
            half = len(call["function"]["arguments"]) // 2
            first = {
                **call,
                "function": {**call["function"], "arguments": call["function"]["arguments"][:half]},
            }
            rest = {
                "index": call["index"],
                "function": {"arguments": call["function"]["arguments"][half:]},
            }
            for part in (first, rest):
                self._event({"choices": [{"index": 0, "delta": {"tool_calls": [part]}}]})
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]})
        if answer.usage:
            self._event({"choices": [], **_usage(answer)})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, given):
        self.wfile.write(b"data: " + json.dumps(given).encode() + b"\n\n")
        self.wfile.flush()

    def _send(self, status, kind, data, headers):
        self._head(status, kind, headers | {"Content-Length": str(len(data))})
        self.wfile.write(data)

    def _head(self, status, kind, headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _reset(self):
        """As a server that crashes: the other side gets a reset, not an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


def _calls(answer):
    return [
        {"index": at, "id": f"call_{at}", "type": "function",
         "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(answer.tool_calls)
    ]  # fmt: skip


def _usage(answer):
    if answer.usage is None:
        return {}
    tokens_in, tokens_out = answer.usage
    return {
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        }
    }
