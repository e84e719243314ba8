"""Check that an analysis must have every result in a cluster and change none."""

import json

import pytest

from kaizen_components.pipeline.answers.parse import AnswerRefused
from kaizen_components.pipeline.codemode.analysis import check_analysis

from .conftest import finding_texts


def answer(explored, **fields):
    cluster = {"name": "all of it", "ids": [row["id"] for row in explored], "notes": "joins words"}
    return json.dumps({"clusters": [cluster], "more": False, "questions": [], **fields})


def test_complete_analysis_passes(results):
    verdict = check_analysis(answer(results), results, 2)

    assert (verdict.reason, verdict.says) == ("pass", "1 cluster of behaviour: all of it")


def test_analysis_may_request_rounds_until_limit(results):
    text = answer(results, more=True, questions=["What of tabs?"])

    assert check_analysis(text, results, 1).reason == "more"
    assert check_analysis(text, results, 0).reason == "pass"


SOME = {"name": "some", "notes": "joins"}


@pytest.mark.parametrize(
    "fields, says",
    [
        ({"more": True}, "no question says what to find out"),
        ({"clusters": [{**SOME, "ids": ["S1"]}]}, "In no cluster: S2"),
        ({"clusters": [{**SOME, "ids": ["S99"]}]}, "no snippet S99; there are S1 to S12"),
        (
            {"results": [{"id": "S2", "output": "'n-a'"}]},
            "S2: output is \"''\" on record, but the answer says \"'n-a'\"",
        ),
        ({"results": [{"id": "S99"}]}, "`results` has S99, but there is no such snippet"),
    ],
)
def test_analysis_with_fault_is_refused(results, fields, says):
    verdict = check_analysis(answer(results, **fields), results, 1)

    assert verdict.reason == "check"
    assert says in finding_texts(verdict)


def test_analysis_may_repeat_unchanged_results(results):
    text = answer(results, results=[{"id": "S1", "output": "'hello-world'"}])

    assert check_analysis(text, results, 0).reason == "pass"


@pytest.mark.parametrize("text", ["", "{}", '{"clusters": [], "more": false}'])
def test_invalid_analysis_is_malformed(results, text):
    with pytest.raises(AnswerRefused):
        check_analysis(text, results, 0)
