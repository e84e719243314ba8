"""R2: the log in words, by day and actor."""

import json
import sqlite3

import pytest

from kaizen_components.errors import NotFound
from kaizen_components.records import ids
from kaizen_components.records.kinds import KINDS
from kaizen_components.reports.ledger.event_words import summarize_entries
from support_scripts.every_kind import record_every_kind

NOON_MS = 1_794_830_400_000  # 2026-11-16T12:00:00Z
HOUR_MS = 3_600_000


@pytest.fixture
def at(monkeypatch):
    """`at(hours)`: set the clock to so many hours after 2026-11-16 12:00 UTC."""
    return lambda hours: monkeypatch.setattr(ids, "now_ms", lambda: NOON_MS + int(hours * HOUR_MS))


def read_data(kaizen, **options):
    return kaizen("R2", out="-", format="json", timezone="UTC", **options)["data"]


def read_document(kaizen, format="md", **options):
    return kaizen("R2", out="-", format=format, timezone="UTC", **options)["document"]


def list_sentences(kaizen, **options):
    return [entry["what"] for entry in read_data(kaizen, **options)["entries"]]


def start(kaizen, title="README polish", **more):
    return kaizen("W1", title=title, summary="Make it strong.", **more)["id"]


# Sentences


def test_every_kind_has_sentence_for_several_entries():
    assert all("40" in summarize_entries(kind, 40) for kind in KINDS)


def test_ledger_report_describes_every_kind_from_its_record(kaizen, root):
    record_every_kind(kaizen, root)

    result = read_data(kaizen)
    assert set(result["kinds"]) == set(KINDS)
    assert [entry["what"] for entry in result["entries"] if entry.get("purged")] == [
        "recorded a purged test record (task)"
    ]
    assert not any("None" in entry["what"] for entry in result["entries"])


def test_each_change_of_task_has_its_sentence(kaizen):
    start(kaizen, done_when=["true"])
    kaizen("W13", id="@last", actor="agent")
    kaizen("W2", id="@last", note="Looked around.")
    kaizen("W2", id="@last", status="active", priority="high")
    kaizen("Q1", run=["true"], task_id="@last")
    kaizen("Q1", run=["false"], task_id="@last")

    sentences = [what.partition(" in ")[0] for what in list_sentences(kaizen)[::-1]]
    assert sentences == [
        'opened task "README polish"',
        'claimed task "README polish"',
        'added a note to task "README polish"',
        'changed task "README polish": status open → active, priority normal → high',
        "proved `true` passed (witnessed)",
        "recorded that `false` failed (witnessed)",
    ]


def test_ledger_json_has_newest_entries_first(cli):
    for number in range(5):
        cli("W1", "--title", f"Task {number}", "--summary", "s")

    answer = cli("R2", "--limit", "3", "--json").json
    assert [entry["what"] for entry in answer["data"]["entries"]] == [
        'opened task "Task 4"', 'opened task "Task 3"', 'opened task "Task 2"',
    ]  # fmt: skip
    assert [entry["log_index"] for entry in answer["data"]["entries"]] == [4, 3, 2]
    assert answer["data"]["more"] is True and answer["data"]["log_entries"] == 5


def test_ledger_report_lists_earlier_reports_except_its_own(kaizen):
    start(kaizen)
    kaizen("R4")
    assert list_sentences(kaizen) == ['opened task "README polish"']

    start(kaizen, "Next")
    assert list_sentences(kaizen) == [
        'opened task "Next"',
        'made the report "Proofs"',
        'opened task "README polish"',
    ]


def test_ledger_report_counts_purged_test_records(kaizen):
    for _ in range(5):
        start(kaizen, test=True)
    assert "(test record)" in read_document(kaizen, limit=2)
    kaizen("K7")

    assert "recorded 5 purged test records" in read_document(kaizen)
    assert "removed 5 test records" in list_sentences(kaizen)


def test_several_entries_of_one_kind_become_one_line(kaizen):
    first = kaizen("T1", name="step")["id"]
    spans = [kaizen("T1", name="step")["id"] for _ in range(39)]
    start(kaizen)

    text = read_document(kaizen)
    assert f"recorded 40 spans; the first and the last: `{first}` `{spans[-1]}`" in text
    assert 'opened task "README polish"' in text and spans[0] not in text
    assert len(read_data(kaizen)["entries"]) == 41, "JSON has them all"


# Days and actors


def test_ledger_days_follow_timezone_newest_first(kaizen, at):
    at(0)
    start(kaizen, "Noon")
    at(11.5)
    start(kaizen, "Late")
    kaizen("W2", id="@last", note="Later.")

    utc, tokyo = (
        read_document(kaizen),
        kaizen("R2", out="-", format="md", timezone="Asia/Tokyo")["document"],
    )
    assert utc.index("Noon") < utc.index("Late") and "## 2026-11-17" not in utc
    assert (
        tokyo.index("## 2026-11-17")
        < tokyo.index("Late")
        < tokyo.index("## 2026-11-16")
        < tokyo.index("Noon")
    )
    assert "08:30 opened task" in tokyo


