"""What explores a function: at least ten pieces of code, three of which expect an error. Checked before any is run."""

from typing import Any, Literal

from pydantic import Field

from ..answers.contracts import LINE, Contract
from ..answers.parse import AnswerRefused, validate_answer
from ..verdict import Finding, Verdict
from . import code
from .function import Function

LEAST, MOST, ERRORS_LEAST = 10, 40, 3


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

    snippets: list[Snippet] = Field(min_length=LEAST, max_length=MOST)


def parse_snippets(text: str) -> list[dict[str, Any]]:
    return [one.model_dump() for one in validate_answer(text, Snippets).snippets]


def parse_answer(text: str, earlier: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """The snippets of an answer, or AnswerRefused; those of former rounds say from where the ids go on."""
    found = parse_snippets(text)
    wanted = [f"S{len(earlier or []) + number}" for number in range(1, len(found) + 1)]
    if [one["id"] for one in found] != wanted:
        raise AnswerRefused(f"The ids must be {wanted[0]} to {wanted[-1]}, in order.")
    errors = sum(one["expects"] == "error" for one in found)
    if errors < ERRORS_LEAST:
        raise AnswerRefused(
            f"{errors} of the snippets expect an error; {ERRORS_LEAST} must. Try wrong types, wrong values."
        )
    return found


def check_snippets(function: Function, text: str, earlier: list[dict[str, Any]]) -> Verdict:
    """Whether the snippets may be run; AnswerRefused where they are not in the form that was asked for."""
    found = parse_answer(text, earlier)
    bad = {one["id"]: code.find_code_faults(function, one["code"]) for one in found}
    wrong = [Finding("code", f"{id} {said}") for id, faults in bad.items() for said in faults]
    repeated = _repeated(function, [one for one in found if not bad[one["id"]]], earlier)
    if wrong or repeated:
        count = sum(map(bool, bad.values())) + len(repeated)
        return Verdict(
            "check", f"{count} of {len(found)} snippets cannot be used.", [*wrong, *repeated]
        )
    errors = sum(one["expects"] == "error" for one in found)
    return Verdict(
        "pass",
        f"{len(found)} snippets, {errors} of which expect an error.",
        facts={"snippets": len(found)},
    )


def _repeated(function, found, earlier):
    seen: dict[str, str] = {}
    wrong = []
    for one in [*earlier, *found]:
        key = code.normalize_code(function, one["code"])
        if key in seen and one not in earlier:
            wrong.append(
                Finding(
                    "repeated", f"{one['id']} is the same code as {seen[key]}: try something else."
                )
            )
        seen.setdefault(key, one["id"])
    return wrong
