"""Family I: reviews, predictions, corrections and outcomes."""

import subprocess
import sys

import pytest

from kaizen_components import limits
from kaizen_components.errors import Conflict, NotFound, Refused, Usage
from kaizen_components.records import ids
from kaizen_components.records.quality import irl

from ..conftest import LAUNCHER

DAY_MS = 86_400_000


@pytest.fixture
def review(kaizen):
    """`review("title", …)`: the id of a new review."""

    def create(title="A release", **more):
        return kaizen("I1", title=title, summary="Did it come true?", **more)["id"]

    return create


@pytest.fixture
def prediction(kaizen, review):
    """`prediction(0.8, …)`: the id of a new prediction, in a review of its own unless told."""

    def add(probability=0.8, deadline="+7d", irl_id=None, summary="No rollback.", **more):
        irl_id = irl_id or review()
        given = {
            "irl_id": irl_id,
            "summary": summary,
            "probability": probability,
            "deadline": deadline,
            **more,
        }
        return kaizen("I2", **given)["id"]

    return add


@pytest.fixture
def later(monkeypatch):
    """`later(8)`: it is eight days later."""
    real = ids.now_ms

    def move(days):
        monkeypatch.setattr(ids, "now_ms", lambda: real() + int(days * DAY_MS))

    return move


# I1


def test_review_is_logged_and_may_belong_to_task(kaizen):
    task = kaizen("W1", title="T", summary="S")["id"]
    made = kaizen(
        "I1",
        title="100 % \"quoted\" and 'so'",
        summary="S",
        body="B",
        task_id="@last",
        scope="docs",
    )

    assert (made["kind"], made["task_id"], made["title"]) == (
        "irl",
        task,
        "100 % \"quoted\" and 'so'",
    )
    assert kaizen("I5", id=made["id"])["review"] == made["title"]
    with pytest.raises(NotFound):
        kaizen("I1", title="T", summary="S", task_id="task_1999")


@pytest.mark.parametrize(
    "given",
    [
        {"title": " "},
        {"title": "x" * 201},
        {"summary": "\0"},
        {"summary": "\udcff"},
        {"body": "x" * 1_000_001},
    ],
)
def test_invalid_review_is_refused(kaizen, given):
    with pytest.raises(Usage):
        kaizen("I1", **{"title": "T", "summary": "S", **given})


# I2


def test_prediction_stores_probability_and_deadline(kaizen, review):
    id = review()
    made = kaizen(
        "I2",
        irl_id="@last",
        summary="It holds.",
        probability="0.8",
        deadline="2999-01-02T03:04Z",
        body="B",
    )

    assert (made["irl_id"], made["probability"], made["deadline"]) == (
        id,
        0.8,
        "2999-01-02T03:04:00.000Z",
    )
    waiting = kaizen("I5", id=id)["open"]
    assert [
        (row["id"], row["summary"], row["probability"], row["deadline"]) for row in waiting
    ] == [(made["id"], "It holds.", 0.8, "2999-01-02T03:04:00.000Z")]


@pytest.mark.parametrize(
    "probability", [0, 1, "0", "1", 0.5, "1e-3", "-0.0", "0.30000000000000004"]
)
def test_probability_between_0_and_1_is_accepted(kaizen, prediction, probability):
    id = prediction(probability)

    assert kaizen("I5")["open"][0]["probability"] == abs(float(probability))
    assert kaizen("I4", prediction_id=id, outcome="happened", summary="S")["probability"] == abs(
        float(probability)
    )
    assert kaizen("K8")["status"] == "OK"


@pytest.mark.parametrize(
    "probability", ["nan", "inf", "-inf", -0.01, 1.01, "", "half", "80%", True, None, [0.5, 0.6]]
)
def test_invalid_probability_is_refused(kaizen, prediction, probability):
    with pytest.raises(Usage):
        prediction(probability)

    assert kaizen("I5")["predictions"] == 0


@pytest.mark.parametrize("deadline", ["7d", "2020-01-01", "2020-01-01T00:00Z", "+0d", "0d"])
def test_deadline_that_has_passed_is_refused(kaizen, prediction, deadline):
    with pytest.raises(Refused, match="has passed") as refused:
        prediction(deadline=deadline)

    assert "+7d" in refused.value.next
    assert kaizen("I5")["predictions"] == 0


