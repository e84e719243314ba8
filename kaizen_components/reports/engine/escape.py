"""Escape stored text for Markdown. R0 imports only this module, to start fast."""

from __future__ import annotations

from ...records.ledger.canonical import escape_invisible

SPECIAL = frozenset("\\`*_{}[]<>#|~&!$")


def escape_text(text: str) -> str:
    """Return the text as one line that Markdown shows literally."""
    line = " ".join(escape_invisible(text).split())
    escaped = "".join("\\" + c if c in SPECIAL else c for c in line)
    if escaped[:1] in ("-", "+", "=", ":"):
        return "\\" + escaped
    digits = len(escaped) - len(escaped.lstrip("0123456789"))
    if digits and escaped[digits : digits + 2].strip() in (".", ")"):  # Markdown would begin a list
        return escaped[:digits] + "\\" + escaped[digits:]
    return escaped


def quote_code(text: str) -> str:
    """Return text as one line of inline code, with more backticks around it than inside."""
    line = " ".join(escape_invisible(text).split())
    if not line:
        return ""
    fence = "`"
    while fence in line:
        fence += "`"
    pad = " " if "`" in line[:1] + line[-1:] else ""
    return f"{fence}{pad}{line}{pad}{fence}"
