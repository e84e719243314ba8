"""R5 (eval report) against numbers computed by hand."""

import pytest


@pytest.fixture
def case(kaizen):
    """`case("passed failed:0.5", title=…)`: the id of a new case with these runs and scores."""

    def add(runs="", title="A case", category="behavior", **more):
        case_id = kaizen("Q3", title=title, summary="S", category=category, **more)["id"]
        for run in runs.split():
            outcome, _, score = run.partition(":")
            kaizen(
                "Q4", case_id=case_id, outcome=outcome, **({"score": float(score)} if score else {})
            )
        return case_id

    return add


def read_report(kaizen, **more):
    return kaizen("R5", out="-", format="md", **more)["data"]


def read_case(kaizen, **more):
    (row,) = read_report(kaizen, **more)["cases"]
    return row


def test_pass_rate_ignores_skipped_runs(kaizen, case):
    case("passed skipped failed passed error")
    row = read_case(kaizen)

    assert (row["runs"], row["decided"], row["passed"], row["pass_rate"]) == (5, 4, 2, 0.5)
    assert row["last_outcome"] == "error"


def test_eval_trend_compares_newest_with_oldest_third(kaizen, case):
    case("failed:0.1 failed:0.2 passed:0.5 passed:0.5 passed:0.8 passed:1.0")
    row = read_case(kaizen)

    assert row["pass_trend"] == 1.0
    assert row["score_trend"] == pytest.approx(0.75)  # (0.8 + 1.0) / 2 - (0.1 + 0.2) / 2
    assert row["mean_score"] == pytest.approx(0.5167)


def test_case_with_two_runs_has_no_trend(kaizen, case):
    case("failed:0.1 passed:0.9")

    assert read_case(kaizen)["pass_trend"] is None and read_case(kaizen)["score_trend"] is None


def test_score_trend_of_case_equals_trend_of_t4(kaizen, case):
    id = case("passed:0.9 passed:0.2 failed:0.4 passed:0.7 failed:0.1 passed:0.3 passed:0.8")
    for value in (0.9, 0.2, 0.4, 0.7, 0.1, 0.3, 0.8):
        kaizen("T2", name="same", value=value, about=id)

    assert read_case(kaizen)["score_trend"] == pytest.approx(
        kaizen("T4", name="same")["aggregates"][0]["trend"]
    )


@pytest.mark.parametrize(
    "runs, flaky",
    [
        ("passed passed", False),
        ("passed failed failed", False),
        ("failed passed passed", False),
        ("passed failed passed", True),
        ("passed skipped passed", False),
        ("failed skipped passed error", True),
    ],
)
def test_case_that_changed_twice_is_flaky(kaizen, case, runs, flaky):
    case(runs)

    assert read_case(kaizen)["flaky"] is flaky


def test_failing_cases_come_before_flaky_ones(kaizen, case):
    good, never = case("passed"), case()
    flaky, failing = case("passed failed passed"), case("passed failed")
    data = read_report(kaizen)

    assert [row["id"] for row in data["cases"]] == [failing, flaky, good]
    assert [row["id"] for row in data["never_run"]] == [never]


def test_categories_count_cases_runs_and_outcomes(kaizen, case):
    case("passed skipped", category="security")
    case("failed", category="security")
    case(category="proof")
    security, proof = sorted(
        read_report(kaizen)["categories"], key=lambda row: row["category"], reverse=True
    )

    assert (security["cases"], security["runs"], security["pass_rate"], security["failing"]) == (
        2,
        3,
        0.5,
        1,
    )
    assert (security["passed"], security["failed"], security["error"], security["skipped"]) == (
        1,
        1,
        0,
        1,
    )
    assert (proof["cases"], proof["runs"], proof["pass_rate"], proof["never_run"]) == (
        1,
        0,
        None,
        1,
    )


def test_eval_report_filters_runs_by_until_cases_by_query(kaizen, case):
    id = case("passed", title="Refuses a key")
    case("failed", title="Other")

    assert [row["id"] for row in read_report(kaizen, query="key")["cases"]] == [id]
    assert [
        row["id"] for row in read_report(kaizen, query="key", until="2020-01-01")["never_run"]
    ] == [id]
    assert read_report(kaizen, category="proof")["categories"] == []


def test_case_with_only_skipped_runs_has_no_rate(kaizen, case):
    case("skipped")
    report = kaizen("R5", out="-", format="html")

    assert report["data"]["cases"][0]["pass_rate"] is None


def test_pass_rate_over_time_includes_empty_days(kaizen, case, monkeypatch):
    from kaizen_components.records import ids

    for day, outcome in (("10", "failed"), ("11", "passed"), ("13", "passed")):
        moment = f"2026-11-{day}T12:00:00.000Z"
        monkeypatch.setattr(ids, "now_ms", lambda moment=moment: parse_ms(moment))
        case(outcome)
    report = kaizen("R5", out="-", format="html", timezone="UTC")

    assert [
        (row["label"], row["passed"], row["decided"])
        for row in report["data"]["over_time"]["periods"]
    ] == [
        ("2026-11-10", 0, 1),
        ("2026-11-11", 1, 1),
        ("2026-11-12", 0, 0),
        ("2026-11-13", 1, 1),
    ]
    assert "It began at 0 % and ended at 100 %. Skipped runs do not count." in report["document"]


def parse_ms(at):
    from datetime import datetime

    return round(datetime.fromisoformat(at).timestamp() * 1000)
