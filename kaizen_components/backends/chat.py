"""Ask any OpenAI-compatible server: Ollama, llama.cpp, vLLM, hosted ones. What it says is data, never trusted.

The key stands in one header and nowhere else. Redirects are not followed, answers have a size and a time limit, and
what looks like a secret is refused before it is sent.
"""

import json
import random
import socket
import threading
import time
from collections.abc import Callable
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
UNSTREAMABLE = (400, 405, 406, 415, 422, 501)  # how servers refuse a stream; asked again without
Messages = list[dict[str, Any]]
OnText = Callable[[str], object]


class Chat:
    def __init__(self, endpoint: Endpoint, retry_s: float = RETRY_S):
        self.endpoint = endpoint
        self.retry_s = retry_s
        self._streams = True

    @classmethod
    def from_environment(cls, stage: str) -> "Chat":
        return cls(Endpoint.from_environment(stage))

    def ask(
        self, messages: Messages, *, temperature: float, timeout_s: float, max_tokens: int | None = None,
        tools: list[dict[str, Any]] | None = None, on_text: OnText | None = None,
    ) -> Reply:  # fmt: skip
        """The model's answer; Unavailable when there is none in time. `on_text` is shown the text as it comes."""
        _refuse_secrets(messages)
        body = {"model": self.endpoint.model, "messages": messages, "temperature": temperature}
        most = max_tokens or self.endpoint.max_tokens
        body |= {"max_tokens": most} if most else {}
        body |= {"tools": tools} if tools else {}
        begun, waited_s, retries = time.monotonic(), 0.0, 0
        while True:
            with Deadline(begun + timeout_s - time.monotonic()) as deadline:
                try:
                    parts = self._once(body, on_text, deadline)
                    return self._reply(parts, time.monotonic() - begun, retries)
                except (Unavailable, RetryLater) as trouble:
                    if deadline.passed:
                        raise failure.slow(self.endpoint, timeout_s) from None
                    if isinstance(trouble, Unavailable):
                        raise
                    wait_s = self._wait_s(trouble, retries, waited_s, deadline.left_s)
            time.sleep(wait_s)
            waited_s, retries = waited_s + wait_s, retries + 1

    def _wait_s(self, again, retries, waited_s, left_s):
        """How long to wait before the next try; Unavailable if it is not worth it."""
        backoff = min(BACKOFF_S_MAX, BACKOFF_S * 2**retries) * random.uniform(0.5, 1.0)
        wait_s = max(backoff, again.after_s)
        if retries >= RETRIES_MAX or waited_s + wait_s > self.retry_s or wait_s >= left_s:
            raise failure.failing(self.endpoint, again, retries + 1, waited_s) from None
        return wait_s

    def _once(self, body, on_text, deadline):
        """One try, or two: some servers know no streams."""
        if on_text is None or not self._streams:
            return self._sent(body, None, deadline)
        try:
            return self._sent(
                {**body, "stream": True, "stream_options": {"include_usage": True}},
                on_text,
                deadline,
            )
        except RequestRejected as error:
            if error.status not in UNSTREAMABLE:
                raise
        parts = self._sent(body, None, deadline)
        self._streams = False
        return parts

    def _sent(self, body, on_text, deadline):
        import httpx

        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self.endpoint.key:
            headers["Authorization"] = f"Bearer {self.endpoint.key}"
        left_s = max(deadline.left_s, 0.001)
        timeout = httpx.Timeout(left_s, connect=min(CONNECT_S, left_s))
        # The environment's proxies are for remote servers only, as are certificates, which take 20 ms to load.
        client = httpx.Client(
            timeout=timeout, verify=self.endpoint.is_tls, trust_env=not self.endpoint.is_local
        )
        url, content = f"{self.endpoint.base_url}/chat/completions", json.dumps(body).encode()
        try:
            with client, client.stream(
                "POST", url, content=content, headers=headers, extensions={"trace": deadline.trace}
            ) as response:  # fmt: skip
                if response.status_code != 200:
                    raise failure.failed(self.endpoint, response, "tools" in body)
                return self._read(response, on_text, "tools" in body)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise failure.dead(self.endpoint, CONNECT_S) from None
        except httpx.TimeoutException:
            deadline.passed = True  # a read may take what is left, and not more
            raise RetryLater("is slow") from None
        except (httpx.HTTPError, OSError) as error:
            raise RetryLater(f"dropped the connection ({type(error).__name__})") from None

    def _read(self, response, on_text, has_tools):
        parts = ReplyParts(on_text)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise InvalidReply("it is compressed, which nobody asked for")
            if kind == "text/html":
                raise InvalidReply("it is an HTML page")
            if kind != "text/event-stream":
                parts.take(b"".join(self._blocks(response)))
                return parts
            for event in read_events(self._blocks(response)):
                parts.take(event)
        except InvalidReply as error:
            raise failure.misread(self.endpoint, str(error), has_tools) from None
        if parts.finish_reason is None:
            raise RetryLater("ended its answer in the middle")
        return parts

    def _blocks(self, response):
        size = 0
        for block in response.iter_raw():
            size += len(block)
            if size > RESPONSE_BYTES_MAX:
                raise failure.floods(self.endpoint, RESPONSE_BYTES_MAX)
            yield block

    def _reply(self, parts, seconds, retries):
        tokens_in, tokens_out = (
            parts.count_tokens("prompt_tokens"),
            parts.count_tokens("completion_tokens"),
        )
        return Reply(
            parts.text, parts.calls, parts.model or self.endpoint.model, self.endpoint.served_by, tokens_in, tokens_out,
            self.endpoint.cost_usd(tokens_in, tokens_out), round(seconds, 3), parts.finish_reason, retries,
            requested=self.endpoint.model,
        )  # fmt: skip


def _refuse_secrets(messages):
    found = scan.find_secret_in(messages)
    if found:
        raise Refused(
            "secret_in_question",
            f"The question to the model holds a {found[1]}.",
            f"It stands in {'messages' + found[0] if found[0] else 'several messages'}, and would leave this process.",
            "Take it out of the request, or out of the files that are quoted.",
        )


class Deadline:
    """An end to a request as a whole. The timeouts of httpx are for each read: a server that drips never meets them.

    `with Deadline(seconds) as deadline`, and `deadline.trace` as httpx's trace extension: then the connection is
    shut down when the time is over, whatever is being waited for."""

    def __init__(self, seconds: float):
        self._end = time.monotonic() + seconds
        self._timer: threading.Timer | None = None
        self._socket: socket.socket | None = None
        self.passed = False

    @property
    def left_s(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def __enter__(self) -> "Deadline":
        self._timer = threading.Timer(self.left_s, self._pass)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()

    def trace(self, name: str, info: dict[str, Any]) -> None:
        if name.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.passed:
                self._shut()

    def _pass(self):
        self.passed = True
        self._shut()

    def _shut(self):
        try:
            if self._socket is not None:
                socket.socket.shutdown(
                    self._socket, socket.SHUT_RDWR
                )  # below TLS, which would wait for the other side
        except OSError:
            pass  # it is closed already
