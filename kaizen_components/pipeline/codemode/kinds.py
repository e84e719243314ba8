"""The answers of codemode: snippets that explore a function, what they show, and cases that say what it does."""

import json
from typing import Any

from ..answers.context import StepContext
from ..answers.contracts import Contract
from ..answers.kind import Kind
from ..protocol import Step
from ..target.workspace import Workspace
from ..verdict import Verdict
from . import analysis, cases, refine, snippets
from .function import Function, read_source

EXECUTION, VALIDATION = "execution", "validation"  # the gates whose findings are quoted


def read_function_option(asked: StepContext) -> Function:
    return Function.parse(asked.options["function"])


def collect_results(asked: StepContext) -> list[dict[str, Any]]:
    """What every snippet of all rounds gave, with its code."""
    return [one for facts in asked.facts(EXECUTION) for one in facts["results"]]


def find_spec_text(asked: StepContext) -> str:
    """The spec that holds: the mended one if there is one."""
    return asked.text("refined") or asked.text("cases") or ""


class CodemodeKind(Kind):
    how = "one JSON object"
    model: type[Contract] = Contract
    needs: tuple[str, ...] = ("function",)

    @property
    def needs_for_checks(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.needs

    def form(self, step: Step) -> dict[str, Any]:
        return {"schema": self.model.model_json_schema()}

    def values(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        known, named = collect_results(asked), read_function_option(asked)
        return {
            "function": str(named), "source": read_source(work.base, named), "results": known, "earlier": known,
            "schema": json.dumps(self.model.model_json_schema()),
        }  # fmt: skip

    def kept(self, step: Step, text: str) -> tuple[str, str, str]:
        return (
            f"{step.name}.json",
            f"The answer to {step.name}",
            json.dumps(self.value(step, text), indent=1) + "\n",
        )


class SnippetsKind(CodemodeKind):
    model = snippets.Snippets
    checked = """\
At least 10 snippets, 3 of which expect an error; each parses, calls the real function, ends in an expression, has no
try/except, and is no other one again."""

    def judge(self, step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
        return snippets.check_snippets(read_function_option(asked), text, collect_results(asked))

    def value(self, step: Step, text: str) -> Any:
        return snippets.parse_snippets(text)


class AnalysisKind(CodemodeKind):
    model = analysis.Analysis
    reasons = ("pass", "malformed", "check", "more")
    is_result = False
    needs = ("function", EXECUTION)
    checked = "Every snippet is in a cluster, and nothing that was recorded is told differently."

    def judge(self, step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
        used = sum(one["step"] == step.name and one["reason"] == "more" for one in asked.judged)
        return analysis.check_analysis(text, collect_results(asked), step.next["more"][1] - used)

    def value(self, step: Step, text: str) -> Any:
        return analysis.parse_analysis(text)


class CasesKind(CodemodeKind):
    how = "YAML"
    model = cases.Spec
    needs = ("function", EXECUTION)
    checked = """\
Keeps to the form; every value that a case expects was seen (the cited snippet's code and its recorded end) or stands in
the requirement; every kind of error that was seen has a case."""

    def form(self, step: Step) -> dict[str, Any]:
        return {"format": cases.FORM}

    def judge(self, step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
        return cases.check_spec(
            read_function_option(asked), asked.request, collect_results(asked), text
        )

    def value(self, step: Step, text: str) -> Any:
        return {"cases": [case.as_dict() for case in cases.parse_spec(text).cases]}

    def kept(self, step: Step, text: str) -> tuple[str, str, str]:
        cases.parse_spec(text)
        return "spec.yml", "The spec", text


class RefinedKind(CasesKind):
    needs = ("function", VALIDATION)
    checked = """\
Only cases that failed are changed, none is removed, those from the requirement stay as they are; new ones need evidence
as all others."""

    def values(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        return {**super().values(work, asked), "spec": asked.newest_facts(VALIDATION)["spec"]}

    def judge(self, step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
        last = asked.newest_facts(VALIDATION)
        before = cases.parse_spec(last["spec"])
        return refine.check_refined_spec(
            before,
            last["failing"],
            read_function_option(asked),
            asked.request,
            collect_results(asked),
            text,
        )
