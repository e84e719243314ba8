"""R11: records of all kinds that contain some words."""

import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kaizen_components.records.kinds import SEARCHABLE
from kaizen_components.records.search import ranking
from support_scripts.every_kind import record_every_kind

# Categories of visible characters: a query needs at least one.
SEEN = ["L", "N", "P", "S", "Co", "Cn"]


def report(kaizen, query, **more):
    return kaizen("R11", query=query, out="-", format="md", **more)


def best(kaizen, query, **more):
    return [row["id"] for row in report(kaizen, query, **more)["data"]["records"]]


def task(kaizen, title, **more):
    return kaizen("W1", **{"title": title, "summary": "S", **more})["id"]


def test_records_of_every_kind_are_ranked_together(kaizen):
    body = task(kaizen, "Other", body="about the gate")
    gotcha = kaizen("G1", title="The gate", summary="S", body="B")["id"]
    summary = kaizen("Q1", title="Seen", summary="gate")["id"]

    assert best(kaizen, "gate") == [gotcha, summary, body]


def test_rare_words_rank_higher_and_ties_newest_first(kaizen):
    common = [task(kaizen, "The gate") for _ in range(3)]
    rare = task(kaizen, "The valve")

    assert best(kaizen, "gate valve") == [rare, *common[::-1]]


def test_required_word_and_phrase_narrow_hits(kaizen):
    both, _ = task(kaizen, "The write gate"), task(kaizen, "A gate to write")

    assert best(kaizen, '"write gate"') == [both]
    assert best(kaizen, "+absent gate") == []
    assert len(best(kaizen, "+gate absent")) == 2


def test_topic_report_accepts_query_without_its_option(cli):
    cli("W1", "--title", "The write gate", "--summary", "S")
    answer = cli("R11", "write", "gate", "--out", "-", "--format", "md")

    assert answer.exit_code == 0 and "Task: The write gate" in answer.out


def test_every_hit_names_working_command(kaizen, cli, root):
    record_every_kind(kaizen, root)
    words = (
        "title short text seen fine case pattern source name later often long "
        "passed b s n t h two c file do"
    )
    records = report(kaizen, words, limit=500)["data"]["records"]

    assert {row["kind"] for row in records} == set(SEARCHABLE)
    for command in {row["kind"]: row["inspect"] for row in records}.values():
        assert cli(*shlex.split(command)[1:]).exit_code == 0, command


def test_hits_are_counted_by_kind_and_by_month(kaizen):
    for _ in range(3):
        task(kaizen, "The gate")
    kaizen("G1", title="The gate", summary="S", body="B")
    data = report(kaizen, "gate", limit=1)["data"]

    assert {row["kind"]: row["hits"] for row in data["kinds"]} == {"task": 3, "gotcha": 1}
    assert [row["hits"] for row in data["over_time"]["periods"]] == [4]
    assert "The best 1 of 4 records of 2 kinds." in report(kaizen, "gate", limit=1)["document"]


def test_truncated_search_reports_minimum_hits(kaizen, monkeypatch):
    monkeypatch.setattr(ranking, "MATCHES_MAX", 2)
    ids = [task(kaizen, "The gate") for _ in range(4)]
    found_report = report(kaizen, "gate")

    assert (
        "The best 2 of at least 2 records of 1 kind." in found_report["document"]
        and "≥ 2" in found_report["document"]
    )
    assert [row["id"] for row in found_report["data"]["records"]] == ids[:1:-1]


def test_scope_filter_includes_records_of_scoped_tasks(kaizen):
    there = task(kaizen, "The gate", scope="engine")
    proof = kaizen("Q1", title="The gate", task_id=there)["id"]
    task(kaizen, "The gate")
    kaizen("Q1", title="The gate")

    assert set(best(kaizen, "gate", scope="engine")) == {there, proof}


@pytest.mark.parametrize(
    "query", ["+++", '"', "nothing like it", "AND OR NOT", "title : x*", "(((", "-"]
)
def test_query_without_hits_gets_advice(kaizen, query):
    task(kaizen, "The gate")

    assert "Try fewer or other words" in report(kaizen, query)["document"]


def test_making_reports_does_not_change_topic_order(kaizen):
    """With BM25 it would change: a report's title has the words and makes them common."""
    for title in ("The gate", "A valve", "Gate and valve", "Some gate", "Other"):
        task(kaizen, title, summary="valve" if title == "Other" else "S")
    first = best(kaizen, "gate valve")
    for _ in range(8):
        kaizen("R11", query="gate")

    assert best(kaizen, "gate valve") == first


def test_topic_search_ignores_earlier_reports(kaizen, root):
    kaizen("K1")
    kaizen("R11", query="gate")
    (root / "gate.txt").write_text("x")
    file = kaizen("A1", path="gate.txt")["id"]

    assert best(kaizen, "gate") == [file]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    words=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40),
    seen=st.characters(categories=SEEN),
)
def test_topic_report_accepts_any_query_characters(kaizen, words, seen):
    task(kaizen, "The gate \u00b2 \u1ed7")

    assert report(kaizen, words + seen)["status"] == "OK"
