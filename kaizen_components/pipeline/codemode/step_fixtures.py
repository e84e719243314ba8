"""Prove that each step of codemode accepts its good and refuses its bad fixtures (evals.yml)."""

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
from . import analysis, cases, evidence, execute, gates, snippets, validate
from .box.piece import build_failure
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
    """Run all fixtures; return a row for each with the expected and the actual reason."""
    tools = tools or Tools([sys.executable], (sys.prefix, sys.base_prefix))
    rows = []
    for step, step_cases in _load_fixtures().items():
        for case in step_cases:
            try:
                verdict = STEPS[step](case, tools)
            except AnswerRefused as error:
                verdict = Verdict("malformed", str(error))
            rows.append(
                {
                    "step": step,
                    "case": case["name"],
                    "expected": case["expects"],
                    "got": verdict.reason,
                    "says": verdict.says,
                    "ok": verdict.reason == case["expects"],
                }
            )
    return rows


def _snippets() -> list[dict[str, Any]]:
    calls = [*((code, "value") for code in CALLS), *((code, "error") for code in ERRORS)]
    return [
        {"id": f"S{number}", "description": f"call {number}", "code": code, "expects": expects}
        for number, (code, expects) in enumerate(calls, 1)
    ]


def _results() -> list[dict[str, Any]]:
    """Return made-up results of the snippets, so that later steps need not run them."""
    results = []
    for snippet in _snippets():
        result = {**build_failure("", ""), "id": snippet["id"], "stable": snippet["id"] != UNSTABLE}
        error_type = ERRORS.get(snippet["code"])
        if error_type:
            error = "too large" if error_type == "ValueError" else "wrong type"
            result |= {"error_type": error_type, "error": error, "inside": True}
        else:
            number = snippet["code"][7:-1]
            is_plain = snippet["id"] != UNSTABLE
            output = str(2 * int(number)) if is_plain else "<object object at 0x7f>"
            result |= {"success": True, "output": output}
        results.append(result)
    return execute.add_code(_snippets(), results)


def judge_ready(case: Case, tools: Tools) -> Verdict:
    with _make_job(tools) as job:
        return gates.check_function(job, Function.parse(case["function"]))


def judge_exploration(case: Case, tools: Tools) -> Verdict:
    """Check the standard snippets after the changes that the case lists, such as other code."""
    answer = _snippets()[case.get("without", 0) :]
    answer = [{**snippet, "id": f"S{number}"} for number, snippet in enumerate(answer, 1)]
    answer[0]["code"] = case.get("code", answer[0]["code"])
    for snippet in answer[: -case["errors"]] if "errors" in case else ():
        snippet["expects"] = "value"
    return snippets.check_snippets(DOUBLE, json.dumps({"snippets": answer}), [])


def judge_execution(case: Case, tools: Tools) -> Verdict:
    """Run the code of the case and compare the results with its `shows`."""
    items = [{"id": f"S{number}", "code": code} for number, code in enumerate(case["codes"], 1)]
    with _make_job(Tools([case["python"]]) if "python" in case else tools) as job:
        verdict = execute.execute_snippets(job, DOUBLE, items)
    ends = [evidence.describe_result(result) for result in verdict.facts.get("results", [])]
    if not all(end.startswith(expected) for end, expected in zip(ends, case["shows"], strict=True)):
        return Verdict("check", f"The results are {ends}.")
    return verdict


def judge_analysis(case: Case, tools: Tools) -> Verdict:
    """Check the analysis of the case; the id "all" stands for every snippet."""
    answer, results = dict(case["answer"]), _results()
    for cluster in answer.get("clusters", ()):
        if cluster["ids"] == "all":
            cluster["ids"] = [result["id"] for result in results]
    return analysis.check_analysis(json.dumps(answer), results, 1)


def judge_synthesis(case: Case, tools: Tools) -> Verdict:
    return cases.check_spec(DOUBLE, REQUEST, _results(), case.get("answer") or _spec_text(case))


def judge_validation(case: Case, tools: Tools) -> Verdict:
    with _make_job(tools, case.get("source", SOURCE)) as job:
        return validate.validate_spec(job, DOUBLE, cases.parse_spec(_spec_text(case)), REQUEST)


def judge_refinement(case: Case, tools: Tools) -> Verdict:
    good = next(row for row in _load_fixtures()["spec-synthesis"] if row["expects"] == "pass")
    old_spec = cases.parse_spec(_spec_text(good))
    return cases.check_refined_spec(
        old_spec, case["failing"], DOUBLE, REQUEST, _results(), _spec_text(case)
    )


def _load_fixtures() -> dict[str, list[Case]]:
    import yaml

    with open(FILE, encoding="utf-8") as file:
        return yaml.safe_load(file)


def _spec_text(case: Case) -> str:
    return json.dumps({"function": str(DOUBLE), "cases": case["cases"]})  # JSON is YAML too


@contextlib.contextmanager
def _make_job(tools: Tools, source: str = SOURCE) -> Iterator[Job]:
    """Yield a job whose base defines the function `double`."""
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        base, scratch = (os.path.join(place, name) for name in ("base", "scratch"))
        os.mkdir(base)
        os.mkdir(scratch)
        for name, text in (("sums.py", source), ("broken.py", source + "\n1 / 0\n")):
            with open(os.path.join(base, name), "w", encoding="utf-8") as file:
                file.write(text)
        # The weakest sandbox is enough, because only our own code runs in it.
        settings = Settings(mutation_s=60.0, timeout_s=120.0, minimum_level="L0")
        yield Job(base, base, "proof", "proof", {}, tools, settings, scratch=scratch)


STEPS: dict[str, Callable[[Case, Tools], Verdict]] = {
    "ready": judge_ready,
    "exploration-plan": judge_exploration,
    "execution": judge_execution,
    "execution-analysis": judge_analysis,
    "spec-synthesis": judge_synthesis,
    "spec-validation": judge_validation,
    "spec-refinement": judge_refinement,
}
