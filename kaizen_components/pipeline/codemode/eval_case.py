"""An accepted spec of a function as an eval: a fixture below evals/, and a case that says how it is run later."""

import os
from itertools import count
from typing import Any

from ...records.work.command_line import joined
from ..answers.context import Asked
from ..edits import apply as edits

TITLE_CHARS, SUMMARY_CHARS = 200, 2_000


def deliver(root: str, run: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """Write the fixture; a file of that name with something else in it is left alone, and ours gets a number."""
    from . import cases, fixture
    from .kinds import function, spec_text

    named, spec = function(asked), cases.read(spec_text(asked))
    data = fixture.text(spec, named, run["id"], run["request"], run["base_commit"]).encode(
        "utf-8", "replace"
    )
    path = _free(root, fixture.path(named), data)
    edits.write(root, {path: data})
    words = ["python", "-m", "kaizen_components.pipeline.codemode", path, "--repo", run["repo"]]
    words += ["--python", asked.options["python"]] if asked.options.get("python") else []
    return {
        "fixture": path,
        "command": joined(words),
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


def record(tx, task: dict[str, Any], run: dict[str, Any], delivered: dict[str, Any]) -> str:
    """The case, in the transaction that ends the run; its id."""
    values = {
        "task_id": task["id"], "title": f"{delivered['function']} does what was seen and asked for"[:TITLE_CHARS],
        "summary": f"{delivered['cases']} cases. {run['request'].strip()}"[:SUMMARY_CHARS], "body": None,
        "scope": task["scope"], "category": "behavior", "command": delivered["command"],
        "fixture": delivered["fixture"], "payload": None,
    }  # fmt: skip
    return tx.add("eval_case", values, of=(task,))["id"]
