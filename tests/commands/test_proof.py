"""Witnessed proofs and the definition of done, as a user meets them: Q1, W1, W2."""

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaizen_components.errors import Conflict, NotFound, Refused, Usage
from kaizen_components.records.work import command_line as words

from ..conftest import git

PYTHON = sys.executable
CODE = shlex.join([PYTHON, "code.py"])
FLAKY = shlex.join([PYTHON, "flaky.py"])


@pytest.fixture
def repository(root):
    git(root, "init", "-q")
    (root / ".gitignore").write_text("AI/\n*.log\n")
    (root / "code.py").write_text("print('hello')\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def run(cli, *argv, **more):
    return cli("Q1", "--json", "--run", "--", *argv, **more)


def artifact_text(root, proof):
    return (root / proof["stdout"]).read_text()


def test_proof_of_run_stores_outcome_hashes_and_tree(repository, cli, kaizen):
    ran = run(cli, PYTHON, "code.py")
    proof = kaizen("Q7", id=ran.json["id"])["record"]

    assert ran.exit_code == 0
    assert (proof["tier"], proof["outcome"], proof["exit_code"]) == ("witnessed", "passed", 0)
    assert proof["argv"] == [PYTHON, "code.py"]
    assert proof["stdout_hash"] == hashlib.sha256(b"hello\n").hexdigest()
    assert proof["stderr_hash"] == hashlib.sha256(b"").hexdigest()
    assert len(proof["commit_hash"]) == 40 and len(proof["tree_hash"]) == 64
    assert proof["platform"] and proof["duration_ms"] >= 0
    assert artifact_text(repository, ran.json) == "hello\n"


def test_exit_code_of_command_is_passed_through(repository, cli):
    ran = run(cli, PYTHON, "-c", "raise SystemExit(37)")

    assert ran.exit_code == 37
    assert (ran.json["outcome"], ran.json["exit_code"]) == ("failed", 37)


def test_command_killed_by_signal_exits_128_plus_signal(repository, cli):
    ran = run(cli, PYTHON, "-c", "import os; os.kill(os.getpid(), 9)")

    assert (ran.exit_code, ran.json["outcome"]) == (137, "failed")


def test_words_after_two_dashes_belong_to_command(repository, cli):
    ran = cli(
        "Q1",
        "--run",
        "--",
        PYTHON,
        "-c",
        "import sys; print(sys.argv[1:])",
        "--json",
        "--title",
        "x",
        "--",
    )

    assert ran.exit_code == 0
    assert "['--json', '--title', 'x', '--']" in ran.err
    assert "witnessed" in ran.out and not ran.out.startswith("{")


def test_output_of_run_goes_to_stderr_json_to_stdout(repository, cli):
    ran = run(cli, PYTHON, "-c", "import sys; print('to out'); print('to err', file=sys.stderr)")

    assert ran.json["tier"] == "witnessed"
    assert "to out" in ran.err and "to err" in ran.err


def test_command_is_run_without_shell(repository, cli):
    assert run(cli, "echo", "$HOME;", "ls").json["outcome"] == "passed"
    assert "$HOME; ls" in run(cli, "echo", "$HOME;", "ls").err


def test_timeout_ends_whole_process_tree(repository, cli, tmp_path):
    mark = tmp_path / "mark"
    script = f"import subprocess, time; subprocess.Popen(['sh', '-c', 'sleep 3; touch {mark}']); time.sleep(60)"
    ran = cli("Q1", "--json", "--timeout-s", "1", "--run", "--", PYTHON, "-c", script)

    assert (ran.exit_code, ran.json["outcome"]) == (124, "timeout")
    subprocess.run(["sleep", "3"], check=True)
    assert not mark.exists()


def test_run_gets_only_allowed_environment_variables(repository, cli):
    environment = {"DEPLOY_CREDENTIALS": "abc", "WANTED": "yes", "KAIZEN_PASS_ENV": "WANTED"}
    ran = run(cli, PYTHON, "-c", "import os; print(sorted(os.environ))", env=environment)

    assert "DEPLOY_CREDENTIALS" not in ran.err and "KAIZEN_REPO_ROOT" not in ran.err
    assert "WANTED" in ran.err and "PATH" in ran.err


def test_secret_in_output_is_not_stored(repository, cli):
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3jL5"
    ran = run(
        cli, PYTHON, "-c", f"print('before'); print('{token[:4]}' + '{token[4:]}'); print('after')"
    )

    assert ran.exit_code == 0, ran.err
    assert artifact_text(repository, ran.json) == "before\n[line removed: GitHub token]\nafter\n"
    assert ran.json["id"]


def test_private_key_in_output_is_removed_as_block(repository, cli):
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
    (repository / "key.txt").write_text(
        f"start\n-----BEGIN {'PRIVATE'} KEY-----\n{body}\n{body}\n-----END {'PRIVATE'} KEY-----\nend\n"
    )
    ran = run(cli, "cat", "key.txt")

    assert body not in artifact_text(repository, ran.json)
    assert artifact_text(repository, ran.json) == "start\n[block removed: private key]\nend\n"


def test_secret_in_command_is_refused_before_running(repository, cli):
    ran = cli("Q1", "--run", "--", "touch", "ran", "--password=" + "hunter2hunter2")

    assert ran.exit_code == 1 and "secret" in ran.err
    assert not (repository / "ran").exists()


@pytest.mark.parametrize("words", [["--password", "hunter2abc9x"], ["--api-key", "a1b2c3d4e5f6"]])
def test_secret_as_separate_word_is_refused(repository, cli, words):
    assert cli("Q1", "--run", "--", "echo", *words).exit_code == 1


def test_last_alias_names_record_from_before_run(repository, cli, kaizen):
    task = kaizen("W1", title="before", summary="y")["id"]
    words = [PYTHON, str(_launcher()), "W1", "--title", "during", "--summary", "y"]
    inner = f"import subprocess; subprocess.run({words!r}, env={{'KAIZEN_REPO_ROOT': {str(repository)!r}}}, check=True)"
    ran = cli("Q1", "--json", "--task-id", "@last", "--run", "--", PYTHON, "-c", inner)

    assert ran.exit_code == 0 and kaizen("W9")["count"] == 2
    assert ran.json["task_id"] == task


def test_overlong_command_is_refused_before_run(repository, cli):
    assert cli("Q1", "--run", "--", "sh", "-c", "touch ran #" + "x" * 20_000).exit_code == 2
    assert not (repository / "ran").exists()
    assert (
        cli("Q1", "--summary", "\n\nfoo", "--json", "--run", "--", "true").json["outcome"]
        == "passed"
    )
    assert cli("Q1", "--title", "tests pass", "--run", "--").exit_code == 2


def test_run_with_unstorable_output_is_recorded(repository, cli):
    (repository / "AI").mkdir()
    (repository / "AI" / "work").write_text("in the way")
    ran = run(cli, "echo", "x")

    assert ran.exit_code == 0 and ran.json["outcome"] == "passed"
    assert any("Cannot store the output" in note for note in ran.json["notes"])


def test_timeout_ends_run_in_other_process_groups_too(repository, cli, tmp_path):
    mark = tmp_path / "mark"
    line = f"timeout 20 sh -c 'sleep 4; touch \"{mark}\"'; true"
    ran = cli("Q1", "--json", "--timeout-s", "1", "--run", "--", "bash", "-c", line)
    time.sleep(4)

    assert ran.json["outcome"] == "timeout" and not mark.exists()


def test_signal_ignored_by_caller_stays_ignored_during_run(repository, kaizen):
    kaizen("K1")
    line = f"trap '' HUP; exec '{PYTHON}' '{_launcher()}' Q1 --json --run -- sleep 2"
    running = subprocess.Popen(
        ["bash", "-c", line],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(repository)},
        stdout=subprocess.PIPE,
    )
    time.sleep(1)
    running.send_signal(signal.SIGHUP)
    out, _ = running.communicate(timeout=20)

    assert running.returncode == 0 and json.loads(out)["outcome"] == "passed"


