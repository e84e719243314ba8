"""The answers of codemode: snippets, their analysis, and the cases of a spec."""

import json
from typing import Any

from ..answers.context import StepContext
from ..answers.contracts import Contract
from ..answers.kind import Kind
from ..protocol import Step
from ..target.workspace import Workspace
from ..verdict import Verdict
from . import analysis, cases, snippets
from .function import Function, read_source

EXECUTION, VALIDATION = "execution", "validation"  # gates whose facts the prompts quote


def read_function_option(context: StepContext) -> Function:
    return Function.parse(context.options["function"])


def collect_results(context: StepContext) -> list[dict[str, Any]]:
    """Return the results of all rounds, each with its code."""
    return [result for facts in context.list_facts(EXECUTION) for result in facts["results"]]


def find_spec_text(context: StepContext) -> str:
    """Return the refined spec, or the first one if there was no refinement."""
    return context.find_answer("refined") or context.find_answer("cases") or ""


class CodemodeKind(Kind):
    """An answer about the function of the run."""

    form_name = "one JSON object"
    model: type[Contract] = Contract
    needs: tuple[str, ...] = ("function",)

    @property
    def needs_for_checks(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.needs

    def describe_form(self, step: Step) -> dict[str, Any]:
        return {"schema": self.model.model_json_schema()}

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        results, function = collect_results(context), read_function_option(context)
        return {
            "function": str(function),
            "source": read_source(work.base, function),
            "results": results,
            "earlier": results,
            "schema": json.dumps(self.model.model_json_schema()),
        }

    def build_result_file(self, step: Step, text: str) -> tuple[str, str, str]:
        data = json.dumps(self.parse_answer(step, text), indent=1) + "\n"
        return f"{step.name}.json", f"The answer to {step.name}", data


class SnippetsKind(CodemodeKind):
    model = snippets.Snippets
    checks = """\
At least 10 snippets, 3 of which expect an error. Each one parses, calls the real function, ends in
an expression, has no try/except, and repeats no other one."""

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        return snippets.check_snippets(
            read_function_option(context), text, collect_results(context)
        )

    def parse_answer(self, step: Step, text: str) -> Any:
        return snippets.parse_snippets(text)


class AnalysisKind(CodemodeKind):
    model = analysis.Analysis
    reasons = ("pass", "malformed", "check", "more")
    is_result = False
    needs = ("function", EXECUTION)
    checks = "Every snippet is in a cluster, and no recorded result is changed."

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        rounds_used = sum(
            row["step"] == step.name and row["reason"] == "more" for row in context.judged
        )
        return analysis.check_analysis(
            text, collect_results(context), step.next["more"][1] - rounds_used
        )

    def parse_answer(self, step: Step, text: str) -> Any:
        return analysis.parse_analysis(text)


class CasesKind(CodemodeKind):
    form_name = "YAML"
    model = cases.Spec
    needs = ("function", EXECUTION)
    checks = """\
Matches the form. Every expected value was seen (the cited snippet's code and its recorded end) or
is in the requirement. Every kind of error that was seen has a case."""

    def describe_form(self, step: Step) -> dict[str, Any]:
        return {"format": cases.FORM}

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        return cases.check_spec(
            read_function_option(context), context.request, collect_results(context), text
        )

    def parse_answer(self, step: Step, text: str) -> Any:
        return {"cases": [case.as_dict() for case in cases.parse_spec(text).cases]}

    def build_result_file(self, step: Step, text: str) -> tuple[str, str, str]:
        cases.parse_spec(text)
        return "spec.yml", "The spec", text


class RefinedKind(CasesKind):
    needs = ("function", VALIDATION)
    checks = """\
Only failing cases change, and none is removed. Cases from the requirement stay as they are. New
cases need evidence like all others."""

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        return {
            **super().collect_values(work, context),
            "spec": context.find_newest_facts(VALIDATION)["spec"],
        }

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        last, function = context.find_newest_facts(VALIDATION), read_function_option(context)
        old_spec, results = cases.parse_spec(last["spec"]), collect_results(context)
        return cases.check_refined_spec(
            old_spec, last["failing"], function, context.request, results, text
        )
