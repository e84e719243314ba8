"""R1 with --id: the history of one task."""

import re
import xml.etree.ElementTree as ET

import pytest

from kaizen_components.errors import NotFound, Usage
from kaizen_components.records import ids
from kaizen_components.records.kinds import KINDS
from kaizen_components.reports.ledger import event, event_words, task_story

NOON_MS = 1_794_830_400_000  # 2026-11-16T12:00:00Z
DAY_MS = 86_400_000


@pytest.fixture
def at(monkeypatch):
    """`at(days)` sets the clock to so many days after a fixed noon, UTC."""
    return lambda days: monkeypatch.setattr(ids, "now_ms", lambda: NOON_MS + int(days * DAY_MS))


def get_data(kaizen, **options):
    return kaizen("R1", out="-", format="json", timezone="UTC", **options)["data"]


def get_text(kaizen, format="md", **options):
    return kaizen("R1", out="-", format=format, timezone="UTC", **options)["document"]


def start(kaizen, title="README polish", **more):
    return kaizen("W1", title=title, summary="Make it strong.", **more)["id"]


def events(kaizen, id, **options):
    return [event["what"] for event in get_data(kaizen, id=id, **options)["events"]]


# What happened


def test_task_events_follow_log_order(kaizen):
    task, other = start(kaizen, done_when=["true"]), start(kaizen, "Release")
    kaizen("W11", id=task, kind="blocks", target_id=other)
    kaizen("W11", id=other, kind="relates-to", target_id=task)
    kaizen("W11", id=task, kind="blocks", target_id=other, remove=True)
    kaizen("W13", id=task)
    kaizen("W2", id=task, title="README", scope="docs")
    plan = kaizen("W3", task_id=task, title="Steps", summary="s")["id"]
    kaizen("W4", id=plan, status="active")
    packet = kaizen("W5", task_id=task, title="Links", summary="s", recipient="codex")["id"]
    kaizen("W6", id=packet, summary="Two are dead.")
    kaizen("Q1", task_id=task, title="Looked", command="make", exit_code=1)
    kaizen(
        "Q2",
        task_id=task,
        conclusion="NEEDS_HUMAN_DECISION",
        summary="Hm.",
        findings=["First", "Second"],
    )
    kaizen("T2", task_id=task, name="quality", value=0.5)
    kaizen("G1", task_id=task, title="Pitfall", summary="s", body="b")
    kaizen("S1", task_id=task, title="A page", url="https://example.org/", tier="primary")
    kaizen("Q3", task_id=task, title="A case", summary="s", category="proof")
    kaizen("Q4", case_id="@last", outcome="failed")
    kaizen("W2", id=task, status="done", waive="No network.")
    kaizen("W2", id=other, note="Not about the first.")

    assert events(kaizen, task) == [
        'opened task "README polish"',
        'linked: "README" blocks "Release"',
        'linked: "Release" relates to "README"',
        'removed the link: "README" blocks "Release"',
        'claimed task "README"',
        'changed task "README": scope project → docs, title README polish → README',
        'planned "Steps"',
        'revised plan "Steps": status draft → active',
        'sent the subagent packet "Links" to codex',
        'brought back "Links": completed',
        "recorded that `make` failed (reported)",
        "gave the verdict NEEDS_HUMAN_DECISION (scope project)",
        "scored quality: 0.5 (by a tool)",
        'met the gotcha "Pitfall"',
        'read the source "A page" (primary)',
        'added the eval case "A case" (proof)',
        'ran the eval case "A case": failed',
        "waived the proof for `done`",
        'changed task "README": status open → done',
        'released task "README"',
    ]
    text = get_text(kaizen, id=task)
    assert "> \\- First" in text and "> No network." in text


def test_root_span_event_includes_totals(kaizen):
    task, other = start(kaizen), start(kaizen, "Other")
    top = kaizen("T1", name="run", kind="run", task_id=task, duration_ms=9_000, cost_usd=0.5)["id"]
    inner = kaizen(
        "T1", name="model", kind="model", parent=top, task_id=task, tokens_in=100, tokens_out=20
    )["id"]
    kaizen("T1", name="tool", parent=inner, cost_usd=0.25)
    kaizen("T1", name="elsewhere", parent=top, task_id=other, cost_usd=8)

    assert events(kaizen, task)[1:] == [
        'recorded the span "run" (run, ok, 9.00 s): 4 spans, 100 tokens in, 20 out, $8.7500'
    ]
    assert get_data(kaizen, id=task)["cost"] == {
        "spans": 3,
        "tokens_in": 100,
        "tokens_out": 20,
        "cost_usd": 0.75,
    }


