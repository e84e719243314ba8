"""Choose the model of a stage from the environment. Remote models need KAIZEN_LLM_ALLOW_REMOTE.

KAIZEN_LLM_BASE_URL, _MODEL, _API_KEY, _TIMEOUT_S and _MAX_TOKENS are for every stage; the same
words after KAIZEN_PLAN, KAIZEN_SCOUT, KAIZEN_BUILD, KAIZEN_TEST or KAIZEN_REVIEW are for that one.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from urllib.parse import SplitResult, urlsplit

from ..errors import Refused, Unavailable, Usage
from ..records.secrets.excerpt import make_excerpt

VARIABLES = ("KAIZEN_LLM_BASE_URL", "KAIZEN_LLM_MODEL", "KAIZEN_LLM_API_KEY")


class Endpoint:
    """One model at one address."""

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str = "",
        *,
        timeout_s: float | None = None,
        max_tokens: int | None = None,
        prices: tuple[float, float] | None = None,
        allow_remote: bool = False,
    ) -> None:
        parts = parse_base_url(base_url, allow_remote)
        if not key.isascii() or not key.isprintable():
            what = "The API key of the model has characters that an HTTP header cannot contain."
            why = "Only printable ASCII is allowed."
            raise Usage("bad_key", what, why, "Copy the key again.")
        self.base_url = base_url.rstrip("/") + ("" if parts.path.strip("/") else "/v1")
        self.served_by = parts.netloc
        self.is_local = is_loopback(parts.hostname or "")
        self.is_tls = parts.scheme == "https"
        self.model = model
        self.key = key
        self.timeout_s = timeout_s  # None: as long as the step may take
        self.max_tokens = max_tokens  # None: the server decides
        self.prices = prices  # USD per million tokens (in, out)

    @classmethod
    def from_environment(cls, stage: str) -> Endpoint:
        """Return the endpoint of a stage, or raise Unavailable with the variables to set."""
        prefix = re.sub(r"\W", "_", stage.upper())
        base_url, model = read_setting(prefix, "BASE_URL"), read_setting(prefix, "MODEL")
        if not base_url or not model:
            missing_variable = VARIABLES[1] if base_url else VARIABLES[0]
            raise Unavailable(
                "no_model",
                f"No model is configured for {stage.lower()}.",
                f"{missing_variable} is not set.",
                f"Set {VARIABLES[0]} (such as http://127.0.0.1:11434/v1), {VARIABLES[1]}, and "
                f"{VARIABLES[2]} if the server requires a key.",
            )
        general = os.environ.get(VARIABLES[0], "").strip()
        key = os.environ.get(f"KAIZEN_{prefix}_API_KEY")
        if key is None and general and urlsplit(general).netloc == urlsplit(base_url).netloc:
            key = os.environ.get(VARIABLES[2])  # no other host may see the general key
        return cls(
            base_url,
            model,
            (key or "").strip(),
            timeout_s=read_number(prefix, "TIMEOUT_S"),
            max_tokens=int(read_number(prefix, "MAX_TOKENS") or 0) or None,
            prices=read_prices(model),
            allow_remote=os.environ.get("KAIZEN_LLM_ALLOW_REMOTE") == "1",
        )

    def cost_usd(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Return the cost; None if a price or count is unknown. A model on this machine is free."""
        if self.prices is None and self.is_local:
            return 0.0
        if self.prices is None or tokens_in is None or tokens_out is None:
            return None
        return round((tokens_in * self.prices[0] + tokens_out * self.prices[1]) / 1_000_000, 6)


def read_setting(prefix: str, word: str) -> str:
    """Return the stage's own value, or the general one."""
    names = (f"KAIZEN_{prefix}_{word}", f"KAIZEN_LLM_{word}")
    return next(filter(None, (os.environ.get(name, "").strip() for name in names)), "")


def read_number(prefix: str, word: str) -> float | None:
    """Return a positive number from the environment, or None if it is not set."""
    text = read_setting(prefix, word)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < 1e9:
        what = f"KAIZEN_{prefix}_{word} or KAIZEN_LLM_{word} is {make_excerpt(text)!r}."
        raise Usage(
            "bad_setting",
            what,
            "The value must be a number above 0.",
            "Set the variable to such a number, or unset it.",
        )
    return number


def parse_base_url(base_url: str, allow_remote: bool) -> SplitResult:
    """Return the parts of a base URL; refuse credentials in it, and remote hosts by default."""
    try:
        parts = urlsplit(base_url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise Usage(
            "bad_base_url",
            "The base URL of the model is not a valid URL.",
            "It must begin with http:// or https:// and name a host.",
            "Set KAIZEN_LLM_BASE_URL to a URL such as http://127.0.0.1:11434/v1.",
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise Refused(
            "base_url_holds_more",
            "The base URL of the model contains credentials, a query or a fragment.",
            "They would appear in records and messages.",
            "Remove them from the URL, and set KAIZEN_LLM_API_KEY to the key.",
        )
    host = parts.hostname or ""
    if not allow_remote and not is_loopback(host):
        raise Refused(
            "remote_model",
            f"The model server {host} is not on this machine.",
            "The code of the target would be sent to it.",
            "Set KAIZEN_LLM_ALLOW_REMOTE=1 to allow that, or use a local server.",
        )
    return parts


def is_loopback(host: str) -> bool:
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_prices(model: str) -> tuple[float, float] | None:
    """Read KAIZEN_LLM_PRICES: "in,out" in USD per million tokens, or a JSON file of such pairs."""
    setting = os.environ.get("KAIZEN_LLM_PRICES", "").strip()
    if not setting:
        return None
    try:
        pair = setting.split(",")
        if os.path.exists(setting):
            with open(setting, encoding="utf-8") as file:
                table = json.load(file)
            pair = table.get(model, table.get("*"))
            if pair is None:
                return None
        price_in, price_out = (float(price) for price in pair)
        if price_in < 0 or price_out < 0:
            raise ValueError
    except (OSError, ValueError, TypeError, AttributeError):
        raise Usage(
            "bad_prices",
            "KAIZEN_LLM_PRICES is not valid.",
            "It must be two prices in USD per million tokens, for input and output, or a JSON file "
            "with such a pair for each model.",
            'Set it to 0.5,1.5 or to a file such as {"some-model": [0.5, 1.5], "*": [0, 0]}.',
        ) from None
    return price_in, price_out
