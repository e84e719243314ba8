"""Parse and check the snippets that explore a function, before any of them runs."""

from typing import Any, Literal

from pydantic import Field

from ..answers.contracts import LINE, Contract
from ..answers.parse import AnswerRefused, validate_answer
from ..verdict import Finding, Verdict
from . import code
from .function import Function

SNIPPETS_MIN, SNIPPETS_MAX, ERRORS_MIN = 10, 40, 3


class Snippet(Contract):
    id: str = Field(
        pattern=r"^S[1-9][0-9]{0,2}$",
        description="S1, S2, … in order; a later round goes on counting",
    )
    description: str = Field(min_length=3, max_length=LINE, description="What it tries out")
    code: str = Field(
        min_length=1,
        max_length=code.CHARS_MAX,
        description="Calls the function; ends in an expression",
    )
    expects: Literal["value", "error"] = Field(
        description="error, if you think that the function raises here"
    )


class Snippets(Contract):
    """Pieces of code to be run."""

    snippets: list[Snippet] = Field(min_length=SNIPPETS_MIN, max_length=SNIPPETS_MAX)


def parse_snippets(text: str) -> list[dict[str, Any]]:
    """Return the snippets in an answer; raise AnswerRefused if it is invalid."""
    return [snippet.model_dump() for snippet in validate_answer(text, Snippets).snippets]


def parse_round(text: str, earlier: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the snippets of a round, whose ids continue those of `earlier` rounds."""
    snippets = parse_snippets(text)
    first = len(earlier) + 1
    ids = [f"S{number}" for number in range(first, first + len(snippets))]
    if [snippet["id"] for snippet in snippets] != ids:
        raise AnswerRefused(f"The ids must be {ids[0]} to {ids[-1]}, in order.")
    errors = _count_errors(snippets)
    if errors < ERRORS_MIN:
        raise AnswerRefused(
            f"{errors} of the snippets expect an error, but {ERRORS_MIN} must. "
            "Try wrong types and wrong values."
        )
    return snippets


def _count_errors(snippets: list[dict[str, Any]]) -> int:
    return sum(snippet["expects"] == "error" for snippet in snippets)


def check_snippets(function: Function, text: str, earlier: list[dict[str, Any]]) -> Verdict:
    """Check that each snippet of an answer may run, and that none repeats another."""
    snippets = parse_round(text, earlier)
    findings: list[Finding] = []
    first_ids = {code.normalize_code(function, old["code"]): old["id"] for old in reversed(earlier)}
    refused_codes = set()
    for snippet in snippets:
        id, text = snippet["id"], snippet["code"]
        faults = code.find_code_faults(function, text)
        findings += [Finding("code", f"{id} {fault}") for fault in faults]
        if not faults:
            first = first_ids.setdefault(code.normalize_code(function, text), id)
            if first != id:
                says = f"{id} is the same code as {first}: try something else."
                findings.append(Finding("repeated", says))
                faults = [says]
        if faults:
            refused_codes.add(id)
    if findings:
        says = f"{len(refused_codes)} of {len(snippets)} snippets cannot be used."
        return Verdict("check", says, findings)
    says = f"{len(snippets)} snippets, {_count_errors(snippets)} of which expect an error."
    return Verdict("pass", says, facts={"snippets": len(snippets)})
