"""The model client answers or fails clearly and in time, whatever the server does."""

import email.utils
import json
import socket
import subprocess
import sys
import time

import pytest

from kaizen_components.backends import chat as module
from kaizen_components.backends.chat import Chat
from kaizen_components.backends.endpoint import Endpoint
from kaizen_components.backends.failure import RequestRejected
from kaizen_components.errors import KaizenError, Refused, Unavailable

from ..conftest import ROOT
from ..model_server import Answer, ModelServer, broken, html, huge, rate_limited, wrong_json

QUESTION = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "Say ok."}]
KEY = "a-key-that-nobody-may-see"
TEXT = "All is well, and here is a somewhat longer text in several pieces. Ünïcode ✓"


def ask(server, messages=QUESTION, key=KEY, retry_s=5.0, timeout_s=20.0, prices=None, **more):
    return Chat(Endpoint(server.url, "asked", key, prices=prices), retry_s).ask(
        messages, **{"temperature": 0.0, "timeout_s": timeout_s, **more}
    )


def failure(server, **more):
    with pytest.raises(KaizenError) as caught:
        ask(server, **more)
    said = json.dumps(caught.value.as_dict(), ensure_ascii=False)
    assert KEY not in said and "Traceback" not in said
    return caught.value


def test_chat_sends_question_and_returns_answer():
    with ModelServer([Answer(TEXT)]) as server:
        reply = ask(server, temperature=0.7, max_tokens=99, prices=(1.0, 2.0))

    assert (reply.text, reply.model, reply.finish_reason, reply.retries) == (
        TEXT,
        "scripted",
        "stop",
        0,
    )
    assert (reply.tokens_in, reply.tokens_out, reply.cost_usd) == (11, 7, 0.000025)
    assert reply.served_by in server.url and 0 < reply.seconds < 20
    assert server.requests == [
        {"model": "asked", "messages": QUESTION, "temperature": 0.7, "max_tokens": 99}
    ]
    assert (
        server.paths == ["/v1/chat/completions"]
        and server.headers[0]["Authorization"] == f"Bearer {KEY}"
    )


def test_streamed_answer_shows_text_and_usage():
    seen = []
    with ModelServer([Answer(TEXT)]) as server:
        reply = ask(server, on_text=seen.append)

    assert reply.text == TEXT == "".join(seen) and len(seen) > 2
    assert (reply.tokens_in, reply.tokens_out) == (11, 7)
    assert server.requests[0]["stream"] and server.requests[0]["stream_options"] == {
        "include_usage": True
    }


def test_chat_stops_streaming_after_server_refuses_it():
    with ModelServer([Answer(TEXT, streams=False)]) as server:
        chat = Chat(Endpoint(server.url, "m"))
        replies = [chat.ask(QUESTION, temperature=0, timeout_s=20, on_text=str) for _ in range(2)]

    assert [reply.text for reply in replies] == [TEXT, TEXT] and replies[0].retries == 0
    assert ["stream" in request for request in server.requests] == [True, False, False]


def test_unstreamed_answer_to_streaming_request_is_read():
    whole = {
        "choices": [
            {
                "message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]},
                "finish_reason": "stop",
            }
        ]
    }
    with ModelServer([Answer(raw=json.dumps(whole).encode())]) as server:
        assert ask(server, on_text=str).text == "ab"


@pytest.mark.parametrize("on_text", [None, str])
def test_answer_without_usage_has_no_token_counts(on_text):
    with ModelServer([Answer(TEXT, usage=None)]) as server:
        reply = ask(server, on_text=on_text, prices=(1.0, 1.0))

    assert (reply.tokens_in, reply.tokens_out, reply.cost_usd) == (None, None, None)


@pytest.mark.parametrize("on_text", [None, str])
def test_truncated_answer_is_marked_as_cut(on_text):
    with ModelServer([Answer(TEXT, finish="length")]) as server:
        assert ask(server, on_text=on_text).is_cut


@pytest.mark.parametrize("on_text", [None, str])
@pytest.mark.parametrize(
    "bad",
    [rate_limited(), broken(500), broken(503), html(502), Answer(TEXT, drop="before"), Answer(TEXT, drop="middle")],
    ids=["429", "500", "503", "502 page", "dropped before", "dropped in the middle"],
)  # fmt: skip
def test_temporary_failure_is_retried(bad, on_text):
    with ModelServer([bad, bad, Answer(TEXT)]) as server:
        reply = ask(server, on_text=on_text)

    assert reply.text == TEXT and reply.retries == 2 and len(server.requests) == 3


