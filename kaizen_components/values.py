"""What was given (text from a shell, values from JSON) as the value that a command gets, or what is wrong with it."""

from .errors import Usage
from .fields import LIST_KINDS, Field, format_option
from .limits import BODY_CHARS_MAX, PATH_CHARS_MAX
from .store.place import find_working_folder

JSON_DEPTH_MAX = 100
ITEMS_MAX = 200
FILLERS = "\u115f\u1160\u2800\u3164\uffa0"  # printable, and nothing to see
UNSEEN = (
    "Cc",
    "Cf",
    "Zl",
    "Zp",
    "Zs",
)  # controls, formats and blanks; a letter newer than this Python is none of them


def read_value(name, field, given):
    """The value for a command, from what the user gave."""
    if field.kind == "flag":
        return _read_flag(name, given)
    if field.kind in LIST_KINDS:
        return _read_list(name, field, given if type(given) is list else [given])
    return _READERS[field.kind](name, field, given)


def _read_flag(name, given):
    if given is not True and given is not False:
        raise _explain_bad_value(name, "must be true or false.")
    return given


def _read_list(name, field, given):
    if field.kind == "items":
        given = [one for item in given for one in _split_items(name, field, item)]
    if len(given) > ITEMS_MAX and field.kind != "argv":
        raise _explain_bad_value(name, f"is given {len(given):,} times; at most {ITEMS_MAX} fit.")
    if field.kind == "argv" and not given:
        raise _explain_bad_value(name, "needs a command.")
    if field.kind == "argv":
        return [_read_word(name, field, one) for one in given]
    return [
        (_read_text if field.kind == "items" else _read_line)(name, field, one) for one in given
    ]


def _split_items(name, field, item):
    """A text, or the texts of a JSON list."""
    if type(item) is not str or item[:1] != "[":
        return [item]
    value = _read_json(name, Field("json", "", most=BODY_CHARS_MAX), item)
    if type(value) is not list or not all(type(one) is str for one in value):
        raise _explain_bad_value(name, "must be a text, or a JSON list of texts.")
    return value


def _read_word(name, field, given):
    """A word of a command line: whatever a process can be given, but text."""
    if type(given) is not str or "\0" in given or len(given) > field.most:
        raise _explain_bad_value(
            name, f"must be words without NUL, of at most {field.most:,} characters."
        )
    try:
        given.encode()
    except UnicodeEncodeError:
        raise _explain_bad_value(name, "is not valid UTF-8.") from None
    return given


def _is_blank(text):
    """Nothing but blanks and what nobody sees, such as a zero-width space or a filler."""
    if any(one.isprintable() and one != " " and one not in FILLERS for one in text):
        return False
    from unicodedata import category

    return all(one in FILLERS or category(one) in UNSEEN for one in text)


def _read_text(name, field, given):
    if type(given) is not str:
        raise _explain_bad_value(name, "must be text.")
    if len(given) > field.most:
        raise _explain_bad_value(
            name, f"has {len(given):,} characters; at most {field.most:,} fit.", "Shorten it."
        )
    if _is_blank(given):
        raise _explain_bad_value(
            name, "is blank.", "Give it some text, or leave the option out if it is optional."
        )
    if "\0" in given:
        line = given.count("\n", 0, given.index("\0")) + 1
        raise _explain_bad_value(
            name, f"contains a NUL byte in line {line:,}.", "Remove it; records are text."
        )
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError:
            raise _explain_bad_value(
                name, "is not valid UTF-8.", "Convert the text to UTF-8."
            ) from None
    return given


def _read_line(name, field, given):
    text = _read_text(name, field, given)
    if len(text.splitlines()) > 1 or text[-1] in "\r\n":
        raise _explain_bad_value(
            name,
            "must be one line.",
            "Take the line breaks out; where a command has --body, longer text belongs there.",
        )
    return text


