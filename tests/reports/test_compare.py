"""P8: compare two groups of runs on the same requests, with confidence intervals."""

import html
import itertools
import json
import re
import shutil
import sys

import pytest

from kaizen_components.errors import Conflict, NotFound, Usage
from kaizen_components.pipeline import prompt
from kaizen_components.pipeline.protocol import load_shipped, override_budget
from kaizen_components.reports.charts.interval import compute_mean_interval, compute_share_interval
from kaizen_components.reports.runs import compare

from ..model_server import Answer
from ..pipeline.agent_life import OWN, run_agents
from ..pipeline.codemode_answers import REQUEST as FUNCTION_REQUEST
from ..pipeline.codemode_answers import SOURCE
from ..pipeline.factory import GOOD, QUICK, Model, environment, server, target
from ..pipeline.protocols import EMPTY_NOTES, GOOD_NOTES, NOTES, SCRIPT, changed, put
from ..pipeline.targets import repository
from ..pipeline.test_codemode import model as codemode_model

REJECT = json.dumps({"verdict": "reject", "reasons": [{"criterion": "C1", "text": "No."}]})


@pytest.fixture
def run(kaizen, tmp_path, monkeypatch):
    """`run(model, name)`: a factory run by the model of that name."""
    repo = target(tmp_path / "targetapp", QUICK)

    def start_run(model, name="small", request="add a /health endpoint returning status ok"):
        with server(model) as serving:
            for key, value in {**environment(serving.url), "KAIZEN_LLM_MODEL": name}.items():
                monkeypatch.setenv(key, value)
            monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")
            return kaizen("P1", request=request, repo=str(repo))

    return start_run


def answer_as(name, **steps):
    return Model(
        **{
            step: [Answer(text, model=name) for text in steps.get(step, texts)]
            for step, texts in GOOD.items()
        }
    )


def test_comparison_of_models_counts_only_shared_requests(kaizen, run):
    run(answer_as("small", review=[REJECT]), "small")
    run(answer_as("small", build=["nothing", GOOD["build"][0]]), "small")
    run(answer_as("large"), "large")
    run(answer_as("large"), "large", request="add a /health route that says status ok")
    comparison = kaizen("P8", left="model=small", right="model=large")

    accepted = [comparison[side]["accepted"] for side in ("left", "right")]
    assert (comparison["left"]["runs"], accepted) == (2, [1, 1])
    assert (comparison["left"]["rounds"]["mean"], comparison["right"]["rounds"]["mean"]) == (5.5, 5)
    assert comparison["left_out"] == {"left": 0, "right": 1}
    assert (
        comparison["left"]["accepted_interval"][0]
        < 0.5
        < comparison["left"]["accepted_interval"][1]
    )
    lines = comparison["text"].splitlines()
    assert lines[0] == "1 request that both sides had: 2 runs against 1."
    assert any(
        line.startswith("accepted") and "1 of 2 (" in line and "1 of 1 (" in line for line in lines
    )
    assert "rejected, accepted | accepted" in comparison["text"]


def test_runs_compared_by_id_give_reproducible_pages(kaizen, run):
    one, two = run(Model())["id"], run(Model())["id"]
    kaizen("P6", id=one)
    comparison = kaizen("P8", left=one, right=two)
    assert [
        (comparison[side]["replayed_same"], comparison[side]["replayed"])
        for side in ("left", "right")
    ] == [(1, 1), (0, 0)]
    first = kaizen("P8", left=one, right=two, format="html", timezone="UTC", out="-")["document"]
    again = kaizen("P8", left=one, right=two, format="html", timezone="UTC", out="-")["document"]

    assert first == again
    assert "Request by request" in first
    assert kaizen("P8", left=one, right=two, format="md", timezone="UTC", out="-")[
        "document"
    ].startswith("# run\\_")


# Runs of a user's protocol that writes release notes


@pytest.fixture
def own(tmp_path):
    return repository(tmp_path / "app", {".kaizen/check_notes.py": SCRIPT})


@pytest.fixture
def notes(kaizen, root, own, monkeypatch):
    """`notes(GOOD_NOTES)`: a run of a user's protocol in which the model gives these answers."""
    put(root, NOTES)
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")

    def start_run(*texts, repo=own, **more):
        with server([Answer(text) for text in texts]) as serving:
            for key, value in environment(serving.url).items():
                monkeypatch.setenv(key, value)
            words = {
                "protocol": "release-notes",
                "request": "2.0 adds /health.",
                "python": sys.executable,
            }
            return kaizen("P1", **{**words, "repo": str(repo), **more})

    return start_run


