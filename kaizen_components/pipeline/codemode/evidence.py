"""Where an expected end is known from: a snippet that was run, or the request. Never from the case alone."""

from typing import TYPE_CHECKING, Any

from ..edits.format import quote_text
from ..verdict import Finding
from . import code, execute, requirement
from .function import Function
from .literals import is_expected_value, is_same_value

if TYPE_CHECKING:
    from .cases import Case

SHOWN = 160


def find_case_faults(
    function: Function, request: str, results: list[dict[str, Any]], case: "Case"
) -> list[str]:
    """Why the end that a case expects is not known, in words."""
    if case.source == "requirement":
        return _asked_for(function, request, case)
    result = next((one for one in results if one["id"] == case.source), None)
    if result is None:
        return [f"it cites {case.source}, and there is no such snippet."]
    if code.normalize_code(function, result["code"]) != code.normalize_code(function, case.call):
        return [f"its call is not what {case.source} ran: {quote_text(result['code'], SHOWN)}"]
    why = execute.explain_unusable(result)
    if why:
        return [f"{case.source} is no evidence: it {why}."]
    said = _differs(result, case)
    return [said] if said else []


def is_met(result: dict[str, Any], case: "Case") -> bool:
    """Whether a result is the end that the case expects."""
    if case.raises is None:
        return (
            result["success"]
            and not result["cut"]
            and is_expected_value(case.expect or "", result["output"])
        )
    return result["error_type"] == case.raises and (case.match or "") in result["error"]


def describe_result(result: dict[str, Any]) -> str:
    """How a result ended, in the same words as the end of a case."""
    if result["success"]:
        return "gives " + quote_text(result["output"], SHOWN)
    return quote_text(f"raises {result['error_type']}: {result['error']}", SHOWN).rstrip(": ")


def find_uncovered(
    function: Function, request: str, results: list[dict[str, Any]], cases: "list[Case]"
) -> list[Finding]:
    """Kinds of errors that were seen, and examples of the request, that no case has."""
    kinds = {one["error_type"]: one["id"] for one in reversed(results) if _is_its_own(one)}
    raised = {case.raises for case in cases}
    wrong = [
        Finding("error-kind", f"No case expects {kind}, which {id} showed: add one from {id}.")
        for kind, id in sorted(kinds.items())
        if kind not in raised
    ]
    asked = {
        code.normalize_code(function, _call(function, case))
        for case in cases
        if case.source == "requirement"
    }
    for one in requirement.find_examples(function, request):
        if one.says and code.normalize_code(function, one.call) not in asked:
            text = f"The requirement gives an example that no case has: {quote_text(one.call + one.after, SHOWN)}. "
            wrong.append(Finding("requirement", text + "Add it with `from: requirement`."))
    return wrong


def _call(function, case):
    import ast

    try:
        call = requirement.find_call(function, case.call)
    except ValueError:  # said already
        call = None
    return ast.unparse(call) if call else "0"


def _is_its_own(result):
    """An error of the function, and not of the snippet itself; a wrong call is one too."""
    return (
        not result["success"]
        and not execute.explain_unusable(result)
        and (result["inside"] or result["error_type"] == "TypeError")
    )


def _asked_for(function, request, case):
    is_error = case.raises is not None
    why = requirement.explain_unsupported(
        function, request, case.call, case.raises or case.expect or "", is_error
    )
    if not why and case.match and case.match not in request:
        why = f"the requirement does not say {case.match!r}"
    return (
        [f"it is not in the requirement: {why}. Cite a snippet instead, if one showed it."]
        if why
        else []
    )


def _differs(result, case):
    if is_met(result, case):
        return ""
    if (
        case.raises is None
        and result["success"]
        and is_same_value(repr(case.expect), result["output"])
    ):
        return f"{case.expect} is no text in Python; write it with its quotes: expect: {result['output']!r}"
    told = f"it expects that the call {quote_text(case.end, SHOWN)}, and {case.source} {describe_result(result)}."
    return f"{told} Only what was seen can be expected."
