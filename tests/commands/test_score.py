"""Scores: T2 and T4, as their users meet them."""

import json
import statistics

import pytest

from kaizen_components.errors import NotFound, Usage


@pytest.fixture
def score(kaizen):
    """`score(0.5)`: the id of a new score named coverage."""

    def add(value, name="coverage", **more):
        return kaizen("T2", name=name, value=value, **more)["id"]

    return add


def found(kaizen, **filters):
    return [row["id"] for row in kaizen("T4", **filters)["records"]]


def aggregate(kaizen, **filters):
    [group] = kaizen("T4", **filters)["aggregates"]
    return group


# T2


def test_score_stores_subject_and_source(kaizen):
    task = kaizen("W1", title="T", summary="S")["id"]
    span = kaizen("T1", name="run")
    added = kaizen(
        "T2", name="precision", value=0.75, about=task, trace_id="@last", task_id="@last", source="human", unit="ratio",
        summary="By hand.",
    )  # fmt: skip
    [kept] = kaizen("T4")["records"]

    wanted = {
        "id": added["id"], "name": "precision", "value": 0.75, "about_id": task, "trace_id": span["trace_id"],
        "task_id": task, "source": "human", "unit": "ratio", "summary": "By hand.", "test": False,
    }  # fmt: skip
    assert {name: kept[name] for name in wanted} == wanted
    assert kaizen("K8")["verified"] is True


@pytest.mark.parametrize(
    "value", ["nan", "inf", "-inf", "1e999", "", "half", True, None, float("nan"), [1], 2e300]
)
def test_non_finite_value_is_usage_error(kaizen, value):
    with pytest.raises(Usage, match="--value"):
        kaizen("T2", name="x", value=value)
    assert not kaizen.store.exists()


@pytest.mark.parametrize("value", [0, -1, 1e300, -1e300, 5e-324, 0.1, 2**53])
def test_finite_score_is_stored_exactly(kaizen, score, value):
    score(value)

    assert kaizen("T4")["records"][0]["value"] == value
    assert kaizen("K8")["verified"] is True


def test_score_can_be_about_any_record(kaizen, score):
    task = kaizen("W1", title="T", summary="S")["id"]
    plan = kaizen("W3", task_id=task, title="P", summary="S")["id"]
    span = kaizen("T1", name="run")["id"]
    of_span = score(1, about=span[:-2])

    assert found(kaizen, about=span) == [of_span]
    for id in (task, plan, of_span):
        added = score(1, about=id)
        assert found(kaizen, about=id) == [added]


def test_score_of_unknown_record_is_refused(kaizen, score):
    kaizen("T1", name="run", trace_id="mine")
    for wrong in (
        {"about": "task_2020"}, {"about": "nothing"}, {"trace_id": "other"}, {"trace_id": "span_2020"},
        {"task_id": "task_2020"}, {"about": "%"},
    ):  # fmt: skip
        with pytest.raises(NotFound):
            score(1, **wrong)
    assert kaizen("K8")["entries"] == 1
    assert kaizen("T2", name="x", value=1, trace_id="min")["trace_id"] == "mine"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " "},
        {"name": "x" * 201},
        {"source": "dog"},
        {"unit": "x" * 51},
        {"summary": "x" * 1_000_000},
    ],
)
def test_score_with_bad_text_is_usage_error(kaizen, wrong):
    with pytest.raises(Usage):
        kaizen("T2", **{"name": "x", "value": 1, **wrong})


def test_score_of_test_record_counts_only_with_test(kaizen, score):
    span = kaizen("T1", name="run", test=True)["id"]
    real = score(1)
    tests = [score(9, test=True), score(9, about=span), score(9, trace_id=span)]

    assert found(kaizen) == [real]
    assert aggregate(kaizen)["mean"] == 1
    assert found(kaizen, test=True) == [*reversed(tests), real]
    assert aggregate(kaizen, test=True)["mean"] == 7
    assert kaizen("K7")["removed"] == 4
    assert kaizen("K8")["verified"] is True


def test_same_op_id_records_score_once(kaizen):
    first = kaizen("T2", name="x", value=1, op_id="once")

    assert kaizen("T2", name="x", value=1, op_id="once") == {**first, "replayed": True}
    assert aggregate(kaizen)["count"] == 1


# T4


def test_score_query_filters_by_every_column(kaizen, score):
    task = kaizen("W1", title="T", summary="S")["id"]
    span = kaizen("T1", name="run")["id"]
    by = {
        "name": score(1, name="recall"),
        "about": score(1, about=span),
        "trace_id": score(1, trace_id=span),
        "task_id": score(1, task_id=task),
        "source": score(1, source="model"),
        "query": score(1, summary="Measured on the Cranfield collection."),
    }

    assert found(kaizen, name="recall") == [by["name"]]
    assert found(kaizen, about=span) == [by["about"]]
    assert found(kaizen, trace_id="@last") == [by["trace_id"]]
    assert found(kaizen, task_id=task[:-1]) == [by["task_id"]]
    assert found(kaizen, source="model") == [by["source"]]
    assert found(kaizen, query="cranfield nonsense") == [by["query"]]
    assert found(kaizen, query="+cranfield +nonsense") == []
    assert found(kaizen, query="recall") == [by["name"]]
    assert found(kaizen, query="...") == []
    assert found(kaizen, since="1h") == list(reversed(by.values()))
    assert found(kaizen, until="1h") == found(kaizen, name="recall", source="human") == []
    with pytest.raises(NotFound):
        kaizen("T4", trace_id="unknown")


