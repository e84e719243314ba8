"""Convert raw values (text from a shell, values from JSON) into the values that a command gets."""

from __future__ import annotations

from .errors import Usage
from .fields import LIST_KINDS, Field, format_option
from .limits import BODY_CHARS_MAX, PATH_CHARS_MAX
from .store.place import find_working_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

JSON_DEPTH_MAX = 100
ITEMS_MAX = 200
FILLERS = "\u115f\u1160\u2800\u3164\uffa0"  # printable, but invisible
INVISIBLE = (
    "Cc",
    "Cf",
    "Zl",
    "Zp",
    "Zs",
)  # not Cn, which may be a letter that this Python does not know yet


def read_value(name: str, field: Field, raw: Any) -> Any:
    """Return the value for a command; raise Usage if the field does not accept it."""
    if field.kind in LIST_KINDS and type(raw) is not list:
        raw = [raw]
    return READERS[field.kind](name, field, raw)


def explain_bad_value(name: str, problem: str, next_step: str = "", why: str = "") -> Usage:
    return Usage("bad_value", f"{format_option(name)} {problem}", why, next_step)


def read_flag(name: str, field: Field, raw: Any) -> bool:
    if raw is not True and raw is not False:
        raise explain_bad_value(name, "must be true or false.", "Write it without quotes.")
    return raw


def read_lines(name: str, field: Field, raw: list[Any]) -> list[str]:
    check_count(name, raw)
    return [read_line(name, field, line) for line in raw]


def read_items(name: str, field: Field, raw: list[Any]) -> list[str]:
    """Read texts, each of which may also be a JSON list of texts."""
    texts = []
    for item in raw:
        items = [item]
        if type(item) is str and item[:1] == "[":
            items = read_json(name, Field("json", "", most=BODY_CHARS_MAX), item)
            if type(items) is not list or not all(type(text) is str for text in items):
                raise explain_bad_value(name, "must be a text, or a JSON list of texts.")
        texts += items
    check_count(name, texts)
    return [read_text(name, field, text) for text in texts]


def check_count(name: str, raw: list[Any]) -> None:
    if len(raw) > ITEMS_MAX:
        problem = f"has {len(raw):,} values; the limit is {ITEMS_MAX}."
        raise explain_bad_value(name, problem)


def read_argv(name: str, field: Field, raw: list[Any]) -> list[str]:
    """Return the words of a command line; each must be valid UTF-8 without NUL."""
    if not raw:
        raise explain_bad_value(name, "needs a command.", "Write the command after --.")
    for word in raw:
        if type(word) is not str or "\0" in word or len(word) > field.most:
            problem = f"takes words without NUL of at most {field.most:,} characters."
            raise explain_bad_value(name, problem)
        check_utf8(name, word)
    return raw


