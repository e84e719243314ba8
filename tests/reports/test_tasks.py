"""R1 without --id: all tasks."""

import itertools
import re

import pytest

from kaizen_components.records import ids

from .test_task_story import DAY_MS, NOON_MS, get_data, get_text, start


@pytest.fixture
def at(monkeypatch):
    """`at(days)` sets the clock to so many days after a fixed noon, UTC."""
    return lambda days: monkeypatch.setattr(ids, "now_ms", lambda: NOON_MS + int(days * DAY_MS))


def test_tasks_are_listed_with_status_proofs_and_cost(kaizen):
    done, other = start(kaizen), start(kaizen, "Other", priority="high")
    kaizen("Q1", run=["true"], task_id=done)
    kaizen("Q1", run=["false"], task_id=done)
    kaizen("T1", name="run", task_id=done, cost_usd=0.5)
    kaizen("W2", id=done, status="done")
    start(kaizen, "Try", test=True)

    report_data = get_data(kaizen)
    assert report_data["statuses"] == {
        "open": 1,
        "active": 0,
        "blocked": 0,
        "done": 1,
        "canceled": 0,
    }
    tasks_by_id = {row["id"]: row for row in report_data["tasks"]}
    assert list(tasks_by_id) == [other, done]
    assert (
        tasks_by_id[done]["proofs_passed"],
        tasks_by_id[done]["proofs_failed"],
        tasks_by_id[done]["cost_usd"],
    ) == (1, 1, 0.5)
    assert "2 tasks: 1 done, 1 to do." in get_text(kaizen)


def test_blocked_task_is_listed_with_its_blocker(kaizen):
    first, second = start(kaizen, "First"), start(kaizen, "Second")
    waiting = start(kaizen, "Waiting", depends_on=[first, second])
    stuck = start(kaizen, "Stuck")
    kaizen("W2", id=stuck, status="blocked")
    kaizen("W2", id=second, status="done")

    blocked = [(row["id"], row["blocker_id"]) for row in get_data(kaizen)["blocked"]]
    assert blocked == [(stuck, None), (waiting, first)]
    assert "nothing that is recorded" in get_text(kaizen)


def test_throughput_uses_reader_days(kaizen, at):
    at(0)
    start(kaizen)
    at(0.49)  # 23:45 UTC
    start(kaizen, "Late")
    at(2)
    kaizen("W2", id="@last", status="done")

    assert get_data(kaizen)["throughput"] == {
        "per": "day",
        "periods": ["2026-11-16", "2026-11-17", "2026-11-18"],
        "opened": [2, 0, 0],
        "done": [0, 0, 1],
    }
    kathmandu = kaizen("R1", out="-", format="json", timezone="Asia/Kathmandu")["data"][
        "throughput"
    ]
    assert kathmandu["opened"] == [1, 1, 0]


def test_task_closed_twice_counts_once_as_done(kaizen):
    twice, reopened = start(kaizen), start(kaizen, "Reopened")
    for id, status in (
        (twice, "done"),
        (twice, "open"),
        (twice, "done"),
        (twice, "done"),
        (reopened, "done"),
    ):
        kaizen("W2", id=id, status=status)
    kaizen("W2", id=reopened, status="open")
    kaizen("W2", id=twice, note="A note takes nothing back.")

    report_data = get_data(kaizen)
    assert report_data["statuses"]["done"] == sum(report_data["throughput"]["done"]) == 1


def test_chart_labels_do_not_overlap(kaizen, at):
    for day in range(20):
        at(day)
        start(kaizen)

    labels = re.findall(
        r'<text class="tick" x="([0-9.]+)"[^>]*>[0-9]{2}-[0-9]{2}<', get_text(kaizen, "html")
    )
    gaps = [float(right) - float(left) for left, right in itertools.pairwise(labels)]
    assert len(labels) >= 3 and min(gaps) > 5 * 7, "five letters of seven units"


def test_long_period_is_counted_by_weeks(kaizen, at):
    at(0)
    start(kaizen)
    at(60)
    start(kaizen, "Later")

    flow = get_data(kaizen)["throughput"]
    assert (
        flow["per"] == "week"
        and flow["periods"][0] == "2026-W47"
        and flow["periods"][-1] == "2027-W02"
    )
    assert flow["opened"] == [1, 0, 0, 0, 0, 0, 0, 0, 1]


def test_task_report_filters_by_scope_query_and_time(kaizen, at):
    at(0)
    moved = start(kaizen, "Cache", scope="engine")
    start(kaizen, "Gate", scope="engine")
    at(1)
    kaizen("W2", id=moved, scope="docs", status="done")
    start(kaizen, "Cache again", scope="engine")

    def titles(**options):
        return [row["title"] for row in get_data(kaizen, **options)["tasks"]]

    assert titles(scope="docs") == ["Cache"] and titles(scope="engine") == ["Cache again", "Gate"]
    assert titles(query="cache") == ["Cache again", "Cache"]
    assert titles(since="2026-11-17") == ["Cache again"]
    report_data = get_data(kaizen, scope="docs")
    assert report_data["statuses"]["done"] == 1 and report_data["throughput"]["done"] == [0, 1]
    assert get_data(kaizen, scope="engine")["throughput"]["done"] == [0, 0]
    assert "Only scope docs." in get_text(kaizen, scope="docs")


def test_tasks_beyond_limit_are_counted(kaizen):
    for number in range(4):
        start(kaizen, f"Task {number}")

    assert "2 more are not shown." in get_text(kaizen, limit=2)


def test_task_report_without_tasks_succeeds(kaizen):
    kaizen("K1")

    assert "No task yet." in get_text(kaizen)
    start(kaizen)
    assert "No task matches." in get_text(kaizen, scope="nowhere")


@pytest.mark.parametrize("format", ["html", "md", "json"])
def test_task_report_is_reproducible(kaizen, format):
    start(kaizen, "Waiting", depends_on=[start(kaizen)])
    first = kaizen("R1", out="-", format=format, timezone="UTC")
    kaizen("R1", format=format)
    kaizen("W2", id="@last", status="active")

    again = kaizen("R1", out="-", format=format, timezone="UTC", as_of=first["ledger"]["entries"])
    assert again["document"] == first["document"]
