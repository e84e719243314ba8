"""What can go wrong with a model's server, in our own words. The key is in none of them."""

import json
import time
from typing import Any

from ..errors import Unavailable
from ..records.secrets import scan
from .endpoint import Endpoint

ERROR_BYTES_MAX = 20_000
SAID_CHARS_MAX = 300


class RequestRejected(Unavailable):
    """The server does not take the question as it is; with tools, it may without."""

    def __init__(self, endpoint: Endpoint, status: int, said: str):
        super().__init__(
            "backend_rejects",
            f"{endpoint.served_by} answers {status} for the model {endpoint.model}.",
            said or "It does not say why.",
            "Check KAIZEN_LLM_MODEL and KAIZEN_LLM_BASE_URL.",
        )
        self.status = status


class RetryLater(Exception):
    """It may go better after a while."""

    def __init__(self, what: str, after_s: float = 0.0):
        self.what = what
        self.after_s = after_s


def failed(endpoint: Endpoint, response: Any, has_tools: bool) -> Exception:
    """The exception for an answer that is not 200."""
    status, said = response.status_code, _said(endpoint, response)
    if has_tools and status >= 400 and "tool" in said.lower():
        return RequestRejected(endpoint, status, said)  # some say 500 to tools they do not know
    if status == 429 or status >= 500:
        return RetryLater(
            f"answers {status}{said and ': ' + said}",
            parse_retry_after(response.headers.get("retry-after")),
        )
    if 300 <= status < 400:
        return Unavailable(
            "backend_redirects",
            f"{endpoint.served_by} sends us elsewhere ({status}).",
            "A redirect is not followed: the question and the key are for this address only.",
            "Set KAIZEN_LLM_BASE_URL to the address that answers.",
        )
    if status in (401, 403):
        return Unavailable(
            "backend_refuses_key",
            f"{endpoint.served_by} answers {status}.",
            "It wants a key, or another one.",
            "Set KAIZEN_LLM_API_KEY, or the key of the stage.",
        )
    return RequestRejected(endpoint, status, said)


def dead(endpoint: Endpoint, connect_s: float) -> Unavailable:
    return Unavailable(
        "backend_dead",
        f"No model answers at {endpoint.served_by}.",
        f"Nobody took the connection within {connect_s:.0f} s.",
        "Start the server, or set KAIZEN_LLM_BASE_URL to one that runs.",
    )


def slow(endpoint: Endpoint, timeout_s: float) -> Unavailable:
    return Unavailable(
        "backend_slow",
        f"{endpoint.served_by} gave no whole answer within {timeout_s:g} s.",
        "The model is slow, or still loading.",
        "Try again, or give the stage more time, such as KAIZEN_BUILD_TIMEOUT_S=1200.",
    )


def failing(endpoint: Endpoint, again: RetryLater, tries: int, waited_s: float) -> Unavailable:
    told = f" It asks to wait {again.after_s:.0f} s." if again.after_s else ""
    return Unavailable(
        "backend_failing",
        f"{endpoint.served_by} {again.what}.",
        f"{tries} tries, {waited_s:.0f} s of waiting between them.{told}",
        "Look at the server, and try again.",
    )


def garbled(endpoint: Endpoint, why: str) -> Unavailable:
    return Unavailable(
        "backend_garbled",
        f"{endpoint.served_by} does not answer as an OpenAI-compatible server.",
        clean_server_text(endpoint, f"200, but {why}."),
        "Check KAIZEN_LLM_BASE_URL; it usually ends in /v1.",
    )


def misread(endpoint: Endpoint, why: str, has_tools: bool) -> Unavailable:
    """The exception for a 200 that is no answer: some servers break off where a model writes a call that is none."""
    if has_tools and "tool" in why.lower():
        return RequestRejected(endpoint, 200, clean_server_text(endpoint, why))
    return garbled(endpoint, why)


def floods(endpoint: Endpoint, most: int) -> Unavailable:
    return Unavailable(
        "backend_floods",
        f"{endpoint.served_by} answers without end.",
        f"More than {most:,} bytes for one answer.",
        "Limit it with KAIZEN_LLM_MAX_TOKENS, or use another model.",
    )


def _said(endpoint, response):
    """The beginning of an error page, on one line."""
    data = b""
    for block in response.iter_raw():
        data += block
        if len(data) > ERROR_BYTES_MAX:
            break
    text = data.decode("utf-8", "replace").strip()
    try:
        error = json.loads(text)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, TypeError, KeyError, RecursionError):
        if text.startswith("<"):
            return "an HTML page"
    return clean_server_text(endpoint, text)


def clean_server_text(endpoint: Endpoint, text: str) -> str:
    """What a server said, short, on one line, without the key and whatever else is a secret."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if endpoint.key:
        text = text.replace(endpoint.key, "[key]")
    return scan.redact_secrets(text)[:SAID_CHARS_MAX]


def parse_retry_after(given: str | None) -> float:
    """Retry-After: seconds, or a date; 0 where there is none that can be read."""
    if not given:
        return 0.0
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
