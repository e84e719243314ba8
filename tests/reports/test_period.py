"""R8, R9 and R10: the numbers of a period and the suggested next steps."""

import json
from datetime import datetime

import pytest

from kaizen_components.records import ids

HOSTILE = "<script>alert(1)</script> | **bold** \u202e\x1b[31m"


@pytest.fixture
def clock(monkeypatch):
    """`clock("2026-11-09T08:00")` sets the clock to that time in UTC."""

    def set_clock(text):
        moment = round(datetime.fromisoformat(text + "Z").timestamp() * 1000)
        monkeypatch.setattr(ids, "now_ms", lambda: moment)

    set_clock("2026-11-01T08:00")
    return set_clock


@pytest.fixture
def task(kaizen, clock):
    """`task("2026-11-09T08:00", "2026-11-09T10:00 done", …)` adds a task and its dated changes."""

    def start(at, *changes, **more):
        clock(at)
        id = kaizen("W1", **{"title": "A task", "summary": "S", **more})["id"]
        for change in changes:
            when, status = change.split()
            clock(when)
            kaizen("W2", id=id, status=status)
        return id

    return start


def get_numbers(kaizen, code="R8", part="now", **options):
    return get_data(kaizen, code, **options)["numbers"][part]


def get_data(kaizen, code="R8", **options):
    return kaizen(code, out="-", format="json", **{"timezone": "UTC", **options})["data"]


def get_text(kaizen, code="R8", format="md", **options):
    return kaizen(code, out="-", format=format, **{"timezone": "UTC", **options})["document"]


def test_task_change_counts_in_week_it_happened(kaizen, task, clock):
    task("2026-11-03T08:00", "2026-11-04T08:00 done")
    task(
        "2026-11-05T08:00",
        "2026-11-10T08:00 done",
        "2026-11-11T08:00 open",
        "2026-11-12T08:00 done",
    )
    task("2026-11-09T08:00", "2026-11-09T10:00 canceled", "2026-11-10T10:00 active")
    task("2026-11-15T23:59")
    task("2026-11-16T00:00", "2026-11-16T00:01 done")
    clock("2026-11-20T08:00")

    now = get_numbers(kaizen, week="2026-W46")
    assert {name: now[name] for name in ("opened", "done", "reopened", "canceled", "open_at_end", "rework")} == {
        "opened": 2, "done": 1, "reopened": 2, "canceled": 1, "open_at_end": 2, "rework": 2,
    }  # fmt: skip
    before = get_numbers(kaizen, part="before", week="2026-W46")
    assert (before["opened"], before["done"], before["open_at_end"]) == (2, 1, 1)


def test_open_task_bars_ignore_changes_after_week(kaizen, task, clock):
    task("2026-11-02T08:00", "2026-11-10T08:00 done", "2026-11-18T08:00 open")
    task("2026-11-03T08:00", "2026-11-18T08:00 done")
    clock("2026-11-20T08:00")

    bars = get_data(kaizen, week="2026-W46")["bars"]
    assert bars["open_standing"] == [2, 1, 1, 1, 1, 1, 1]
    assert bars["done_standing"] == [0, 1, 1, 1, 1, 1, 1]


def test_lead_time_has_median_and_classes(kaizen, task, clock):
    for hour in range(1, 21):
        task("2026-11-09T00:00", f"2026-11-09T{hour:02d}:00 done")
    clock("2026-11-20T08:00")

    report_data = get_data(kaizen, week="2026-W46")
    assert report_data["numbers"]["now"]["lead_median_ms"] == 10 * 3_600_000
    assert report_data["lead_classes"]["1-4 h"] == 3 and report_data["lead_classes"]["4-24 h"] == 17


@pytest.mark.parametrize(
    "tasks, hours", [(1, 1), (2, 2), (3, 3), (6, 6), (7, 6), (13, 12), (20, 17)]
)
def test_lead_time_percentile_uses_nearest_rank(kaizen, task, clock, tasks, hours):
    """At least 85 of 100 tasks took no longer, and fewer than 85 took less."""
    for hour in range(1, tasks + 1):
        task("2026-11-09T00:00", f"2026-11-09T{hour:02d}:00 done")
    clock("2026-11-20T08:00")

    assert get_data(kaizen, week="2026-W46")["numbers"]["now"]["lead_85_ms"] == hours * 3_600_000


