"""Which model a stage uses: read from the environment, on this machine unless a remote one is allowed.

KAIZEN_LLM_BASE_URL, _MODEL, _API_KEY, _TIMEOUT_S and _MAX_TOKENS are for every stage; the same words after KAIZEN_PLAN,
KAIZEN_SCOUT, KAIZEN_BUILD, KAIZEN_TEST or KAIZEN_REVIEW are for that one.
"""

import ipaddress
import json
import os
import re
from urllib.parse import urlsplit

from ..errors import Refused, Unavailable, Usage

GENERAL = "LLM"
VARIABLES = ("KAIZEN_LLM_BASE_URL", "KAIZEN_LLM_MODEL", "KAIZEN_LLM_API_KEY")


class Endpoint:
    """One model at one address."""

    def __init__(
        self, base_url: str, model: str, key: str = "", *, timeout_s: float | None = None,
        max_tokens: int | None = None, prices: tuple[float, float] | None = None, allow_remote: bool = False,
    ):  # fmt: skip
        parts = _address(base_url, allow_remote)
        self.base_url = base_url.rstrip("/") + ("" if parts.path.strip("/") else "/v1")
        self.served_by = parts.netloc
        self.is_local = _is_loopback(parts.hostname or "")
        self.is_tls = parts.scheme == "https"
        self.model = model
        self.key = _plain_key(key)
        self.timeout_s = timeout_s  # None: as long as the step may take
        self.max_tokens = max_tokens  # None: as the server has it
        self.prices = prices  # USD per million tokens (in, out)

    @classmethod
    def from_environment(cls, stage: str) -> "Endpoint":
        """The endpoint of a stage, or Unavailable with the variables to set."""
        own = re.sub(r"\W", "_", stage.upper())
        base_url, model = _value(own, "BASE_URL"), _value(own, "MODEL")
        if not base_url or not model:
            raise Unavailable(
                "no_model",
                f"No model is configured for {stage.lower()}.",
                f"{'KAIZEN_LLM_BASE_URL' if not base_url else 'KAIZEN_LLM_MODEL'} is not set.",
                f"Set {VARIABLES[0]} (such as http://127.0.0.1:11434/v1), {VARIABLES[1]}, and {VARIABLES[2]} if the "
                "server asks for a key.",
            )
        return cls(
            base_url, model, _key(own, base_url), timeout_s=_number(own, "TIMEOUT_S"),
            max_tokens=int(_number(own, "MAX_TOKENS") or 0) or None, prices=_prices(model),
            allow_remote=os.environ.get("KAIZEN_LLM_ALLOW_REMOTE") == "1",
        )  # fmt: skip

    def cost_usd(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Return the cost; None if a price or count is unknown. A model on this machine is free."""
        if self.prices is None and self.is_local:
            return 0.0
        if self.prices is None or tokens_in is None or tokens_out is None:
            return None
        return round((tokens_in * self.prices[0] + tokens_out * self.prices[1]) / 1_000_000, 6)


def _value(own, word):
    return (
        os.environ.get(f"KAIZEN_{own}_{word}", "").strip()
        or os.environ.get(f"KAIZEN_{GENERAL}_{word}", "").strip()
    )


def _key(own, base_url):
    """The stage's own key; the general one only at the general address, so that no other host gets to see it."""
    general = os.environ.get("KAIZEN_LLM_BASE_URL", "").strip()
    if f"KAIZEN_{own}_API_KEY" in os.environ:
        return os.environ[f"KAIZEN_{own}_API_KEY"].strip()
    if general and urlsplit(general).netloc == urlsplit(base_url).netloc:
        return os.environ.get("KAIZEN_LLM_API_KEY", "").strip()
    return ""


def _number(own, word):
    text = _value(own, word)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < 1e9:
        raise Usage(
            "bad_setting",
            f"KAIZEN_{own}_{word} or KAIZEN_LLM_{word} is not a number above 0.",
            "",
            "Correct it.",
        )
    return number


def _address(base_url, allow_remote):
    try:
        parts = urlsplit(base_url)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        wrong = True
    if wrong:
        raise Usage(
            "bad_base_url",
            "The base URL of the model is not a URL.",
            "",
            "Such as http://127.0.0.1:11434/v1.",
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise Refused(
            "base_url_holds_more",
            "The base URL of the model holds more than an address.",
            "A password or a query in it would end up in records and messages.",
            "Put the key into KAIZEN_LLM_API_KEY.",
        )
    if not allow_remote and not _is_loopback(parts.hostname):
        raise Refused(
            "remote_model",
            f"{parts.hostname} is not this machine.",
            "The code of the target would leave it.",
            "Set KAIZEN_LLM_ALLOW_REMOTE=1 if that is meant, or use a local server.",
        )
    return parts


def _is_loopback(host):
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _plain_key(key):
    if not key.isascii() or not key.isprintable():
        raise Usage(
            "bad_key",
            "The key of the model has characters that no header can carry.",
            "",
            "Copy it again.",
        )
    return key


def _prices(model):
    """KAIZEN_LLM_PRICES: "in,out" per million tokens, or a JSON file {"model": [in, out], "*": [in, out]}."""
    given = os.environ.get("KAIZEN_LLM_PRICES", "").strip()
    if not given:
        return None
    try:
        if os.path.exists(given):
            with open(given, encoding="utf-8") as file:
                table = json.load(file)
            pair = table.get(model, table.get("*"))
        else:
            pair = given.split(",")
        if pair is None:
            return None
        price_in, price_out = (float(price) for price in pair)
        if price_in < 0 or price_out < 0:
            raise ValueError
    except (OSError, ValueError, TypeError, AttributeError):
        raise Usage(
            "bad_prices",
            "KAIZEN_LLM_PRICES cannot be read.",
            "It is two numbers, in and out, in USD per million tokens, or a JSON file of such pairs by model.",
            'Such as 0.5,1.5 or a file {"some-model": [0.5, 1.5], "*": [0, 0]}.',
        ) from None
    return price_in, price_out
