"""What an agent makes of the results: every one is in a cluster, and none is told differently."""

import json

import pytest

from kaizen_components.pipeline.answers.parse import AnswerRefused
from kaizen_components.pipeline.codemode.analysis import check_analysis


def said(explored, **more):
    ids = [one["id"] for one in explored]
    cluster = {"name": "all of it", "ids": ids, "notes": "joins words"}
    return json.dumps({"clusters": [cluster], "more": False, "questions": [], **more})


def test_an_analysis_of_everything_passes(results):
    verdict = check_analysis(said(results), results, 2)

    assert (verdict.reason, verdict.says) == ("pass", "1 kind of behaviour: all of it")


def test_more_leads_to_another_round_as_long_as_there_are_any(results):
    text = said(results, more=True, questions=["What of tabs?"])

    assert check_analysis(text, results, 1).reason == "more"
    assert check_analysis(text, results, 0).reason == "pass"


def test_more_without_a_question_is_refused(results):
    assert check_analysis(said(results, more=True), results, 1).findings[0].rule == "more"


@pytest.mark.parametrize(
    ("ids", "says"),
    [(["S1"], "In no cluster: S2"), (["S99"], "S99 is no snippet; there are S1 to S12")],
)
def test_ids_are_known_and_all_there(results, ids, says):
    verdict = check_analysis(
        said(results, clusters=[{"name": "some", "ids": ids, "notes": "joins"}]), results, 0
    )

    assert verdict.reason == "check"
    assert says in " ".join(one.text for one in verdict.findings)


def test_results_may_be_repeated_but_not_changed(results):
    assert (
        check_analysis(
            said(results, results=[{"id": "S1", "output": "'hello-world'"}]), results, 0
        ).reason
        == "pass"
    )

    changed = check_analysis(
        said(results, results=[{"id": "S2", "output": "'n-a'"}, {"id": "S99"}]), results, 0
    )
    assert "S2: output was \"''\", and is told as \"'n-a'\"" in changed.findings[0].text
    assert changed.findings[1].rule == "unknown"


@pytest.mark.parametrize("text", ["", "{}", '{"clusters": [], "more": false}', '{"clusters": 3}'])
def test_what_is_no_analysis_is_refused(results, text):
    with pytest.raises(AnswerRefused):
        check_analysis(text, results, 0)