def test_failed_verdict_after_done_counts_as_rework(kaizen, task, clock):
    judged_after = task("2026-11-09T08:00", "2026-11-09T10:00 done")
    judged_before = task("2026-11-09T11:00")
    kaizen("Q2", task_id=judged_before, conclusion="VERIFICATION_FAILED", summary="No.")
    clock("2026-11-09T12:00")
    kaizen("W2", id=judged_before, status="done")
    kaizen(
        "Q2",
        task_id=judged_after,
        conclusion="STRUCTURAL_REWORK_RECOMMENDED",
        summary="Not like this.",
    )
    clock("2026-11-20T08:00")

    now = get_numbers(kaizen, week="2026-W46")
    assert (now["done"], now["rework"], now["rework_rate"]) == (2, 1, 0.5)


def test_pass_rate_ignores_recorded_proofs(kaizen, clock):
    clock("2026-11-09T08:00")
    for conclusion in (
        "VERIFIED_ACCEPTABLE",
        "ACCEPTABLE_WITH_CONCERNS",
        "VERIFICATION_FAILED",
        "PROOF_RECORDED",
    ):
        kaizen("Q2", conclusion=conclusion, summary="S")
    clock("2026-11-20T08:00")

    now = get_numbers(kaizen, week="2026-W46")
    assert (now["verdicts"], now["pass_rate"]) == (3, 0.6667)


def test_period_report_uses_reader_timezone(kaizen, task, clock):
    task("2026-11-09T22:30")
    clock("2026-11-20T08:00")

    opened = {
        zone: get_data(kaizen, week="2026-W46", timezone=zone)["bars"]["opened"]
        for zone in ("UTC", "Asia/Kathmandu")
    }
    assert opened == {"UTC": [1, 0, 0, 0, 0, 0, 0], "Asia/Kathmandu": [0, 1, 0, 0, 0, 0, 0]}


def test_costs_are_summed_by_day_and_task(kaizen, task, clock):
    cheap, dear = task("2026-11-09T08:00", title="Cheap"), task("2026-11-09T08:00", title="Dear")
    kaizen("T1", name="a", task_id=cheap, tokens_in=900, tokens_out=100, cost_usd=0.5)
    clock("2026-11-11T08:00")
    kaizen("T1", name="b", task_id=dear, tokens_in=10, tokens_out=1, cost_usd=2)
    kaizen("T1", name="c", trace_id="nightly run", tokens_in=5)
    clock("2026-11-20T08:00")

    report_data = get_data(kaizen, week="2026-W46")
    assert report_data["bars"]["cost_usd"] == [0.5, 0, 2.0, 0, 0, 0, 0]
    assert report_data["numbers"]["now"]["tokens"] == 1016
    assert [(row["task_id"], row["trace_id"]) for row in report_data["dearest"]] == [
        (dear, None), (cheap, None), (None, "nightly run"),
    ]  # fmt: skip


def test_command_that_passes_and_fails_is_flakiest(kaizen, clock, root, tmp_path):
    clock("2026-11-09T08:00")
    flag = tmp_path / "flag"  # outside of the project, so that the tree stays as it is
    flaky, broken = ["test", "-e", str(flag)], ["false"]
    kaizen("Q1", run=flaky)
    flag.touch()
    kaizen("Q1", run=flaky)
    kaizen("Q1", run=broken)
    kaizen("Q1", run=broken)
    clock("2026-11-20T08:00")

    report_data = get_data(kaizen, week="2026-W46")
    assert [(row["command"].split()[0], row["runs"], row["passed"], row["mixed"]) for row in report_data["flakiest"]] == [
        ("test", 2, 1, 1), ("false", 2, 0, 0),
    ]  # fmt: skip
    assert report_data["numbers"]["now"]["proofs_witnessed"] == 4
    assert any(point["what"] == "Flaky command" for point in report_data["next"])