def test_large_output_is_capped_but_hashed_whole(repository, cli):
    ran = run(cli, PYTHON, "-c", "import sys; sys.stdout.write('start' + 'x' * 5_000_000 + 'end')")
    text = artifact_text(repository, ran.json)

    assert ran.json["left_out_bytes"] == 4_000_008
    assert text.startswith("startxxx") and text.endswith("xxxend") and "bytes left out]" in text
    assert len(text) < 1_100_000


def test_bad_arguments_are_refused_before_run(repository, cli, kaizen):
    kaizen("K1")
    assert cli("Q1", "--run", "--", "no-such-command-here").exit_code == 3
    assert cli("Q1", "--task-id", "task_nope", "--run", "--", "touch", "ran").exit_code == 3
    assert cli("Q1").exit_code == 2
    assert cli("Q1", "--run").exit_code == 2
    assert cli("Q1", "--run", "--").exit_code == 2
    assert not (repository / "ran").exists()


def test_proof_without_run_is_reported(kaizen):
    said = kaizen("Q1", title="Tests pass", command="pytest -q", exit_code=0)
    proof = kaizen("Q7", id=said["id"])["record"]

    assert (said["tier"], said["outcome"]) == ("reported", "passed")
    assert "tree_hash" not in proof and "stdout_hash" not in proof


