"""Explain the failures of a model's server without showing the key."""

import json
import time
from typing import Any

from ..errors import Unavailable
from ..records.secrets import scan
from .endpoint import Endpoint

ERROR_BYTES_MAX = 20_000
TEXT_CHARS_MAX = 300


class RequestRejected(Unavailable):
    """The server refuses the question as it is; it may accept it without tools."""

    def __init__(self, endpoint: Endpoint, status: int, reason: str) -> None:
        super().__init__(
            "backend_rejects",
            f"{endpoint.served_by} answers {status} for the model {endpoint.model}.",
            reason or "The server gives no reason.",
            "Check KAIZEN_LLM_MODEL and KAIZEN_LLM_BASE_URL.",
        )
        self.status = status


class RetryLater(Exception):
    """The same request may succeed after a while."""

    def __init__(self, what: str, after_s: float = 0.0) -> None:
        self.what = what
        self.after_s = after_s


def explain_status(endpoint: Endpoint, response: Any, has_tools: bool) -> Exception:
    """Return the exception for an answer that is not 200."""
    status, reason = response.status_code, read_error_page(endpoint, response)
    if has_tools and status >= 400 and "tool" in reason.lower():
        return RequestRejected(endpoint, status, reason)  # some answer 500 to unknown tools
    if status == 429 or status >= 500:
        after_s = parse_retry_after(response.headers.get("retry-after"))
        return RetryLater(f"answers {status}{reason and ': ' + reason}", after_s)
    if 300 <= status < 400:
        return Unavailable(
            "backend_redirects",
            f"{endpoint.served_by} redirects to another address ({status}).",
            "A redirect is not followed: the question and the key are for this address only.",
            "Set KAIZEN_LLM_BASE_URL to the address that answers.",
        )
    if status in (401, 403):
        return Unavailable(
            "backend_refuses_key",
            f"{endpoint.served_by} answers {status}.",
            "The server requires a key, or rejects the key that was sent.",
            "Set KAIZEN_LLM_API_KEY, or the key of one stage, such as KAIZEN_BUILD_API_KEY.",
        )
    return RequestRejected(endpoint, status, reason)


def report_dead(endpoint: Endpoint, connect_s: float) -> Unavailable:
    return Unavailable(
        "backend_dead",
        f"No model answers at {endpoint.served_by}.",
        f"There was no connection within {connect_s:.0f} s.",
        "Start the server, or set KAIZEN_LLM_BASE_URL to a server that runs.",
    )


def report_slow(endpoint: Endpoint, timeout_s: float) -> Unavailable:
    return Unavailable(
        "backend_slow",
        f"{endpoint.served_by} gave no complete answer within {timeout_s:g} s.",
        "The model is slow, or still loading.",
        "Try again, or give the stage more time, such as with KAIZEN_BUILD_TIMEOUT_S=1200.",
    )


def report_failing(
    endpoint: Endpoint, error: RetryLater, tries: int, waited_s: float
) -> Unavailable:
    wish = f" The server asks to wait {error.after_s:.0f} s." if error.after_s else ""
    return Unavailable(
        "backend_failing",
        f"{endpoint.served_by} {error.what}.",
        f"Kaizen tried {tries} times and waited {waited_s:.0f} s in between.{wish}",
        "Check the server, and try again.",
    )


def explain_invalid(endpoint: Endpoint, why: str, has_tools: bool) -> Unavailable:
    """Return the exception for a response with status 200 but without a valid answer.

    Some servers end the answer when a model writes an invalid tool call.
    """
    if has_tools and "tool" in why.lower():
        return RequestRejected(endpoint, 200, clean_server_text(endpoint, why))
    return Unavailable(
        "backend_garbled",
        f"{endpoint.served_by} does not answer as an OpenAI-compatible server.",
        clean_server_text(endpoint, f"It answered 200, but {why}."),
        "Check KAIZEN_LLM_BASE_URL; it usually ends in /v1.",
    )


def report_flood(endpoint: Endpoint, bytes_max: int) -> Unavailable:
    return Unavailable(
        "backend_floods",
        f"{endpoint.served_by} sent an answer that is too long.",
        f"It has more than {bytes_max:,} bytes.",
        "Limit answers with KAIZEN_LLM_MAX_TOKENS, or use another model.",
    )


def read_error_page(endpoint: Endpoint, response: Any) -> str:
    """Return the beginning of an error page, on one line."""
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
    """Shorten a server's text to one line without the key or other secrets."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if endpoint.key:
        text = text.replace(endpoint.key, "[key]")
    return scan.redact_secrets(text)[:TEXT_CHARS_MAX]


def parse_retry_after(header: str | None) -> float:
    """Return the seconds of a Retry-After header, which may be a date; 0 if it is invalid."""
    if not header:
        return 0.0
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