def test_task_report_limit_keeps_newest_events(kaizen, tmp_path):
    task = start(kaizen)
    lines = tmp_path / "notes.jsonl"
    lines.write_text(
        f'{{"command": "W2", "args": {{"id": "{task}", "note": "Again."}}}}\n' * 10_000
    )
    kaizen("K5", file=str(lines))
    kaizen("W2", id=task, status="done")

    report_data = get_data(kaizen, id=task, limit=5)
    assert len(report_data["events"]) == 5 and report_data["events_before"] == 9_997
    assert report_data["events"][-1]["what"] == 'changed task "README polish": status open → done'
    assert "9,997 events before these are not shown." in get_text(kaizen, id=task, limit=5)


# Numbers


def test_task_report_shows_age_and_lead_time(kaizen, at):
    at(0)
    task = start(kaizen, priority="critical")
    at(3)
    kaizen("W2", id=task, status="done")
    at(5)
    start(kaizen, "Later")

    report_data = get_data(kaizen, id=task)
    assert (report_data["age_ms"], report_data["lead_time_ms"]) == (5 * DAY_MS, 3 * DAY_MS)
    text = get_text(kaizen, id=task)
    assert (
        "| age | 5.0 d |" in text
        and "| lead time to done | 3.0 d |" in text
        and "| priority | critical |" in text
    )


def test_proofs_are_counted_by_outcome_and_tier(kaizen):
    task = start(kaizen)
    for word in ("true", "true", "false"):
        kaizen("Q1", run=[word], task_id=task)
    kaizen("Q1", task_id=task, title="Said", exit_code=0, command="make")

    text = get_text(kaizen, id=task)
    assert "| proofs passed, witnessed | 2 |" in text
    assert "| proofs failed, witnessed | 1 |" in text
    assert "| proofs passed, reported | 1 |" in text


def test_task_report_shows_last_proof_per_done_when(kaizen):
    task = start(kaizen, done_when=["true", "pytest -q"])
    proof = kaizen("Q1", run=["true"], task_id=task)

    text = get_text(kaizen, id=task)
    assert re.search(
        rf"\| `true` \| passed \| `{proof['tree_hash'][:12]}…` \| .* \| `{proof['id']}` \|", text
    )
    assert "| `pytest -q` | never witnessed | – | – | – |" in text


def test_working_tree_does_not_change_task_report(kaizen, root):
    task = start(kaizen, done_when=["true"])
    kaizen("Q1", run=["true"], task_id=task)
    before = get_text(kaizen, "html", id=task)
    (root / "new.txt").write_text("another tree")

    assert get_text(kaizen, "html", id=task) == before


def test_task_report_omits_superseded_objection(kaizen):
    task = start(kaizen)
    kaizen("Q2", task_id=task, conclusion="VERIFICATION_FAILED", summary="It breaks.")
    assert "## Open objections" in get_text(kaizen, id=task)

    later = kaizen("Q2", task_id=task, conclusion="VERIFIED_ACCEPTABLE", summary="It holds.")["id"]
    assert "## Open objections" not in get_text(kaizen, id=task)
    assert f"superseded by {later}" in events(kaizen, task)[1]


# The drawing


def test_trace_is_drawn_in_html_and_tabled_in_markdown(kaizen):
    task = start(kaizen)
    top = kaizen("T1", name="run <b>", kind="run", task_id=task, duration_ms=1_000)["id"]
    kaizen("T1", name="tool", kind="tool", parent=top, duration_ms=400, status="error")

    page = get_text(kaizen, "html", id=task)
    drawing = ET.fromstring(re.search(r'<svg class="waterfall".*?</svg>', page, re.DOTALL)[0])
    assert [label.text for label in drawing.iter() if label.get("class") == "label"] == [
        "run <b>",
        "✗ tool",
    ]
    assert "| · tool | tool | error |" in get_text(kaizen, id=task)


