"""The kinds of answers that a step can ask for, by their names in protocols."""

from functools import cache

from ..load import load_attribute
from ..protocol import Step
from .kind import Kind

KINDS = {
    "spec": "answers.planning:SpecKind",
    "brief": "answers.planning:BriefKind",
    "edits": "answers.changing:EditsKind",
    "tests": "answers.changing:TestsKind",
    "review": "answers.reviewing:ReviewKind",
    "snippets": "codemode.kinds:SnippetsKind",
    "analysis": "codemode.kinds:AnalysisKind",
    "cases": "codemode.kinds:CasesKind",
    "refined": "codemode.kinds:RefinedKind",
    "json": "answers.contracted:JsonKind",
    "text": "answers.contracted:TextKind",
}


@cache
def load_kind(name: str) -> Kind:
    """Return the one instance of a kind, imported on first use."""
    return load_attribute(KINDS[name])()


def get_kind(step: Step) -> Kind:
    """Return the kind of answer that a step asks for."""
    return load_kind(step.answer or "")