def _read_path(name, field, given):
    if type(given) is not str or not given.strip() or "\0" in given or len(given) > PATH_CHARS_MAX:
        raise _explain_bad_value(name, "must be the path of a file.")
    if given[0] not in "/\\-":  # a name that the working directory is needed for
        find_working_folder()
    return given


def _read_choice(name, field, given):
    lowered = given.lower() if type(given) is str else given
    for choice in field.choices:
        if choice.lower() == lowered:
            return choice
    from difflib import get_close_matches

    near = get_close_matches(
        str(lowered)[:60], [choice.lower() for choice in field.choices], 1, 0.5
    )
    meant = [choice for choice in field.choices if choice.lower() in near]
    raise _explain_bad_value(
        name,
        "must be one of " + ", ".join(field.choices) + ".",
        why=f"Did you mean {meant[0]}?" if meant else "",
    )


def _read_int(name, field, given):
    if type(given) is str:
        digits = given[1:] if given[:1] == "-" else given
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 20):
            raise _explain_bad_value(name, "must be a whole number.")
        given = int(given)
    elif type(given) is not int:
        raise _explain_bad_value(name, "must be a whole number.")
    return _check_bounds(name, field, given)


def _read_float(name, field, given):
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if type(given) is bool or number - number != 0:
        raise _explain_bad_value(name, "must be a finite number.")
    return _check_bounds(name, field, number)


def _check_bounds(name, field, number):
    if (field.least is not None and number < field.least) or (
        field.most is not None and number > field.most
    ):
        raise _explain_bad_value(name, f"must lie between {field.least} and {field.most}.")
    return number


def _read_json(name, field, given):
    import json

    def no_constant(word):
        raise ValueError(f"{word} is not JSON")

    try:
        if (
            type(given) is not str
        ):  # from K5 or another program: a value already, but the same limits hold
            given = json.dumps(given, ensure_ascii=False, allow_nan=False)
        value = json.loads(_read_text(name, field, given), parse_constant=no_constant)
        if _measure_depth(value) > JSON_DEPTH_MAX:
            raise ValueError(f"nested deeper than {JSON_DEPTH_MAX} levels")
        again = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        _read_text(name, field, again)
        if "\\u0000" in again and _holds_nul(value):
            raise _explain_bad_value(
                name, "contains a NUL character.", "Remove it; records are text."
            )
    except (ValueError, RecursionError) as error:
        raise _explain_bad_value(
            name, f"is not valid JSON: {str(error) or 'nested too deeply'}."
        ) from None
    return value


def _holds_nul(value):
    level = [value]
    while level:
        if any("\0" in one for one in level if type(one) is str):
            return True
        level = [one for item in level for one in _list_parts(item)]
    return False


def _list_parts(item):
    return [*item, *item.values()] if type(item) is dict else item if type(item) is list else []


def _measure_depth(value):
    """How deeply lists and objects are nested; level by level, because recursion is what a hostile depth breaks."""
    depth, level = 0, [value]
    while level:
        containers = [
            item.values() if type(item) is dict else item
            for item in level
            if type(item) in (list, dict)
        ]
        level = [one for container in containers for one in container]
        depth += 1
    return depth


def _read_time(name, field, given):
    from .records.moment import read_moment

    try:
        return read_moment(given)
    except (ValueError, TypeError, OverflowError):
        raise _explain_bad_value(
            name,
            "must be a date (2026-11-16), a time (2026-11-16T08:00), an age (7d, 12h, 30m) or a time from now (+7d).",
        ) from None


_READERS = {
    "line": _read_line, "prose": _read_text, "input": _read_text, "id": _read_line, "path": _read_path, "choice": _read_choice,
    "int": _read_int, "float": _read_float, "json": _read_json, "time": _read_time,
}  # fmt: skip


def _explain_bad_value(name, problem, next_step="", why=""):
    return Usage("bad_value", f"{format_option(name)} {problem}", why, next_step)
