"""Check the spec of a function: cases with a call, the expected result, and the evidence for it."""

import re
from collections.abc import Collection
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from ...errors import Refused
from .. import yaml_file
from ..answers.contracts import LINE, Contract
from ..answers.kind import format_count
from ..answers.parse import AnswerRefused
from ..edits.format import CUT, THOUGHTS, quote_text
from ..verdict import Finding, Verdict
from ..yaml_file import CHARS_MAX
from . import code, evidence
from .function import Function

CASES_MIN, CASES_MAX = 3, 80
FAULTS_MAX = 8
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
    def _write_as_python(cls, value: Any) -> Any:
        """Convert a YAML number, list or dict to Python source. A string already is source."""
        is_plain = value is None or isinstance(value, bool | int | float | list | dict)
        return repr(value) if is_plain else value

    @model_validator(mode="after")
    def _check_end(self) -> "Case":
        if (self.expect is None) == (self.raises is None):
            raise ValueError("give either expect or raises")
        if self.match is not None and self.raises is None:
            raise ValueError("match belongs to raises")
        return self

    @property
    def end(self) -> str:
        """Describe the expected result, such as `gives 4` or `raises ValueError`."""
        if self.raises is None:
            return f"gives {self.expect}"
        return f"raises {self.raises}" + (f" with {self.match!r}" if self.match else "")

    def as_dict(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


class Spec(Contract):
    """What a function does, as cases."""

    function: str
    cases: list[Case] = Field(min_length=CASES_MIN, max_length=CASES_MAX)

    @field_validator("cases")
    @classmethod
    def _check_ids(cls, cases: list[Case]) -> list[Case]:
        if [case.id for case in cases] != [f"C{number}" for number in range(1, len(cases) + 1)]:
            raise ValueError(f"the ids must be C1 to C{len(cases)}, in order")
        return cases


def parse_spec(text: str) -> Spec:
    """Return the spec in an answer, fenced or not; raise AnswerRefused if it is invalid."""
    return validate_model(load_yaml(text), Spec)


def validate_model(data: Any, model: type[Model]) -> Model:
    """Return `data` as an instance of `model`; raise AnswerRefused with its faults."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = []
        for fault in error.errors(include_url=False):
            place = quote_text(".".join(map(str, fault["loc"]))) or "the YAML"
            faults.append(f"{place}: {fault['msg']}")
        if len(faults) > FAULTS_MAX:
            faults[FAULTS_MAX:] = [f"and {len(faults) - FAULTS_MAX} more"]
        raise AnswerRefused(f"The YAML does not match the form. {FORM}", faults) from None


def load_yaml(text: str) -> Any:
    """Load the YAML in a text, fenced or not; raise AnswerRefused if it cannot be read."""
    if text.rstrip().endswith(CUT):
        raise AnswerRefused("The answer was too long and was cut off. Write fewer cases.")
    visible_text = THOUGHTS.sub("", text)
    blocks = FENCE.findall(visible_text) if len(text) <= CHARS_MAX else []
    case_blocks = [block for _, block in blocks if "cases" in block]
    try:
        return yaml_file.parse_yaml(case_blocks[0] if case_blocks else visible_text, "The answer")
    except Refused as error:
        raise AnswerRefused(f"{error.what} {quote_text(error.why, 200)} {FORM}") from None


def check_spec(
    function: Function, request: str, results: list[dict[str, Any]], text: str
) -> Verdict:
    """Check that each expected result was observed in a snippet or stated in the request."""
    spec = parse_spec(text)
    findings = find_spec_faults(function, request, results, spec)
    if findings:
        return Verdict("check", f"The spec has {format_count(findings)}.", findings)
    requirement_count = sum(case.source == "requirement" for case in spec.cases)
    count = len(spec.cases)
    says = f"{count} cases: {requirement_count} from the requirement, {count - requirement_count} from evidence."
    return Verdict("pass", says, facts={"cases": count, "from_requirement": requirement_count})


def find_spec_faults(
    function: Function, request: str, results: list[dict[str, Any]], spec: Spec
) -> list[Finding]:
    """Return the faults of a spec: unusable calls, missing evidence, repeated calls and gaps."""
    findings = []
    if spec.function != str(function):
        says = f"The spec is about {quote_text(spec.function, 60)}, not about {function}."
        findings.append(Finding("function", says))
    repetitions = []
    first_ids: dict[str, str] = {}
    for case in spec.cases:
        rule = "code"
        faults = [f"its call {fault}" for fault in code.find_code_faults(function, case.call)]
        if not faults:
            rule = "evidence"
            faults = evidence.find_case_faults(function, request, results, case)
        findings += [Finding(rule, f"{case.id}: {fault}") for fault in faults]
        if not faults:
            first = first_ids.setdefault(code.normalize_code(function, case.call), case.id)
            if first != case.id:
                says = f"{case.id} makes the same call as {first}: use each call once."
                repetitions.append(Finding("repeated", says))
    gaps = evidence.find_uncovered(function, request, results, spec.cases)
    return [*findings, *repetitions, *gaps]


def check_refined_spec(
    old_spec: Spec,
    failing: Collection[str],
    function: Function,
    request: str,
    results: list[dict[str, Any]],
    text: str,
) -> Verdict:
    """Check a repaired spec: only `failing` cases may change, and none may disappear."""
    spec = parse_spec(text)
    new = {case.id: case for case in spec.cases}
    findings = []
    for case in old_spec.cases:
        if case.id not in new:
            says = f"{case.id} is gone: a case may be changed, but not removed."
            findings.append(Finding("gone", says))
        elif new[case.id] == case:
            continue
        elif case.source == "requirement":
            says = (
                f"{case.id} comes from the requirement and must not change: {case.call} {case.end}."
            )
            findings.append(Finding("kept", says))
        elif case.id not in failing:
            says = f"{case.id} passes and must not change: {case.call} {case.end}."
            findings.append(Finding("kept", says))
    if not findings and spec.cases == old_spec.cases:
        says = "The spec is unchanged: change what failed, or add cases."
        findings = [Finding("unchanged", says)]
    findings += find_spec_faults(function, request, results, spec)
    if findings:
        return Verdict("check", f"The new spec has {format_count(findings)}.", findings)
    added_count = len(spec.cases) - len(old_spec.cases)
    changed_ids = [case.id for case in old_spec.cases if new[case.id] != case]
    says = f"{format_count(spec.cases[len(old_spec.cases) :], 'new case')}; "
    says += f"changed: {', '.join(changed_ids) or 'none'}."
    facts = {"cases": len(spec.cases), "added": added_count, "changed": changed_ids}
    return Verdict("pass", says, facts=facts)
