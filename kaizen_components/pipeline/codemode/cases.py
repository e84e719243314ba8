"""The spec: cases of a call and its end, each with where that end is known from. It is YAML, judged by evidence."""

import re
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from ...errors import Refused
from .. import yaml_file
from ..answers.contracts import LINE, Contract
from ..answers.parse import AnswerRefused
from ..edits.format import CUT, THOUGHTS, quote_text
from ..verdict import Finding, Verdict
from ..yaml_file import CHARS_MAX
from . import code, evidence
from .function import Function

CASES_MIN, CASES_MAX = 3, 80
WRONG_MAX = 8
Model = TypeVar("Model", bound=BaseModel)
FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*\w*[ \t]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE
)
FORM = (
    "Answer with YAML: function, and cases with id, description, call, expect or raises, and from."
)


class Case(Contract):
    id: str = Field(pattern=r"^C[1-9][0-9]{0,2}$", description="C1, C2, … in order")
    description: str = Field(min_length=3, max_length=LINE)
    call: str = Field(min_length=3, max_length=code.CHARS_MAX)
    expect: str | None = Field(
        default=None, max_length=2_100, description="The value, as Python writes it"
    )
    raises: str | None = Field(
        default=None, pattern=r"^[A-Za-z_]\w*$", description="The kind of error"
    )
    match: str | None = Field(
        default=None, min_length=1, max_length=200, description="A part of the error's text"
    )
    source: str = Field(
        alias="from", pattern=r"^(S[1-9][0-9]{0,2}|requirement)$", description="S3, or requirement"
    )

    @field_validator("expect", mode="before")
    @classmethod
    def _as_python(cls, given: Any) -> Any:
        """What YAML reads as a number, a list or nothing is that value; a text is Python as it stands."""
        if given is None or isinstance(given, bool | int | float | list | dict):
            return repr(given)
        return given

    @model_validator(mode="after")
    def _one_end(self) -> "Case":
        if (self.expect is None) == (self.raises is None):
            raise ValueError("give either expect or raises")
        if self.match is not None and self.raises is None:
            raise ValueError("match belongs to raises")
        return self

    @property
    def end(self) -> str:
        """What must happen, in words: `gives 4`, `raises ValueError`."""
        if self.raises is None:
            return f"gives {self.expect}"
        return f"raises {self.raises}" + (f" with {self.match!r}" if self.match else "")

    def as_dict(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.model_dump(by_alias=True).items()
            if value is not None
        }


class Spec(Contract):
    """What a function does, as cases."""

    function: str
    cases: list[Case] = Field(min_length=CASES_MIN, max_length=CASES_MAX)

    @field_validator("cases")
    @classmethod
    def _numbered(cls, cases: list[Case]) -> list[Case]:
        if [case.id for case in cases] != [f"C{number}" for number in range(1, len(cases) + 1)]:
            raise ValueError(f"the ids must be C1 to C{len(cases)}, in order")
        return cases

    def case(self, id: str) -> Case | None:
        return next((case for case in self.cases if case.id == id), None)


def parse_spec(text: str) -> Spec:
    """The spec in an answer, fenced or not; AnswerRefused with what is wrong with it."""
    return validate_model(load_yaml(text), Spec)


def validate_model(given: Any, model: type[Model]) -> Model:
    """What was loaded, as the model has it."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        faults = [f"{_place(one['loc'])}: {one['msg']}" for one in error.errors(include_url=False)]
        more = [f"and {len(faults) - WRONG_MAX} more"] if len(faults) > WRONG_MAX else []
        raise AnswerRefused(
            f"The YAML does not keep to the form. {FORM}", [*faults[:WRONG_MAX], *more]
        ) from None


def load_yaml(text: str) -> Any:
    """The YAML in a text, fenced or not; AnswerRefused where there is none that can be read."""
    if text.rstrip().endswith(CUT):
        raise AnswerRefused(
            "The answer was cut off before its end, because it was too long. Write fewer cases."
        )
    plain = THOUGHTS.sub("", text)
    fenced = (
        [block for _, block in FENCE.findall(plain) if "cases" in block]
        if len(text) <= CHARS_MAX
        else []
    )
    try:
        return yaml_file.parse_yaml(fenced[0] if fenced else plain, "The answer")
    except Refused as error:
        raise AnswerRefused(f"{error.what} {quote_text(error.why, 200)} {FORM}") from None


def _place(location):
    return quote_text(".".join(str(step) for step in location)) or "the YAML"


def check_spec(
    function: Function, request: str, results_with_code: list[dict[str, Any]], text: str
) -> Verdict:
    """Whether every end that the spec expects was seen or asked for; AnswerRefused where it is no spec."""
    spec = parse_spec(text)
    wrong = find_spec_faults(function, request, results_with_code, spec)
    if wrong:
        return Verdict("check", f"The spec has {len(wrong)} fault{'s' * (len(wrong) > 1)}.", wrong)
    asked = sum(case.source == "requirement" for case in spec.cases)
    says = f"{len(spec.cases)} cases: {asked} from the requirement, {len(spec.cases) - asked} from evidence."
    return Verdict("pass", says, facts={"cases": len(spec.cases), "from_requirement": asked})


def find_spec_faults(
    function: Function, request: str, results: list[dict[str, Any]], spec: Spec
) -> list[Finding]:
    """Everything that speaks against a spec."""
    wrong = []
    if spec.function != str(function):
        wrong.append(
            Finding(
                "function",
                f"The spec is about {quote_text(spec.function, 60)}, not about {function}.",
            )
        )
    sound = []
    for case in spec.cases:
        bad = [
            Finding("code", f"{case.id}: its call {one}")
            for one in code.find_code_faults(function, case.call)
        ]
        said = [] if bad else evidence.find_case_faults(function, request, results, case)
        bad += [Finding("evidence", f"{case.id}: {one}") for one in said]
        wrong += bad
        sound += [] if bad else [case]
    return [
        *wrong,
        *_find_repeated_calls(function, sound),
        *evidence.find_uncovered(function, request, results, spec.cases),
    ]


def _find_repeated_calls(function, cases):
    seen: dict[str, str] = {}
    wrong = []
    for case in cases:
        first = seen.setdefault(code.normalize_code(function, case.call), case.id)
        if first != case.id:
            wrong.append(
                Finding("repeated", f"{case.id} makes the same call as {first}: each call once.")
            )
    return wrong
