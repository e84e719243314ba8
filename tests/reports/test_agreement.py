"""Reports on the same records agree with each other, with the clock and with their files."""

import json

import pytest


@pytest.fixture
def report_data(kaizen):
    """`report_data(code)`: the JSON answer of a report; no file is written."""
    return lambda code, **options: kaizen(code, out="-", format="json", timezone="UTC", **options)


def start(kaizen, title="A task"):
    return kaizen("W1", title=title, summary="To be done.")["id"]


def test_task_marked_done_twice_is_counted_once(kaizen, report_data):
    task = start(kaizen)
    kaizen("W2", id=task, status="done")
    first = report_data("R1", id=task)["data"]["lead_time_ms"]
    kaizen("W2", id=task, status="done")

    assert report_data("R8")["data"]["numbers"]["now"]["done"] == 1
    assert sum(report_data("R1")["data"]["throughput"]["done"]) == 1
    assert report_data("R1", id=task)["data"]["lead_time_ms"] == first


def test_task_cost_includes_child_spans_in_every_report(kaizen, report_data):
    task = start(kaizen)
    whole = kaizen("T1", name="whole", task_id=task, cost_usd=1)["id"]
    kaizen("T1", name="part", parent=whole, cost_usd=9)

    (most_expensive,) = report_data("R8")["data"]["dearest"]
    assert (most_expensive["task_id"], most_expensive["cost_usd"]) == (task, 10)
    assert report_data("R1", id=task)["data"]["cost"]["cost_usd"] == 10


def test_canceling_task_removes_its_open_objection(kaizen, report_data):
    task = start(kaizen)
    kaizen("Q2", task_id=task, conclusion="VERIFICATION_FAILED", summary="It does not work.")
    assert [point["what"] for point in report_data("R8")["data"]["next"]] == ["Open objection"]
    kaizen("W2", id=task, status="canceled")

    assert report_data("R8")["data"]["next"] == []
    parts = {part["name"]: part["items"] for part in kaizen("R0")["parts"]}
    assert "does not work" not in parts.get("verdicts", "")


def test_task_flow_caption_names_its_starting_counts(kaizen, report_data):
    tasks = [start(kaizen) for _ in range(3)]
    for task in tasks:
        kaizen("W2", id=task, status="done")
    kaizen("W2", id=tasks[0], status="open")
    text = kaizen("R8", out="-", format="md", timezone="UTC", days=1)["document"]

    assert "The areas begin at 0 done and 0 canceled tasks" in text


def test_proof_report_without_matches_says_no_proof_matches(kaizen):
    kaizen("Q1", title="Looked at it.")

    assert "No proof matches." in kaizen("R4", out="-", format="md", since="9990-01-01")["document"]
    assert "No proof matches." in kaizen("R4", out="-", format="md", scope="elsewhere")["document"]


def test_since_option_uses_given_timezone(kaizen, monkeypatch, report_data):
    start(kaizen)
    documents = []
    for zone in ("UTC", "Asia/Kathmandu"):
        monkeypatch.setenv("TZ", zone)
        documents.append(
            kaizen("R4", out="-", format="md", since="2026-11-12", timezone="Europe/Berlin")[
                "document"
            ]
        )

    assert documents[0] == documents[1] and "since 2026-11-12 00:00" in documents[0]


def test_printed_report_equals_report_file(cli, root):
    cli("W1", "--title", "Prix\u00a010\u202f% \u009b31m", "--summary", "a\tb")
    for ending in ("html", "md", "json"):
        cli("R1", "--id", "@last", "--format", ending, "--out", str(root / f"report.{ending}"))
        printed = cli("R1", "--id", "@last", "--format", ending, "--out", "-").out

        assert printed == (root / f"report.{ending}").read_text()
        assert "\u009b" not in printed
    assert json.loads(printed)["data"]["record"]["title"] == "Prix\u00a010\u202f% \u009b31m"


def test_report_with_same_op_id_returns_first_answer(kaizen, root):
    start(kaizen)
    first = kaizen("R1", op_id="once")
    again = kaizen("R1", op_id="once")

    assert again == {**first, "replayed": True}
    assert len(list((root / "AI/db/exports").iterdir())) == 1


def test_path_outside_project_is_printed_as_given(kaizen, tmp_path):
    kaizen("K1")
    out = str(tmp_path / "elsewhere.html")

    assert kaizen("R8", out=out)["path"] == out


@pytest.mark.parametrize("name", ["localtime", "posixrules", "Nowhere/City"])
def test_machine_dependent_timezone_is_refused(cli, name):
    cli("K1")

    assert cli("R8", "--timezone", name, "--out", "-").exit_code == 2


def test_report_time_after_year_9999_is_refused(cli):
    cli("K1")
    answer = cli(
        "R1",
        "--until",
        "9999-12-31T23:00Z",
        "--timezone",
        "Pacific/Kiritimati",
        "--out",
        "-",
        "--json",
    )

    assert (answer.exit_code, answer.error["code"]) == (2, "time_out_of_range")


def test_report_keeps_zero_width_joiners_in_titles(kaizen):
    title = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469"
    task = start(kaizen, title)

    assert title in kaizen("R1", id=task, out="-", format="html")["document"]


def test_report_on_named_period_is_same_later(kaizen, monkeypatch):
    from kaizen_components.records import ids

    start(kaizen)
    now = ids.now_ms()
    month = ids.format_time(now)[:7]
    today = kaizen("R9", month=month, out="-", format="md", timezone="UTC")["document"]
    assert any("--so-far" in note for note in kaizen.store.notes)
    monkeypatch.setattr(ids, "now_ms", lambda: now + 40 * 86_400_000)

    assert kaizen("R9", month=month, out="-", format="md", timezone="UTC")["document"] == today


def test_digest_too_small_for_changes_suggests_since(kaizen):
    start(kaizen)
    kaizen("R0", actor="reader")
    for number in range(5):
        start(kaizen, f"Task {number}")
        kaizen("X1", title=f"Rule {number}", summary="Keep it. " * 12, priority="critical")
    text = kaizen("R0", actor="reader", budget=330)["text"]

    assert "No room for" in text and "--since" in text