def test_cut_off_stream_is_retried():
    with ModelServer([Answer(TEXT, finish=None), Answer(TEXT)]) as server:
        assert ask(server, on_text=str).retries == 1


def test_retry_waits_as_long_as_server_asks():
    with ModelServer([rate_limited("1.5"), Answer(TEXT)]) as server:
        assert ask(server).seconds >= 1.5


@pytest.mark.parametrize(
    "written", [str, lambda seconds: email.utils.formatdate(time.time() + seconds, usegmt=True)]
)
def test_requested_wait_beyond_budget_fails(written):
    with ModelServer([rate_limited(written(3600))]) as server:
        begun = time.monotonic()
        error = failure(server)

    assert error.exit_code == 5 and "asks to wait 3" in error.why and "429" in error.what
    assert time.monotonic() - begun < 20 and len(server.requests) == 1


def test_retries_end_with_time_budget():
    with ModelServer([broken(500)]) as server:
        error = failure(server, retry_s=1.0)

    assert "500: out of memory" in error.what and 2 <= len(server.requests) <= 4


def test_closed_model_port_is_reported_without_retries():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    begun = time.monotonic()
    with pytest.raises(Unavailable, match="No model answers at") as caught:
        Chat(Endpoint(f"http://127.0.0.1:{port}/v1", "m")).ask(
            QUESTION, temperature=0, timeout_s=60
        )

    assert caught.value.exit_code == 5 and time.monotonic() - begun < 20


def test_unreachable_server_fails_after_two_seconds():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:  # the queue is full now, and a further connection hangs
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        begun = time.monotonic()
        with pytest.raises(Unavailable, match="No model answers at"):
            Chat(Endpoint(f"http://127.0.0.1:{full.getsockname()[1]}/v1", "m")).ask(
                QUESTION, temperature=0, timeout_s=60
            )
        for one in waiting:
            one.close()

    assert 1.5 < time.monotonic() - begun < 20


SLOW = {
    "silent": Answer(TEXT, delay_s=8),
    "a stream that drips": Answer(TEXT * 20, piece_delay_s=0.3),
}


@pytest.mark.parametrize("on_text", [None, str])
@pytest.mark.parametrize("answer", SLOW.values(), ids=SLOW)
def test_timeout_covers_whole_answer(answer, on_text):
    if on_text is None and answer.piece_delay_s:
        answer = Answer(
            TEXT, piece_delay_s=0.05
        )  # byte by byte: each read is quick, the whole is not
    with ModelServer([answer]) as server:
        begun = time.monotonic()
        error = failure(server, timeout_s=1.0, on_text=on_text)

    assert "within 1 s" in error.what and error.exit_code == 5 and time.monotonic() - begun < 7
    assert len(server.requests) == 1


def test_slow_response_headers_end_at_timeout():
    """No read of them takes long, and httpx would wait for ever."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        dripping = subprocess.Popen(
            [sys.executable, "-c", DRIP, str(listening.fileno())],
            pass_fds=[listening.fileno()],
            cwd=ROOT,
        )
        begun = time.monotonic()
        try:
            with pytest.raises(Unavailable, match="within 2 s"):
                Chat(Endpoint(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "m")).ask(
                    QUESTION, temperature=0, timeout_s=2
                )
        finally:
            dripping.kill()
            dripping.wait()

    assert time.monotonic() - begun < 9  # it drips for ten


DRIP = """
import socket, sys, time
connection = socket.socket(fileno=int(sys.argv[1])).accept()[0]
connection.recv(65536)
connection.sendall(b"HTTP/1.1 200 OK\\r\\nX-Slow: ")
for _ in range(100):
    connection.sendall(b"x")
    time.sleep(0.1)
