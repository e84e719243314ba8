"""A fixture, run again on the files as they are now: the sandbox and the comparison are those of the gate."""

import os
import shutil
import tempfile
from typing import Any

from ...errors import NotFound, Unavailable
from ...git.client import run_git
from ...records.files.working_tree import read_working_tree
from ..job import Job
from ..target.settings import read_settings
from ..target.target import Target
from ..target.toolchain import find_tools
from ..verdict import Verdict
from . import function as functions
from . import validate
from .fixture import Fixture
from .function import Function
from .gate import fail_closed

LISTED = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


def run_fixture(fixture: Fixture, repo: str, python: str | None = None) -> dict[str, Any]:
    """How each case ends: {passed, failed, cases}. Nothing of it is written anywhere, least of all into the fixture."""
    target = Target(repo)
    with tempfile.TemporaryDirectory(prefix="kaizen-eval-") as place:
        try:
            job = _job(target, place, python)
            verdict = _judged(job, Function.parse(fixture.function), fixture)
        finally:
            target.close()
    if verdict.reason == "missing":
        raise Unavailable(
            "cannot_run", verdict.says, verdict.findings[0].text, "Mend that, then run it again."
        )
    cases = verdict.facts.get("cases") or [
        _failed(case, f"cannot be called. {verdict.says}") for case in fixture.cases
    ]
    passed = sum(case["ok"] for case in cases)
    return {
        "function": fixture.function, "repo_tree": job.base_tree, "passed": passed, "failed": len(cases) - passed,
        "protection": verdict.runs[-1].protection if verdict.runs else "", "cases": cases,
    }  # fmt: skip


def _job(target, place, python):
    tree, scratch = os.path.join(place, "tree"), os.path.join(place, "scratch")
    for folder in (tree, scratch):
        os.mkdir(folder)
    for path in filter(None, run_git(target.path, *LISTED).text.split("\0")):
        source, copy = os.path.join(target.path, path), os.path.join(tree, path)
        if os.path.islink(source) or os.path.isfile(source):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
    hash = read_working_tree(target.path).sha256
    return Job(
        tree, tree, hash, hash, {}, find_tools(target, python), read_settings(tree), scratch=scratch
    )


@fail_closed
def _judged(job: Job, function: Function, fixture: Fixture) -> Verdict:
    try:
        functions.locate_function(job, function)
    except NotFound as error:
        return Verdict("check", f"{error.what} {error.next}")
    results, runs = validate.run_cases(job, function, fixture)
    cases = [_told(case, one) for case, one in zip(fixture.cases, results, strict=True)]
    return Verdict(
        "pass" if all(one["ok"] for one in cases) else "check", "", [], runs, {"cases": cases}
    )


def _told(case, result):
    got = (
        result["got"]
        if result["stable"]
        else f"{result['got']}, and something else the second time"
    )
    return {**_failed(case, got), "ok": result["met"] and result["stable"], "ms": result["ms"]}


def _failed(case, got):
    return {
        "id": case.id,
        "call": case.call,
        "expected": case.end,
        "got": got,
        "ok": False,
        "ms": 0.0,
    }