def test_promotions_and_waivers_are_listed(kaizen, clock):
    clock("2026-11-09T08:00")
    gotcha = kaizen("G1", title="WAL grows", summary="S", body="B", evidence=["seen"])["id"]
    learning = kaizen("L2", id=gotcha)["id"]
    kaizen("L3", id=learning, waive="Seen for a month")
    kaizen("L1", title="Not promoted", summary="S", body="B")
    clock("2026-11-20T08:00")

    report_data = get_data(kaizen, week="2026-W46")
    now = report_data["numbers"]["now"]
    assert (now["gotchas"], now["promoted"], now["waivers"]) == (1, 2, 1)
    text = get_text(kaizen, week="2026-W46")
    assert "Seen for a month" in text and f"`kaizen L6 --id {learning}`" in text


def test_predictions_closed_in_period_are_scored(kaizen, clock):
    clock("2026-11-09T08:00")
    review = kaizen("I1", title="R", summary="S")["id"]
    for probability, outcome in ((0.8, "happened"), (0.4, "did-not-happen"), (0.5, "void")):
        record_id = kaizen(
            "I2", irl_id=review, summary="P", probability=probability, deadline="+1d"
        )["id"]
        kaizen("I4", prediction_id=record_id, outcome=outcome, summary="S")
    clock("2026-11-20T08:00")

    now = get_numbers(kaizen, week="2026-W46")
    assert (now["predictions"], now["brier"]) == (2, 0.1)
    assert "Calibration" in get_text(kaizen, week="2026-W46", format="html")


def test_every_next_step_of_period_names_its_command(kaizen, task, clock):
    blocked = task("2026-11-09T08:00", "2026-11-09T09:00 blocked", title="Waits for the vendor")
    task("2026-11-09T08:00", "2026-11-10T09:00 blocked", title="Waits too")
    held = task("2026-11-09T08:00", title="Held")
    kaizen("W13", id=held, ttl_s=60)
    verdict = kaizen("Q2", conclusion="VERIFICATION_FAILED", summary="It leaks.", task_id=held)[
        "id"
    ]
    review = kaizen("I1", title="R", summary="S")["id"]
    prediction = kaizen(
        "I2", irl_id=review, summary="No rollback", probability=0.5, deadline="+1d"
    )["id"]
    gotcha = kaizen("G1", title="WAL grows", summary="S", body="B", evidence=["seen"])["id"]
    clock("2026-11-14T08:00")
    kaizen("T1", name="a", task_id=held, cost_usd=1)

    points = get_data(kaizen, week="2026-W46")["next"]
    assert [(point["id"], point["command"]) for point in points] == [
        (verdict, f"kaizen Q9 --task-id {held}"),
        (blocked, f"kaizen W10 --id {blocked}"),
        (held, f"kaizen W10 --id {held}"),
        (prediction, f"kaizen I5 --id {review}"),
        (held, f"kaizen T3 --task-id {held}"),
        (gotcha, f"kaizen L2 --id {gotcha}"),
    ]
    assert "1 more like it" in points[1]["text"]


def test_commands_named_in_next_steps_succeed(kaizen, task, clock, cli):
    held = task("2026-11-09T08:00", "2026-11-09T09:00 blocked", title="Held")
    kaizen("T1", name="a", trace_id="nightly 'run'", cost_usd=1)
    kaizen("Q2", conclusion="NEEDS_HUMAN_DECISION", summary="It leaks.")
    kaizen("G1", title="WAL grows", summary="S", body="B", evidence=["seen"])
    kaizen("Q1", run=["false"])
    kaizen("Q1", run=["false"])
    import shlex

    for point in get_data(kaizen, week="2026-W46")["next"]:
        result = cli(*shlex.split(point["command"])[1:])
        assert result.exit_code == 0, (point, result.err)
    assert held


def test_done_task_gives_no_next_step(kaizen, task, clock):
    task("2026-11-09T08:00", "2026-11-09T09:00 done")
    clock("2026-11-20T08:00")

    assert get_data(kaizen, week="2026-W46")["next"] == []
    assert "Nothing needs attention: no objection" in get_text(kaizen, week="2026-W46")


def test_period_report_omits_test_records(kaizen, clock):
    clock("2026-11-09T08:00")
    record_id = kaizen("W1", title="T", summary="S", test=True)["id"]
    kaizen("W2", id=record_id, status="blocked")
    kaizen("Q2", conclusion="VERIFICATION_FAILED", summary="S", test=True)
    kaizen("T1", name="a", cost_usd=1, test=True)
    kaizen("G1", title="T", summary="S", body="B", evidence=["x"], test=True)
    clock("2026-11-20T08:00")

    report_data = get_data(kaizen, week="2026-W46")
    assert not any(report_data["numbers"]["now"].values())
    assert report_data["next"] == []


