"""Check that each expected result comes from a snippet that ran, or from the request."""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING, Any

from ..edits.format import quote_text
from ..verdict import Finding
from . import code, execute, requirement
from .function import Function
from .literals import is_expected_value, is_same_value

if TYPE_CHECKING:
    from .cases import Case

QUOTE_CHARS = 160


def find_case_faults(
    function: Function, request: str, results: list[dict[str, Any]], case: Case
) -> list[str]:
    """Return why a case's expected result lacks evidence; [] if it has evidence."""
    if case.source == "requirement":
        is_error = case.raises is not None
        end = case.raises or case.expect or ""
        why = requirement.explain_unsupported(function, request, case.call, end, is_error)
        if not why and case.match and case.match not in request:
            why = f"the requirement does not say {case.match!r}"
        hint = "Cite a snippet instead, if one showed it."
        return [f"it is not in the requirement: {why}. {hint}"] if why else []
    result = next((result for result in results if result["id"] == case.source), None)
    if result is None:
        return [f"it cites {case.source}, but there is no such snippet."]
    if code.normalize_code(function, result["code"]) != code.normalize_code(function, case.call):
        snippet = quote_text(result["code"], QUOTE_CHARS)
        return [f"its call is not what {case.source} ran: {snippet}"]
    why = execute.explain_unusable(result)
    if why:
        return [f"{case.source} cannot be cited: it {why}."]
    if is_met(result, case):
        return []
    output = result["output"]
    if case.raises is None and result["success"] and is_same_value(repr(case.expect), output):
        return [f"{case.expect} needs the quotes of a Python string: expect: {output!r}"]
    says = f"it expects that the call {quote_text(case.end, QUOTE_CHARS)}, but {case.source} "
    return [f"{says}{describe_result(result)}. Expect only what was seen."]


def is_met(result: dict[str, Any], case: Case) -> bool:
    """Return whether a result matches what the case expects."""
    if case.raises is None:
        is_whole = result["success"] and not result["cut"]
        return is_whole and is_expected_value(case.expect or "", result["output"])
    return result["error_type"] == case.raises and (case.match or "") in result["error"]


def describe_result(result: dict[str, Any]) -> str:
    """Describe a result in the words of `Case.end`, such as `gives 4`."""
    if result["success"]:
        return "gives " + quote_text(result["output"], QUOTE_CHARS)
    error = f"raises {result['error_type']}: {result['error']}"
    return quote_text(error, QUOTE_CHARS).rstrip(": ")


def find_uncovered(
    function: Function, request: str, results: list[dict[str, Any]], cases: list[Case]
) -> list[Finding]:
    """Return a finding for each kind of error and each example of the request without a case."""
    kinds = {
        result["error_type"]: result["id"]
        for result in reversed(results)
        if not result["success"]
        and not execute.explain_unusable(result)
        # An error of the snippet itself does not count, but a call with wrong arguments does.
        and (result["inside"] or result["error_type"] == "TypeError")
    }
    expected_errors = {case.raises for case in cases}
    findings = [
        Finding("error-kind", f"No case expects {kind}, which {id} showed: add one from {id}.")
        for kind, id in sorted(kinds.items())
        if kind not in expected_errors
    ]
    calls = set()
    for case in cases:
        if case.source == "requirement":
            with contextlib.suppress(ValueError):  # invalid code is already reported
                if call := requirement.find_call(function, case.call):
                    calls.add(code.normalize_code(function, ast.unparse(call)))
    for example in requirement.find_examples(function, request):
        if example.stated_end and code.normalize_code(function, example.call) not in calls:
            quote = quote_text(example.call + example.after, QUOTE_CHARS)
            says = f"The requirement gives an example that no case has: {quote}. "
            findings.append(Finding("requirement", says + "Add it with `from: requirement`."))
    return findings