def test_last_alias_as_subject_skips_proofs_and_scores(kaizen):
    lesson = kaizen("L1", title="x", summary="y")["id"]
    first = kaizen("Q1", about="@last", title="once")
    kaizen("T2", about="@last", name="n", value=1)
    again = kaizen("Q1", about="@last", title="twice")

    assert first["about_id"] == again["about_id"] == lesson


def test_run_with_command_option_is_refused(kaizen):
    with pytest.raises(Usage):
        kaizen("Q1", command="pytest", run=["pytest"])


def test_other_processes_can_write_while_command_runs(repository, cli, kaizen):
    kaizen("K1")
    inner = f"import subprocess; print(subprocess.run({[PYTHON, str(_launcher()), 'W1', '--title', 'x', '--summary', 'y']!r}, env={{'KAIZEN_REPO_ROOT': {str(repository)!r}, 'KAIZEN_BUSY_TIMEOUT_S': '2', 'PATH': ''}}).returncode)"  # noqa: E501
    ran = run(cli, PYTHON, "-c", inner)

    assert ran.exit_code == 0 and artifact_text(repository, ran.json).rstrip().endswith("0")
    assert kaizen("W9")["count"] == 1


def _launcher():
    from ..conftest import LAUNCHER

    return LAUNCHER


def test_proof_with_same_op_id_runs_command_once(repository, cli):
    script = "open('count', 'a').write('x')"
    first = cli("Q1", "--op-id", "a1", "--json", "--run", "--", PYTHON, "-c", script)
    again = cli("Q1", "--op-id", "a1", "--json", "--run", "--", PYTHON, "-c", script)

    assert again.json["replayed"] is True and again.json["id"] == first.json["id"]
    assert (repository / "count").read_text() == "x"


def test_command_is_not_run_inside_batch(kaizen, root):
    (root / "batch.jsonl").write_text(json.dumps({"command": "Q1", "args": {"run": ["true"]}}))
    with pytest.raises(Refused) as caught:
        kaizen("K5", file=str(root / "batch.jsonl"))

    assert caught.value.what.startswith("Line 1: ")


