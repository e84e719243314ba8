"""The kinds of answers that a step can ask for, by the name that a protocol gives them."""

from ..protocol import Step
from .changing import EditsKind, TestsKind
from .contracted import JsonKind, TextKind
from .exploring import AnalysisKind, CasesKind, RefinedKind, SnippetsKind
from .kind import Kind
from .planning import BriefKind, SpecKind
from .reviewing import ReviewKind

KINDS: dict[str, Kind] = {
    "spec": SpecKind(), "brief": BriefKind(), "edits": EditsKind(), "tests": TestsKind(), "review": ReviewKind(),
    "snippets": SnippetsKind(), "analysis": AnalysisKind(), "cases": CasesKind(), "refined": RefinedKind(),
    "json": JsonKind(), "text": TextKind(),
}  # fmt: skip


def kind_of(step: Step) -> Kind:
    return KINDS[step.answer or ""]
