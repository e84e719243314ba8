"""Structured answers: text around them is ignored, and every fault is named."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaizen_components.pipeline.answers.contracts import Brief, Review, Spec
from kaizen_components.pipeline.answers.parse import AnswerRefused, extract_json, validate_answer
from kaizen_components.pipeline.edits.format import CUT

GOOD = {"evidence": [], "verdict": "approve", "reasons": []}
TEXT = json.dumps(GOOD, indent=1)
AROUND = {
    "nothing": TEXT,
    "prose": f"Here is my review: {TEXT} I hope that helps {{sincerely}}.",
    "a fence": f"```json\n{TEXT}\n```",
    "a brace in prose": f"In the set {{ a, b }} we find: {TEXT}",
    "a brace that is never closed": f"f-string {{ {TEXT}",
    "another object before it": f'The schema was {{"type": "object"}}. {TEXT}',
    "thoughts": f'<think>{{"verdict": "reject"}} maybe</think>{TEXT}',
    "CRLF": TEXT.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", AROUND.values(), ids=AROUND)
def test_text_around_answer_object_is_ignored(text):
    assert validate_answer(text, Review).model_dump() == GOOD


def test_braces_inside_json_strings_are_ignored():
    assert extract_json('x {"a": "}{ \\" }", "b": {"c": "\\\\"}} y') == {
        "a": '}{ " }',
        "b": {"c": "\\"},
    }


MALFORMED = {
    "": "no JSON object",
    "I approve.": "no JSON object",
    "[1, 2]": "no JSON object",
    '{"verdict": "approve",}': "at line 1",
    "{'verdict': 'approve'}": "at line 1",
    '{"verdict": NaN}': "NaN is not JSON",
    '{"verdict": "approve"': "never closed",
    '{"verdict": "maybe"}': "verdict: Input should be 'approve' or 'reject'",
    '{"verdict": "reject"}': "a rejection names at least one reason",
    '{"verdict": "approve", "code": "x"}': "code: Extra inputs are not permitted",
    '{"a":' * 30_000 + "1" + "}" * 30_000: "too many are nested",
    TEXT + "\n" + CUT: "cut off",
    "x" * 1_000_001: "characters",
}


@pytest.mark.parametrize("text, said", MALFORMED.items(), ids=range(len(MALFORMED)))
def test_invalid_answer_names_its_fault(text, said):
    with pytest.raises(AnswerRefused) as caught:
        validate_answer(text, Review)

    assert said in str(caught.value) and len(str(caught.value)) < 2_000
    assert "Traceback" not in str(caught.value) and "pydantic" not in str(caught.value)


def test_long_list_of_answer_faults_is_cut():
    text = json.dumps({"title": "x", "criteria": [{"id": f"X{n}", "text": "y"} for n in range(12)]})

    with pytest.raises(AnswerRefused) as caught:
        validate_answer(text, Spec)

    assert len(caught.value.faults) == 9 and caught.value.faults[-1] == "and 17 more"
    assert caught.value.faults[0].startswith("title: ")


@settings(max_examples=200, deadline=None)
@given(st.text(), st.text().filter(lambda text: "{" not in text))
def test_any_text_around_answer_is_parsed_or_refused(before, after):
    try:
        found = validate_answer(f"{before}{TEXT}{after}", Review)
    except AnswerRefused:
        assert "{" in before
    else:
        assert found.model_dump() == GOOD


def test_text_full_of_braces_is_refused_quickly():
    for text in ("{" * 500_000, '{"' * 200_000, "{}" * 100_000):
        with pytest.raises(AnswerRefused):
            validate_answer(text, Brief)