@pytest.mark.parametrize(
    "how, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_interrupt_ends_command_and_records_nothing(repository, kaizen, tmp_path, how, code):
    kaizen("K1")
    mark = tmp_path / "mark"
    command = ["sh", "-c", f"echo started > '{mark}'; sleep 3; echo late > '{mark}'"]
    running = subprocess.Popen(
        [PYTHON, str(_launcher()), "Q1", "--run", "--", *command],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(repository)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(how, signal.SIG_DFL if how != signal.SIGINT else signal.default_int_handler),
    )  # fmt: skip  # whoever runs the tests may ignore it, as nohup does
    while not mark.exists():
        time.sleep(0.05)
    running.send_signal(how)
    running.communicate(timeout=20)
    time.sleep(3)

    assert running.returncode == code
    assert mark.read_text() == "started\n"
    assert kaizen("K8")["entries"] == 0


# The definition of done


@pytest.fixture
def task(repository, kaizen):
    return kaizen("W1", title="Prove it", summary="y", done_when=["true", CODE])["id"]


def close(kaizen, task, **more):
    return kaizen("W2", id=task, status="done", **more)


def refused(kaizen, task):
    with pytest.raises(Refused) as caught:
        close(kaizen, task)
    return {point["command"]: point["state"] for point in caught.value.findings}


def test_task_closes_only_with_fresh_witnessed_proofs(task, kaizen, repository):
    assert refused(kaizen, task) == {"true": "missing", CODE: "missing"}
    kaizen("Q1", run=["true"])
    assert refused(kaizen, task) == {CODE: "missing"}
    kaizen("Q1", run=[PYTHON, "code.py"])

    assert close(kaizen, task)["task_status"] == "done"


def test_reported_proof_does_not_close_task(task, kaizen):
    kaizen("Q1", command="true", exit_code=0, task_id=task)

    assert refused(kaizen, task)["true"] == "missing"


def test_failed_run_overrides_earlier_pass(task, kaizen, repository):
    (repository / "flaky.log").write_text("")  # ignored, so the tree stays the same
    (repository / "flaky.py").write_text(
        "import os, sys; sys.exit(not os.path.exists('flaky.log'))\n"
    )
    flaky = kaizen("W1", title="Flaky", summary="y", done_when=[FLAKY])["id"]
    kaizen("Q1", run=[PYTHON, "flaky.py"])
    (repository / "flaky.log").unlink()
    kaizen("Q1", run=[PYTHON, "flaky.py"])

    assert refused(kaizen, flaky) == {FLAKY: "failed"}


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "code.py").write_text("print('other')\n"),
        lambda root: (root / "new.py").write_text(""),
        lambda root: (root / "code.py").unlink(),
        lambda root: os.chmod(root / "code.py", 0o755),
        lambda root: os.symlink("code.py", root / "link.py"),
    ],
    ids=["a changed file", "a new file", "a deleted file", "a changed mode", "a new link"],
)
def test_proof_is_stale_after_change(change, repository, kaizen):
    task = kaizen("W1", title="x", summary="y", done_when=["true"])["id"]
    kaizen("Q1", run=["true"])
    change(repository)

    assert refused(kaizen, task) == {"true": "stale"}


@pytest.mark.parametrize("path", ["ignored.log", "AI/work/notes.txt"])
def test_proof_stays_fresh_after_ignored_changes(path, repository, kaizen):
    task = kaizen("W1", title="x", summary="y", done_when=["true"])["id"]
    kaizen("Q1", run=["true"])
    (repository / path).parent.mkdir(parents=True, exist_ok=True)
    (repository / path).write_text("x")

    assert close(kaizen, task)["task_status"] == "done"


def test_reverted_change_makes_proof_fresh(repository, kaizen):
    task = kaizen("W1", title="x", summary="y", done_when=["true"])["id"]
    kaizen("Q1", run=["true"])
    (repository / "code.py").write_text("print('other')\n")
    assert refused(kaizen, task) == {"true": "stale"}
    (repository / "code.py").write_text("print('hello')\n")

    assert close(kaizen, task)["task_status"] == "done"


