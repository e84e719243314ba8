"""Runs with wrong answers, spent budgets, silent models and two processes; with instant gates."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from ..conftest import LAUNCHER
from ..model_server import Answer, broken, html, huge, rate_limited, wrong_json
from .factory import (
    BRIEF,
    GOOD,
    QUICK,
    ROUTE,
    SPEC,
    Model,
    environment,
    main_with,
    run_words,
    server,
    target,
    whole,
)  # fmt: skip
from .targets import FASTAPI, everything, write

pytestmark = pytest.mark.usefixtures("fast_gates")

VERSION = (
    '\n\n@app.get("/version")\ndef version() -> dict[str, str]:\n    return {"version": "1"}\n'
)


@pytest.fixture
def quick(factory):
    def run(model, *more, **words):
        return factory(model, *more, **{"settings": QUICK, **words})

    return run


def rejecting(question):
    """Answer as a reviewer that rejects the unrequested route /version."""
    if "/version" not in question:
        return json.dumps({"verdict": "approve"})
    reason = {
        "criterion": "Any other route",
        "text": "The diff adds GET /version, which the spec never asks for.",
    }
    return json.dumps({"verdict": "reject", "reasons": [reason]})


def test_reviewer_rejects_unrequested_route(quick, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    before = everything(repo)
    model = Model(build=[main_with(ROUTE + VERSION)], review=[rejecting])
    run = quick(model, repo=repo)

    assert run.done.exit_code == 1
    assert (run.answer["outcome"], run.steps[-1]) == ("rejected", ("review", 1, "reject"))
    assert "/version" in run.card["gates"][-1]["says"]
    assert everything(repo) == before
    assert '+@app.get("/version")' in (run.folder / "change.diff").read_text()
    assert run.answer["rejected_answers"] == 5 and run.answer["rejected_cost_usd"] > 0


def test_reviewer_sees_only_spec_and_diff(quick):
    model = Model()
    quick(model)
    (question,) = model.questions("review")

    assert "C1: GET /health answers" in question
    assert '+@app.get("/health")' in question and "+++ b/tests/test_health.py" in question
    assert "returning status ok" not in question and "routes are functions" not in question


def test_too_long_diff_blocks_the_run(quick):
    model = Model(build=[GOOD["build"][0] + whole("app/big.py", "# something\n" * 6_000)])
    run = quick(model)

    assert (run.done.exit_code, run.answer["outcome"], model.questions("review")) == (
        5,
        "blocked",
        [],
    )
    assert "a reviewer is shown 60,000 at most" in run.answer["findings"][0]


def test_review_uses_its_configured_model(quick):
    seen = []

    def review(request):
        seen.append(request["model"])
        return Answer(GOOD["review"][0])

    with server(review) as other:
        run = quick(
            Model(), env={"KAIZEN_REVIEW_BASE_URL": other.url, "KAIZEN_REVIEW_MODEL": "another"}
        )

    assert (run.answer["outcome"], seen) == ("accepted", ["another"])


@pytest.mark.parametrize(
    "path", ["../x", "/tmp/x", "app/../../x", ".git/hooks/post-checkout", "C:\\x", "a\0b"]
)
def test_answer_with_outside_path_is_asked_again(quick, tmp_path, path):
    hostile = whole(path, "owned\n")
    model = Model(build=[hostile, GOOD["build"][0]])
    run = quick(model)

    assert run.answer["outcome"] == "accepted", run.done.err
    assert ("build", 1, "malformed") in run.steps
    assert not (tmp_path / "x").exists() and not (run.root / "AI" / "work" / "runs" / "x").exists()
    assert not (run.repo / ".git" / "hooks" / "post-checkout").exists()


def test_three_answers_with_outside_path_make_run_stuck(quick, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    before = everything(repo)
    run = quick(Model(build=[whole("../x", "owned\n")]), repo=repo)

    assert (run.answer["outcome"], run.done.exit_code) == ("stuck", 1)
    assert [step for step in run.steps if step[0] == "build"] == [
        ("build", n, "malformed") for n in (1, 2, 3)
    ]
    assert everything(repo) == before


def test_change_of_protected_file_returns_to_builder(quick):
    model = Model(
        build=[
            GOOD["build"][0] + whole("tests/test_main.py", "def test_root():\n    assert True\n")
        ]
    )
    run = quick(model)

    assert ("build", 1, "check") in run.steps
    assert "tests/test_main.py is protected" in model.questions("build")[1]


def test_builder_may_return_ambiguous_spec_only_once(quick):
    model = Model(build=["AMBIGUOUS: which status?", GOOD["build"][0]])
    run = quick(model)

    assert run.answer["outcome"] == "accepted", run.done.err
    assert [step for step in run.steps if step[0] in ("plan", "build")] == [
        ("plan", 1, "pass"), ("build", 1, "ambiguous"), ("plan", 2, "pass"), ("build", 2, "pass"),
    ]  # fmt: skip
    assert "which status?" in model.questions("plan")[1]
    twice = quick(Model(build=["AMBIGUOUS: which status?"]), repo=run.repo)
    assert twice.answer["outcome"] == "failed"


@pytest.mark.parametrize(
    "step, bad, told",
    [
        ("plan", "I cannot do that.", "no JSON object"),
        ("plan", '{"title": "x"}', "criteria"),
        (
            "plan",
            json.dumps({**SPEC, "criteria": [{"id": "C1", "text": "It works well and fast."}]}),
            "/health",
        ),
        (
            "scout",
            json.dumps({"files": ["app/nothing.py"]}),
            "app/nothing.py is not in the repository",
        ),
        ("build", "Here is the code you want.", "edit"),
        ("build", main_with("\n\ndef broken(:\n"), "app/main.py"),
        ("build", Answer(GOOD["build"][0][:60], finish="length"), "cut off"),
        ("tests", whole("app/notes.txt", "x\n"), "not named as the tests here are"),
        ("tests", whole("tests/test_main.py", "x = 1\n"), "is there already"),
        ("review", '{"verdict": "reject"}', "names at least one reason"),
        ("review", '{"verdict": "maybe"}', "verdict"),
    ],
)
def test_malformed_answer_is_charged_and_asked_again(quick, step, bad, told):
    model = Model(**{step: [bad, GOOD[step][0]]})
    run = quick(model)

    assert run.answer["outcome"] == "accepted", run.done.err
    assert told in model.questions(step)[1]
    assert run.answer["tokens_in"] == 11 * 6 and run.answer["rejected_answers"] == 1


def test_prose_and_fences_around_answer_are_ignored(quick):
    model = Model(
        plan=[
            f"Sure! Here is the plan:\n```json\n{json.dumps(SPEC, indent=1)}\n```\nDoes that help?"
        ],
        build=[f"I changed one file.\n\n```\n{GOOD['build'][0]}```\n"],
    )
    run = quick(model)

    assert (run.answer["outcome"], run.answer["rejected_answers"]) == ("accepted", 0)


REFUSED = [
    f"FILE: app/main.py\n<<<<<<< SEARCH\nnot there {n}\n=======\nx\n>>>>>>> REPLACE\n"
    for n in (1, 2, 3)
]


def test_two_refusals_make_builder_write_whole_files(quick):
    model = Model(build=[*REFUSED[:2], GOOD["build"][0]])
    quick(model)

    asked = [
        "write every file that you change as a whole" in question
        for question in model.questions("build")
    ]
    assert asked == [False, False, True]


@pytest.mark.parametrize(
    "budget, why",
    [
        ({"asks": 2}, "the budget of asks is spent"),
        ({"tokens": 20}, "the budget of tokens is spent"),
        ({"cost_usd": 0.00003}, "the budget of cost_usd is spent"),
    ],
)
def test_spent_budget_ends_the_run_exhausted(quick, tmp_path, budget, why):
    repo = target(tmp_path / "targetapp", QUICK)
    before = everything(repo)
    run = quick(Model(), "--budget-json", json.dumps(budget), repo=repo)

    assert (run.answer["outcome"], run.answer["why"], run.done.exit_code) == ("exhausted", why, 1)
    assert everything(repo) == before


def test_budget_in_target_settings_limits_the_run(quick):
    run = quick(Model(), settings="[budget]\nasks = 1\n" + QUICK)

    assert (run.answer["outcome"], run.answer["why"]) == (
        "exhausted",
        "the budget of asks is spent",
    )


def test_request_to_busy_model_is_retried(quick):
    run = quick(Model(plan=[rate_limited(), broken(), GOOD["plan"][0]]))

    assert run.answer["outcome"] == "accepted", run.done.err
    assert run.events("answered")[0]["retries"] == 2


@pytest.mark.parametrize(
    "bad, code",
    [
        (Answer("late", delay_s=5), "backend_slow"), (html(), "backend_garbled"), (wrong_json(), "backend_garbled"),
        (huge(9_000_000), "backend_floods"), (Answer(status=401, raw=b"{}"), "backend_refuses_key"),
    ],
)  # fmt: skip
def test_model_that_never_answers_pauses_the_run(quick, bad, code):
    model = Model(build=[bad])
    first = quick(model, env={"KAIZEN_BUILD_TIMEOUT_S": "1" if code == "backend_slow" else "60"})

    assert (first.done.exit_code, first.answer["code"]) == (5, code)
    run_id = first.cli("P3", "--json").json["records"][0]["id"]
    assert f"P7 --id {run_id}" in first.answer["next"]
    card = first.cli("P2", "--id", run_id, "--json").json
    assert (card["outcome"], card["phase"], card["step"], card["attempts"]["build"]) == (
        None,
        "asked",
        "build",
        1,
    )
    with server(Model()) as serving:
        then = first.cli("P7", "--id", run_id, "--json", env=environment(serving.url))
    assert (then.json["outcome"], then.json["build_attempts"]) == ("accepted", 1)
    assert [request["model"] for request in serving.requests] == [
        "scripted"
    ] * 3  # build, tests, review: nothing twice


def test_unreported_usage_is_unknown_not_zero(quick):
    quiet = {step: [Answer(texts[0], usage=None)] for step, texts in GOOD.items()}
    run = quick(Model(**quiet))

    assert run.answer["outcome"] == "accepted", run.done.err
    assert (run.answer["tokens_in"], run.answer["cost_usd"], run.answer["usage_unknown"]) == (
        None,
        None,
        5,
    )


def test_secret_in_a_file_is_never_sent(quick, tmp_path):
    secret = "ghp_" + "a1B2" * 9
    repo = target(
        tmp_path / "targetapp",
        QUICK,
        {"app/main.py": FASTAPI["app/main.py"] + f'KEY = "{secret}"\n'},
    )
    model = Model()
    run = quick(model, repo=repo)

    assert (run.answer["outcome"], run.done.exit_code) == ("blocked", 5)
    assert all(secret not in question for _, question in model.asked)
    assert secret not in run.cli("P2", "--id", run.id, "--json").out


def test_secret_in_an_answer_is_not_stored(quick):
    secret = "ghp_" + "a1B2" * 9
    run = quick(Model(build=[GOOD["build"][0] + whole("app/key.py", f'KEY = "{secret}"\n')]))

    for here, _, names in os.walk(run.root):
        for name in names:
            with open(os.path.join(here, name), "rb") as file:
                assert secret.encode() not in file.read(), name


def test_apply_changes_working_tree_without_staging(quick, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    write(repo, {"README.md": "mine\n"})
    run = quick(Model(), "--apply", repo=repo)

    assert run.answer["applied"] is True, run.done.err
    assert run.git("status", "--short").splitlines() == [
        " M app/main.py",
        "?? README.md",
        "?? tests/test_health.py",
    ]


def test_apply_keeps_uncommitted_user_changes(quick, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    write(repo, {"app/main.py": "mine = 1\n"})
    run = quick(Model(), "--apply", repo=repo)

    assert (run.answer["outcome"], run.answer["applied"]) == ("accepted", False)
    assert "app/main.py" in run.answer["not_applied"]
    assert (repo / "app" / "main.py").read_text() == "mine = 1\n"


def test_run_is_linked_to_given_task(quick, cli):
    task = cli("W1", "--title", "Health", "--summary", "An endpoint.", "--json").json["id"]
    run = quick(Model(), "--task-id", task)

    assert run.answer["task_id"] == task
    assert len(cli("W9", "--json").json["records"]) == 1


def test_missing_model_is_refused_before_recording(cli, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    done = cli(*run_words(repo), env={"KAIZEN_LLM_BASE_URL": None, "KAIZEN_LLM_MODEL": None})

    assert done.exit_code == 5
    assert "KAIZEN_LLM_BASE_URL" in done.err
    assert cli("P3", "--json").exit_code in (0, 3)


@pytest.mark.parametrize(
    "words, code",
    [
        (["--repo", "nowhere"], 3), (["--protocol", "nothing"], 3), (["--budget-json", "[1]"], 2),
        (["--budget-json", '{"minutes": 1}'], 2), (["--budget-json", '{"tokens": 0}'], 2), (["--request", ""], 2),
        (["--request", "x" * 100_000], 2), (["--driver", "nobody"], 2), (["--task-id", "task_1999"], 3),
        (["--python", "no-such-python"], 3),
    ],
)  # fmt: skip
def test_invalid_option_exits_with_its_code(cli, tmp_path, words, code):
    repo = target(tmp_path / "targetapp", QUICK)
    given = {"--request": "add a /health endpoint", "--repo": str(repo)} | dict([words])
    flat = [word for pair in given.items() for word in pair]
    cli("W1", "--title", "So that", "--summary", "there is a database")
    with server(Model()) as serving:
        done = cli("P1", *flat, "--json", env=environment(serving.url))

    assert done.exit_code == code, done.err
    assert serving.requests == []
    assert cli("P3", "--json").json["records"] == [] or code == 3


def test_only_one_process_drives_a_run(cli, root, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    answered = threading.Event()

    def build(question):
        answered.wait(60)
        return GOOD["build"][0]

    slow = Model(build=[build])
    with server(slow) as serving:
        results = []
        first = threading.Thread(
            target=lambda: results.append(cli(*run_words(repo), env=environment(serving.url)))
        )
        first.start()
        while not slow.questions("build"):
            time.sleep(0.05)
        run_id = cli("P3", "--json").json["records"][0]["id"]
        for words in (["P7", "--id", run_id], ["P7", "--id", run_id, "--abort"]):
            second = cli(*words, "--json", env=environment(serving.url))
            assert (second.exit_code, second.error["code"]) == (6, "run_is_driven")
        answered.set()
        first.join()

    assert results[0].json["outcome"] == "accepted"
    assert len(slow.questions("build")) == 1


def test_aborted_run_leaves_target_unchanged(quick, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    before = everything(repo)
    first = quick(Model(build=[html()]), repo=repo)
    run_id = first.cli("P3", "--json").json["records"][0]["id"]
    done = first.cli("P7", "--id", run_id, "--abort", "--reason", "no longer wanted", "--json")

    assert (done.exit_code, done.json["outcome"], done.json["why"]) == (
        0,
        "aborted",
        "no longer wanted",
    )
    assert everything(repo) == before
    again = first.cli("P7", "--id", run_id, "--json", env=environment("http://127.0.0.1:9/v1"))
    assert (again.exit_code, again.error["code"]) == (4, "run_ended")


def test_piped_progress_prints_run_id_then_plain_lines(quick):
    run = quick(Model())
    lines = run.done.err.splitlines()

    assert lines[0].startswith(run.id)
    assert [line.split()[:3] for line in lines[1:]] == [
        [step, "1", "pass"]
        for step in ("plan", "ready", "scout", "build", "validate", "tests", "test", "review")
    ]
    assert "\r" not in run.done.err and "\x1b" not in run.done.err


def test_repeated_op_id_begins_one_run(quick, tmp_path):
    repo = target(tmp_path / "targetapp", QUICK)
    first = quick(Model(), "--op-id", "once", repo=repo)
    second = quick(Model(), "--op-id", "once", repo=repo)

    assert (second.answer["id"], second.answer["replayed"]) == (first.id, True)
    assert len(first.cli("P3", "--json").json["records"]) == 1


def test_starting_a_run_in_a_batch_is_refused(cli, tmp_path):
    line = json.dumps({"command": "P1", "args": {"request": "x", "repo": str(tmp_path)}})
    done = cli("K5", "--json", stdin=line.encode())

    assert done.exit_code == 1 and "batch" in done.err


def test_scout_can_read_but_not_write(quick):
    calls = [
        ("list", {}),
        ("read", {"path": "app/main.py"}),
        ("write", {"path": "x", "text": "y"}),
        ("grep", {"text": "FastAPI"}),
    ]
    model = Model(scout=[Answer(tool_calls=calls), json.dumps(BRIEF)])
    run = quick(model)

    assert run.answer["outcome"] == "accepted", run.done.err
    assert run.answer["calls"] == 4


def test_terminal_shows_live_line_per_step(tmp_path, root):
    import pty

    repo = target(tmp_path / "targetapp", QUICK)
    with server(Model(build=[Answer(GOOD["build"][0], piece_delay_s=0.02)])) as serving:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, str(LAUNCHER), *run_words(repo)], stderr=slave, stdout=subprocess.PIPE, cwd=root,
            env={**os.environ, **environment(serving.url), "KAIZEN_REPO_ROOT": str(root)},
        )  # fmt: skip
        os.close(slave)
        seen = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:
                break
            seen += piece
            if not piece:
                break
        process.communicate()
    assert process.returncode == 0
    text = seen.decode()
    assert any(f"{mark} build 1  " in text for mark in "|/-\\")
    assert "characters" in text and "build 1  pass" in text


@pytest.mark.parametrize(("settings", "most"), [("", 3), ("[attempts]\nbuild = 1\n", 1)])
def test_target_sets_the_attempts_of_a_step(quick, settings, most):
    run = quick(Model(build=REFUSED), settings=settings + QUICK)

    assert run.answer["outcome"] == "exhausted" and run.answer["attempts"]["build"] == most