@pytest.mark.parametrize(
    "deadline", ["soon", "+7", "+d", "2026-13-01", "+99999999d", "", 7, {}, None]
)
def test_invalid_deadline_is_refused(prediction, deadline):
    with pytest.raises(Usage, match="deadline"):
        prediction(deadline=deadline)


def test_relative_deadline_counts_from_now(kaizen, review, monkeypatch):
    review()
    monkeypatch.setattr(ids, "now_ms", lambda: 1_794_812_400_000)
    for deadline, meant in (
        ("+7d", "2026-11-23T07:00:00.000Z"),
        ("+12h", "2026-11-16T19:00:00.000Z"),
    ):
        made = kaizen("I2", irl_id="@last", summary="S", probability=0.5, deadline=deadline)
        assert made["deadline"] == meant


def test_op_id_matches_repeated_call_with_relative_deadline(kaizen, review, later):
    id = review()
    call = {"irl_id": id, "summary": "S", "probability": 0.5, "op_id": "once"}
    first = kaizen("I2", **call, deadline="+7d")
    later(1)
    again = kaizen("I2", **call, deadline="+7d")

    assert (again["id"], again["deadline"], again["replayed"]) == (
        first["id"],
        first["deadline"],
        True,
    )
    assert kaizen("I5")["predictions"] == 1
    for other in ("+8d", "2999-01-01"):
        with pytest.raises(Conflict, match="op-id"):
            kaizen("I2", **call, deadline=other)


def test_op_id_matches_every_spelling_of_deadline(kaizen, review):
    call = {"irl_id": review(), "summary": "S", "probability": 0.5, "op_id": "once"}
    first = kaizen("I2", **call, deadline="2999-01-01T10:00Z")

    assert kaizen("I2", **call, deadline="2999-01-01T11:00+01:00")["id"] == first["id"]


def test_prediction_without_review_is_refused(kaizen, review):
    review()
    for ref in ("irl_1999", "%", "pred_1"):
        with pytest.raises(NotFound):
            kaizen("I2", irl_id=ref, summary="S", probability=0.5, deadline="+7d")


def test_review_without_database_is_not_found(cli):
    prediction = ("--summary", "S", "--probability", "0.5", "--deadline", "+7d")
    assert cli("I2", "--irl-id", "@last", *prediction).exit_code == 3
    assert (
        cli("I4", "--prediction-id", "@last", "--outcome", "void", "--summary", "S").exit_code == 3
    )
    assert cli("I5").exit_code == 3


# I3


def test_correction_may_name_prediction_of_its_review(kaizen, prediction, review):
    mine = review()
    predicted = prediction(irl_id=mine)
    plain = kaizen("I3", irl_id="@last", summary="The changelog named the wrong version.")
    about = kaizen(
        "I3", irl_id=mine, prediction_id="@last", summary="It was not even released.", body="B"
    )

    assert (plain["irl_id"], plain["prediction_id"]) == (mine, None)
    assert (about["irl_id"], about["prediction_id"]) == (mine, predicted)
    assert kaizen("I5", id=mine)["corrections"] == 2


def test_correction_refuses_prediction_of_another_review(kaizen, prediction, review):
    theirs = prediction()
    mine = review()
    with pytest.raises(Refused, match="does not belong"):
        kaizen("I3", irl_id=mine, prediction_id=theirs, summary="S")
    with pytest.raises(NotFound):
        kaizen("I3", irl_id=mine, prediction_id="pred_1999", summary="S")

    assert kaizen("I5")["corrections"] == 0


# I4


@pytest.mark.parametrize("outcome", limits.PREDICTION_OUTCOME)
def test_outcome_closes_prediction(kaizen, prediction, outcome):
    id = prediction(0.7)
    closed = kaizen("I4", prediction_id="@last", outcome=outcome, summary="Seen.", body="B")

    assert (closed["prediction_id"], closed["outcome"], closed["probability"]) == (id, outcome, 0.7)
    assert kaizen("I5")["open"] == []


