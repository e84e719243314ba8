"""Check that arbitrary text is judged, or refused with a reason, and never causes a crash."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kaizen_components.errors import Usage
from kaizen_components.pipeline.answers.parse import AnswerRefused
from kaizen_components.pipeline.codemode import (
    analysis,
    cases,
    code,
    literals,
    requirement,
    snippets,
)
from kaizen_components.pipeline.codemode.function import Function

from .conftest import CASES, REQUEST, SLUGIFY, spec_text
from .conftest import snippets as honest

WORDS = "slugify ( ) '' 'a' , . = : def class lambda x import from as * app.text os try except"
WORDS += ' 1 -2 [ ] { } # " \\ \x00 \ufffd é'
PYTHON = st.lists(st.sampled_from([*WORDS.split(" "), "\n"]), max_size=14).map("".join)
ANY = st.text(max_size=80) | PYTHON
VALUE = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
NESTED = st.recursive(
    VALUE | st.complex_numbers(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=8,
)
many = settings(max_examples=100, deadline=None)


def judge(check, *args):
    try:
        return check(*args).reason
    except AnswerRefused as error:
        assert str(error)
        return "malformed"


@many
@given(ANY)
@example("slugify(\ud800)")
@example("(" * 1900)
def test_fuzzed_snippet_code_raises_no_unexpected_error(text):
    faults = code.find_code_faults(SLUGIFY, text)

    assert all(isinstance(fault, str) and fault for fault in faults)
    if not faults:
        commented = code.normalize_code(SLUGIFY, text + "  # again")
        assert code.normalize_code(SLUGIFY, text) == commented


@many
@given(ANY)
def test_fuzzed_function_name_is_parsed_or_refused(text):
    try:
        function = Function.parse(text)
    except Usage as error:
        assert error.next
    else:
        assert Function.parse(str(function)) == function


@many
@given(NESTED)
def test_value_equals_itself_but_list_is_not_tuple(value):
    assert literals.is_same_value(repr(value), repr(value))
    assert literals.is_expected_value(repr(value), repr(value))
    assert not literals.is_same_value(repr([value]), repr((value,)))


@many
@given(ANY, ANY, ANY)
def test_fuzzed_request_is_parsed_without_error(request, call, value):
    text = f"slugify({call}) is {value}; {request}"

    for sample in requirement.find_examples(SLUGIFY, text):
        assert sample.call in text.translate(requirement.QUOTES)
    try:
        code.parse_code(call)
    except ValueError:
        return
    why = requirement.explain_unsupported(SLUGIFY, text, call, value, False)
    assert isinstance(why, str)


FIELDS = ["call", "expect", "raises", "match", "from", "id", "description"]


@many
@given(ANY, st.integers(0, len(CASES) - 1), st.sampled_from(FIELDS))
def test_fuzzed_spec_is_judged_without_crash(results, text, place, field):
    changed = [{**case, field: text} if at == place else case for at, case in enumerate(CASES)]
    spec = json.dumps({"function": str(SLUGIFY), "cases": changed})

    for answer in (spec, text, spec_text() + text):
        judge(cases.check_spec, SLUGIFY, REQUEST, results, answer)


@many
@given(ANY)
def test_fuzzed_snippets_and_analysis_are_judged_without_crash(results, text):
    changed = honest()
    changed[0]["code"] = text
    for answer in (json.dumps({"snippets": changed}), text):
        judge(snippets.check_snippets, SLUGIFY, answer, [])
    cluster = {"name": text, "ids": [text], "notes": text}
    echo = {"clusters": [cluster], "more": False, "results": [{"id": text, text: 1}]}
    reason = judge(analysis.check_analysis, json.dumps(echo), results, 1)
    assert reason in ("malformed", "check")
