"""JSONL in, results out: `{"command": "W1", "args": {…}}` a line, `$N.id` for the id that line N gave."""

from collections.abc import Callable
from typing import Any

from ...errors import KaizenError, Usage

LINE_DIGITS_MAX = 12
SHAPE = 'A line looks like {"command": "W1", "args": {"title": "…", "summary": "…"}}.'


def run_batch(
    text: str,
    call: Callable[..., Any],
    read: Callable[[str], Any] | None = None,
    shape: str = SHAPE,
) -> list[dict[str, Any]]:
    """Run every line; the first error names its line, and the transaction around this writes nothing.

    `read` makes (command, args) of a line that has another `shape` than K5's.
    """
    results: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            command, args = (read or _parsed)(line)
            result = call(command, args, lambda value: _filled(value, results))
        except KaizenError as error:
            error.what = f"Line {number}: {error.what}"
            error.next = f"{error.next} Nothing of the batch was written.".strip()
            raise
        results[number] = {
            "line": number,
            **(result if isinstance(result, dict) else {"records": result}),
        }
    if not results:
        raise Usage("empty_batch", "There is nothing to run.", shape, "Give it at least one line.")
    return list(results.values())


def read_object(line: str, shape: str = SHAPE) -> dict[str, Any]:
    """The JSON object that a line is."""
    import json

    try:
        item = json.loads(line, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise Usage("bad_line", "is not JSON.", str(error) or "nested too deeply", shape) from None
    if not isinstance(item, dict):
        raise Usage("bad_line", "is not a JSON object.", shape, "Put {…} around it.")
    return item


def _each_once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _parsed(line):
    item = read_object(line)
    if (
        set(item) - {"command", "args"}
        or not isinstance(item.get("command"), str)
        or not isinstance(item.get("args", {}), dict)
    ):
        raise Usage("bad_line", "has another shape.", SHAPE, "Put the options into args.")
    args = item.get("args", {})
    named = {name.replace("-", "_"): value for name, value in args.items()}
    if len(named) < len(args):
        raise Usage(
            "bad_line", "gives an option twice, once with - and once with _.", "", "Give it once."
        )
    return item["command"], named


def _filled(value, results):
    """The value with `$N.name` replaced, where that is all of it."""
    if isinstance(value, list):  # of ids; deeper lists are nobody's
        return [_filled(one, results) if isinstance(one, str) else one for one in value]
    if not (isinstance(value, str) and value[:1] == "$" and "." in value):
        return value
    number, _, name = value[1:].partition(".")
    if not number.isdecimal() or len(number) > LINE_DIGITS_MAX or not name.isidentifier():
        return value
    there = results.get(int(number))
    if there is not None and name not in there:
        has = ", ".join(f"${number}.{one}" for one in there)
        raise Usage(
            "bad_reference", f"{value} names nothing.", f"That line has {has}.", "Use one of these."
        )
    if there is None:
        raise Usage(
            "bad_reference",
            f"{value} names nothing.",
            "N counts the lines of the input from 1, and only earlier lines have results.",
            "Use $N.id of an earlier line.",
        )
    return there[name]
