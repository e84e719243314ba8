"""Which model a stage uses, and who gets to see its key."""

import json
import os

import pytest

from kaizen_components.backends.endpoint import Endpoint
from kaizen_components.errors import KaizenError, Refused, Unavailable, Usage

LOCAL = "http://127.0.0.1:11434/v1"


@pytest.fixture(autouse=True)
def _no_model(monkeypatch):
    for name in list(os.environ):
        if name.startswith("KAIZEN_"):
            monkeypatch.delenv(name)


@pytest.fixture
def given(monkeypatch):
    def put(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"KAIZEN_{name}", value)

    return put


def test_unconfigured_model_error_names_three_variables():
    with pytest.raises(Unavailable) as caught:
        Endpoint.from_environment("build")

    assert caught.value.exit_code == 5
    for name in ("KAIZEN_LLM_BASE_URL", "KAIZEN_LLM_MODEL", "KAIZEN_LLM_API_KEY"):
        assert name in caught.value.next


def test_stage_variables_override_model_address_key_and_timeout(given):
    given(
        LLM_BASE_URL=LOCAL,
        LLM_MODEL="small",
        REVIEW_MODEL="big",
        REVIEW_BASE_URL="http://127.0.0.1:9/v1",
    )
    given(REVIEW_API_KEY="review-key", REVIEW_TIMEOUT_S="9", LLM_MAX_TOKENS="500")
    review, build = Endpoint.from_environment("review"), Endpoint.from_environment("BUILD")

    assert (review.model, review.served_by, review.key, review.timeout_s) == (
        "big",
        "127.0.0.1:9",
        "review-key",
        9,
    )
    assert (build.model, build.served_by, build.key, build.timeout_s) == (
        "small",
        "127.0.0.1:11434",
        "",
        None,
    )
    assert build.max_tokens == 500


def test_general_key_is_not_sent_to_another_host(given):
    given(
        LLM_BASE_URL=LOCAL,
        LLM_MODEL="m",
        LLM_API_KEY="general",
        REVIEW_BASE_URL="http://localhost:5/v1",
    )

    assert Endpoint.from_environment("build").key == "general"
    assert Endpoint.from_environment("review").key == ""


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://localhost:1/", "http://[::1]:1", "http://127.9.9.9:1/v1"]
)
def test_loopback_url_is_allowed_and_gets_v1(url):
    assert Endpoint(url, "m").base_url == url.removesuffix("/").removesuffix("/v1") + "/v1"


@pytest.mark.parametrize(
    "url", ["https://api.example.org/v1", "http://10.0.0.5/v1", "http://localhost.example.org", "http://0x7f000001.org",
            "http://2130706433.example.org/"],
)  # fmt: skip
def test_remote_host_is_refused_unless_allowed(url, given):
    with pytest.raises(Refused, match="is not on this machine"):
        Endpoint(url, "m")
    given(LLM_BASE_URL=url, LLM_MODEL="m", LLM_ALLOW_REMOTE="1")

    assert not Endpoint.from_environment("plan").is_local


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "127.0.0.1:80", "http://", "http://[::1", "http://x:99999/", ""]
)
def test_invalid_model_url_is_refused(url):
    with pytest.raises(Usage, match="not a valid URL"):
        Endpoint(url, "m")


@pytest.mark.parametrize(
    "url", ["http://me:" + "hunter" + "@127.0.0.1/v1", "http://127.0.0.1/v1?key=abc"]
)
def test_error_repeats_no_password_of_model_url(url):
    with pytest.raises(Refused) as caught:
        Endpoint(url, "m")

    assert not any(secret in json.dumps(caught.value.as_dict()) for secret in ("hunter", "abc"))


def test_unsendable_key_is_refused_and_not_repeated():
    with pytest.raises(Usage) as caught:
        Endpoint(LOCAL, "m", "kéy\n")

    assert "kéy" not in json.dumps(caught.value.as_dict(), ensure_ascii=False)


def test_prices_come_from_two_numbers_or_file(given, tmp_path):
    given(LLM_BASE_URL=LOCAL, LLM_MODEL="m", LLM_PRICES="0.5,1.5")
    assert Endpoint.from_environment("build").cost_usd(1_000_000, 2_000_000) == 3.5

    table = tmp_path / "prices.json"
    table.write_text('{"m": [1, 2], "*": [0, 0]}')
    given(LLM_PRICES=str(table), REVIEW_MODEL="other")
    assert Endpoint.from_environment("build").cost_usd(1_000_000, 0) == 1
    assert Endpoint.from_environment("review").cost_usd(1_000_000, 0) == 0


def test_model_on_loopback_address_costs_nothing(given):
    given(LLM_BASE_URL=LOCAL, LLM_MODEL="m")

    assert Endpoint.from_environment("build").cost_usd(None, None) == 0


def test_cost_is_none_without_price_or_count(given, tmp_path):
    given(LLM_BASE_URL="https://example.org/v1", LLM_MODEL="m", LLM_ALLOW_REMOTE="1")
    assert Endpoint.from_environment("build").cost_usd(1, 1) is None

    table = tmp_path / "prices.json"
    table.write_text('{"another": [1, 2]}')
    given(LLM_PRICES=str(table))
    assert Endpoint.from_environment("build").cost_usd(1, 1) is None
    given(LLM_PRICES="1,1")
    assert Endpoint.from_environment("build").cost_usd(None, 1) is None


@pytest.mark.parametrize(
    "name, value",
    [("LLM_PRICES", "cheap"), ("LLM_PRICES", "-1,2"), ("BUILD_TIMEOUT_S", "soon"), ("LLM_TIMEOUT_S", "-1"),
     ("LLM_TIMEOUT_S", "nan"), ("LLM_MAX_TOKENS", "0")],
)  # fmt: skip
def test_invalid_model_setting_is_refused(given, name, value):
    given(LLM_BASE_URL=LOCAL, LLM_MODEL="m", **{name: value})

    with pytest.raises(KaizenError) as caught:
        Endpoint.from_environment("build")
    assert caught.value.exit_code == 2
