"""Whatever an agent or a user writes: it is judged or refused in words, and nothing else happens."""

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

PYTHON = st.lists(
    st.sampled_from(
        [
            "slugify",
            "(",
            ")",
            "''",
            "'a'",
            ",",
            ".",
            "=",
            ":",
            "\n",
            "def",
            "class",
            "lambda",
            "x",
            "import",
            "from",
            "as",
            "*",
            "app.text",
            "os",
            "try",
            "except",
            "1",
            "-2",
            "[",
            "]",
            "{",
            "}",
            "#",
            '"',
            "\\",
            "\x00",
            "�",
            "é",
        ]
    ),
    max_size=14,
).map("".join)
ANY = st.text(max_size=80) | PYTHON
VALUE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers()
)
NESTED = st.recursive(
    VALUE,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=8,
)
LINES = settings(max_examples=200, deadline=None)


def refused_or(judge):
    try:
        return judge().reason
    except AnswerRefused as error:
        assert str(error)
        return "malformed"


@LINES
@given(ANY)
@example("slugify(\ud800)")
@example("(" * 1900)
def test_code_is_used_or_refused_in_words(text):
    said = code.find_code_faults(SLUGIFY, text)

    assert all(isinstance(one, str) and one for one in said)
    if not said:
        assert code.normalize_code(SLUGIFY, text) == code.normalize_code(
            SLUGIFY, text + "  # again"
        )


@LINES
@given(ANY)
def test_names_of_functions_are_read_or_refused(text):
    try:
        found = Function.parse(text)
    except Usage as error:
        assert error.next
    else:
        assert Function.parse(str(found)) == found


@LINES
@given(NESTED)
def test_every_value_is_the_same_as_itself_and_not_as_another_one(value):
    assert literals.is_same_value(repr(value), repr(value))
    assert literals.is_expected_value(repr(value), repr(value))
    assert not literals.is_same_value(repr([value]), repr((value,)))


@LINES
@given(ANY, ANY, ANY)
def test_a_request_says_or_does_not_say(request, call, value):
    text = f"slugify({call}) is {value}; {request}"

    for one in requirement.find_examples(SLUGIFY, text):
        assert one.call in text.translate(requirement.QUOTES)
    try:
        code.parse_code(call)
    except ValueError:
        return
    assert isinstance(requirement.explain_unsupported(SLUGIFY, text, call, value, False), str)


@LINES
@given(
    ANY,
    st.integers(0, len(CASES) - 1),
    st.sampled_from(["call", "expect", "raises", "match", "from", "id", "description"]),
)
def test_a_spec_with_anything_in_it_is_judged_or_refused(results, text, place, field):
    changed = [{**one, field: text} if at == place else one for at, one in enumerate(CASES)]

    refused_or(
        lambda: cases.check_spec(
            SLUGIFY, REQUEST, results, json.dumps({"function": str(SLUGIFY), "cases": changed})
        )
    )
    refused_or(lambda: cases.check_spec(SLUGIFY, REQUEST, results, text))
    refused_or(lambda: cases.check_spec(SLUGIFY, REQUEST, results, spec_text() + text))


@LINES
@given(ANY)
def test_snippets_and_analyses_with_anything_in_them_are_judged_or_refused(results, text):
    given = honest()
    given[0]["code"] = text
    refused_or(lambda: snippets.check_snippets(SLUGIFY, json.dumps({"snippets": given}), []))
    refused_or(lambda: snippets.check_snippets(SLUGIFY, text, []))
    echoed = {
        "clusters": [{"name": text, "ids": [text], "notes": text}],
        "more": False,
        "results": [{"id": text, text: 1}],
    }
    assert refused_or(lambda: analysis.check_analysis(json.dumps(echoed), results, 1)) in (
        "malformed",
        "check",
    )
