"""Write an accepted spec to a fixture file, and run its cases later with the same values."""

import os
import shutil
import tempfile
from typing import Any

from pydantic import Field

from ...errors import NotFound, Refused, Unavailable
from ...git.client import run_git
from ...records.files.working_tree import read_working_tree
from ..answers.parse import AnswerRefused
from ..job import Job
from ..target.target import Target
from ..target.toolchain import find_tools
from ..verdict import Verdict
from . import validate
from .cases import Case, Spec, load_yaml, validate_model
from .function import Function, locate_function
from .gate import fail_closed

FOLDER = "evals/codemode"
FORM = "1"
HEAD = (
    "# What {function} does, as cases that were seen or requested. "
    "Only a new codemode run changes the values.\n"
    "# python -m kaizen_components.pipeline.codemode {path} --repo REPOSITORY\n"
)
FILES = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


class Fixture(Spec):
    form: str = Field(pattern=f"^{FORM}$")
    run: str = Field(max_length=100)
    request: str = Field(max_length=1_000_000)
    base_commit: str = Field(max_length=64)


def fixture_path(function: Function) -> str:
    """Return the path of a function's fixture, relative to the project."""
    return f"{FOLDER}/{function.module.replace('.', '_')}_{function.name}.yml"


def render_fixture(
    spec: Spec, function: Function, run_id: str, request: str, base_commit: str
) -> str:
    """Return the text of the fixture file. The same spec gives the same bytes."""
    import yaml

    data = {
        "form": FORM,
        "function": str(function),
        "request": request,
        "run": run_id,
        "base_commit": base_commit,
        "cases": [case.as_dict() for case in spec.cases],
    }
    head = HEAD.format(function=function, path=fixture_path(function))
    return head + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)


def read_fixture(file_path: str) -> Fixture:
    """Read a fixture. Raise NotFound if the file is missing, and Refused if it is invalid."""
    name, restore = repr(file_path[-80:]), "Restore it from git."
    try:
        with open(file_path, encoding="utf-8") as file:
            return validate_model(load_yaml(file.read()), Fixture)
    except OSError as error:
        hint = "Name a fixture that a codemode run created."
        raise NotFound("no_fixture", f"Cannot read {name}.", f"{error.strerror}.", hint) from None
    except UnicodeDecodeError:
        raise Refused(
            "bad_fixture", f"{name} is not UTF-8 text.", "A fixture is a UTF-8 text file.", restore
        ) from None
    except AnswerRefused as error:
        raise Refused("bad_fixture", f"{name} is not a fixture.", f"{error}", restore) from None


def run_fixture(fixture: Fixture, repo: str, python: str | None = None) -> dict[str, Any]:
    """Run the cases on the repository's current files; return {passed, failed, cases}.

    The cases run in the sandbox and are compared as in the gate. The fixture never changes.
    """
    target = Target(repo)
    with tempfile.TemporaryDirectory(prefix="kaizen-eval-") as place:
        try:
            job = _prepare_job(target, place, python)
            verdict = _judge_fixture(job, Function.parse(fixture.function), fixture)
        finally:
            target.close()
    if verdict.reason == "missing":
        hint = "Fix the cause, then run the fixture again."
        raise Unavailable("cannot_run", verdict.says, verdict.findings[0].text, hint)
    cases = verdict.facts.get("cases") or [
        _describe_case(case, f"cannot be called. {verdict.says}") for case in fixture.cases
    ]
    passed = sum(case["ok"] for case in cases)
    return {
        "function": fixture.function,
        "repo_tree": job.base_tree,
        "passed": passed,
        "failed": len(cases) - passed,
        "protection": verdict.runs[-1].protection if verdict.runs else "",
        "cases": cases,
    }


def _prepare_job(target: Target, place: str, python: str | None) -> Job:
    """Copy the tracked and untracked files, but no ignored ones, and return a job for them."""
    tree, scratch = os.path.join(place, "tree"), os.path.join(place, "scratch")
    os.mkdir(tree)
    os.mkdir(scratch)
    for path in filter(None, run_git(target.path, *FILES).text.split("\0")):
        source, copy = os.path.join(target.path, path), os.path.join(tree, path)
        if os.path.islink(source) or os.path.isfile(source):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
    tree_hash = read_working_tree(target.path).sha256
    from ..target.settings import read_settings  # pydantic is slow

    tools, settings = find_tools(target, python), read_settings(tree)
    return Job(tree, tree, tree_hash, tree_hash, {}, tools, settings, scratch=scratch)


@fail_closed
def _judge_fixture(job: Job, function: Function, fixture: Fixture) -> Verdict:
    """Run the cases; `check` if the function is missing or a case fails. Facts have the cases."""
    try:
        locate_function(job, function)
    except NotFound as error:
        return Verdict("check", f"{error.what} {error.next}")
    results, runs = validate.run_cases(job, function, fixture)
    cases = []
    for case, result in zip(fixture.cases, results, strict=True):
        got = result["got"] + (
            "" if result["stable"] else ", with another result in the second run"
        )
        is_ok = result["met"] and result["stable"]
        cases.append({**_describe_case(case, got), "ok": is_ok, "ms": result["ms"]})
    reason = "pass" if all(case["ok"] for case in cases) else "check"
    return Verdict(reason, "", [], runs, {"cases": cases})


def _describe_case(case: Case, got: str) -> dict[str, Any]:
    call = {"id": case.id, "call": case.call, "expected": case.end}
    return {**call, "got": got, "ok": False, "ms": 0.0}
