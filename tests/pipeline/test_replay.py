"""P6 and --driver replay: the same records give the same verdicts, and every change is reported."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import pytest

from kaizen_components.errors import NotFound, Unavailable, Usage
from kaizen_components.pipeline import prompt
from kaizen_components.pipeline.answers.reviewing import ReviewKind
from kaizen_components.pipeline.gates import conditions, registry
from kaizen_components.pipeline.run import machine
from kaizen_components.pipeline.target import toolchain
from kaizen_components.pipeline.verdict import Finding, Verdict
from support_scripts import layers

from ..conftest import ROOT, git
from . import fast_gates
from .factory import (
    GOOD,
    PLAIN,
    PLAIN_FILES,
    QUICK,
    REQUEST,
    ROUTE,
    SPEC,
    Model,
    environment,
    main_with,
    server,
    target,
    whole,
)
from .targets import FASTAPI, everything, write
from .test_resume import kaizen_in, kill_after

pytestmark = pytest.mark.usefixtures("fast_gates")

BELOW = ("errors", "records", "store")  # gates import them, but they decide nothing
REJECTION = json.dumps(
    {"verdict": "reject", "reasons": [{"criterion": "C1", "text": "It answers with a list."}]}
)
WRONG = main_with(ROUTE.replace("/health", "/wrong"))
ENDS = {  # outcome: (answers of the model, options of P1)
    "accepted": ({"build": ["nothing of use", WRONG, main_with(ROUTE)]}, {}),
    "rejected": ({"review": [REJECTION]}, {}),
    "exhausted": ({}, {"budget_json": {"asks": 3}}),
    "stuck": ({"build": [whole("../x", "owned\n")]}, {}),
    "blocked": ({}, {}),  # by a secret in the question
}


@pytest.fixture
def run(kaizen, tmp_path, monkeypatch):
    """`run(model)` does a factory run with instant gates and returns its answer."""

    def made(model, settings=QUICK, files=None, **more):
        repo = target(tmp_path / "targetapp", settings, files)
        with server(model) as serving:
            for name, value in environment(serving.url).items():
                monkeypatch.setenv(name, value)
            made = kaizen(
                "P1", **{"request": REQUEST, "repo": str(repo), "python": sys.executable, **more}
            )
        for name in environment(""):
            monkeypatch.delenv(name)  # a replay needs no model
        return made

    return made


def clone(tmp_path):
    git(tmp_path, "clone", "-q", "targetapp", "other")
    return tmp_path / "other"


def again(kaizen, made, repo=None, **more):
    place = {"repo": str(repo)} if repo else {}
    return kaizen("P1", driver="replay", **{"from": made["id"]}, **place, **more)


def steps(kaizen, run_id):
    return [
        (gate["step"], gate["attempt"], gate["reason"]) for gate in kaizen("P2", id=run_id)["gates"]
    ]


def failing(job):
    return Verdict(
        "check", "One new finding.", [Finding("X1", "It is not liked any more.", "app/main.py", 3)]
    )


# P6


@pytest.mark.parametrize("outcome", ENDS)
def test_replay_repeats_verdicts_of_any_outcome(kaizen, run, tmp_path, outcome):
    answers, more = ENDS[outcome]
    files = (
        {"app/main.py": FASTAPI["app/main.py"] + 'KEY = "ghp_' + "a1B2" * 9 + '"\n'}
        if outcome == "blocked"
        else {}
    )
    made = run(Model(**answers), files=files, **more)
    assert made["outcome"] == outcome
    before, events = everything(tmp_path / "targetapp"), kaizen("P2", id=made["id"])["events"]
    found = kaizen("P6", id=made["id"])

    assert found["same"] is True and "exit_code" not in found, found["text"]
    assert [(row["step"], row["attempt"], row["recorded"]) for row in found["steps"]] == steps(
        kaizen, made["id"]
    )
    assert (found["changed"], found["questions_changed"]) == ([], 0)
    assert found["verdicts"] == len(found["steps"]) - (outcome == "blocked")  # nobody was asked
    assert everything(tmp_path / "targetapp") == before
    assert kaizen("P2", id=made["id"])["events"] == events


def test_replay_repeats_verdicts_of_agent_run(kaizen, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    turn = kaizen("P1", request=REQUEST, repo=str(repo), python=sys.executable, driver="agent")
    for step in ("plan", "scout", "build", "tests", "review"):
        for text in (["nothing of use"] if step == "build" else []) + GOOD[step]:
            (tmp_path / "answer.txt").write_text(text)
            said = kaizen("P4", lease=turn["lease"], file=str(tmp_path / "answer.txt"))
            turn = kaizen("P5", id=turn["id"]) if "outcome" not in said else turn
    found = kaizen("P6", id=turn["id"])

    assert (said["outcome"], found["same"], found["different"]) == ("accepted", True, 0)
    assert ("build", 1, "malformed") in [
        (row["step"], row["attempt"], row["replayed"]) for row in found["steps"]
    ]
    assert steps(kaizen, again(kaizen, turn, clone(tmp_path))["id"]) == steps(kaizen, turn["id"])


def test_replay_records_report_and_witnessed_proof(kaizen, run, root):
    made = run(Model())
    first, second = kaizen("P6", id=made["id"]), kaizen("P6", id=made["id"])

    proof = kaizen("Q7", id=first["proof_id"])["record"]
    assert (proof["tier"], proof["outcome"], proof["about_id"]) == (
        "witnessed",
        "passed",
        made["id"],
    )
    assert (proof["stdout_id"], proof["commit_hash"]) == (
        first["artifact_id"],
        kaizen("P2", id=made["id"])["base_commit"],
    )
    assert kaizen("A5", id=first["artifact_id"])["state"] == "ok"
    assert json.loads((root / first["path"]).read_text())["steps"] == first["steps"]
    assert second["path"] == first["path"]
    assert [path.name for path in (root / "AI/work/replays").iterdir()] == [
        pathlib.Path(first["path"]).name
    ]
    assert kaizen("K8")["status"] == "OK"


def test_changed_run_files_do_not_affect_replay(kaizen, run, root):
    made = run(Model())
    folder = root / "AI" / "work" / "runs" / made["id"]
    lines = (folder / "trace.jsonl").read_text()
    (folder / "trace.jsonl").write_text(lines.replace('"pass"', '"check"'))
    (folder / "change.diff").unlink()
    write(folder / "base", {"app/main.py": "# nothing\n"})

    assert kaizen("P6", id=made["id"])["same"] is True


def rewritten(root, run_id, step, old, new):
    """Change a recorded answer in the database file, which Kaizen itself never does."""
    plain = sqlite3.connect(root / "AI" / "db" / "kaizen.db")
    plain.execute("DROP TRIGGER run_event_no_update")
    words = "UPDATE run_event SET body = replace(body, ?, ?) WHERE run_id = ? AND event = 'answered' AND step = ?"
    assert plain.execute(words, (old, new, run_id, step)).rowcount == 1
    plain.commit()
    plain.close()


def test_changed_recorded_answer_is_reported(kaizen, run, root):
    made = run(Model())
    assert kaizen("P6", id=made["id"])["same"] is True
    kaizen.close()
    rewritten(root, made["id"], "scout", "routes are functions", "routes are classes")
    found = kaizen("P6", id=made["id"])

    assert (found["same"], found["exit_code"], found["different"], found["answers_changed"]) == (
        False,
        1,
        0,
        1,
    )
    assert found["text"].startswith(
        f"DIFFERENT: 1 answer of {made['id']} changed since the recording, and 0 verdicts."
    )
    (row,) = [row for row in found["steps"] if not row["same"]]
    assert (row["step"], row["attempt"], row["recorded"], row["replayed"]) == (
        "scout",
        1,
        "answered",
        "changed",
    )
    assert row["why"].startswith("The recorded answer was changed: its sha256 was ")
    assert row["why"] in found["text"] and "proof_id" not in found
    blocked = again(kaizen, made)
    assert (blocked["outcome"], blocked["exit_code"]) == ("blocked", 5)
    assert f"The answer of {made['id']} to scout 1 was changed." in blocked["findings"][0]


def test_changed_result_file_is_reported(kaizen, run, root):
    made = run(Model())
    folder = root / "AI" / "work" / "runs" / made["id"]
    (folder / "change.diff").write_text("another\n")
    (folder / "spec.md").unlink()
    found = kaizen("P6", id=made["id"])

    assert found["same"] is True
    assert [line.rpartition("/")[2].split(" was ")[0] for line in found["changed"]] == [
        "change.diff",
        "spec.md",
    ]
    assert found["changed"][1].endswith(" and is gone")


def test_changed_tool_version_is_reported(kaizen, run, monkeypatch):
    made = run(Model())
    ask_interpreter = toolchain.ask_interpreter

    def newer(place):
        answer = ask_interpreter(place)
        return {**answer, "versions": {**answer["versions"], "ruff": "ruff 99.0.1"}}

    monkeypatch.setattr(toolchain, "_answers", {})
    monkeypatch.setattr(toolchain, "ask_interpreter", newer)
    found = kaizen("P6", id=made["id"])

    assert found["same"] is True
    (changed,) = found["changed"]
    assert changed.startswith("ruff was ") and changed.endswith(" and is 99.0.1")
    assert "ruff was" in found["text"]


def test_changed_gate_is_reported_as_different_verdict(kaizen, run, monkeypatch):
    made = run(Model())
    monkeypatch.setitem(fast_gates.SCRIPTED, "static", failing)
    monkeypatch.setattr(conditions, "hash_gate_code", lambda: "another")
    found = kaizen("P6", id=made["id"])

    assert (found["same"], found["exit_code"], found["different"]) == (False, 1, 1)
    (row,) = [row for row in found["steps"] if not row["same"]]
    assert (row["step"], row["recorded"], row["replayed"]) == ("validate", "pass", "check")
    assert "It was pass and is check: One new finding." in row["why"]
    assert any(line.startswith("the code of the gates was ") for line in found["changed"])
    assert "proof_id" not in found and found["text"].startswith("DIFFERENT: 1 of 8 verdicts")


def test_changed_findings_are_reported_as_difference(kaizen, run, monkeypatch):
    monkeypatch.setitem(fast_gates.SCRIPTED, "static", failing)
    made = run(Model())
    assert made["outcome"] == "stuck"
    other = Verdict(
        "check", "One new finding.", [Finding("X1", "It is not liked any more.", "app/main.py", 4)]
    )
    monkeypatch.setitem(fast_gates.SCRIPTED, "static", lambda job: other)
    found = kaizen("P6", id=made["id"])

    assert (found["exit_code"], found["different"]) == (1, 3)
    assert (
        "Not found now: app/main.py:3: X1" in found["text"]
        and "Found now: app/main.py:4: X1" in found["text"]
    )


def test_changed_state_machine_is_reported_as_difference(kaizen, run, monkeypatch):
    made = run(Model(**ENDS["stuck"][0]))
    monkeypatch.setattr(machine, "SAME_FAILURE_MAX", 4)
    found = kaizen("P6", id=made["id"])

    (row,) = [row for row in found["steps"] if not row["same"]]
    assert (row["recorded"], row["replayed"], found["exit_code"]) == (
        "ending stuck",
        "ending exhausted",
        1,
    )


def test_objection_that_disappears_on_replay_is_reported(kaizen, run, monkeypatch):
    spec = json.dumps({**SPEC, "out_of_scope": ["app/__init__.py"]})
    made = run(
        Model(plan=[spec], build=[GOOD["build"][0] + whole("app/__init__.py", '"""The app."""\n')])
    )
    assert steps(kaizen, made["id"])[-1] == ("review", 1, "check")
    assert kaizen("P6", id=made["id"])["same"] is True
    monkeypatch.setattr(ReviewKind, "find_objection", lambda self, work, asked: None)
    found = kaizen("P6", id=made["id"])

    assert (found["steps"][-1]["same"], found["exit_code"]) == (False, 1)
    assert (
        found["steps"][-1]["why"]
        == "It was check without an answer; now the question would be asked."
    )


def test_changed_prompt_is_reported_with_first_difference(kaizen, run, monkeypatch, tmp_path):
    made = run(Model())
    shutil.copytree(prompt.PROMPTS, tmp_path / "prompts")
    plan = tmp_path / "prompts" / "spec.md"
    plan.write_text("You plan otherwise.\n" + plan.read_text())
    monkeypatch.setattr(prompt, "PROMPTS", str(tmp_path / "prompts"))
    found = kaizen("P6", id=made["id"])

    assert (found["same"], found["questions_changed"]) == (True, 1)
    (row,) = [row for row in found["questions"] if not row["same"]]
    assert row["step"] == "plan" and row["why"].startswith(
        "First difference: line 2: recorded 'You plan a change"
    )
    assert "now 'You plan otherwise.'" in row["why"]


def test_replay_without_base_commit_is_refused(kaizen, run, tmp_path):
    made = run(Model(review=[REJECTION]))
    repo = tmp_path / "targetapp"
    git(repo, "commit", "-q", "--amend", "-m", "another")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")

    with pytest.raises(Unavailable, match="cannot be read") as caught:
        kaizen("P6", id=made["id"])
    assert (caught.value.exit_code, caught.value.code) == (5, "base_is_gone")
    shutil.rmtree(repo)
    with pytest.raises(Unavailable, match="cannot be read"):
        kaizen("P6", id=made["id"])


def test_replay_with_missing_tool_exits_with_5(kaizen, run, tmp_path, real_gates):
    environment = tmp_path / "tools"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    made = run(Model(), python=str(environment / "bin" / "python"))
    shutil.rmtree(environment)
    found = kaizen("P6", id=made["id"])

    assert (made["outcome"], found["same"], found["exit_code"]) == ("accepted", False, 5)
    assert [row["step"] for row in found["steps"] if not row["same"]] == [
        "ready",
        "validate",
        "test",
    ]
    assert "There is no interpreter" in found["steps"][1]["why"]
    assert found["text"].startswith("CANNOT TELL: 3 of 8 verdicts")


def test_replay_with_real_gates_gives_same_verdicts(kaizen, run, strongest, real_gates):
    made = run(Model(**PLAIN), settings="repeats = 1\n", files=PLAIN_FILES)
    found = kaizen("P6", id=made["id"])

    assert made["outcome"] == "accepted"
    assert found["same"] is True and found["changed"] == [], found["text"]


# --driver replay


def test_replay_driver_works_in_another_checkout(kaizen, run, tmp_path):
    made = run(Model(**ENDS["accepted"][0]))
    other = clone(tmp_path)
    found = again(kaizen, made, other)

    assert (found["outcome"], found["tokens_in"], found["cost_usd"]) == ("accepted", 0, 0)
    assert steps(kaizen, found["id"]) == steps(kaizen, made["id"])
    assert found["id"] != made["id"] and found["task_id"] != made["task_id"]
    diffs = [
        subprocess.run(
            ["git", "diff", "main", run_["branch"]], cwd=repo, check=True, capture_output=True
        ).stdout
        for run_, repo in ((made, tmp_path / "targetapp"), (found, other))
    ]
    assert diffs[0] == diffs[1] != b""
    assert kaizen("P2", id=found["id"])["driver"] == "replay"
    assert kaizen("P6", id=found["id"])["same"] is True


def test_replay_driver_uses_the_recorded_repo(kaizen, run, tmp_path, monkeypatch):
    made = run(Model())
    monkeypatch.chdir("/")

    assert again(kaizen, made)["outcome"] == "accepted"


def test_changed_file_in_prompt_blocks_the_replay_driver(kaizen, run, tmp_path):
    made = run(Model())
    other = clone(tmp_path)
    write(other, {"app/main.py": FASTAPI["app/main.py"].replace("targetapp", "another")})
    git(other, "commit", "-q", "-a", "-m", "changed")
    before = everything(other)
    found = again(kaizen, made, other)

    assert (found["outcome"], found["exit_code"]) == ("blocked", 5)
    assert steps(kaizen, found["id"])[-1] == ("scout", 1, "missing")
    (finding,) = found["findings"]
    assert f"The question of scout 1 differs from the one in {made['id']}." in finding
    assert "First difference: line " in finding
    assert 'recorded \'    return {"service": "targetapp"}\'' in finding and '"another"}' in finding
    assert everything(other) == before


def test_missing_recorded_answer_blocks_the_run(kaizen, run, monkeypatch):
    made = run(Model())
    monkeypatch.setitem(fast_gates.SCRIPTED, "static", failing)
    found = again(kaizen, made)

    assert (found["outcome"], found["exit_code"]) == ("blocked", 5)
    assert f"{made['id']} has no recorded answer to build 2." in found["findings"][0]
    assert "build 1" in found["findings"][0]
    assert kaizen("P6", id=found["id"])["steps"][-1]["same"] is None


def test_killed_replay_can_be_resumed(cli, root, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    with server(Model()) as serving:
        words = ["P1", "--request", REQUEST, "--repo", str(repo), "--python", sys.executable]
        made = kaizen_in(root, *words, env=environment(serving.url))[1]
    kill_after(12, ["P1", "--driver", "replay", "--from", made["id"]], {}, root)
    run_id = cli("P3", "--json").json["records"][0]["id"]
    resumed = cli("P7", "--id", run_id, "--json")

    assert run_id != made["id"]
    assert (resumed.json["outcome"], resumed.json["build_attempts"]) == ("accepted", 1)


@pytest.mark.parametrize(
    "words, error, code",
    [
        ({"driver": "replay"}, Usage, "no_source"),
        ({"driver": "replay", "from": "run_1999"}, NotFound, None),
        ({"driver": "model", "from": "@last"}, Usage, "from_without_replay"),
        ({"repo": "."}, Usage, "missing_option"),
        ({"request": "x"}, Usage, "missing_option"),
    ],
)
def test_invalid_replay_is_refused_and_records_no_run(kaizen, words, error, code):
    kaizen("W1", title="So that", summary="there is a database")
    with pytest.raises(error) as caught:
        kaizen("P1", **words)

    assert code in (None, caught.value.code)
    assert kaizen("P3")["records"] == []


# The records of a replay


def test_recorded_question_has_no_secrets(kaizen, run, root):
    secret = "ghp_" + "a1B2" * 9
    run(Model(), files={"app/main.py": FASTAPI["app/main.py"] + f'KEY = "{secret}"\n'})
    (asked,) = kaizen.store.reader().tuples(
        "SELECT body FROM run_event WHERE event = 'asked' AND step = 'scout' ORDER BY n"
    )
    kept = [path for path in root.rglob("*") if path.is_file()]

    assert (
        "[user]" in asked[0]
        and "from fastapi import FastAPI" in asked[0]
        and secret not in asked[0]
    )
    assert [path.name for path in kept if secret.encode() in path.read_bytes()] == []


def test_parallel_and_killed_replays_leave_no_folders(kaizen, root, run):
    made = run(Model())
    words = [sys.executable, str(ROOT / "kaizen.py"), "P6", "--id", made["id"], "--json"]
    env = {**os.environ, "KAIZEN_REPO_ROOT": str(root)}
    three = [
        subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in "123"
    ]
    three[0].stderr.readline()  # its first words: it has begun
    three[0].kill()
    said = [json.loads(one.communicate(timeout=300)[0] or "{}") for one in three]

    assert [one.get("same") for one in said] == [None, True, True]
    assert kaizen("P6", id=made["id"])["same"] is True
    left = (root / "AI" / "work" / "replays").iterdir()
    assert [path for path in left if path.is_dir()] == []
    assert kaizen("K8")["status"] == "OK"


def test_gate_hash_covers_every_module_gates_import():
    modules = layers.find_modules()
    left = ["pipeline." + gate.judge.partition(":")[0] for gate in registry.GATES.values()]
    reached = {"pipeline.gates.tests.box.main", "sandbox.confine"}  # started by path, not imported
    while left:
        name = left.pop()
        reached.add(name)
        left += layers.find_imports(name, modules) - reached

    judging = {
        modules[name].relative_to(layers.PACKAGE).as_posix()
        for name in reached
        if not name.startswith(BELOW)
    }
    assert judging - set(conditions.list_gate_files()) == set()
    assert len(judging) > 50
