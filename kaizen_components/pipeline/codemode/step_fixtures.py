"""Each step of codemode on good and bad fixtures of its own (evals.yml): what cannot tell them apart is not used."""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from ..answers.parse import AnswerRefused
from ..job import Job, Settings, Tools
from ..verdict import Verdict
from . import analysis, cases, evidence, execute, gates, refine, snippets, validate
from .box.piece import failed
from .function import Function

FILE = os.path.join(os.path.dirname(__file__), "evals.yml")
REQUEST = "double(number) is twice the number; double(3) is 6"
SOURCE = """\
def double(number):
    if number > 100:
        raise ValueError("too large")
    return number * 2
"""
DOUBLE = Function("sums", "double")
CALLS = [*(f"double({number})" for number in range(1, 6)), "(double(1), object())[1]", "double(0)"]
ERRORS = {"double(None)": "TypeError", "double(101)": "ValueError", 'double("")': "TypeError"}
UNSTABLE = "S6"
Case = dict[str, Any]


def prove_steps(tools: Tools | None = None) -> list[dict[str, Any]]:
    """A row for each fixture: the step, what it should say, what it said; a few seconds, most of it for the gates."""
    tools = tools or Tools([sys.executable], (sys.prefix, sys.base_prefix))
    return [_row(step, case, tools) for step, listed in _fixtures().items() for case in listed]


def _row(step, case, tools):
    try:
        verdict = STEPS[step](case, tools)
    except AnswerRefused as error:
        verdict = Verdict("malformed", str(error))
    return {
        "step": step, "case": case["name"], "expected": case["expects"], "got": verdict.reason, "says": verdict.says,
        "ok": verdict.reason == case["expects"],
    }  # fmt: skip


def _explored() -> list[dict[str, Any]]:
    calls = [*((code, "value") for code in CALLS), *((code, "error") for code in ERRORS)]
    return [
        {"id": f"S{number}", "description": f"call {number}", "code": code, "expects": expects}
        for number, (code, expects) in enumerate(calls, 1)
    ]


def _results() -> list[dict[str, Any]]:
    """As the engine records them; written down here, so that the steps after it are proved without it."""
    return execute.add_code(_explored(), [{"id": one["id"], **_result(one)} for one in _explored()])


def _result(one):
    kind = ERRORS.get(one["code"])
    if kind:
        return {
            **failed(kind, "too large" if kind == "ValueError" else "wrong type"),
            "inside": True,
            "stable": True,
        }
    output = "<object object at 0x7f>" if one["id"] == UNSTABLE else str(2 * int(one["code"][7:-1]))
    return {**failed("", ""), "success": True, "output": output, "stable": one["id"] != UNSTABLE}


def _ready(case: Case, tools: Tools) -> Verdict:
    with _job(tools) as job:
        return gates.check_function(job, Function.parse(case["function"]))


def _exploration(case: Case, tools: Tools) -> Verdict:
    given = _explored()[case.get("without", 0) :]
    given = [{**one, "id": f"S{number}"} for number, one in enumerate(given, 1)]
    given[0]["code"] = case.get("code", given[0]["code"])
    for one in given[: -case["errors"]] if "errors" in case else ():
        one["expects"] = "value"
    return snippets.check_snippets(DOUBLE, json.dumps({"snippets": given}), [])


def _execution(case: Case, tools: Tools) -> Verdict:
    items = [{"id": f"S{number}", "code": code} for number, code in enumerate(case["codes"], 1)]
    with _job(Tools([case["python"]]) if "python" in case else tools) as job:
        verdict = execute.execute_snippets(job, DOUBLE, items)
    shows = [evidence.describe_result(one) for one in verdict.facts.get("results", [])]
    if not all(seen.startswith(wanted) for seen, wanted in zip(shows, case["shows"], strict=True)):
        return Verdict("check", f"It shows {shows}.")
    return verdict


def _analysis(case: Case, tools: Tools) -> Verdict:
    given, results = dict(case["answer"]), _results()
    for cluster in given.get("clusters", ()):
        cluster["ids"] = (
            [one["id"] for one in results] if cluster["ids"] == "all" else cluster["ids"]
        )
    return analysis.check_analysis(json.dumps(given), results, 1)


def _synthesis(case: Case, tools: Tools) -> Verdict:
    return cases.check_spec(DOUBLE, REQUEST, _results(), case.get("answer") or _text(case))


def _validation(case: Case, tools: Tools) -> Verdict:
    with _job(tools, case.get("source", SOURCE)) as job:
        return validate.validate_spec(job, DOUBLE, cases.parse_spec(_text(case)), REQUEST)


def _refinement(case: Case, tools: Tools) -> Verdict:
    before = cases.parse_spec(
        _text(next(one for one in _fixtures()["spec-synthesis"] if one["expects"] == "pass"))
    )
    return refine.check_refined_spec(
        before, case["failing"], DOUBLE, REQUEST, _results(), _text(case)
    )


def _fixtures() -> dict[str, list[Case]]:
    import yaml

    with open(FILE, encoding="utf-8") as file:
        return yaml.safe_load(file)


def _text(case):
    return json.dumps({"function": str(DOUBLE), "cases": case["cases"]})  # which is YAML too


@contextlib.contextmanager
def _job(tools: Tools, source: str = SOURCE) -> Iterator[Job]:
    """A base with the function in it."""
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        base, scratch = (os.path.join(place, name) for name in ("base", "scratch"))
        for folder in (base, scratch):
            os.mkdir(folder)
        for name, text in (("sums.py", source), ("broken.py", source + "\n1 / 0\n")):
            with open(os.path.join(base, name), "w", encoding="utf-8") as file:
                file.write(text)
        settings = Settings(
            mutation_s=60.0, timeout_s=120.0, minimum_level="L0"
        )  # our own code is in it
        yield Job(base, base, "proof", "proof", {}, tools, settings, scratch=scratch)


STEPS: dict[str, Callable[[Case, Tools], Verdict]] = {
    "ready": _ready, "exploration-plan": _exploration, "execution": _execution, "execution-analysis": _analysis,
    "spec-synthesis": _synthesis, "spec-validation": _validation, "spec-refinement": _refinement,
}  # fmt: skip
