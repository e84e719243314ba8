"""What a scout may do in a repository: list, read and search. It sees the files of the base commit and nothing else.

A path is looked up among those files and never opened, so there is nothing to escape through.
"""

import json
from typing import Any, Protocol

from ...records.secrets import scan

ANSWER_CHARS_MAX = 8_000
LISTED_MAX = 200
READ_LINES_MAX = 200
HITS_MAX = 50
SEARCHED_BYTES_MAX = 200_000  # of one file
LINE_CHARS_MAX = 200


class Base(Protocol):
    def paths(self) -> list[str]: ...
    def read(self, path: str) -> bytes | None: ...


def _describe_tool(name, about, required, **properties):
    parameters = {
        "type": "object", "required": required,
        "properties": {word: {"type": kind, "description": said} for word, (kind, said) in properties.items()},
    }  # fmt: skip
    return {
        "type": "function",
        "function": {"name": name, "description": about, "parameters": parameters},
    }


SCHEMAS: list[dict[str, Any]] = [
    _describe_tool("list", "List the files below a folder.", [], folder=("string", "Such as src/app; empty for all")),
    _describe_tool(
        "read", f"Read at most {READ_LINES_MAX} lines of a file.", ["path"],
        path=("string", "As listed"), start=("integer", "The first line, from 1"),
    ),
    _describe_tool(
        "grep", "Find the lines that contain a text, in any case; it is not a regular expression.", ["text"],
        text=("string", "At least two characters"), folder=("string", "Only below this folder"),
    ),
]  # fmt: skip
NAMES = tuple(schema["function"]["name"] for schema in SCHEMAS)


def call_tool(base: Base, name: str, arguments: str) -> str:
    """What the tool says; a wrong call is answered too, so that the model can do better."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return "The arguments are not JSON."
    if name not in _TOOLS:
        return "There is no such tool. There are: " + ", ".join(NAMES) + "."
    if not isinstance(given, dict):
        return "The arguments are not a JSON object."
    text = scan.redact_secrets(_TOOLS[name](base, given))
    return text if len(text) <= ANSWER_CHARS_MAX else text[:ANSWER_CHARS_MAX] + "\n… (cut)"


def _list_below(base, given):
    folder = str(given.get("folder") or "").strip().removeprefix("./").strip("/")
    return [path for path in base.paths() if folder in ("", ".") or path.startswith(folder + "/")]


def _list_files(base, given):
    found = _list_below(base, given)
    more = [f"… and {len(found) - LISTED_MAX:,} more"] if len(found) > LISTED_MAX else []
    return "\n".join([*found[:LISTED_MAX], *more]) or "There is no file below that folder."


def _read_lines(base, given):
    path = str(given.get("path") or "").strip().removeprefix("./")
    data = base.read(path) if path in base.paths() else None
    if data is None:
        return "There is no such file. Use a path as `list` gives it."
    if b"\0" in data:
        return "It is not a text file."
    lines = data.decode("utf-8", "replace").splitlines()
    start = given.get("start")
    first = start if isinstance(start, int) and 1 <= start <= len(lines) else 1
    shown = lines[first - 1 : first - 1 + READ_LINES_MAX]
    last = first + len(shown) - 1
    return f"{path}, lines {first}-{last} of {len(lines)}:\n" + "\n".join(shown)


def _find_lines(base, given):
    text = str(given.get("text") or "").lower()
    if len(text.strip()) < 2:
        return "Give a text of at least two characters."
    found = []
    for path in _list_below(base, given):
        data = base.read(path) or b""
        if b"\0" in data or len(data) > SEARCHED_BYTES_MAX:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if text in line.lower():
                found.append(f"{path}:{number}: {line.strip()[:LINE_CHARS_MAX]}")
        if len(found) > HITS_MAX:
            return "\n".join([*found[:HITS_MAX], "… and more"])
    return "\n".join(found) or "No line has that text."


_TOOLS = {"list": _list_files, "read": _read_lines, "grep": _find_lines}
