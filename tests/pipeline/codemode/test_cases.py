"""The spec: every end that a case expects was seen, or stands in the requirement."""

import pytest

from kaizen_components.pipeline.answers.parse import AnswerRefused
from kaizen_components.pipeline.codemode.cases import check_spec, parse_spec
from kaizen_components.pipeline.codemode.requirement import (
    explain_unsupported,
    find_examples,
    find_literals,
    split_sentences,
)

from .conftest import CASES, REQUEST, SLUGIFY, spec_text


@pytest.fixture
def judged(results):
    """`judged(cases)`: the verdict on a spec about the honest function."""
    return lambda cases=CASES, request=REQUEST, **more: check_spec(
        SLUGIFY, request, results, spec_text(cases, **more)
    )


def texts(verdict):
    return " | ".join(one.text for one in verdict.findings)


def changed(place, **fields):
    return [{**one, **fields} if at == place - 1 else one for at, one in enumerate(CASES)]


def test_a_spec_from_evidence_and_requirement_passes(judged):
    verdict = judged()

    assert (verdict.reason, verdict.says) == (
        "pass",
        "5 cases: 1 from the requirement, 4 from evidence.",
    )


def test_an_expected_value_out_of_the_air_is_refused_with_what_was_seen(judged):
    verdict = judged(changed(2, expect="'Hello-World'"))

    assert verdict.reason == "check"
    said = "C2: it expects that the call gives 'Hello-World', and S1 gives 'hello-world'."
    assert texts(verdict) == f"{said} Only what was seen can be expected."


@pytest.mark.parametrize(
    ("place", "fields", "says"),
    [
        (2, {"from": "S99"}, "there is no such snippet"),
        (2, {"from": "S3"}, "not what S3 ran: slugify('a')"),
        (2, {"from": "requirement"}, "not in the requirement"),
        (3, {"match": "must be a number"}, "and S9 raises TypeError: text must be a string"),
        (3, {"raises": "KeyError"}, "raises KeyError"),
        (1, {"expect": "'n-a'"}, "the requirement says otherwise"),
        (2, {"call": "try:\n    x = slugify('a')\nexcept ValueError:\n    x = 1\nx"}, "try/except"),
        (2, {"call": "slugify('')", "from": "S2", "expect": "''"}, "same call as C1"),
    ],
)  # fmt: skip
def test_what_is_neither_seen_nor_asked_for_is_no_case(judged, place, fields, says):
    verdict = judged(changed(place, **fields))

    assert verdict.reason == "check"
    assert says in texts(verdict)


def test_an_example_of_the_requirement_cannot_be_left_out_or_taken_from_the_code(judged):
    renumbered = [{**one, "id": f"C{number}"} for number, one in enumerate(CASES[1:], 1)]
    assert "an example that no case has: slugify('') is ''" in texts(judged(renumbered))

    assert "an example that no case has" in texts(judged(changed(1, **{"from": "S2"})))


def test_every_kind_of_error_that_was_seen_has_a_case(judged):
    without = [*CASES[:3], {**CASES[4], "id": "C4"}]

    assert "No case expects ValueError, which S11 showed" in texts(judged(without))


def test_unstable_evidence_is_no_evidence(results):
    unstable = [{**one, "stable": one["id"] != "S1"} for one in results]

    verdict = check_spec(SLUGIFY, REQUEST, unstable, spec_text())

    assert "S1 is no evidence: it was different the second time" in texts(verdict)


def test_a_spec_about_another_function_is_refused(judged):
    assert "not about app.text:slugify" in texts(judged(function="app.text:other"))


@pytest.mark.parametrize("expect", ["hello-world", "'hello-world'", '"hello-world"'])
def test_a_text_may_be_written_with_its_quotes_or_plainly(judged, expect):
    assert judged(changed(2, expect=expect)).reason == "pass"


def test_a_text_that_looks_like_a_number_needs_its_quotes(results):
    digits = [{**one, "output": "'12'"} if one["id"] == "S1" else one for one in results]

    verdict = check_spec(SLUGIFY, REQUEST, digits, spec_text(changed(2, expect="12")))

    assert "write it with its quotes" in texts(verdict)