def test_second_outcome_error_names_first(kaizen, prediction):
    id = prediction()
    first = kaizen("I4", prediction_id=id, outcome="happened", summary="Seen.")
    with pytest.raises(Conflict, match="already closed") as refused:
        kaizen("I4", prediction_id=id, outcome="void", summary="Not seen.")

    assert first["id"] in refused.value.why and "happened" in refused.value.why
    assert (kaizen("I5")["happened"], kaizen("I5")["void"]) == (1, 0)


def test_database_constraint_refuses_second_outcome(kaizen, prediction, monkeypatch):
    id = prediction()
    kaizen("I4", prediction_id=id, outcome="happened", summary="Seen.")
    monkeypatch.setattr(irl, "require_open_prediction", lambda prediction: None)
    with pytest.raises(Conflict) as refused:
        kaizen("I4", prediction_id=id, outcome="void", summary="Not seen.")

    assert "UNIQUE constraint failed: irl_outcome.prediction_id" in refused.value.why
    assert kaizen("I5")["void"] == 0


def test_only_one_of_two_concurrent_outcomes_is_stored(prediction, root):
    id = prediction()
    command = [
        sys.executable,
        str(LAUNCHER),
        "I4",
        "--prediction-id",
        id,
        "--summary",
        "Seen.",
        "--outcome",
    ]
    env = {"KAIZEN_REPO_ROOT": str(root), "PATH": "/usr/bin:/bin"}
    both = [
        subprocess.Popen(
            [*command, outcome], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for outcome in ("happened", "void")
    ]

    assert sorted(process.wait(60) for process in both) == [0, 4]


@pytest.mark.parametrize("outcome", ["maybe", "", "true", None])
def test_unknown_outcome_is_refused(kaizen, prediction, outcome):
    with pytest.raises(Usage):
        kaizen("I4", prediction_id=prediction(), outcome=outcome, summary="S")


def test_same_op_id_closes_prediction_once(kaizen, prediction):
    call = {"prediction_id": prediction(), "outcome": "void", "summary": "S", "op_id": "once"}

    assert kaizen("I4", **call)["id"] == kaizen("I4", **call)["id"]


# Trials and the record


def test_purge_removes_all_records_of_test_review(kaizen, prediction, review):
    trial = review(test=True)
    predicted = prediction(irl_id=trial)
    kaizen("I3", irl_id=trial, summary="S")
    kaizen("I4", prediction_id=predicted, outcome="happened", summary="S")

    assert kaizen("K7")["removed"] == 4
    with pytest.raises(NotFound):
        kaizen("I5", id=trial)
    assert kaizen("K8")["status"] == "OK"


def test_purge_removes_test_outcome(kaizen, prediction):
    id = prediction()
    kaizen("I4", prediction_id=id, outcome="void", summary="S", test=True)
    kaizen("K7")

    assert kaizen("I4", prediction_id=id, outcome="happened", summary="S")["outcome"] == "happened"


def test_review_can_be_recorded_in_one_batch(kaizen, root):
    (root / "batch.jsonl").write_text(
        '{"command": "I1", "args": {"title": "T", "summary": "S"}}\n'
        '{"command": "I2", "args": {"irl_id": "$1.id", "summary": "S", "probability": 0.25, "deadline": "+7d"}}\n'
        '{"command": "I3", "args": {"irl_id": "$1.id", "prediction_id": "$2.id", "summary": "S"}}\n'
        '{"command": "I4", "args": {"prediction_id": "$2.id", "outcome": "did-not-happen", "summary": "S"}}\n'
    )
    kaizen("K5", file=str(root / "batch.jsonl"))

    assert kaizen("I5")["brier"] == 0.0625
    assert kaizen("K8")["status"] == "OK"


def test_prediction_past_its_deadline_is_overdue(kaizen, prediction, later):
    due, not_due = prediction(deadline="+1d"), prediction(deadline="+30d")
    later(2)
    report = kaizen("I5")

    assert [row["id"] for row in report["overdue"]] == [due]
    assert [row["id"] for row in report["open"]] == [not_due]
    assert (report["overdue_count"], report["not_due_yet"]) == (1, 1)
    assert kaizen("K8")["status"] == "OK"