def test_huge_trace_is_counted_but_not_drawn(kaizen, tmp_path):
    task = start(kaizen)
    lines = tmp_path / "spans.jsonl"
    lines.write_text(
        "".join(f'{{"name": "s", "trace_id": "big", "task_id": "{task}"}}\n' for _ in range(1_001))
    )
    kaizen("T1", jsonl=str(lines))

    page = get_text(kaizen, "html", id=task)
    assert "1,001" in page and 'class="waterfall"' not in page and "Not drawn: 1 trace." in page


# Queries


def scans(kaizen, sql):
    steps = kaizen.store.reader().tuples("EXPLAIN QUERY PLAN " + sql, (None,) * sql.count("?"))
    return {row[3] for row in steps if row[3].startswith("SCAN") and "VIRTUAL" not in row[3]}


def test_task_report_queries_scan_no_whole_table(kaizen):
    kaizen("K1")

    for sql in (
        task_story.NEWEST,
        task_story.EVENT_COUNT,
        task_story.COST,
        task_story.SPAN_TOTALS,
        task_story.TRACES,
    ):
        assert scans(kaizen, sql) <= {"SCAN e", "SCAN own", "SCAN below"}, (
            "scans are limited to rows chosen before"
        )
    for kind in KINDS:
        assert scans(kaizen, event_words.build_query(kind).format(condition=event.BY_SEQ)) == set()


# Selection of the task


def test_report_of_test_task_is_labeled(kaizen):
    task = start(kaizen, test=True)
    kaizen("W2", id=task, note="Only a try.")

    assert "This is a test record" in get_text(kaizen, id=task)
    assert len(events(kaizen, task)) == 2


def test_task_story_omits_test_records(kaizen):
    task = start(kaizen)
    kaizen("Q1", task_id=task, title="Try", test=True)

    assert events(kaizen, task) == ['opened task "README polish"']
    assert get_data(kaizen, id=task)["proofs"] == []


def test_footer_command_has_full_task_id(kaizen):
    task = start(kaizen)

    assert f"--id {task} " in kaizen("R1", id="@last", out="-")["again"]


def test_unknown_task_or_filter_with_id_is_refused(cli, kaizen):
    start(kaizen)

    assert cli("R1", "--id", "task_2000", "--json").exit_code == 3
    with pytest.raises(NotFound):
        kaizen("R1", id="task_nothing")
    with pytest.raises(Usage):
        kaizen("R1", id="@last", scope="docs")


def test_as_of_shows_earlier_task_state(kaizen):
    task = start(kaizen)
    kaizen("W2", id=task, status="active", title="Renamed")

    then = get_data(kaizen, id=task, as_of=1)
    assert (then["record"]["title"], then["record"]["status"]) == ("README polish", "open")
    assert len(then["events"]) == 1


@pytest.mark.parametrize("format", ["html", "md", "json"])
def test_task_report_is_reproducible(kaizen, format):
    task = start(kaizen, done_when=["true"])
    kaizen("Q1", run=["true"], task_id=task)
    kaizen("T1", name="run", task_id=task, duration_ms=10)
    first = kaizen("R1", id=task, out="-", format=format, timezone="UTC")
    kaizen("R1", id=task, format=format)
    kaizen("W2", id=task, status="active")

    again = kaizen(
        "R1", id=task, out="-", format=format, timezone="UTC", as_of=first["ledger"]["entries"]
    )
    assert again["document"] == first["document"]


def test_hostile_task_text_is_escaped_and_cut(kaizen):
    hostile = "<script>alert(1)</script> \x1b[31m \u202e`x` | **b**"
    task = start(kaizen, hostile, body=hostile + "\n" + "x" * 900_000, scope=hostile)
    kaizen("T1", name=hostile, task_id=task, duration_ms=5)

    page, text = get_text(kaizen, "html", id=task), get_text(kaizen, id=task)
    assert "<script>alert" not in page and "\x1b" not in page and "\u202e" not in page
    assert "\\<script\\>" in text and "more characters" in text and len(text) < 20_000
