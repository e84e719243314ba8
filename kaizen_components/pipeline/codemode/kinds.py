"""The answers of codemode: snippets that explore a function, what they show, and cases that say what it does."""

import json
from typing import Any

from ..answers.context import Asked
from ..answers.contracts import Contract
from ..answers.kind import Kind
from ..protocol import Step
from ..target.work import Work
from ..verdict import Verdict
from . import analysis, cases, refine, snippets
from .function import Function, source

EXECUTION, VALIDATION = "execution", "validation"  # the gates whose findings are quoted


def function(asked: Asked) -> Function:
    return Function.parsed(asked.options["function"])


def results(asked: Asked) -> list[dict[str, Any]]:
    """What every snippet of all rounds gave, with its code."""
    return [one for facts in asked.facts(EXECUTION) for one in facts["results"]]


def spec_text(asked: Asked) -> str:
    """The spec that holds: the mended one if there is one."""
    return asked.text("refined") or asked.text("cases") or ""


class Exploring(Kind):
    how = "one JSON object"
    model: type[Contract] = Contract
    needs: tuple[str, ...] = ("function",)

    @property
    def needs_anyway(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.needs

    def form(self, step: Step) -> dict[str, Any]:
        return {"schema": self.model.model_json_schema()}

    def values(self, work: Work, asked: Asked) -> dict[str, Any]:
        known, named = results(asked), function(asked)
        return {
            "function": str(named), "source": source(work.base, named), "results": known, "earlier": known,
            "schema": json.dumps(self.model.model_json_schema()),
        }  # fmt: skip

    def kept(self, step: Step, text: str) -> tuple[str, str, str]:
        return (
            f"{step.name}.json",
            f"The answer to {step.name}",
            json.dumps(self.value(step, text), indent=1) + "\n",
        )


class SnippetsKind(Exploring):
    model = snippets.Snippets
    checked = """\
At least 10 snippets, 3 of which expect an error; each parses, calls the real function, ends in an expression, has no
try/except, and is no other one again."""

    def judge(self, step: Step, work: Work, asked: Asked, text: str) -> Verdict:
        return snippets.judge(function(asked), text, results(asked))

    def value(self, step: Step, text: str) -> Any:
        return snippets.parsed(text)


class AnalysisKind(Exploring):
    model = analysis.Analysis
    reasons = ("pass", "malformed", "check", "more")
    is_result = False
    needs = ("function", EXECUTION)
    checked = "Every snippet is in a cluster, and nothing that was recorded is told differently."

    def judge(self, step: Step, work: Work, asked: Asked, text: str) -> Verdict:
        used = sum(one["step"] == step.name and one["reason"] == "more" for one in asked.judged)
        return analysis.judge(text, results(asked), step.next["more"][1] - used)

    def value(self, step: Step, text: str) -> Any:
        return analysis.read(text)


class CasesKind(Exploring):
    how = "YAML"
    model = cases.Spec
    needs = ("function", EXECUTION)
    checked = """\
Keeps to the form; every value that a case expects was seen (the cited snippet's code and its recorded end) or stands in
the requirement; every kind of error that was seen has a case."""

    def form(self, step: Step) -> dict[str, Any]:
        return {"format": cases.FORM}

    def judge(self, step: Step, work: Work, asked: Asked, text: str) -> Verdict:
        return cases.judge(function(asked), asked.request, results(asked), text)

    def value(self, step: Step, text: str) -> Any:
        return {"cases": [case.as_dict() for case in cases.read(text).cases]}

    def kept(self, step: Step, text: str) -> tuple[str, str, str]:
        cases.read(text)
        return "spec.yml", "The spec", text


class RefinedKind(CasesKind):
    needs = ("function", VALIDATION)
    checked = """\
Only cases that failed are changed, none is removed, those from the requirement stay as they are; new ones need evidence
as all others."""

    def values(self, work: Work, asked: Asked) -> dict[str, Any]:
        return {**super().values(work, asked), "spec": asked.newest(VALIDATION)["spec"]}

    def judge(self, step: Step, work: Work, asked: Asked, text: str) -> Verdict:
        last = asked.newest(VALIDATION)
        before = cases.read(last["spec"])
        return refine.judge(
            before, last["failing"], function(asked), asked.request, results(asked), text
        )