VALUES = [3.5, -2, 10, 0.25, 7, 7, 1e6, 4, 4.5, 0, -11, 12.75, 6, 6.5]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, len(VALUES)])
@pytest.mark.parametrize("query", [None, "coverage"])
def test_score_aggregates_cover_all_matches_despite_limit(kaizen, score, root, count, query):
    for value in VALUES[:count]:
        score(value, source="human")
    score(1_000_000, name="other")
    values, third = VALUES[:count], count // 3
    answer = (
        kaizen("T4", name="coverage", query=query, limit=2)
        if query
        else kaizen("T4", name="coverage", limit=2)
    )
    [group] = answer["aggregates"]

    assert len(answer["records"]) == min(2, count)
    assert [row["value"] for row in answer["records"]] == values[::-1][:2]
    assert answer["more"] is (count > 2)
    assert answer["matching"] == group["count"] == count
    assert (group["min"], group["max"], group["last"]) == (min(values), max(values), values[-1])
    assert group["mean"] == pytest.approx(statistics.fmean(values), rel=1e-11)
    assert group["median"] == pytest.approx(statistics.median(values), rel=1e-11)
    if count == 1:
        assert group["deviation"] is None
    else:
        assert group["deviation"] == pytest.approx(statistics.stdev(values), rel=1e-11)
    if count < 3:
        assert group["trend"] is None
    else:
        trend = statistics.fmean(values[-third:]) - statistics.fmean(values[:third])
        assert group["trend"] == pytest.approx(trend, rel=1e-11)


def test_score_query_explains_meaning_of_trend(kaizen, score):
    score(1)

    assert "newest third" in kaizen("T4")["meaning"]["trend"]


def test_score_aggregates_separate_names_and_units(kaizen, score):
    for value in (1, 3):
        score(value, name="time", unit="s")
        score(value * 1000, name="time", unit="ms")
        score(value, name="time")
        score(-value, name="Time")
    groups = {
        (row["name"], row["unit"]): (
            row["count"],
            row["mean"],
            row["median"],
            row["last"],
            round(row["deviation"], 3),
        )
        for row in kaizen("T4")["aggregates"]
    }

    assert groups == {
        ("time", "s"): (2, 2, 2, 3, 1.414),
        ("time", "ms"): (2, 2000, 2000, 3000, 1414.214),
        ("time", None): (2, 2, 2, 3, 1.414),
        ("Time", None): (2, -2, -2, -3, 1.414),
    }


def test_largest_scores_have_finite_deviation(kaizen, score):
    for value in (1e300, -1e300, 1e300):
        score(value)
    group = aggregate(kaizen)

    assert group["deviation"] == pytest.approx(2e300 / 3**0.5)
    assert group["trend"] == 0


def test_equal_scores_have_zero_deviation(kaizen, score):
    for _ in range(4):
        score(0.1)

    assert (
        aggregate(kaizen)["deviation"],
        aggregate(kaizen)["mean"],
        aggregate(kaizen)["trend"],
    ) == (0, 0.1, 0)


def test_aggregates_count_thousands_of_scores(kaizen, root):
    lines = [
        {"command": "T2", "args": {"name": "n", "value": n, "summary": "a common word"}} for n in range(3_000)
    ]  # fmt: skip
    (root / "batch.jsonl").write_text("\n".join(map(json.dumps, lines)))
    kaizen("K5", file=str(root / "batch.jsonl"))
    for answer in (kaizen("T4", limit=5), kaizen("T4", limit=5, query="common")):
        [group] = answer["aggregates"]
        assert (group["count"], group["mean"], group["median"], group["trend"]) == (
            3_000,
            1_499.5,
            1_499.5,
            2_000,
        )
        assert [row["value"] for row in answer["records"]] == [2_999, 2_998, 2_997, 2_996, 2_995]


def test_score_query_prints_table_of_aggregates(cli):
    for value in ("0.5", "0.7", "0.9"):
        cli("T2", "--name", "coverage", "--value", value)
    shown = cli("T4", "--name", "coverage").out

    assert "coverage  3" in shown and "0.7" in shown and "0.4" in shown
    assert "3 rows" in shown


def test_score_query_without_scores_succeeds_without_database_fails(cli, kaizen):
    assert cli("T4").exit_code == 3
    kaizen("K1")
    assert kaizen("T4") == {
        "status": "OK", "matching": 0, "meaning": kaizen("T4")["meaning"], "aggregates": [], "records": [], "count": 0,
        "more": False,
    }  # fmt: skip
