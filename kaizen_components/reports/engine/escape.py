"""Stored text as Markdown that shows it as it is. Apart from the blocks: a cold R0 needs only this."""

from __future__ import annotations

from ...records.ledger.canonical import escape_invisible

SPECIAL = frozenset("\\`*_{}[]<>#|~&!$")


def escape_text(text: str) -> str:
    """Return text that Markdown shows as it is, in one line."""
    line = " ".join(escape_invisible(text).split())
    escaped = "".join("\\" + c if c in SPECIAL else c for c in line)
    if escaped[:1] in ("-", "+", "=", ":"):
        return "\\" + escaped
    digits = len(escaped) - len(escaped.lstrip("0123456789"))
    if digits and escaped[digits : digits + 2].strip() in (".", ")"):  # or it would begin a list
        return escaped[:digits] + "\\" + escaped[digits:]
    return escaped


def quote_code(text: str) -> str:
    """Put text between as many backticks as it takes."""
    line = " ".join(escape_invisible(text).split())
    if not line:
        return ""
    fence = "`"
    while fence in line:
        fence += "`"
    pad = " " if "`" in line[:1] + line[-1:] else ""
    return f"{fence}{pad}{line}{pad}{fence}"
