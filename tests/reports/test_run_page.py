"""P2 as a page: the numbers of the card and the details."""

import json
import sys

import pytest

from ..model_server import Answer
from ..pipeline.factory import (
    GOOD,
    QUICK,
    REQUEST,
    ROUTE,
    Model,
    environment,
    main_with,
    server,
    target,
)

BROKEN = main_with(ROUTE).replace("def health()", "def health(")
OUTPUT = {"out": "-", "timezone": "UTC"}
LONG = ROUTE + "".join(f"# line {number}\n" for number in range(500))
SAME = (
    "outcome",
    "why",
    "seconds",
    "build_attempts",
    "tokens_in",
    "tokens_out",
    "cost_usd",
    "rejected_answers",
    "rejected_cost_usd",
    "branch",
    "gates",
)


@pytest.fixture
def run(kaizen, tmp_path, monkeypatch):
    """`run(model)` makes a factory run with fast gates."""
    repo = target(tmp_path / "targetapp", QUICK)

    def make_run(model):
        with server(model) as serving:
            for name, value in environment(serving.url).items():
                monkeypatch.setenv(name, value)
            return kaizen("P1", request=REQUEST, repo=str(repo), python=sys.executable)

    return make_run


def page(kaizen, format="md", **options):
    return kaizen("P2", id="@last", format=format, **{**OUTPUT, **options})["document"]


def test_run_page_has_same_numbers_as_p2(kaizen, run):
    run(Model(build=[BROKEN, main_with(ROUTE)]))
    card, data = kaizen("P2", id="@last"), json.loads(page(kaizen, "json"))["data"]

    assert {name: data[name] for name in SAME} == {name: card[name] for name in SAME}


def test_run_cost_matches_task_report(kaizen, run):
    run_result = run(Model(build=[BROKEN, main_with(ROUTE)]))
    task = kaizen("R1", id=run_result["task_id"], format="json", **OUTPUT)["data"]["cost"]

    assert {name: task[name] for name in ("tokens_in", "tokens_out", "cost_usd")} == {
        name: run_result[name] for name in ("tokens_in", "tokens_out", "cost_usd")
    }


def test_run_page_has_criteria_findings_proofs_and_change(kaizen, run):
    run(Model(build=[BROKEN, "no edits at all", main_with(ROUTE)]))
    text = page(kaizen, "html")
    proofs = [gate["proof_id"] for gate in kaizen("P2", id="@last")["gates"] if gate["proof_id"]]

    assert "GET /health answers with status 200" in text and "GET / keeps its answer" in text
    assert "invalid syntax" in text and "The answer has no edits." in text
    assert len(proofs) == 3 and all(proof in text for proof in proofs)
    assert '<span class="good">+def health() -&gt; dict[str, str]:</span>' in text


def test_run_page_is_reproducible_and_respects_as_of(kaizen, run):
    run_result = run(Model())
    first = kaizen("P2", id=run_result["id"], format="html", timezone="UTC")
    again = kaizen("P2", id=run_result["id"], format="html", timezone="UTC")
    assert first["sha256"] == again["sha256"] and first["path"] != again["path"]
    begun = kaizen("P2", id=run_result["id"])["log"]["idx"]

    then = kaizen("P2", id=run_result["id"], as_of=begun + 1)
    assert (then["outcome"], then["phase"], then["events"]) == (None, "due", 0)
    assert "There is no candidate yet." in page(kaizen, as_of=begun + 1)


def test_long_change_is_cut_with_file_path(kaizen, run, root):
    run_result = run(Model(build=[main_with(LONG)]))
    text = page(kaizen)

    assert "# line 300" in text and "# line 499" not in text
    whole = f"AI/work/runs/{run_result['id']}/change.diff"
    left = len((root / whole).read_text().splitlines()) - 400
    assert f"{left} more lines: AI/work/runs" in text


def test_modified_change_file_is_not_shown(kaizen, run, root):
    run_result = run(Model())
    path = root / "AI" / "work" / "runs" / run_result["id"] / "change.diff"
    path.write_text(path.read_text().replace("health", "wealth"))

    assert "is gone or was modified" in page(kaizen) and "wealth" not in page(kaizen)


def test_missing_usage_is_shown_as_unknown(kaizen, run):
    run(Model(**{step: [Answer(answers[0], usage=None)] for step, answers in GOOD.items()}))
    text = page(kaizen)

    assert "| tokens in | unknown |" in text and "| cost | unknown |" in text


def test_task_report_lists_run_and_verdicts_once(kaizen, run):
    run_result = run(Model(build=[BROKEN, main_with(ROUTE)]))
    story = [
        event["what"]
        for event in kaizen("R1", id=run_result["task_id"], format="json", **OUTPUT)["data"][
            "events"
        ]
    ]

    assert "began a run of factory" in story and "ended a run: accepted" in story
    judged = [what for what in story if what.startswith("judged build")]
    assert judged == ["judged build 1: check, 1 finding", "judged build 2: pass"]
    assert sum("kaizen-gate static" in what for what in story) == 1 and not [
        what for what in story if "validate" in what
    ]


def test_ledger_report_lists_every_run_event(kaizen, run):
    run(Model())
    story = kaizen("R2", format="md", **OUTPUT)["document"]

    for said in (
        "began a run of factory",
        "asked for plan 1",
        "got an answer for plan 1",
        "started the gate ready 1",
    ):
        assert said in story


def test_topic_report_finds_run_by_request_words(kaizen, run):
    run_result = run(Model())
    records = kaizen("R11", query="health", format="json", **OUTPUT)["data"]["records"]

    assert [(row["state"], row["inspect"]) for row in records if row["id"] == run_result["id"]] == [
        ("accepted", f"kaizen P2 --id {run_result['id']}")
    ]