@pytest.mark.parametrize(
    ("output", "expect", "same"),
    [
        ("{'b', 'a'}", "{'a', 'b'}", True), ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", True), ("1", "True", False),
        ("1.0", "1", False), ("[1, 2]", [1, 2], True), ("[1, 2]", (2, 1), False), ("None", None, True),
        ("(1, 2)", "[1, 2]", False), ("Decimal('1.50')", "Decimal( '1.50' )", True), ("<Box 3>", "<Box 3>", True),
        ("Decimal('1.5')", "Decimal('1.50')", False), ("nan", "nan", True), ("0.0", "-0.0", False),
        ("{1}", "{True}", False),
    ],
)  # fmt: skip
def test_values_are_compared_as_python_values_with_their_types(results, output, expect, same):
    seen = [{**one, "output": output} if one["id"] == "S1" else one for one in results]
    expect = list(expect) if isinstance(expect, tuple) else expect

    assert check_spec(SLUGIFY, REQUEST, seen, spec_text(changed(2, expect=expect))).passed is same


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Input should be a valid dictionary"),
        ("cases: [", "line 1"),
        ("function: f\ncases: []\n", "at least 3"),
        ("x: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
        ("a: &a [1]\nb: *a\n", "an alias is not read"),
        ("[" * 5000, "cannot be read as YAML"),
        ("x" * 200_001, "characters"),
        ("a: 2024-99-99\n", "cannot be read as YAML"),
        ("a: b\0c", "cannot be read as YAML"),
        (spec_text([{**one, "passed": True} for one in CASES]), "passed"),
        (spec_text([CASES[0], CASES[2], CASES[1]]), "in order"),
        (spec_text([{**CASES[0], "raises": "ValueError"}, *CASES[1:]]), "either expect or raises"),
        (spec_text([{**CASES[0], "match": "x"}, *CASES[1:]]), "match belongs to raises"),
        (spec_text([{**CASES[0], "from": "me"}, *CASES[1:]]), "from"),
    ],
)
def test_what_is_no_spec_is_refused_in_words_that_help(text, says):
    with pytest.raises(AnswerRefused) as refused:
        parse_spec(text)

    assert says in str(refused.value)


def test_fences_and_words_round_the_yaml_are_tolerated():
    assert (
        parse_spec(f"Here is the spec:\n\n```yaml\n{spec_text()}```\nDone.").cases[0].expect == "''"
    )


SAID = (
    "slugify(text) joins words; slugify('') is ''. slugify(\"A; b. c\") → `'a-b-c'`, it doesn't fail\n"
    "For 3 it's [1, 2]. slugify(None) raises TypeError. slugify('a') and slugify('A') are both 'a'"
)


def test_examples_of_a_request_are_found_with_what_follows_them():
    assert [(one.call, one.says) for one in find_examples(SLUGIFY, SAID)] == [
        ("slugify('')", "''"), ('slugify("A; b. c")', "'a-b-c'"), ("slugify(None)", "TypeError"), ("slugify('a')", ""),
        ("slugify('A')", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "value", "is_error", "supported"),
    [
        ("slugify('')", "''", False, True), ("slugify('')", "'a-b-c'", False, False),
        ("slugify('A; b. c')", "'a-b-c'", False, True), ("slugify(None)", "TypeError", True, True),
        ("slugify(None)", "ValueError", True, False), ("slugify('a')", "'a'", False, True),
        ("slugify(3)", "[1, 2]", False, True), ("slugify(3)", "''", False, False),
        ("slugify('joins')", "'words'", False, False),
        ("len(slugify(''))", "0", False, False), ("list(slugify(''))", "''", False, True),
        ("slugify('', 1)", "''", False, False),
    ],
)  # fmt: skip
def test_only_what_stands_in_the_request_comes_from_it(call, value, is_error, supported):
    assert (explain_unsupported(SLUGIFY, SAID, call, value, is_error) == "") is supported


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("slugify('x') must be fast: 3 ms", ""), ("slugify('x') is not 'y'", ""), ("slugify('x') should be 'y'", "'y'"),
        ("slugify('x') == {'a': 1}", "{'a': 1}"), ("slugify('x') raises a ValueError", "ValueError"),
        ("slugify('x')", ""), ("slugify('x') returns `None`", "None"), ("slugify('x') gives a list of 3", ""),
    ],
)  # fmt: skip
def test_only_a_value_that_follows_at_once_has_to_have_a_case(request_, says):
    assert [one.says for one in find_examples(SLUGIFY, request_)] == [says]


def test_what_a_value_is_not_cannot_be_expected():
    assert explain_unsupported(SLUGIFY, "slugify('x') is not 'y'", "slugify('x')", "'y'", False)


def test_curly_quotes_of_a_word_processor_are_quotes():
    assert (
        explain_unsupported(SLUGIFY, "slugify(“A B”) is ‘a-b’", "slugify('A B')", "'a-b'", False)
        == ""
    )


def test_literals_in_a_sentence_are_found_and_apostrophes_are_none():
    assert find_literals("don't 'b' -3, 2.5. (x) [1, 'a]'] True {'a': 1} won't b'x'") == [
        "'b'", "-3", "2.5", "[1, 'a]']", "True", "{'a': 1}", "b'x'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "'" * 100_001, "slugify(" * 20_000, "(" * 50_000 + ")" * 50_000, "\0" * 9],
)
def test_a_hostile_request_takes_no_time_and_says_nothing(text):
    assert find_examples(SLUGIFY, text) == []
    assert split_sentences(text)