def test_day_without_entries_shows_zero(kaizen, at):
    for hours in (0, 72):
        at(hours)
        start(kaizen)

    text = read_document(kaizen)
    assert "| 2026-11-17 | 0 |" in text and "| 2026-11-19 | 1 |" in text
    assert "the busiest of 2 days with entries" in text


def test_entries_of_day_are_grouped_by_actor(kaizen):
    start(kaizen, "One", actor="ada")
    start(kaizen, "Two", actor="ben")
    start(kaizen, "Three", actor="ada")

    text = read_document(kaizen)
    assert (
        text.index("**ada: 2 entries**")
        < text.index("One")
        < text.index("Three")
        < text.index("**ben: 1 entry**")
    )
    assert read_data(kaizen)["actors"] == {"ada": 2, "ben": 1}


def test_actor_option_does_not_filter_ledger_entries(kaizen):
    start(kaizen, actor="ada")

    result = kaizen("R2", actor="ben", timezone="UTC")
    assert result["data"]["actors"] == {"ada": 1}
    assert kaizen("A3", id=result["artifact_id"])["record"]["actor"] == "ben"


def test_ledger_report_filters_by_time_and_query(kaizen, at):
    for hour, title in ((0, "Cache"), (1, "Gate"), (2, "Cache again")):
        at(hour)
        start(kaizen, title)
    gotcha = kaizen("G1", title="A cache", summary="s", body="b")["id"]

    assert list_sentences(kaizen, since="2026-11-16T13:00:00Z", until="2026-11-16T14:00:00Z") == [
        'opened task "Gate"'
    ]
    assert read_data(kaizen, query="cache")["entries"][0]["id"] == gotcha
    assert list_sentences(kaizen, query="cache", until="2026-11-16T13:30:00Z") == [
        'opened task "Cache"'
    ]
    assert list_sentences(kaizen, query="cache", limit=1) == ['met the gotcha "A cache"']
    assert list_sentences(kaizen, query="+++") == []


# Reproducible reports and hostile text


@pytest.mark.parametrize("format", ["html", "md", "json"])
def test_ledger_report_is_reproducible(kaizen, root, format):
    record_every_kind(kaizen, root)
    first = kaizen("R2", out="-", format=format, timezone="Europe/Berlin")
    kaizen("R2", format=format)
    start(kaizen, "Later")

    again = kaizen(
        "R2", out="-", format=format, timezone="Europe/Berlin", as_of=first["ledger"]["entries"]
    )
    assert again["document"] == first["document"]


def test_ledger_report_escapes_hostile_text(kaizen):
    title = "<script>alert(1)</script> \x1b[31m \u202e`x` | **b** [a](javascript:1) \" & '"
    start(kaizen, title, body="x" * 1_000_000)
    kaizen("W2", id="@last", note="<img src=x onerror=alert(1)>\n# no heading\n- no point")

    html, text = read_document(kaizen, "html"), read_document(kaizen)
    assert (
        "<script>alert" not in html
        and "<img" not in html
        and "\x1b" not in html
        and "\u202e" not in html
    )
    assert "\\<script\\>" in text and "\n# no heading" not in text and "\x1b" not in text
    assert len(html) < 40_000


def test_ledger_report_without_entries_says_so(kaizen):
    kaizen("K1")

    assert "Nothing is recorded yet." in read_document(kaizen)
    start(kaizen)
    assert "None of 1 entry matches." in read_document(kaizen, since="2999-01-01")


# --verify


def test_verified_report_states_verified_size(kaizen):
    for number in range(3):
        start(kaizen, f"Task {number}")

    first = kaizen("R2", verify=True, timezone="UTC", format="md")
    assert "Verified: 3 entries, root recomputed." in first["text"]
    assert "--verify" in first["again"]
    again = kaizen("R2", verify=True, timezone="UTC", format="md", out="-", as_of=2)
    assert "Verified: 2 entries, root recomputed." in again["document"]
    assert "Verified" not in read_document(kaizen)


def test_tampered_ledger_exits_7_without_report(cli, root):
    cli("W1", "--title", "A task", "--summary", "s")
    with sqlite3.connect(root / "AI" / "db" / "kaizen.db") as connection:
        connection.execute("DROP TRIGGER task_no_update")
        connection.execute("UPDATE task SET title = 'Another'")

    answer = cli("R2", "--verify", "--json")
    assert answer.exit_code == 7 and json.loads(answer.err)["code"] == "ledger_edit"
    assert list((root / "AI" / "db" / "exports").glob("*")) == []


def test_ledger_report_at_unknown_checkpoint_is_not_found(kaizen):
    start(kaizen)

    with pytest.raises(NotFound):
        kaizen("R2", verify=True, as_of=99)
