"""Q3, Q4 and Q7: eval cases, their runs, and how often they pass."""

import os

import pytest

from kaizen_components.errors import NotFound, Refused, Usage
from kaizen_components.limits import EVAL_CATEGORY, EVAL_OUTCOME


@pytest.fixture
def case(kaizen):
    """`case(…)`: the id of a new eval case."""

    def add(**more):
        return kaizen(
            "Q3",
            **{"title": "Refuses a key", "summary": "W1 exits 1.", "category": "security", **more},
        )["id"]

    return add


def record(kaizen, id="@last"):
    return kaizen("Q7", id=id)["record"]


@pytest.mark.parametrize("category", EVAL_CATEGORY)
def test_case_accepts_every_category(kaizen, case, category):
    case(category=category.upper())

    assert record(kaizen)["category"] == category


def test_case_stores_command_payload_and_task(kaizen, case):
    task = kaizen("W1", title="T", summary="S")["id"]
    command = "pytest -k 'a key' --x=\"50%\""
    case(
        command=command,
        payload_json={"b": [1, None], "a": "ü"},
        task_id="@last",
        scope="docs",
        body="Long.",
    )
    kept = record(kaizen)

    assert kept["command"] == "pytest -k 'a key' --x=50%"  # the same words, in one spelling
    assert (kept["payload"], kept["task_id"]) == ({"a": "ü", "b": [1, None]}, task)
    assert (kept["scope"], kept["body"]) == ("docs", "Long.")


@pytest.mark.parametrize("command", ['pytest "open', "it's", "''", '"" x', "trailing \\"])
def test_case_command_with_open_quote_is_usage_error(case, command):
    with pytest.raises(Usage, match="--command"):
        case(command=command)


@pytest.mark.parametrize(
    "given", [{"title": " "}, {"category": "other"}, {"payload_json": "{"}, {"command": "a\nb"}]
)
def test_case_or_run_with_bad_value_is_usage_error(case, given):
    with pytest.raises(Usage):
        case(**given)


def test_fixture_is_stored_relative_to_project(kaizen, case, root):
    (root / "evals" / "deep one").mkdir(parents=True)
    (root / "evals" / "deep one" / "a.json").write_text("{}")

    for given in (
        "evals/deep one/a.json",
        str(root / "evals" / "deep one" / "a.json"),
        "evals/../evals/deep one/a.json",
    ):
        case(fixture=given)
        assert record(kaizen)["fixture"] == "evals/deep one/a.json"
    case(fixture="evals")
    assert record(kaizen)["fixture"] == "evals", "a folder can be a fixture too"


def test_missing_or_outside_fixture_is_refused(kaizen, case, root, tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    os.symlink(tmp_path, root / "out")

    with pytest.raises(NotFound, match=r"nope\.json"):
        case(fixture="nope.json")
    for outside in ("../secret.json", str(tmp_path / "secret.json"), "out/secret.json", "/"):
        with pytest.raises(Refused, match="outside"):
            case(fixture=outside)
    with pytest.raises(NotFound):
        kaizen("Q7", id="case_")


def test_fixture_with_non_utf8_name_is_refused(cli, root):
    name = os.fsencode(root) + b"/broken-\xff"
    try:
        open(name, "wb").close()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    words = ["--title", "T", "--summary", "S", "--category", "proof"]
    answer = cli("Q3", *words, "--fixture", os.fsdecode(name))

    assert answer.exit_code == 1 and "UTF-8" in answer.err


def test_eval_run_belongs_to_its_case(kaizen, case):
    id = case()
    added = kaizen(
        "Q4",
        case_id=id[:-1],
        outcome="failed",
        score=0.25,
        summary="Missed.",
        duration_ms=7,
        payload_json=[1],
    )
    shown = kaizen("Q7", id=added["id"])

    assert (added["case_id"], added["outcome"], added["score"]) == (id, "failed", 0.25)
    assert (shown["record"]["duration_ms"], shown["record"]["payload"]) == (7, [1])
    assert (shown["case"]["id"], shown["case"]["title"]) == (id, "Refuses a key")
    assert shown["kind"] == "eval_run" and shown["log"]["command"] == "Q4"


@pytest.mark.parametrize("score", [-0.01, 1.01, "nan", "inf", "half", True, 10**400])
def test_run_score_outside_0_to_1_is_refused(kaizen, case, score):
    with pytest.raises(Usage, match="--score"):
        kaizen("Q4", case_id=case(), outcome="passed", score=score)


@pytest.mark.parametrize(
    "given", [{"case_id": "case_nope"}, {"proof_id": "proof_nope"}, {"proof_id": "@last"}]
)
def test_run_with_unknown_case_or_proof_is_refused(kaizen, case, given):
    id = case()
    with pytest.raises(NotFound):
        kaizen("Q4", **{"case_id": id, "outcome": "passed", **given})
    with pytest.raises(Usage):
        kaizen("Q4", case_id=id, outcome="fine")

    assert kaizen("Q7", id=id)["runs"] == []


def test_case_rate_counts_only_passed_and_failed_runs(kaizen, case):
    id, other = case(), case()
    kaizen("Q4", case_id=other, outcome="failed")
    assert kaizen("Q7", id=id)["results"]["pass_rate"] is None
    runs = [
        kaizen("Q4", case_id=id, outcome=outcome)["id"] for outcome in (*EVAL_OUTCOME, "passed")
    ]
    shown = kaizen("Q7", id=id)

    assert [row["id"] for row in shown["runs"]] == runs[::-1], "the newest first"
    assert shown["results"] == {
        "runs": 5,
        "passed": 2,
        "failed": 1,
        "error": 1,
        "skipped": 1,
        "pass_rate": 0.5,
    }


def test_case_with_only_skipped_runs_has_no_rate(kaizen, case):
    id = case()
    kaizen("Q4", case_id=id, outcome="skipped")

    assert kaizen("Q7", id=id)["results"]["pass_rate"] is None


def test_purging_test_runs_keeps_log_intact(kaizen, case):
    real, trial = case(), case(test=True)
    kaizen("Q4", case_id=trial, outcome="passed")
    kaizen("Q4", case_id=real, outcome="passed", test=True)
    kaizen("K7")

    assert kaizen("Q7", id=real)["runs"] == []
    with pytest.raises(NotFound):
        kaizen("Q7", id=trial)
    assert kaizen("K8")["verified"]


def test_eval_run_with_same_op_id_is_recorded_once(kaizen, case):
    id = case()
    for _ in range(2):
        kaizen("Q4", case_id=id, outcome="passed", score=1, op_id="run-1")

    assert kaizen("Q7", id=id)["results"]["runs"] == 1


def test_command_line_shows_case_with_its_runs(cli):
    cli("Q3", "--title", "T", "--summary", "S", "--category", "proof", "--command", "pytest -q")
    cli("Q4", "--case-id", "@last", "--outcome", "passed", "--score", "1")
    cli("Q4", "--case-id", "@last", "--outcome", "error")
    shown = cli("Q7", "--id", "case_").out

    assert "pass rate" in shown and "0.5" in shown and "pytest -q" in shown
    assert (
        cli(
            "Q3", "--title", "T", "--summary", "S", "--category", "proof", "--command", '"'
        ).exit_code
        == 2
    )
    assert cli("Q4", "--case-id", "@last", "--outcome", "passed", "--score", "2").exit_code == 2
    assert cli("Q4", "--case-id", "case_9", "--outcome", "passed").exit_code == 3
