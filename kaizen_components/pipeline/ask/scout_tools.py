"""The tools of a scout: list, read and search the files of the base commit.

A path is only looked up in the list of those files, so no path leads out of the commit.
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
    """The files of the base commit."""

    def list_paths(self) -> list[str]: ...
    def read(self, path: str) -> bytes | None: ...


def _describe_tool(
    name: str, about: str, required: list[str], **properties: tuple[str, str]
) -> dict[str, Any]:
    """Return the schema of a tool; `properties` are (type, description) by name."""
    parameters = {
        "type": "object", "required": required,
        "properties": {
            word: {"type": kind, "description": text} for word, (kind, text) in properties.items()
        },
    }  # fmt: skip
    function = {"name": name, "description": about, "parameters": parameters}
    return {"type": "function", "function": function}


SCHEMAS: list[dict[str, Any]] = [
    _describe_tool(
        "list", "List the files below a folder.", [],
        folder=("string", "Such as src/app; empty for all"),
    ),
    _describe_tool(
        "read", f"Read at most {READ_LINES_MAX} lines of a file.", ["path"],
        path=("string", "As listed"), start=("integer", "The first line, from 1"),
    ),
    _describe_tool(
        "grep",
        "Find the lines that contain a text, in any case; it is not a regular expression.",
        ["text"],
        text=("string", "At least two characters"), folder=("string", "Only below this folder"),
    ),
]  # fmt: skip
NAMES = tuple(schema["function"]["name"] for schema in SCHEMAS)


def call_tool(base: Base, name: str, arguments: str) -> str:
    """Return the result of a tool, or a sentence that tells the model what is wrong."""
    try:
        options = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return "The arguments are not JSON."
    if name not in NAMES:
        return "There is no such tool. There are: " + ", ".join(NAMES) + "."
    if not isinstance(options, dict):
        return "The arguments are not a JSON object."
    if name == "read":
        text = _read_lines(base, options)
    else:
        folder = str(options.get("folder") or "").strip().removeprefix("./").strip("/")
        prefix = "" if folder in ("", ".") else folder + "/"
        paths = [path for path in base.list_paths() if path.startswith(prefix)]
        text = (
            _find_lines(base, paths, options) if name == "grep" else "\n".join(paths[:LISTED_MAX])
        )
        if name == "list" and len(paths) > LISTED_MAX:
            text += f"\n… and {len(paths) - LISTED_MAX:,} more"
        text = text or "There is no file below that folder."
    text = scan.redact_secrets(text)
    return text if len(text) <= ANSWER_CHARS_MAX else text[:ANSWER_CHARS_MAX] + "\n… (cut)"


def _read_lines(base: Base, options: dict[str, Any]) -> str:
    """Return a part of a text file under a heading with its line numbers."""
    path = str(options.get("path") or "").strip().removeprefix("./")
    data = base.read(path) if path in base.list_paths() else None
    if data is None:
        return "There is no such file. Use a path as `list` gives it."
    if b"\0" in data:
        return "It is not a text file."
    lines = data.decode("utf-8", "replace").splitlines()
    start = options.get("start")
    first = start if isinstance(start, int) and 1 <= start <= len(lines) else 1
    part = lines[first - 1 : first - 1 + READ_LINES_MAX]
    head = f"{path}, lines {first}-{first + len(part) - 1} of {len(lines)}:"
    return f"{head}\n" + "\n".join(part)


def _find_lines(base: Base, paths: list[str], options: dict[str, Any]) -> str:
    """Return the lines of these files that contain a text, as path:line: text."""
    text = str(options.get("text") or "").lower()
    if len(text.strip()) < 2:
        return "Give a text of at least two characters."
    hits = []
    for path in paths:
        data = base.read(path) or b""
        if b"\0" in data or len(data) > SEARCHED_BYTES_MAX:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if text in line.lower():
                hits.append(f"{path}:{number}: {line.strip()[:LINE_CHARS_MAX]}")
        if len(hits) > HITS_MAX:
            return "\n".join([*hits[:HITS_MAX], "… and more"])
    return "\n".join(hits) or "No line has that text."