def rows(comparison):
    """Return {row label: [left, right]} of the printed table."""
    lines = comparison["text"].split("\n\n")[1].splitlines()
    return {label: cells for label, *cells in (re.split(r"  +", line) for line in lines)}


def abort_after_refusals(kaizen, repo, file):
    """Abort an agent's run after an answer for another commit and one that the gate refuses."""
    words = {
        "protocol": "release-notes",
        "request": "2.0 adds /health.",
        "repo": str(repo),
        "driver": "agent",
    }
    turn = kaizen("P1", **words, python=sys.executable)
    file.write_text(EMPTY_NOTES)
    with pytest.raises(Conflict):
        kaizen("P4", lease=turn["lease"], file=str(file), base="0" * 40)
    assert kaizen("P4", lease=turn["lease"], file=str(file))["next_step"] == "notes"
    kaizen("P7", id=turn["id"], abort=True)


def test_comparison_has_every_number_for_model_and_agents(kaizen, root, notes, own):
    first = notes("nothing", EMPTY_NOTES, GOOD_NOTES)
    notes(GOOD_NOTES)
    kaizen("P6", id=first["id"])
    run_agents(kaizen, "honest", own, given=OWN)
    abort_after_refusals(kaizen, own, root / "answer.json")
    comparison = kaizen("P8", left="driver=model", right="driver=agent")
    table = rows(comparison)

    assert table["accepted"] == ["2 of 2 (34.2 % to 100.0 %)", "1 of 2 (9.5 % to 90.5 %)"]
    assert table["caught by gates"] == ["1 in 2 runs", "1 in 2 runs"]
    assert table["illegal moves refused"] == ["0 in 2 runs", "1 in 2 runs"]
    assert table["rounds: answers asked for"] == [
        "2.00 (0.00 to 14.71)",
        "1.50 (0.00 to 7.85)",
    ]
    assert table["tokens"] == ["36 (0 to 265)", "unknown"]
    assert table["cost"] == ["<$0.0001 ($0 to $0.0004)", "unknown"]
    assert (
        comparison["left"]["cost_usd"]["mean"] == 0.00005
    )  # each answer 11 tokens at 1 and 7 at 2 dollars a million
    assert table["replayed with the same verdicts"] == ["1 of 1", "not replayed"]
    assert table["models"] == ["scripted", "none named"]
    assert table["protocols, by version"][0] == table["protocols, by version"][1]
    for name in ("seconds", "wall_seconds"):
        for side in ("left", "right"):
            low, high = comparison[side][name]["interval"]
            assert (
                low < comparison[side][name]["mean"] < high
                and comparison[side][name]["unknown"] == 0
            )
    assert comparison["left"]["wall_seconds"]["mean"] >= comparison["left"]["seconds"]["mean"] > 0

    page = kaizen(
        "P8", left="driver=model", right="driver=agent", format="html", timezone="UTC", out="-"
    )["document"]
    for label, cells in table.items():
        for text in (label, *cells):
            assert html.escape(text, quote=False) in page, text
    assert "2.0 adds /health." in page and "accepted, aborted" in page and "../app" in page


def test_side_with_single_run_has_no_interval(kaizen, root, notes):
    put(root, changed(lambda given: given.update(name="short-notes")))
    notes(EMPTY_NOTES, GOOD_NOTES)
    notes(GOOD_NOTES)
    notes(*[EMPTY_NOTES] * 3, protocol="short-notes")
    comparison = kaizen("P8", left="protocol=release-notes", right="protocol=short-notes")
    table = rows(comparison)

    assert table["accepted"] == ["2 of 2 (34.2 % to 100.0 %)", "0 of 1 (0.0 % to 79.3 %)"]
    assert table["caught by gates"] == ["1 in 2 runs", "3 in 1 run"]
    assert table["rounds: answers asked for"] == ["1.50 (0.00 to 7.85)", "3.00"]
    assert (table["tokens"][1], comparison["right"]["tokens"]["interval"]) == ("54", None)
    assert comparison["requests"][0]["right"][0]["outcome"] == "stuck"