def check_utf8(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        next_step = "Convert the text to UTF-8."
        raise explain_bad_value(name, "is not valid UTF-8.", next_step) from None


def read_text(name: str, field: Field, raw: Any) -> str:
    """Return the text; refuse one that is blank, too long, or not storable as UTF-8."""
    if type(raw) is not str:
        raise explain_bad_value(name, "must be text.", "Put the value in quotes.")
    if len(raw) > field.most:
        problem = f"has {len(raw):,} characters; the limit is {field.most:,}."
        raise explain_bad_value(name, problem, "Shorten the text.")
    if is_blank(raw):
        next_step = "Give it some text, or omit the option."
        raise explain_bad_value(name, "is blank.", next_step)
    if "\0" in raw:
        line = raw.count("\n", 0, raw.index("\0")) + 1
        problem = f"contains a NUL byte in line {line:,}."
        raise explain_bad_value(name, problem, "Remove it; records store plain text.")
    if not raw.isascii():
        check_utf8(name, raw)
    return raw


def is_blank(text: str) -> bool:
    """Return whether the text looks empty; zero-width spaces and fillers are invisible too."""
    if any(char.isprintable() and char != " " and char not in FILLERS for char in text):
        return False
    from unicodedata import category

    return all(char in FILLERS or category(char) in INVISIBLE for char in text)


def read_line(name: str, field: Field, raw: Any) -> str:
    text = read_text(name, field, raw)
    if len(text.splitlines()) > 1 or text[-1] in "\r\n":
        next_step = "Remove the line breaks. Longer text belongs in --body, if the command has it."
        raise explain_bad_value(name, "must be one line.", next_step)
    return text


def read_path(name: str, field: Field, raw: Any) -> str:
    if type(raw) is not str or not raw.strip() or "\0" in raw or len(raw) > PATH_CHARS_MAX:
        why = f"A path has 1 to {PATH_CHARS_MAX:,} characters and no NUL byte."
        raise explain_bad_value(name, "must be the path of a file.", why=why)
    if raw[0] not in "/\\-":  # a relative path needs the working folder
        find_working_folder()
    return raw


def read_choice(name: str, field: Field, raw: Any) -> str:
    """Return the choice in its own spelling; the user may type it in any case."""
    wanted = raw.lower() if type(raw) is str else raw
    for choice in field.choices:
        if choice.lower() == wanted:
            return choice
    from difflib import get_close_matches

    choices = {choice.lower(): choice for choice in field.choices}
    similar = get_close_matches(str(wanted)[:60], choices, 1, 0.5)
    why = f"Did you mean {choices[similar[0]]}?" if similar else ""
    raise explain_bad_value(name, f"must be one of {', '.join(field.choices)}.", why=why)


def read_int(name: str, field: Field, raw: Any) -> int:
    if type(raw) is str:
        digits = raw[1:] if raw[:1] == "-" else raw
        if digits.isascii() and digits.isdecimal() and len(digits) <= 20:
            raw = int(raw)
    if type(raw) is not int:
        raise explain_bad_value(name, "must be a whole number.", "Use digits only, such as 5.")
    check_bounds(name, field, raw)
    return raw


def read_float(name: str, field: Field, raw: Any) -> float:
    try:
        number = float(raw)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if type(raw) is bool or number - number != 0:
        raise explain_bad_value(name, "must be a finite number.", "Give a number such as 0.5.")
    check_bounds(name, field, number)
    return number


def check_bounds(name: str, field: Field, number: float) -> None:
    is_low = field.least is not None and number < field.least
    if is_low or (field.most is not None and number > field.most):
        problem = f"must be between {field.least} and {field.most}."
        raise explain_bad_value(
            name, problem, "Give a number in this range.", f"The value is {number}."
        )


def read_json(name: str, field: Field, raw: Any) -> Any:
    """Return the JSON value; refuse NaN, NUL, and values that are too deep or too long."""
    import json

    def refuse_constant(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        if type(raw) is not str:  # K5 and Python callers pass values; the same limits apply
            raw = json.dumps(raw, ensure_ascii=False, allow_nan=False)
        value = json.loads(read_text(name, field, raw), parse_constant=refuse_constant)
        # Go level by level: recursion would fail on deeply nested input.
        depth, level, has_nul = 0, [value], False
        while level:
            parts = [child for child in level if type(child) is list]
            parts += [[*child, *child.values()] for child in level if type(child) is dict]
            has_nul = has_nul or any("\0" in child for child in level if type(child) is str)
            level = [child for part in parts for child in part]
            depth += 1
            if depth > JSON_DEPTH_MAX:
                raise ValueError(f"nested deeper than {JSON_DEPTH_MAX} levels")
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        read_text(name, field, text)
    except (ValueError, RecursionError) as error:
        problem = f"is not valid JSON: {str(error) or 'nested too deeply'}."
        raise explain_bad_value(name, problem, "Check its quotes, commas and brackets.") from None
    if has_nul:
        raise explain_bad_value(
            name, "contains a NUL character.", "Remove it; records store plain text."
        )
    return value


def read_time(name: str, field: Field, raw: Any) -> str:
    """Return the time in UTC, as records store it."""
    from .records.moment import read_moment

    try:
        return read_moment(raw)
    except (ValueError, TypeError, OverflowError):
        raise explain_bad_value(
            name,
            "must be a date (2026-11-16), a time (2026-11-16T08:00), an age (7d, 12h, 30m) "
            "or a time from now (+7d).",
            "Use one of these forms.",
        ) from None


READERS = {
    "line": read_line,
    "prose": read_text,
    "input": read_text,
    "id": read_line,
    "path": read_path,
    "choice": read_choice,
    "flag": read_flag,
    "int": read_int,
    "float": read_float,
    "json": read_json,
    "time": read_time,
    "ids": read_lines,
    "words": read_lines,
    "items": read_items,
    "argv": read_argv,
}
