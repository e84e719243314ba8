"""P2 as a card, and P3 as a list with the pass rates of the stages."""

import json
import sys

import pytest

from kaizen_components.errors import Unavailable
from kaizen_components.records.ledger.canonical import measure_width

from ..model_server import Answer
from .factory import GOOD, QUICK, REQUEST, ROUTE, Model, environment, main_with, server, target

pytestmark = pytest.mark.usefixtures("fast_gates")

BROKEN = main_with(ROUTE).replace("def health()", "def health(")
REJECTION = json.dumps(
    {"verdict": "reject", "reasons": [{"criterion": "C1", "text": "It answers with a list."}]}
)
ENTRIES = "SELECT count(*) FROM log"


@pytest.fixture
def run(kaizen, tmp_path, monkeypatch):
    """`run(model)` does a factory run with instant gates; it returns None if the run pauses."""
    monkeypatch.setenv("COLUMNS", "80")
    targets = {}

    def made(model, settings=QUICK, request=REQUEST, **more):
        if settings not in targets:
            targets[settings] = target(tmp_path / f"targetapp{len(targets)}", settings)
        with server(model) as serving:
            for name, value in environment(serving.url).items():
                monkeypatch.setenv(name, value)
            try:
                return kaizen(
                    "P1",
                    request=request,
                    repo=str(targets[settings]),
                    python=sys.executable,
                    **more,
                )
            except Unavailable:
                return None

    return made


def lines_of(kaizen, **options):
    return kaizen("P2", id="@last", **options)["text"].split("\n")


def test_run_card_has_a_line_per_attempt(kaizen, run):
    made = run(Model(build=[BROKEN, main_with(ROUTE)]))
    lines = lines_of(kaizen)

    assert lines[:2] == ["ACCEPTED: review ended with pass.", f"  {REQUEST}"]
    at = next(at for at, line in enumerate(lines) if line.startswith("  build 1"))
    assert lines[at].split()[:3] == ["build", "1", "check"] and lines[at].endswith("  1 finding")
    assert lines[at + 1].strip().startswith("app/main.py:12: syntax: invalid syntax: def health(")
    assert ["build", "2", "pass"] in [line.split()[:3] for line in lines]
    assert f"branch       {made['branch']}" in lines
    assert (
        lines[-1]
        == f"`git -C ../targetapp0 diff {kaizen('P2', id='@last')['base_commit'][:10]} {made['branch']}`"
    )
    assert "rejected     1 answer, 18 tokens, <$0.0001" in lines


def test_rejected_run_shows_reason_and_no_branch(kaizen, run):
    run(Model(review=[REJECTION]))
    lines = lines_of(kaizen)

    assert lines[0] == "REJECTED: review ended with reject. C1: It answers with a list."
    assert not [line for line in lines if line.startswith("branch")]


def test_review_by_another_model_counts_as_independent(kaizen, run, monkeypatch):
    monkeypatch.setenv("KAIZEN_REVIEW_MODEL", "critic")
    run(Model())
    card = kaizen("P2", id="@last")

    assert (card["reviewed_by"], card["reviewed_by_author"]) == ("critic", False)


def test_blocked_run_says_what_to_fix(kaizen, run, real_gates):
    run(Model(), settings=QUICK.replace("import os;", "raise SystemExit(3);"))

    assert "BLOCKED: ready ended with check. The base fails its own command." in " ".join(
        lines_of(kaizen)
    )


def test_paused_run_says_how_to_resume(kaizen, run):
    assert run(Model(build=[Answer(status=401, raw=b"{}")])) is None
    card = kaizen("P2", id="@last")

    assert (
        card["text"].startswith("PAUSED: build 1 waits for an answer. ") and "401" in card["text"]
    )
    assert f"Resume the run: `kaizen P7 --id {card['id']}`." in card["text"]
    assert "rejected" not in card["text"]


def test_aborted_run_shows_its_reason(kaizen, run):
    run(Model(build=[Answer(status=401, raw=b"{}")]))
    kaizen("P7", id="@last", abort=True, reason="Not wanted any more")

    assert lines_of(kaizen)[0] == "ABORTED: Not wanted any more."


def test_run_card_shows_unreported_usage_as_unknown(kaizen, run):
    run(Model(**{step: [Answer(answers[0], usage=None)] for step, answers in GOOD.items()}))
    text = " ".join(kaizen("P2", id="@last")["text"].split())

    assert "unknown tokens in, unknown out, cost unknown; 5 answers without usage" in text


def test_run_card_escapes_and_shortens_hostile_text(kaizen, run):
    run(
        Model(plan=["\x1b]0;title\x07 \u202e" + "x" * 500]),
        request="\x1b[31mred\x1b[0m \u202egnp.exe " + "界" * 200,
    )
    text = kaizen("P2", id="@last")["text"]

    assert "\x1b" not in text and "\u202e" not in text and "\\x1b[31mred" in text
    assert [line for line in text.split("\n") if measure_width(line) > 80 and "`" not in line] == []
    assert "\x1b" not in kaizen("P3")["text"]


def test_run_card_matches_json_and_writes_no_record(kaizen, run, cli):
    run(Model())
    count = kaizen.store.reader().value(ENTRIES)
    card = kaizen("P2", id="@last")
    printed = cli("P2", "--id", "@last", "--format", "json").json

    assert kaizen.store.reader().value(ENTRIES) == count
    assert printed == {name: value for name, value in card.items() if name != "text"}


def test_run_card_without_page_refuses_out_and_open(run, cli, kaizen):
    run(Model())

    assert (
        cli("P2", "--id", "@last", "--out", "card.txt", "--json").error["code"]
        == "out_without_page"
    )
    assert cli("P2", "--id", "@last", "--open", "--json").error["code"] == "open_without_html"


def test_run_list_shows_pass_rates_and_flakiest_stage(kaizen, run):
    run(Model(build=[BROKEN, main_with(ROUTE)]))
    run(Model(build=[BROKEN, main_with(ROUTE)], review=[REJECTION]))
    run(Model(build=[BROKEN]), test=True)  # nothing hangs on a test record
    found = kaizen("P3")
    rates = {
        row["stage"]: (row["passed"], row["judged"], row["runs"], row["pass_rate"])
        for row in found["stages"]
    }

    assert rates["build"] == (2, 4, 2, 0.5) and rates["review"] == (1, 2, 2, 0.5)
    assert rates["test"] == (4, 4, 2, 1)  # the tests that were written, and the gate
    assert list(rates)[:2] == ["build", "review"] and found["flakiest"] == "build"
    assert [row["outcome"] for row in found["records"]] == ["stuck", "rejected", "accepted"]
    assert "The flakiest stage is build." in found["text"]


def test_gate_that_never_decided_has_no_pass_rate(kaizen, run, real_gates):
    run(Model(), settings=QUICK.replace('"python"', '"no-such-tool"'))
    ready = next(stage for stage in kaizen("P3")["stages"] if stage["stage"] == "ready")

    assert (ready["judged"], ready["undecided"], ready["pass_rate"]) == (0, 1, None)
    assert kaizen("P3")["flakiest"] is None


def test_run_list_without_runs_says_nothing_found(kaizen):
    kaizen("K1")

    assert kaizen("P3")["text"] == "Nothing found."
