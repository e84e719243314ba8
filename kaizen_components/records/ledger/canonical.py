"""Canonical JSON (RFC 8785) and the compact JSON that commands print.

Hand-written because it is on the hot path: importing `json` costs as much as the rest of a cold write.
"""

_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)}
_ESCAPES.update({8: "\\b", 9: "\\t", 12: "\\f", 13: "\\r"})  # the others are replaced before


def encode_canonical(value) -> str:
    """Sorted keys, no spaces. Two equal values have the same text."""
    return _encode(value, True)


def encode_canonical_row(row) -> str:
    """The same for a dict of texts and numbers with plain names, such as a row: 3 microseconds instead of 8."""
    members = []
    for name in sorted(row):
        value = row[name]
        if type(value) is str and value.isprintable() and '"' not in value and "\\" not in value:
            members.append(f'"{name}":"{value}"')
        else:
            members.append(f'"{name}":{_encode(value, True)}')
    return "{" + ",".join(members) + "}"


def encode_compact(value) -> str:
    """The same with keys in their own order: what `--json` prints."""
    return _encode(value, False)


# Spaces of all widths, soft hyphens and what joins letters: not printable to Python, and part of ordinary text.
_ORDINARY = frozenset(
    map(
        chr,
        (9, 10, 0xA0, 0xAD, 0x1680, *range(0x2000, 0x200B), 0x200C, 0x200D, 0x202F, 0x205F, 0x3000),
    )
)


def escape_invisible(text: str) -> str:
    """Stored text as it can safely be shown: no escape sequences, no direction tricks; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        c
        if c.isprintable() or c in _ORDINARY
        else f"\\x{ord(c):02x}"
        if ord(c) < 256
        else f"\\u{ord(c):04x}"
        for c in text
    )


def measure_width(text: str) -> int:
    """How broad a text is on a terminal: East Asian wide characters and most emoji take two columns, marks none."""
    if text.isascii() or all(
        c < "\u0300" or "\u2010" <= c <= "\u2027" for c in text
    ):  # Latin, dashes, …
        return len(text)
    from unicodedata import category, east_asian_width  # only now: most texts have no use for it

    return sum(
        0
        if category(c) in ("Mn", "Me", "Cf") or "\u1160" <= c <= "\u11ff"
        else 2
        if east_asian_width(c) in "WF"
        else 1
        for c in text
    )


def _encode(value, in_order):
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is int:
        return str(value)
    if kind is dict:
        members = sorted(value.items()) if in_order else value.items()
        return (
            "{"
            + ",".join([_text(str(name)) + ":" + _encode(one, in_order) for name, one in members])
            + "}"
        )
    if kind is list or kind is tuple:
        return "[" + ",".join([_encode(one, in_order) for one in value]) + "]"
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return format_number(value)
    raise AssertionError(f"{kind.__name__} has no JSON form")


def _text(value):
    """What most texts have is replaced first: `translate` takes 70 ns a character, and has rarely something left."""
    if '"' in value or "\\" in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    if not value.isprintable():
        value = value.replace("\n", "\\n")
        value = value if value.isprintable() else value.translate(_ESCAPES)
    return '"' + value + '"'


def format_number(value: float) -> str:
    """A float as ECMAScript prints it, so that a verifier in any language gets the same digits."""
    assert value - value == 0, "NaN and infinity have no JSON form"
    if abs(value) < 2**53 and value == int(value):
        return str(int(value))
    text = repr(abs(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    sign = "-" if value < 0 else ""
    if 0 < point <= 21:
        return (
            sign
            + digits[:point].ljust(point, "0")
            + ("." + digits[point:] if len(digits) > point else "")
        )
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + power
