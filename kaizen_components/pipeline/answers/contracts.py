"""The contracts of our answers, as pydantic models, whose import is slow.

Docstrings and descriptions are part of the prompts: another word makes another question.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

LINE = 500


class Contract(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Criterion(Contract):
    id: str = Field(pattern=r"^C[1-9][0-9]?$", description="C1, C2, … in order")
    text: str = Field(min_length=8, max_length=LINE, description="One thing that a test can see")


class Spec(Contract):
    """What is to be built, and how everybody will know."""

    title: str = Field(min_length=3, max_length=120)
    criteria: list[Criterion] = Field(min_length=1, max_length=12)
    constraints: list[str] = Field(
        default=[], max_length=12, description="What the change must keep to"
    )
    out_of_scope: list[str] = Field(default=[], max_length=12, description="What must not be done")
    grants: list[str] = Field(
        default=[],
        max_length=6,
        description="Protected paths (globs) that the request itself says must change",
    )

    @field_validator("criteria")
    @classmethod
    def check_ids(cls, criteria: list[Criterion]) -> list[Criterion]:
        wanted = [f"C{number}" for number in range(1, len(criteria) + 1)]
        if [criterion.id for criterion in criteria] != wanted:
            raise ValueError("the ids must be " + ", ".join(wanted))
        return criteria


class Brief(Contract):
    """What the builder should know about the repository."""

    files: list[str] = Field(
        min_length=1, max_length=20, description="Existing files to read or change"
    )
    new_files: list[str] = Field(default=[], max_length=10, description="Files to create")
    conventions: list[str] = Field(default=[], max_length=12)
    prior_art: list[str] = Field(
        default=[], max_length=12, description="What is there already and can be used"
    )


class Reason(Contract):
    criterion: str = Field(
        min_length=1,
        max_length=LINE,
        description="The id, such as C2, or the constraint that is broken",
    )
    text: str = Field(min_length=3, max_length=LINE)


class Review(Contract):
    """Does the diff do what the spec says, and nothing else?"""

    # Comes first, because a model that has to quote the lines rejects fewer correct changes.
    # No check uses it.
    evidence: list[str] = Field(default=[], max_length=40)
    verdict: Literal["approve", "reject"]
    reasons: list[Reason] = Field(default=[], max_length=20, validate_default=True)

    @field_validator("reasons")
    @classmethod
    def require_reason(cls, reasons: list[Reason], info: ValidationInfo) -> list[Reason]:
        if info.data.get("verdict") == "reject" and not reasons:
            raise ValueError("a rejection names at least one reason")
        return reasons


MODELS: dict[str, type[Contract]] = {"spec": Spec, "brief": Brief, "review": Review}
