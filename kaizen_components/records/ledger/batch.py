"""Run JSONL lines such as `{"command": "W1", "args": {…}}`. `$N.id` is the id from line N."""

import json
from collections.abc import Callable, Mapping
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
    """Run every line. Stop at the first error; the caller then rolls back the whole transaction.

    `read` parses a line into (command, args) if its `shape` is not that of K5.
    """
    results: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            command, args = (read or parse_line)(line)
            result = call(command, args, lambda value: fill_references(value, results))
        except KaizenError as error:
            error.what = f"Line {number}: {error.what}"
            error.next = f"{error.next} Nothing of the batch was written.".strip()
            raise
        facts = result if isinstance(result, dict) else {"records": result}
        results[number] = {"line": number, **facts}
    if not results:
        raise Usage("empty_batch", "The batch has no lines.", shape, "Give at least one line.")
    return list(results.values())


def read_object(line: str, shape: str = SHAPE) -> dict[str, Any]:
    """Parse a line as a JSON object in which no name is repeated."""

    def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(members := dict(pairs)) < len(pairs):
            raise ValueError("a name is repeated in one object")
        return members

    try:
        item = json.loads(line, object_pairs_hook=make_object)
    except (ValueError, RecursionError) as error:
        raise Usage(
            "bad_line", "The text is not valid JSON.", str(error) or "nested too deeply", shape
        ) from None
    if not isinstance(item, dict):
        raise Usage("bad_line", "The text is not a JSON object.", shape, "Put {…} around it.")
    return item


def parse_line(line: str) -> tuple[str, dict[str, Any]]:
    """Return the command of a line and its options."""
    item = read_object(line)
    if (
        set(item) - {"command", "args"}
        or not isinstance(item.get("command"), str)
        or not isinstance(item.get("args", {}), dict)
    ):
        raise Usage(
            "bad_line",
            "The line is not a JSON object with `command` and `args`.",
            SHAPE,
            "Put the options of the command into `args`.",
        )
    args = item.get("args", {})
    options = {name.replace("-", "_"): value for name, value in args.items()}
    if len(options) < len(args):
        what = "An option is given twice, once with - and once with _."
        raise Usage(
            "bad_line", what, "Both spellings name the same option.", "Keep one of the two."
        )
    return item["command"], options


def fill_references(value: Any, results: Mapping[int, dict[str, Any]]) -> Any:
    """Replace `$N.name` by the value `name` from the result of line N, also inside a list."""
    if isinstance(value, list):
        return [fill_references(item, results) if isinstance(item, str) else item for item in value]
    if not (isinstance(value, str) and value[:1] == "$" and "." in value):
        return value
    number, _, name = value[1:].partition(".")
    if not number.isdecimal() or len(number) > LINE_DIGITS_MAX or not name.isidentifier():
        return value
    result = results.get(int(number))
    if result is None:
        why = "N counts the lines of the input from 1, and only earlier lines have results."
        step = "Use $N.id of an earlier line."
    elif name in result:
        return result[name]
    else:
        names = ", ".join(f"${number}.{result_name}" for result_name in result)
        why, step = f"Line {number} returned {names}.", "Use one of these names."
    raise Usage("bad_reference", f"{value} refers to no earlier result.", why, step)