def test_protocol_version_depends_on_prompts_but_not_budget(kaizen, root, notes, own):
    before = kaizen("P11", name="release-notes", repo=str(own))["hash"]
    notes(GOOD_NOTES)
    notes(EMPTY_NOTES, GOOD_NOTES, budget_json={"asks": 5, "tokens": 100_000})
    put(
        root,
        changed(
            lambda given: given["steps"]["notes"].update(prompt="Be short.\n-----\n{{ request }}")
        ),
    )
    after = kaizen("P11", name="release-notes", repo=str(own))["hash"]
    notes(GOOD_NOTES)
    comparison = kaizen("P8", left=f"version={before}", right=f"version={after[:8]}")

    assert (comparison["left"]["runs"], comparison["right"]["runs"]) == (2, 1)
    assert rows(comparison)["protocols, by version"] == [
        f"release-notes {before[:12]}",
        f"release-notes {after[:12]}",
    ]
    assert rows(comparison)["rounds: answers asked for"][0].startswith("1.50 ")
    with pytest.raises(Usage):
        kaizen(
            "P8", left="version=1", right=f"version={after}"
        )  # the number that a protocol has in its file


def test_changed_shipped_prompt_changes_version(monkeypatch, tmp_path):
    factory = load_shipped("factory")
    before = factory.hash
    assert override_budget(factory, {"asks": 3}).hash == before
    shutil.copytree(prompt.PROMPTS, tmp_path / "prompts")
    (tmp_path / "prompts" / "review.md").write_text("You review otherwise.")
    monkeypatch.setattr(prompt, "PROMPTS", str(tmp_path / "prompts"))

    assert load_shipped("factory").hash != before


def test_comparison_omits_same_request_on_another_repository(kaizen, notes, own, tmp_path):
    shutil.copytree(own, tmp_path / "clone")
    other = repository(tmp_path / "other", {".kaizen/check_notes.py": SCRIPT, "app.py": "X = 1\n"})
    runs = [notes(GOOD_NOTES, repo=repo)["id"] for repo in (own, tmp_path / "clone", other)]

    assert kaizen("P8", left=runs[0], right=runs[1])["requests"][0]["where"] == "../app"
    with pytest.raises(NotFound, match="no request in common"):
        kaizen("P8", left=runs[0], right=runs[2])
    comparison = kaizen("P8", left=runs[0], right=",".join(runs))
    assert (comparison["right"]["runs"], comparison["left_out"]["right"]) == (2, 1)
    assert "1 run with other requests or repositories is left out." in comparison["text"]


def test_codemode_rounds_count_every_model_step(kaizen, tmp_path, monkeypatch):
    repo = repository(tmp_path / "app", {"app/__init__.py": "", "app/text.py": SOURCE})
    with server(codemode_model([])) as serving:
        for key, value in {**environment(serving.url), "KAIZEN_SANDBOX_MAX": "L1"}.items():
            monkeypatch.setenv(key, value)
        words = {
            "protocol": "codemode",
            "function": "app.text:slugify",
            "request": FUNCTION_REQUEST,
        }
        made = kaizen("P1", **words, repo=str(repo), python=sys.executable)
    comparison = kaizen("P8", left=made["id"], right="protocol=codemode")

    assert (made["outcome"], comparison["left"]["rounds"]["mean"]) == ("accepted", 3)
    assert comparison["requests"][0]["where"] == "../app app.text:slugify"
    assert "1 run is on both sides and cannot differ." in comparison["text"]


def test_comparison_with_invalid_or_empty_side_is_refused(kaizen, notes):
    notes(GOOD_NOTES)
    for left in ("model=nobody", "run_1999"):
        with pytest.raises(NotFound):
            kaizen("P8", left=left, right="driver=model")
    for left in ("colour=red", "version=abc"):
        with pytest.raises(Usage):
            kaizen("P8", left=left, right="driver=model")


def test_clones_are_compared_as_one_repository():
    trees = [("a", {"1"}), ("b", {"1", "2"}), ("c", {"2"}), ("d", set())]
    for order in itertools.permutations(trees):
        origins = compare._find_origins(dict(order))
        assert origins["a"] == origins["b"] == origins["c"] != origins["d"]


def test_confidence_intervals_match_textbook_values():
    assert compute_share_interval(0, 0) is None
    assert [round(end, 3) for end in compute_share_interval(8, 10)] == [0.49, 0.943]
    assert compute_share_interval(10, 10)[1] == 1.0
    assert compute_mean_interval([5]) is None
    assert [round(end, 2) for end in compute_mean_interval([1.0, 2.0, 3.0])] == [-0.48, 4.48]
