"""A spec mended after its validation: what failed may change, everything else stays, nothing goes."""

from collections.abc import Collection
from typing import Any

from ..verdict import Finding, Verdict
from .cases import Spec, find_spec_faults, parse_spec
from .function import Function


def check_refined_spec(
    before: Spec, failing: Collection[str], function: Function, request: str,
    results_with_code: list[dict[str, Any]], text: str,
) -> Verdict:  # fmt: skip
    """`failing` are the ids that may change; new cases need evidence as all others do."""
    spec = parse_spec(text)
    wrong = [said for case in before.cases for said in _kept(case, spec.case(case.id), failing)]
    if not wrong and [case.as_dict() for case in spec.cases] == [
        case.as_dict() for case in before.cases
    ]:
        wrong = [
            Finding("unchanged", "This is the spec as it was: change what failed, or add cases.")
        ]
    wrong += find_spec_faults(function, request, results_with_code, spec)
    if wrong:
        return Verdict(
            "check", f"The new spec has {len(wrong)} fault{'s' * (len(wrong) > 1)}.", wrong
        )
    added = len(spec.cases) - len(before.cases)
    changed = [case.id for case in before.cases if spec.case(case.id) != case]
    says = f"{added} new case{'s' * (added != 1)}; changed: {', '.join(changed) or 'none'}."
    return Verdict(
        "pass", says, facts={"cases": len(spec.cases), "added": added, "changed": changed}
    )


def _kept(case, now, failing):
    if now is None:
        return [Finding("gone", f"{case.id} is gone: a case may be mended, never removed.")]
    if now.as_dict() == case.as_dict():
        return []
    if case.source == "requirement":
        return [
            Finding(
                "kept",
                f"{case.id} comes from the requirement and must stay as it was: {case.call} {case.end}.",
            )
        ]
    if case.id not in failing:
        return [
            Finding("kept", f"{case.id} holds and must stay as it was: {case.call} {case.end}.")
        ]
    return []
