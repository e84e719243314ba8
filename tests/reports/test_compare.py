"""P8: two sides of runs on the same requests, with how sure the numbers are."""

import json

import pytest

from kaizen_components.errors import NotFound, Usage
from kaizen_components.reports.interval import of_mean, of_share

from ..pipeline.factory import GOOD, QUICK, Model, environment, server, target

REJECT = json.dumps({"verdict": "reject", "reasons": [{"criterion": "C1", "text": "No."}]})


@pytest.fixture
def run(kaizen, tmp_path, monkeypatch):
    """`run(model, name)`: a run of the factory by the model of that name."""
    repo = target(tmp_path / "targetapp", QUICK)

    def made(model, name="small", request="add a /health endpoint returning status ok"):
        with server(model) as serving:
            for key, value in {**environment(serving.url), "KAIZEN_LLM_MODEL": name}.items():
                monkeypatch.setenv(key, value)
            monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")
            return kaizen("P1", request=request, repo=str(repo))

    return made


def answers(name, **given):
    from ..model_server import Answer

    return Model(**{
        step: [Answer(text, model=name) for text in given.get(step, texts)] for step, texts in GOOD.items()
    })  # fmt: skip


def test_two_models_are_compared_on_the_requests_that_both_had(kaizen, run):
    run(answers("small", review=[REJECT]), "small")
    run(answers("small", build=["nothing", GOOD["build"][0]]), "small")
    run(answers("large"), "large")
    run(answers("large"), "large")
    run(answers("large"), "large", request="add a /health route that says status ok")
    found = kaizen("P8", left="model=small", right="model=large")

    assert (found["left"]["runs"], found["left"]["accepted"], found["right"]["accepted"]) == (2, 1, 2)
    assert found["left"]["build_attempts"]["mean"] == 1.5
    assert found["left_out"] == {"left": 0, "right": 1}
    assert found["left"]["accepted_interval"][0] < 0.5 < found["left"]["accepted_interval"][1]
    lines = found["text"].splitlines()
    assert lines[0] == "1 request that both sides had: 2 runs against 2."
    assert any(line.startswith("accepted") and "1 of 2 (" in line and "2 of 2 (" in line for line in lines)
    assert "rejected, accepted | accepted, accepted" in found["text"]


def test_runs_can_be_named_by_their_ids_and_the_page_is_the_same_when_made_again(kaizen, run):
    one, two = run(Model())["id"], run(Model())["id"]
    kaizen("P6", id=one)
    found = kaizen("P8", left=one, right=two)
    assert [(found[side]["replayed_same"], found[side]["replayed"]) for side in ("left", "right")] == [(1, 1), (0, 0)]
    first = kaizen("P8", left=one, right=two, format="html", timezone="UTC", out="-")["document"]
    again = kaizen("P8", left=one, right=two, format="html", timezone="UTC", out="-")["document"]

    assert first == again
    assert "Request by request" in first
    assert kaizen("P8", left=one, right=two, format="md", timezone="UTC", out="-")["document"].startswith("# run\\_")


@pytest.mark.parametrize("left, kind", [("model=nobody", NotFound), ("colour=red", Usage), ("run_1999", NotFound)])
def test_a_side_that_cannot_be_read_or_has_nothing_is_refused(kaizen, run, left, kind):
    run(Model())
    with pytest.raises(kind):
        kaizen("P8", left=left, right="driver=model")


def test_intervals_are_those_of_the_textbooks():
    assert of_share(0, 0) is None
    assert [round(end, 3) for end in of_share(8, 10)] == [0.49, 0.943]
    assert of_share(10, 10)[1] == 1.0
    assert of_mean([5]) is None
    assert [round(end, 2) for end in of_mean([1.0, 2.0, 3.0])] == [-0.48, 4.48]
