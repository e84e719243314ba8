"""Check that a spec may expect only what was observed or is in the requirement."""

import pytest

from kaizen_components.pipeline.answers.parse import AnswerRefused
from kaizen_components.pipeline.codemode.cases import check_spec, parse_spec
from kaizen_components.pipeline.codemode.requirement import (
    explain_unsupported,
    find_examples,
    find_literals,
    split_sentences,
)

from .conftest import CASES, REQUEST, SLUGIFY, change_case, finding_texts, spec_text


@pytest.fixture
def check(results):
    """Return a function that checks cases against the results of the honest function."""
    return lambda cases=CASES, **options: check_spec(
        SLUGIFY, REQUEST, results, spec_text(cases, **options)
    )


def test_spec_with_evidence_passes(check):
    assert check().says == "5 cases: 1 from the requirement, 4 from evidence."


@pytest.mark.parametrize(
    ("number", "fields", "says"),
    [
        (
            2,
            {"expect": "'Hello-World'"},
            "C2: it expects that the call gives 'Hello-World', but S1 gives 'hello-world'. Expect only",
        ),
        (2, {"from": "S99"}, "there is no such snippet"),
        (2, {"from": "S3"}, "not what S3 ran: slugify('a')"),
        (2, {"from": "requirement"}, "not in the requirement"),
        (3, {"match": "must be a number"}, "but S9 raises TypeError: text must be a string"),
        (3, {"raises": "KeyError"}, "raises KeyError"),
        (1, {"expect": "'n-a'"}, "the requirement says otherwise"),
        (1, {"from": "S2"}, "an example that no case has: slugify('') is ''"),
        (2, {"call": "try:\n    x = slugify('a')\nexcept ValueError:\n    x = 1\nx"}, "try/except"),
        (2, {"call": "slugify('')", "from": "S2", "expect": "''"}, "same call as C1"),
    ],
)
def test_case_without_evidence_is_refused(check, number, fields, says):
    verdict = check(change_case(number, **fields))

    assert verdict.reason == "check"
    assert says in finding_texts(verdict)


def test_spec_that_omits_example_or_error_is_refused(check):
    renumbered = [{**row, "id": f"C{number}"} for number, row in enumerate(CASES[1:], 1)]
    no_error = [*CASES[:3], {**CASES[4], "id": "C4"}]

    assert "an example that no case has: slugify('') is ''" in finding_texts(check(renumbered))
    assert "No case expects ValueError, which S11 showed" in finding_texts(check(no_error))
    assert "not about app.text:slugify" in finding_texts(check(function="app.text:other"))


def check_s1(results, cases=CASES, **fields):
    rows = [{**row, **fields} if row["id"] == "S1" else row for row in results]
    return check_spec(SLUGIFY, REQUEST, rows, spec_text(cases))


def test_case_that_cites_unstable_result_is_refused(results):
    texts = finding_texts(check_s1(results, stable=False))

    assert "S1 cannot be cited: it had another result in the second run" in texts


@pytest.mark.parametrize("expect", ["hello-world", "'hello-world'", '"hello-world"'])
def test_string_may_be_written_without_quotes(check, expect):
    assert check(change_case(2, expect=expect)).reason == "pass"


def test_string_like_a_number_needs_quotes(results):
    verdict = check_s1(results, change_case(2, expect="12"), output="'12'")

    assert "12 needs the quotes of a Python string" in finding_texts(verdict)


