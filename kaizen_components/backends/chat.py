"""Ask any OpenAI-compatible server: Ollama, llama.cpp, vLLM, hosted ones. Answers are not trusted.

The key is sent in one header and nowhere else. Redirects are not followed, answers have a size and
a time limit, and what looks like a secret is refused before it is sent.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import Refused, Unavailable
from ..records.secrets import scan
from . import failure
from .endpoint import Endpoint
from .failure import RequestRejected, RetryLater
from .reply import InvalidReply, Reply, ReplyParts, read_events

CONNECT_S = 2.0
RETRY_S = 60.0  # all waits of one question together
RETRIES_MAX = 6
BACKOFF_S = 0.5
BACKOFF_S_MAX = 8.0
RESPONSE_BYTES_MAX = 8_000_000
UNSTREAMABLE = (400, 405, 406, 415, 422, 501)  # statuses of servers that refuse to stream
Messages = list[dict[str, Any]]
OnText = Callable[[str], object]


class Chat:
    """Asks the model of one endpoint, and retries failures that may pass."""

    def __init__(self, endpoint: Endpoint, retry_s: float = RETRY_S) -> None:
        self.endpoint = endpoint
        self.retry_s = retry_s
        self._can_stream = True

    @classmethod
    def from_environment(cls, stage: str) -> Chat:
        return cls(Endpoint.from_environment(stage))

    def ask(
        self,
        messages: Messages,
        *,
        temperature: float,
        timeout_s: float,
        max_tokens: int | None = None,
        tools: list[dict[str, Any]] | None = None,
        on_text: OnText | None = None,
    ) -> Reply:
        """Return the model's answer; raise Unavailable if none comes in time.

        `on_text` is called with the pieces of text as they come.
        """
        refuse_secrets(messages)
        endpoint = self.endpoint
        body = {"model": endpoint.model, "messages": messages, "temperature": temperature}
        tokens_max = max_tokens or endpoint.max_tokens
        body |= {"max_tokens": tokens_max} if tokens_max else {}
        body |= {"tools": tools} if tools else {}
        begin, waited_s, retries = time.monotonic(), 0.0, 0
        while True:
            with Deadline(begin + timeout_s - time.monotonic()) as deadline:
                try:
                    parts = self._request(body, on_text, deadline)
                    break
                except (Unavailable, RetryLater) as error:
                    if deadline.is_over:
                        raise failure.report_slow(endpoint, timeout_s) from None
                    if isinstance(error, Unavailable):
                        raise
                    backoff = min(BACKOFF_S_MAX, BACKOFF_S * 2**retries)
                    wait_s = max(backoff * random.uniform(0.5, 1.0), error.after_s)
                    is_late = waited_s + wait_s > self.retry_s or wait_s >= deadline.left_s
                    if retries >= RETRIES_MAX or is_late:
                        raise failure.report_failing(
                            endpoint, error, retries + 1, waited_s
                        ) from None
            time.sleep(wait_s)
            waited_s, retries = waited_s + wait_s, retries + 1
        tokens_in = parts.count_tokens("prompt_tokens")
        tokens_out = parts.count_tokens("completion_tokens")
        return Reply(
            parts.text,
            parts.calls,
            parts.model or endpoint.model,
            endpoint.served_by,
            tokens_in,
            tokens_out,
            endpoint.cost_usd(tokens_in, tokens_out),
            round(time.monotonic() - begin, 3),
            parts.finish_reason,
            retries,
            requested=endpoint.model,
        )

    def _request(
        self, body: dict[str, Any], on_text: OnText | None, deadline: Deadline
    ) -> ReplyParts:
        """Send the question; send it again as one answer if the server cannot stream."""
        if on_text is not None and self._can_stream:
            streaming = {**body, "stream": True, "stream_options": {"include_usage": True}}
            try:
                return self._send(streaming, on_text, deadline)
            except RequestRejected as error:
                if error.status not in UNSTREAMABLE:
                    raise
            parts = self._send(body, None, deadline)
            self._can_stream = False
            return parts
        return self._send(body, None, deadline)

    def _send(self, body: dict[str, Any], on_text: OnText | None, deadline: Deadline) -> ReplyParts:
        """Send one request and return its answer; raise RetryLater if a retry may help."""
        import httpx

        endpoint = self.endpoint
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        left_s = max(deadline.left_s, 0.001)
        # A local server needs no proxy and no certificates, which take 20 ms to load.
        client = httpx.Client(
            timeout=httpx.Timeout(left_s, connect=min(CONNECT_S, left_s)),
            verify=endpoint.is_tls,
            trust_env=not endpoint.is_local,
        )
        request = client.stream(
            "POST",
            f"{endpoint.base_url}/chat/completions",
            content=json.dumps(body).encode(),
            headers=headers,
            extensions={"trace": deadline.trace},
        )
        try:
            with client, request as response:
                if response.status_code != 200:
                    raise failure.explain_status(endpoint, response, "tools" in body)
                return self._read(response, on_text, "tools" in body)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise failure.report_dead(endpoint, CONNECT_S) from None
        except httpx.TimeoutException:
            deadline.is_over = True  # the read timeout was all the time that was left
            raise RetryLater("is slow") from None
        except (httpx.HTTPError, OSError) as error:
            raise RetryLater(f"dropped the connection ({type(error).__name__})") from None

    def _read(self, response: Any, on_text: OnText | None, has_tools: bool) -> ReplyParts:
        """Read a streamed or whole answer; raise Unavailable if it is invalid or too long."""
        parts = ReplyParts(on_text)

        def read_blocks() -> Iterator[bytes]:
            size = 0
            for block in response.iter_raw():
                size += len(block)
                if size > RESPONSE_BYTES_MAX:
                    raise failure.report_flood(self.endpoint, RESPONSE_BYTES_MAX)
                yield block

        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise InvalidReply("it is compressed, which was not requested")
            if kind == "text/html":
                raise InvalidReply("it is an HTML page")
            if kind != "text/event-stream":
                parts.take(b"".join(read_blocks()))
                return parts
            for event in read_events(read_blocks()):
                parts.take(event)
        except InvalidReply as error:
            raise failure.explain_invalid(self.endpoint, str(error), has_tools) from None
        if parts.finish_reason is None:
            raise RetryLater("ended its answer in the middle")
        return parts


def refuse_secrets(messages: Messages) -> None:
    """Raise Refused if a message looks like it contains a secret."""
    secret = scan.find_secret_in(messages)
    if secret:
        place, kind = secret
        where = f"messages{place}" if place else "several messages"
        raise Refused(
            "secret_in_question",
            f"The question to the model contains a {kind}.",
            f"Kaizen never sends a secret to a model. This one is in {where}.",
            "Remove the secret from the request, or from the files that the request quotes.",
        )


class Deadline:
    """Ends a request after a total time; httpx only limits the time of each read.

    Use `with Deadline(seconds) as deadline`, and `deadline.trace` as httpx's trace extension. When
    the time is over, the connection is shut down.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._timer: threading.Timer | None = None
        self._socket: socket.socket | None = None
        self.is_over = False

    @property
    def left_s(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def __enter__(self) -> Deadline:
        self._timer = threading.Timer(self.left_s, self.end_request)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()

    def trace(self, name: str, info: dict[str, Any]) -> None:
        if name.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.is_over:
                self.end_request()

    def end_request(self) -> None:
        self.is_over = True
        try:
            if self._socket is not None:  # not through TLS, which would wait for the server
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed already