"""


def test_overlong_model_answer_is_refused(monkeypatch):
    monkeypatch.setattr(module, "RESPONSE_BYTES_MAX", 200_000)
    with ModelServer([huge(1_000_000)]) as server:
        assert "too long" in failure(server).what
        assert "too long" in failure(server, on_text=str).what


@pytest.mark.parametrize(
    "answer, said",
    [
        (html(), "an HTML page"),
        (wrong_json(), "not JSON"),
        (Answer(raw=b"[]"), "not a JSON object"),
        (Answer(raw=b"{}"), "no choices"),
        (Answer(raw=b'{"choices": 3}'), "no choices"),
        (Answer(raw=b'{"error": {"message": "no such model"}}'), "no such model"),
        (Answer(raw=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), "compressed"),
        (Answer(raw=b"data: nonsense\n\n", content_type="text/event-stream"), "not JSON"),
        (
            Answer(raw=b'data: {"error": "loading"}\n\n', content_type="text/event-stream"),
            "loading",
        ),
        (Answer(raw=b"[" * 100_000), "not JSON"),
    ],
)
def test_invalid_answer_is_explained(answer, said):
    with ModelServer([answer]) as server:
        error = failure(server, on_text=str)

    assert error.exit_code == 5 and said in error.why and len(server.requests) == 1


def test_invalid_pieces_of_answer_are_ignored():
    calls = [3, {"function": 4}, {"function": {"name": "f", "arguments": {"a": 1}}}]
    odd = {
        "model": 3,
        "usage": {"prompt_tokens": "many", "completion_tokens": True},
        "choices": [{"message": {"content": "x", "tool_calls": calls}, "finish_reason": 7}, "more"],
    }
    with ModelServer([Answer(raw=json.dumps(odd).encode())]) as server:
        reply = ask(server)

    assert (reply.text, reply.model, reply.tokens_in, reply.tokens_out) == (
        "x",
        "asked",
        None,
        None,
    )
    assert [(call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("f", {"a": 1})
    ]


def test_nul_and_lone_surrogates_are_replaced():
    raw = b'{"choices": [{"message": {"content": "a\\u0000b\\ud800c\xffd"}, "finish_reason": "stop"}]}'
    with ModelServer([Answer(raw=raw)]) as server:
        text = ask(server).text

    assert text == "a\ufffdb\ufffdc\ufffdd" and text.encode()


def test_chat_does_not_follow_redirects():
    with ModelServer([Answer("elsewhere")]) as other:
        there = {"Location": other.url + "/chat/completions"}
        for status in (301, 302, 307, 308):
            with ModelServer([Answer(status=status, raw=b"", headers=there)]) as server:
                assert "redirects to another address" in failure(server).what
        assert other.requests == []


@pytest.mark.parametrize(
    "status, said", [(401, "key"), (403, "key"), (404, "MODEL"), (400, "MODEL")]
)
def test_request_rejected_by_server_is_not_retried(status, said):
    with ModelServer([Answer(status=status, raw=b'{"error": "no"}')]) as server:
        error = failure(server)

    assert said in error.why + error.next and len(server.requests) == 1


def test_key_echoed_by_server_is_hidden():
    echo = Answer(status=400, raw=json.dumps({"error": {"message": f"bad key {KEY}"}}).encode())
    with ModelServer([echo]) as server:
        assert "[key]" in failure(server).why
    with ModelServer([Answer(raw=json.dumps({"error": KEY}).encode())]) as server:
        assert "[key]" in failure(server).why


def test_secret_is_refused_before_sending():
    secret = "ghp_" + "A1b2C3d4" * 5
    with (
        ModelServer([Answer(TEXT)]) as server,
        pytest.raises(Refused, match="GitHub token") as caught,
    ):
        ask(server, messages=[*QUESTION, {"role": "user", "content": f"use {secret}"}])

    assert server.requests == [] and secret not in json.dumps(caught.value.as_dict())
    assert "messages[2].content" in caught.value.why


TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize("on_text", [None, str])
def test_streamed_tool_calls_are_assembled(on_text):
    with ModelServer(
        [Answer(tool_calls=[("read", {"path": "a.py"}), ("list", {})], finish="tool_calls")]
    ) as server:
        reply = ask(server, tools=TOOLS, on_text=on_text)

    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("call_0", "read", {"path": "a.py"}),
        ("call_1", "list", {}),
    ]
    assert server.requests[0]["tools"] == TOOLS and reply.text == ""


@pytest.mark.parametrize("status", [400, 500])
def test_server_that_rejects_tools_is_not_asked_again(status):
    refusing = Answer(status=status, raw=b'{"error": {"message": "tools param requires a flag"}}')
    with ModelServer([refusing]) as server, pytest.raises(RequestRejected):
        ask(server, tools=TOOLS)

    assert len(server.requests) == 1


def test_proxy_is_not_used_for_local_servers(monkeypatch):
    with ModelServer([Answer("the proxy")]) as proxy, ModelServer([Answer(TEXT)]) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert ask(server).text == TEXT
        assert proxy.requests == []


def test_httpx_is_imported_only_for_a_question():
    script = "import sys; import kaizen_components.backends.chat; sys.exit('httpx' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0