@pytest.mark.parametrize(
    ("output", "expect", "same"),
    [
        ("{'b', 'a'}", "{'a', 'b'}", True),
        ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", True),
        ("1", "True", False),
        ("1.0", "1", False),
        ("[1, 2]", [1, 2], True),
        ("None", None, True),
        ("(1, 2)", "[1, 2]", False),
        ("Decimal('1.50')", "Decimal( '1.50' )", True),
        ("Decimal('1.5')", "Decimal('1.50')", False),
        ("<Box 3>", "<Box 3>", True),
        ("nan", "nan", True),
        ("0.0", "-0.0", False),
        ("{1}", "{True}", False),
    ],
)
def test_expected_value_must_have_type_of_result(results, output, expect, same):
    assert check_s1(results, change_case(2, expect=expect), output=output).is_pass is same


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Input should be a valid dictionary"),
        ("cases: [", "line 1"),
        ("function: f\ncases: []\n", "at least 3"),
        ("x: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
        ("a: &a [1]\nb: *a\n", "alias"),
        ("[" * 5000, "is not valid YAML"),
        ("x" * 200_001, "characters"),
        ("a: 2024-99-99\n", "is not valid YAML"),
        (spec_text([{**row, "passed": True} for row in CASES]), "passed"),
        (spec_text([CASES[0], CASES[2], CASES[1]]), "in order"),
        (spec_text(change_case(1, raises="ValueError")), "either expect or raises"),
        (spec_text(change_case(1, match="x")), "match belongs to raises"),
        (spec_text(change_case(1, **{"from": "me"})), "from"),
    ],
)
def test_malformed_spec_is_refused_with_its_fault(text, says):
    with pytest.raises(AnswerRefused) as refused:
        parse_spec(text)

    assert says in str(refused.value)


def test_fenced_spec_is_accepted():
    assert parse_spec(f"Here:\n\n```yaml\n{spec_text()}```\nDone.").cases[0].expect == "''"


SAID = (
    "slugify(text) joins words; slugify('') is ''. slugify(\"A; b. c\") → `'a-b-c'`, it doesn't fail\n"
    "For 3 it's [1, 2]. slugify(None) raises TypeError. slugify('a') and slugify('A') are both 'a'"
)


def test_examples_in_request_are_found_with_stated_results():
    assert [(example.call, example.stated_end) for example in find_examples(SLUGIFY, SAID)] == [
        ("slugify('')", "''"),
        ('slugify("A; b. c")', "'a-b-c'"),
        ("slugify(None)", "TypeError"),
        ("slugify('a')", ""),
        ("slugify('A')", ""),
    ]


@pytest.mark.parametrize(
    ("call", "value", "is_supported"),
    [
        ("slugify('')", "''", True),
        ("slugify('')", "'a-b-c'", False),
        ("slugify('A; b. c')", "'a-b-c'", True),
        ("slugify(None)", "TypeError", True),
        ("slugify(None)", "ValueError", False),
        ("slugify('a')", "'a'", True),
        ("slugify(3)", "[1, 2]", True),
        ("slugify(3)", "''", False),
        ("slugify('joins')", "'words'", False),
        ("len(slugify(''))", "0", False),
        ("list(slugify(''))", "''", True),
        ("slugify('', 1)", "''", False),
    ],
)
def test_requirement_supports_only_values_it_states(call, value, is_supported):
    why = explain_unsupported(SLUGIFY, SAID, call, value, value.endswith("Error"))

    assert (why == "") is is_supported


@pytest.mark.parametrize(
    ("request_", "end"),
    [
        ("slugify('x') must be fast: 3 ms", ""),
        ("slugify('x') is not 'y'", ""),
        ("slugify('x') should be 'y'", "'y'"),
        ("slugify('x') == {'a': 1}", "{'a': 1}"),
        ("slugify('x') raises a ValueError", "ValueError"),
        ("slugify('x')", ""),
        ("slugify('x') returns `None`", "None"),
        ("slugify('x') gives a list of 3", ""),
    ],
)
def test_stated_result_after_example_call_is_found(request_, end):
    assert [example.stated_end for example in find_examples(SLUGIFY, request_)] == [end]


def test_negated_value_in_request_is_not_evidence():
    request = "slugify('x') is not 'y'"

    assert explain_unsupported(SLUGIFY, request, "slugify('x')", "'y'", False)


def test_curly_quotes_count_as_quotes():
    request = "slugify(“A B”) is ‘a-b’"

    assert explain_unsupported(SLUGIFY, request, "slugify('A B')", "'a-b'", False) == ""


def test_literals_in_text_with_apostrophes_are_found():
    text = "don't 'b' -3, 2.5. (x) [1, 'a]'] True {'a': 1} won't b'x'"

    assert find_literals(text) == ["'b'", "-3", "2.5", "[1, 'a]']", "True", "{'a': 1}", "b'x'"]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "'" * 100_001, "slugify(" * 20_000, "(" * 50_000 + ")" * 50_000]
)
def test_hostile_request_is_parsed_quickly(text):
    assert find_examples(SLUGIFY, text) == []
    assert split_sentences(text)
