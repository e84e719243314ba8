"""An accepted spec of a function as an eval: a fixture below evals/, and a case that says how it is run later."""

import os
from itertools import count
from typing import Any

from ...records.work.command_line import join_words
from ..answers.context import StepContext
from ..edits import apply as edits

TITLE_CHARS, SUMMARY_CHARS = 200, 2_000


def deliver_fixture(root: str, run: dict[str, Any], asked: StepContext) -> dict[str, Any]:
    """Write the fixture; a file of that name with something else in it is left alone, and ours gets a number."""
    from . import cases, fixture
    from .kinds import find_spec_text, read_function_option

    named, spec = read_function_option(asked), cases.parse_spec(find_spec_text(asked))
    data = fixture.render_fixture(
        spec, named, run["id"], run["request"], run["base_commit"]
    ).encode("utf-8", "replace")
    path = _free(root, fixture.fixture_path(named), data)
    edits.write_changes(root, {path: data})
    words = ["python", "-m", "kaizen_components.pipeline.codemode", path, "--repo", run["repo"]]
    words += ["--python", asked.options["python"]] if asked.options.get("python") else []
    return {
        "fixture": path,
        "command": join_words(words),
        "function": str(named),
        "cases": len(spec.cases),
    }


def _free(root, path, data):
    """The first name that is free, or has the very same content: that of a delivery which was interrupted."""
    stem, ending = os.path.splitext(path)
    for name in (path if number == 1 else f"{stem}_{number}{ending}" for number in count(1)):
        there = os.path.join(root, name)
        if not os.path.lexists(there):
            return name
        if os.path.isfile(there) and not os.path.islink(there):
            with open(there, "rb") as file:
                if file.read() == data:
                    return name
    raise AssertionError("count ends never")


def record_eval_case(
    tx, task: dict[str, Any], run: dict[str, Any], delivered: dict[str, Any]
) -> str:
    """The case, in the transaction that ends the run; its id."""
    values = {
        "task_id": task["id"], "title": f"{delivered['function']} does what was seen and asked for"[:TITLE_CHARS],
        "summary": f"{delivered['cases']} cases. {run['request'].strip()}"[:SUMMARY_CHARS], "body": None,
        "scope": task["scope"], "category": "behavior", "command": delivered["command"],
        "fixture": delivered["fixture"], "payload": None,
    }  # fmt: skip
    return tx.add("eval_case", values, of=(task,))["id"]