def test_waiver_closes_task_and_is_shown_with_it(task, kaizen):
    closed = close(kaizen, task, waive="The release cannot wait.")
    shown = kaizen("W10", id=task)

    assert closed["waiver_id"].startswith("waiver_")
    assert [waiver["reason"] for waiver in shown["waivers"]] == ["The release cannot wait."]


def test_waiver_without_closing_status_is_refused(task, kaizen):
    with pytest.raises(Usage):
        kaizen("W2", id=task, status="active", waive="x")


def test_task_without_done_when_closes_without_proof(kaizen, root):
    kaizen("W1", title="x", summary="y")

    assert close(kaizen, "@last")["task_status"] == "done"


def test_done_when_matches_command_despite_other_quoting(repository, kaizen):
    task = kaizen("W1", title="x", summary="y", done_when=["test   -d  '.'"])["id"]
    kaizen("Q1", run=["test", "-d", "."])

    assert close(kaizen, task)["task_status"] == "done"


def test_invalid_done_when_is_refused_at_start(kaizen):
    with pytest.raises(Usage):
        kaizen("W1", title="x", summary="y", done_when=["echo 'unfinished"])


def test_proof_that_changed_tree_is_stale(repository, cli):
    ran = run(cli, "touch", "made.py")

    assert "stale" in ran.json["hint"]


def test_closing_reports_blocking_verdicts(kaizen):
    task = kaizen("W1", title="x", summary="y")["id"]
    kaizen("Q2", task_id=task, conclusion="VERIFICATION_FAILED", summary="No.", findings=["wrong"])
    closed = close(kaizen, task)
    kaizen("Q2", task_id=task, conclusion="VERIFIED_ACCEPTABLE", summary="Yes.")
    kaizen("W2", id=task, status="open")

    assert "still objects" in closed["hint"] and close(kaizen, task)["hint"] is None


def test_closing_reports_done_when_command_that_changes_tree(repository, kaizen):
    task = kaizen("W1", title="x", summary="y", done_when=["sh -c 'date +%N > stamp'"])["id"]
    kaizen("Q1", run=["sh", "-c", "date +%N > stamp"])

    assert list(refused(kaizen, task).values()) == ["changes the tree"]


def test_test_proof_does_not_close_real_task(repository, kaizen):
    task = kaizen("W1", title="x", summary="y", done_when=["true"])["id"]
    kaizen("Q1", run=["true"], test=True)

    assert refused(kaizen, task) == {"true": "missing"}


def test_closing_unknown_task_is_not_found(kaizen):
    kaizen("K1")
    with pytest.raises(NotFound):
        close(kaizen, "task_x")


def test_tree_hash_without_git_skips_tool_folders(root, kaizen):
    task = kaizen("W1", title="x", summary="y", done_when=["true"])["id"]
    kaizen("Q1", run=["true"])
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "a.pyc").write_text("x")
    assert close(kaizen, task)["task_status"] == "done"
    kaizen("W2", id=task, status="open")
    (root / "a.py").write_text("x")

    assert refused(kaizen, task) == {"true": "stale"}


def test_reused_op_id_conflicts_before_running(repository, cli):
    cli("Q1", "--op-id", "a1", "--run", "--", "true")
    again = cli("Q1", "--op-id", "a1", "--json", "--run", "--", "touch", "ran")

    assert again.exit_code == Conflict.exit_code and not (repository / "ran").exists()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("aZ09 _-./'\"\\$", min_size=1, max_size=6), min_size=1, max_size=4))
def test_quoted_command_line_is_already_normalized(every):
    line = shlex.join(every)

    assert words.normalize_command_line("--x", line) == words.join_words(every) == line
    assert words.normalize_command_line("--x", f"  {line}  ") == line
