"""The model driver: a server for each stage, tools for the scout, and truncated answers."""

import os

import pytest

from kaizen_components.errors import Unavailable, Usage
from kaizen_components.pipeline.answers import parse as answers
from kaizen_components.pipeline.answers.contracts import Brief
from kaizen_components.pipeline.edits import apply as edits
from kaizen_components.pipeline.protocol import load_shipped
from kaizen_components.pipeline.run.drivers import ModelDriver, create_driver

from ..model_server import Answer, ModelServer, rate_limited
from .test_scout_tools import FILES, Base

STEPS = load_shipped("factory").steps
QUESTION = [{"role": "system", "content": "Scout."}, {"role": "user", "content": "Look."}]
BRIEF = '{"files": ["app/x.py"]}'


@pytest.fixture(autouse=True)
def _no_model(monkeypatch):
    for name in list(os.environ):
        if name.startswith("KAIZEN_"):
            monkeypatch.delenv(name)


@pytest.fixture
def driving(monkeypatch):
    """`driving(server)` returns a driver that uses that server for every stage."""

    def make(server, work=None):
        monkeypatch.setenv("KAIZEN_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KAIZEN_LLM_MODEL", "small")
        made = create_driver("model")
        made.work = work
        return made

    return make


def test_missing_model_raises_unavailable():
    with pytest.raises(Unavailable, match="No model is configured") as caught:
        create_driver("model")
    assert caught.value.exit_code == 5 and "KAIZEN_LLM_BASE_URL" in caught.value.next


def test_unknown_driver_raises_usage():
    with pytest.raises(Usage, match="no driver 'human'"):
        create_driver("human")


def test_stage_uses_its_model_and_temperature(driving, monkeypatch):
    monkeypatch.setenv("KAIZEN_REVIEW_MODEL", "another")
    with ModelServer([Answer("x")]) as server:
        made = driving(server)
        for name in ("plan", "build", "tests", "review"):
            assert made.ask(STEPS[name], QUESTION).text == "x"

    assert [(one["model"], one["temperature"]) for one in server.requests] == [
        ("small", 0.7), ("small", 0), ("small", 0), ("another", 0),
    ]  # fmt: skip
    assert all("tools" not in one for one in server.requests)


def test_stage_ends_at_its_own_timeout(driving, monkeypatch):
    monkeypatch.setenv("KAIZEN_BUILD_TIMEOUT_S", "1")
    with (
        ModelServer([Answer("x", delay_s=6)]) as server,
        pytest.raises(Unavailable, match="within 1 s"),
    ):
        driving(server).ask(STEPS["build"], QUESTION)


def test_truncated_answer_is_refused(driving):
    """A missing last marker is accepted, unless the server cut the answer off."""
    half = "FILE: a.py\n<<<<<<< WHOLE\nx = 1\n"
    with ModelServer(
        [Answer(half), Answer(half, finish="length"), Answer(BRIEF, finish="length")]
    ) as server:
        made = driving(server)
        assert edits.parse_edits(made.ask(STEPS["build"], QUESTION).text)
        with pytest.raises(edits.EditRefused, match="cut off"):
            edits.parse_edits(made.ask(STEPS["build"], QUESTION).text)
        with pytest.raises(answers.AnswerRefused, match="cut off"):
            answers.validate_answer(made.ask(STEPS["plan"], QUESTION).text, Brief)


def test_scout_cost_is_sum_of_all_requests(driving):
    script = [Answer(tool_calls=[("list", {}), ("read", {"path": "app/x.py"})]), Answer(BRIEF)]
    with ModelServer(script) as server:
        reply = driving(server, Base(FILES)).ask(STEPS["scout"], QUESTION, str)

    assert (reply.text, reply.tokens_in, reply.tokens_out) == (BRIEF, 22, 14)
    roles = [message["role"] for message in server.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    assert "def Health()" in server.requests[1]["messages"][-1]["content"]


def test_error_has_cost_of_earlier_requests(driving):
    with (
        ModelServer([Answer(tool_calls=[("list", {})]), rate_limited()]) as server,
        pytest.raises(Unavailable) as caught,
    ):
        driving(server, Base(FILES)).ask(STEPS["scout"], QUESTION, limit_s=3)

    assert caught.value.total_spent == {
        "calls": 1,
        "tokens_in": 11,
        "tokens_out": 7,
        "cost_usd": 0.0,  # a local model is free
    }


def test_one_reply_without_usage_makes_total_unknown(driving):
    with ModelServer([Answer(tool_calls=[("list", {})], usage=None), Answer(BRIEF)]) as server:
        assert driving(server, Base(FILES)).ask(STEPS["scout"], QUESTION).tokens_in is None


def test_scout_that_spent_its_calls_gets_no_tools(driving):
    def script(request):
        return (
            Answer(tool_calls=[("list", {}), ("grep", {"text": "def"}), ("list", {})])
            if "tools" in request
            else Answer(BRIEF)
        )

    with ModelServer(script) as server:
        reply = driving(server, Base(FILES)).ask(STEPS["scout"], QUESTION)

    assert reply.text == BRIEF and len(server.requests) == 4
    last = server.requests[-1]
    assert "tools" not in last and [message["role"] for message in last["messages"]] == [
        "system",
        "user",
    ]
    assert last["messages"][1]["content"].count("app/main.py") == 5  # of eight; three were searches
    assert reply.calls == STEPS["scout"].calls == 8


@pytest.mark.parametrize("status", [400, 500])
def test_tools_are_offered_once_to_rejecting_server(driving, status):
    def script(request):
        if "tools" in request:
            return Answer(
                status=status, raw=b'{"error": {"message": "model does not support tools"}}'
            )
        return Answer(BRIEF)

    with ModelServer(script) as server:
        made = driving(server, Base(FILES))
        assert made.ask(STEPS["scout"], QUESTION, str).text == BRIEF
        before = len(server.requests)
        assert made.ask(STEPS["scout"], QUESTION, str).text == BRIEF

    assert len(server.requests) == before + 1 and "tools" not in server.requests[-1]


def test_broken_tool_stream_is_retried_without_tools(driving):
    said = b'data: {"error": {"code": 500, "message": "Invalid diff: now finding less tool calls!"}}\n\n'
    with ModelServer([Answer(raw=said, content_type="text/event-stream"), Answer(BRIEF)]) as server:
        assert driving(server, Base(FILES)).ask(STEPS["scout"], QUESTION, str).text == BRIEF

    assert ["tools" in one for one in server.requests] == [True, False]


def test_tool_call_as_text_is_retried_without_tools(driving):
    written = '```json\n{"name": "read", "arguments": {"path": "app/x.py"}}\n```'
    with ModelServer([Answer(written), Answer(BRIEF)]) as server:
        assert driving(server, Base(FILES)).ask(STEPS["scout"], QUESTION).text == BRIEF

    assert "tools" not in server.requests[1]


def test_driver_without_repository_offers_no_tools(driving):
    with ModelServer([Answer(BRIEF)]) as server:
        assert isinstance(driving(server), ModelDriver)
        assert driving(server).ask(STEPS["scout"], QUESTION).text == BRIEF
        assert "tools" not in server.requests[0]
