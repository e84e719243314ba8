"""Deliver an accepted spec: write a fixture below evals/ and record an eval case that runs it."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any

from ...records.work.command_line import join_words
from ..answers.context import StepContext
from ..edits import apply as edits

if TYPE_CHECKING:
    from ...parameters import Writer

TITLE_CHARS, SUMMARY_CHARS = 200, 2_000


def deliver_fixture(root: str, run: dict[str, Any], context: StepContext) -> dict[str, Any]:
    """Write the fixture without overwriting another file; return its path and command."""
    from . import cases, fixture
    from .kinds import find_spec_text, read_function_option

    function, spec = read_function_option(context), cases.parse_spec(find_spec_text(context))
    text = fixture.render_fixture(spec, function, run["id"], run["request"], run["base_commit"])
    data = text.encode("utf-8", "replace")
    path = _find_free_path(root, fixture.fixture_path(function), data)
    edits.write_changes(root, {path: data})
    words = ["python", "-m", "kaizen_components.pipeline.codemode", path, "--repo", run["repo"]]
    words += ["--python", context.options["python"]] if context.options.get("python") else []
    return {
        "fixture": path,
        "command": join_words(words),
        "function": str(function),
        "cases": len(spec.cases),
    }


def _find_free_path(root: str, path: str, data: bytes) -> str:
    """Return an unused path, or the path of an interrupted delivery with the same content."""
    stem, ending = os.path.splitext(path)
    for name in (path if number == 1 else f"{stem}_{number}{ending}" for number in count(1)):
        full_path = os.path.join(root, name)
        if not os.path.lexists(full_path):
            return name
        if os.path.isfile(full_path) and not os.path.islink(full_path):
            with open(full_path, "rb") as file:
                if file.read() == data:
                    return name
    raise AssertionError("count() does not end")


def record_eval_case(
    tx: Writer, task: dict[str, Any], run: dict[str, Any], delivered: dict[str, Any]
) -> str:
    """Add the eval case in the transaction that ends the run; return its id."""
    title = f"{delivered['function']} does what was seen and asked for"
    summary = f"{delivered['cases']} cases. {run['request'].strip()}"
    values = {
        "task_id": task["id"],
        "title": title[:TITLE_CHARS],
        "summary": summary[:SUMMARY_CHARS],
        "body": None,
        "scope": task["scope"],
        "category": "behavior",
        "command": delivered["command"],
        "fixture": delivered["fixture"],
        "payload": None,
    }
    return tx.add("eval_case", values, of=(task,))["id"]