def test_scope_filters_every_number_of_period_report(kaizen, task, clock):
    inside = task("2026-11-09T08:00", "2026-11-09T09:00 done", scope="docs")
    task("2026-11-09T08:00", "2026-11-09T09:00 blocked", scope="engine")
    kaizen("T1", name="a", task_id=inside, cost_usd=1)
    kaizen("T1", name="b", cost_usd=5)
    kaizen("Q2", task_id=inside, conclusion="VERIFIED_ACCEPTABLE", summary="S")
    kaizen("Q2", conclusion="VERIFICATION_FAILED", summary="S", scope="engine")
    kaizen("G1", title="T", summary="S", body="B", scope="docs")
    clock("2026-11-20T08:00")

    report_data = get_data(kaizen, week="2026-W46", scope="docs")
    now = report_data["numbers"]["now"]
    assert (now["opened"], now["done"], now["cost_usd"], now["pass_rate"], now["gotchas"]) == (
        1,
        1,
        1.0,
        1.0,
        1,
    )
    assert [point["what"] for point in report_data["next"]] == ["Most expensive"]


def test_current_week_is_compared_with_same_days_before(kaizen, task, clock):
    task("2026-11-03T08:00")
    task("2026-11-06T08:00")
    task("2026-11-11T09:00")

    text = get_text(kaizen)
    assert "So far: 3 of 7 days, up to 2026-11-11 09:00." in text
    assert "Before means week 2026-W45, the same part of it, up to 2026-11-04 09:00." in text
    assert "| Tasks opened | 1 | 1 |" in text


@pytest.mark.parametrize(
    "code, options", [("R8", {}), ("R9", {"last": True}), ("R10", {}), ("R8", {"days": 5})]
)
@pytest.mark.parametrize("format", ["html", "md", "json"])
def test_footer_command_reproduces_period_report_later(kaizen, task, clock, code, options, format):
    import shlex

    task("2026-10-03T08:00", "2026-11-09T10:00 blocked")
    task("2026-11-10T08:00", "2026-11-11T10:00 done")
    report = kaizen(code, out="-", format=format, timezone="Europe/Berlin", **options)
    kaizen("W1", title="Later", summary="S")
    clock("2027-03-01T08:00")
    kaizen("W1", title="Much later", summary="S")

    words = iter(shlex.split(report["again"])[2:])
    again = {}
    for word in words:
        name = word.removeprefix("--").replace("-", "_")
        again[name] = True if name == "so_far" else next(words)
    assert kaizen(code, out="-", **again)["document"] == report["document"]


@pytest.mark.parametrize("code", ["R8", "R9", "R10"])
@pytest.mark.parametrize("format", ["html", "md", "json"])
def test_report_on_empty_database_suggests_w1(kaizen, clock, code, format):
    kaizen("K1")
    text = get_text(kaizen, code, format)

    if format != "json":
        assert "Nothing is recorded here yet" in text and "kaizen W1" in text
    else:
        assert json.loads(text)["data"]["numbers"]["now"]["opened"] == 0


def test_period_report_escapes_hostile_text(kaizen, task, clock):
    record_id = task(
        "2026-11-09T08:00", "2026-11-09T09:00 blocked", title="<script>alert(1)</script> | **bold**"
    )
    kaizen("Q2", conclusion="VERIFICATION_FAILED", summary=HOSTILE, task_id=record_id)
    kaizen("T1", name="x", task_id=record_id, cost_usd=1)
    page, text = get_text(kaizen, format="html"), get_text(kaizen)

    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert "\x1b" not in page + text and "\u202e" not in text
    assert "\\| \\*\\*bold" in text


def test_year_lists_months_and_month_lists_days(kaizen, task, clock):
    task("2026-02-10T08:00", "2026-03-01T09:00 done")
    clock("2026-11-20T08:00")

    year, month = get_data(kaizen, "R10", year=2026), get_data(kaizen, "R9", month="2026-02")
    assert (len(year["labels"]), year["bars"]["opened"][1], year["bars"]["done"][2]) == (12, 1, 1)
    assert (len(month["labels"]), month["bars"]["opened"][9]) == (28, 1)
