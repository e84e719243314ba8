"""Family K: create, check, back up, batch, purge, find, diagnose."""

import json
import os
import re
import sqlite3

import pytest

from kaizen_components.commands import db
from kaizen_components.errors import Conflict, Integrity, NotFound, Refused, Unavailable, Usage
from kaizen_components.records.ledger import manifest

from ..conftest import ROOT


def line(command, **args):
    return json.dumps({"command": command, "args": args})


@pytest.fixture
def batch(kaizen, root):
    """`batch(line, …)`: K5 on a file of these lines."""

    def run(*lines, **shared):
        (root / "batch.jsonl").write_text("\n".join(lines))
        return kaizen("K5", file=str(root / "batch.jsonl"), **shared)

    return run


def start(kaizen, **more):
    return kaizen("W1", title="t", summary="s", **more)


# K0


@pytest.mark.parametrize(
    "intent, code",
    [
        ("start a new task", "W1"),
        ("mark the task as done", "W2"),
        ("record that the tests passed", "Q1"),
        ("what is ready to be started", "W12"),
        ("what should I do next", "R0"),
        ("start a session", "R0"),
        ("what happened since my last session", "R0"),
        ("show everything about one task", "W10"),
        ("list all open tickets", "W9"),
        ("back up the database", "K3"),
        ("has anybody tampered with the records", "K8"),
        ("run many commands at once", "K5"),
        ("remove test records", "K7"),
        ("what is wrong with my setup", "K11"),
        ("create the database", "K1"),
        ("which schema version is this", "K2"),
        ("this task depends on another one", "W11"),
        ("take a task so nobody else works on it", "W13"),
        ("give back the lease", "W13"),
        ("write a plan", "W3"),
        ("what did the subagent bring back", "W6"),
        ("list all tasks", "W9"),
        ("mark a task as done", "W2"),
        ("close task", "W2"),
        ("which command creates a plan", "W3"),
        ("record a bug I found", "W1"),
        ("what is blocked", "W12"),
        ("change the priority", "W2"),
        ("I am stuck, the database is locked", "K11"),
        ("import tasks from a file", "K5"),
        ("who is working on this", "W9"),
        ("add a note to a task", "W2"),
        ("add a note", "W2"),
        ("list open tasks", "W9"),
        ("stop working on a task", "W13"),
        ("verify nothing was tampered", "K8"),
        ("show the plan", "W14"),
        ("row counts of the database", "K6"),
        ("ask a subagent to look at something", "W5"),
        ("record a diagnosis", "W8"),
        ("run the tests and keep the proof", "Q1"),
        ("prove that a command works", "Q1"),
        ("remember a pitfall", "G1"),
        ("what should I know before editing this file", "L10"),
        ("everything we know about the write gate", "R11"),
        ("which lessons are stale", "R3"),
        ("which evals are flaky", "R5"),
        ("which sources are outdated", "R6"),
        ("promote a gotcha", "L2"),
        ("this lesson is outdated", "L11"),
        ("record a code review result", "Q2"),
        ("find failed verifications", "Q9"),
        ("check my spec for vague words", "Q10"),
        ("add a rule for all sessions", "X1"),
        ("show the rules of this project", "X5"),
        ("hash of a file", "A2"),
        ("has this file changed since I recorded it", "A5"),
        ("remember where I read this", "S1"),
        ("make a prediction", "I2"),
        ("how good are my predictions", "I5"),
        ("record tokens and cost of a model call", "T1"),
        ("where did the time go", "T3"),
        ("average of a score", "T4"),
        ("propose an improvement", "O2"),
        ("import lessons from markdown", "M3"),
        ("preview the migration", "M2"),
        ("user corrected me", "I3"),
        ("close a task without proof", "W2"),
        ("add an eval case", "Q3"),
        ("build a feature", "P1"),
        ("let a model write the code", "P1"),
        ("how did the pipeline run go", "P2"),
        ("which stage is the flakiest", "P3"),
        ("go on with a crashed run", "P7"),
        ("abort a run", "P7"),
        ("which model is better", "P8"),
        ("write a protocol of my own", "P11"),
        ("which protocols are there", "P11"),
        ("submit my answer to a step", "P4"),
        ("what is legal now in this run", "P5"),
        ("use kaizen in another repository", "D1"),
        ("adopt a second project", "D1"),
        ("take kaizen out of a repository again", "D1"),
        ("is it safe to publish this repository", "D2"),
        ("hooks for claude code", "D3"),
        ("which skills are there", "SK1"),
        ("is this skill valid", "SK2"),
        ("link the skills of a shared folder", "SK3"),
    ],
)
def test_command_search_finds_command_by_plain_words(kaizen, intent, code):
    found = kaizen("K0", intent=intent)["records"]

    assert code in [row["code"] for row in found]
    assert all(row["example"] for row in found)


@pytest.mark.parametrize("word", ["w13", "task-claim"])
def test_command_search_ranks_exact_code_or_name_first(kaizen, word):
    assert kaizen("K0", intent=word)["records"][0]["code"] == "W13"


def test_command_search_without_matches_gives_hint(cli):
    answer = cli("K0", "zzz qqq")

    assert answer.exit_code == 0 and "--help" in answer.out


def test_command_search_accepts_words_without_quotes(cli):
    assert cli("K0", "back", "up", "the", "database").out == cli("K0", "back up the database").out


# K1, K2, K6


def test_k1_creates_database_only_once(kaizen):
    assert kaizen("K1")["created"] is True
    again = kaizen("K1", integrity=True)

    assert again["created"] is False
    assert set(again["integrity"].values()) == {"ok"}


def test_integrity_check_names_broken_reference_and_orphan(kaizen, root):
    start(kaizen)
    kaizen.close()
    plain = sqlite3.connect(root / "AI" / "db" / "kaizen.db")
    plain.execute(
        "INSERT INTO plan (seq, id, at, actor, test, task_id, title, summary, status) "
        "VALUES (9, 'plan_x', 'x', 'x', 0, 'task_none', 't', 's', 'draft')"
    )
    plain.commit()
    plain.close()

    with pytest.raises(Integrity) as caught:
        kaizen("K1", integrity=True)
    assert "plan" in caught.value.why


def test_schema_status_lists_migrations(kaizen):
    kaizen("K1")
    status = kaizen("K2")

    assert status["state"] == "current"
    assert [row["version"] for row in status["migrations"]] == list(range(1, status["schema"] + 1))


def test_manifest_has_row_counts_and_hash_of_file(kaizen, root):
    start(kaizen)
    facts = kaizen("K6")
    written = json.loads((root / facts["manifest"]).read_text())

    assert written["rows"]["task"] == written["rows"]["log"] == written["entries"] == 1
    assert written["root"] == kaizen("K8")["root"]
    kaizen.close()
    import hashlib

    assert (
        written["file"]["sha256"]
        == hashlib.sha256((root / "AI/db/kaizen.db").read_bytes()).hexdigest()
    )


def test_backup_and_manifest_never_overwrite_file(kaizen, root):
    start(kaizen)
    for code in ("K3", "K6"):
        out = root / f"{code}.out"
        out.write_text("mine")
        with pytest.raises(Conflict):
            kaizen(code, out=str(out))
        assert out.read_text() == "mine"


# K3


def test_backup_is_verified_copy_with_manifest(kaizen, root):
    start(kaizen)
    made = kaizen("K3")
    start(kaizen)
    path = root / made["backup"]
    manifest = json.loads((root / made["manifest"]).read_text())

    assert made["verified"] and manifest["entries"] == 1
    assert kaizen("K8", file=str(path))["entries"] == 1
    assert sqlite3.connect(path).execute("SELECT count(*) FROM task").fetchone() == (1,)


def test_backup_to_non_utf8_name_is_usage_error(cli):
    cli("K1")
    refused = cli("K3", "--out", b"bk\xff.db", "--json")

    assert refused.exit_code == 2 and "UTF-8" in refused.error["what"]


def test_killed_backup_leaves_no_file_behind(kaizen, root, monkeypatch):
    start(kaizen)
    seen = []

    def killed(store, file):
        seen.append(os.listdir(root / "out"))
        raise KeyboardInterrupt

    monkeypatch.setattr(db.ledger, "verify", killed)
    (root / "out").mkdir()
    with pytest.raises(KeyboardInterrupt):
        kaizen("K3", out=str(root / "out" / "copy.db"))

    assert seen == [[f"copy.db.{os.getpid()}.part"]]
    assert os.listdir(root / "out") == []


def test_backup_never_replaces_file(kaizen, root):
    start(kaizen)
    (root / "mine.db").write_text("mine")

    with pytest.raises(Conflict, match="already exists"):
        kaizen("K3", out=str(root / "mine.db"))
    assert (root / "mine.db").read_text() == "mine"


def test_failed_manifest_leaves_no_file_behind(kaizen, root, monkeypatch):
    start(kaizen)

    def full(facts, file, **more):
        file.write("{")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(manifest.json, "dump", full)
        with pytest.raises(Unavailable, match="cannot be written"):
            kaizen("K6", out=str(root / "m.json"))
    assert kaizen("K6", out=str(root / "m.json"))["manifest"]


def test_manifest_accepts_stdout_but_backup_refuses(cli, root):
    cli("K1")

    assert cli("K6", "--out", "-", "--json").json["rows"]["task"] == 0
    assert cli("K3", "--out", "-").exit_code == 2
    assert os.listdir(root) == ["AI"]


def test_backup_outside_project_returns_its_absolute_path(cli, tmp_path):
    cli("K1")
    out = str(tmp_path / "else where" / "copy.db")
    answer = cli("K3", "--out", out, "--json").json

    assert (answer["backup"], answer["manifest"]) == (out, out + ".json")


def test_refused_backup_removes_folders_it_created(kaizen, root, tmp_path):
    start(kaizen)
    kaizen.close()
    with sqlite3.connect(root / "AI/db/kaizen.db") as raw:
        raw.execute("DROP TRIGGER task_no_update")
        raw.execute("UPDATE task SET title = 'Forged'")
    (tmp_path / "there").mkdir()
    with pytest.raises(Integrity):
        kaizen("K3", out=str(tmp_path / "there" / "new" / "er" / "copy.db"))

    assert os.listdir(tmp_path / "there") == []


def test_verifying_a_text_file_says_not_a_database(cli, root):
    cli("K1")
    (root / "notes.txt").write_text("no database\n" * 100)
    answer = cli("K8", "--file", str(root / "notes.txt"))

    assert answer.exit_code == 7 and "'notes.txt' is not a database" in answer.err
    assert "move" not in answer.err.lower()


def test_damaged_backup_fails_verification(kaizen, root):
    start(kaizen)
    path = root / kaizen("K3")["backup"]
    plain = sqlite3.connect(path)
    plain.execute("DROP TRIGGER task_no_update")
    plain.execute("UPDATE task SET title = 'changed'")
    plain.commit()
    plain.close()

    with pytest.raises(Integrity, match="Edit"):
        kaizen("K8", file=str(path))
    with pytest.raises(NotFound):
        kaizen("K8", file=str(root / "none.db"))


# K5


def test_batch_records_lines_with_references_in_one_transaction(kaizen, batch):
    answer = batch(
        line("W1", title="First", summary="s"),
        "",
        line("task-start", title="Second", summary="s", **{"depends-on": ["$1.id"]}),
        line("W13", id="$1.id"),
        line("W2", id="$1.id", status="done", token="$4.token"),
        line("W10", id="$3.id"),
    )
    first, second, *_, inspected = answer["records"]

    assert answer["count"] == 5
    assert [row["line"] for row in answer["records"]] == [1, 3, 4, 5, 6]
    assert (
        inspected["record"]["title"] == "Second" and inspected["links"][0]["task_id"] == first["id"]
    )
    assert [row["id"] for row in kaizen("W12")["records"]] == [second["id"]]
    assert kaizen("W10", id=first["id"])["log"]["command"] == "W1"
    assert kaizen("K8")["verified"]


@pytest.mark.parametrize(
    "bad, code",
    [
        ("{", "bad_line"),
        ("[]", "bad_line"),
        ('{"command": "W1", "title": "x"}', "bad_line"),
        ('{"command": 1}', "bad_line"),
        (line("W99"), "unknown_command"),
        (line("W1", title="t"), "missing_option"),
        (line("W1", title="t", summary="s", colour="red"), "unknown_option"),
        (line("W1", title="t", summary="s", op_id="x"), "shared_option_in_batch"),
        (line("W1", title=7, summary="s"), "bad_value"),
        (line("W1", title="t", summary="s", depends_on=["task_none"]), "unknown_id"),
        (line("W2", id="$9.id", status="done"), "bad_reference"),
        (line("W2", id="$1.nothing", status="done"), "bad_reference"),
        (line("K1"), "not_in_batch"),
        (line("K8"), "not_in_batch"),
        (line("SK1"), "not_in_batch"),
        (line("K5", file="x"), "not_in_batch"),
        (line("K7"), "not_in_batch"),
        (line("W1", title="t", summary="s", parent="nope"), "unknown_id"),
        (line("W1", title="t", summary="token=" + "ghp_" + "A1b2C3d4E5" * 4), "secret_refused"),
    ],
)
def test_batch_error_names_line_and_writes_nothing(kaizen, batch, bad, code):
    start(kaizen)
    with pytest.raises((Usage, Refused, NotFound)) as caught:
        batch(line("W1", title="ok", summary="s"), bad)

    assert caught.value.what.startswith("Line 2: ") and caught.value.code == code
    assert kaizen("W9")["count"] == 1


def test_batch_reads_stdin_and_refuses_empty_input(cli):
    lines = (line("W1", title="a", summary="s") + "\n") * 3

    assert cli("K5", "--json", stdin=lines.encode()).json["count"] == 3
    assert cli("K5", "--json", stdin=b"\n\n").exit_code == 2
    assert cli("K5", "--json", stdin=b"").error["code"] == "empty_stdin"


def test_batch_of_reads_creates_no_database(cli, root):
    answer = cli("K5", "--json", stdin=line("W9").encode())
    assert "does not exist" in answer.error["why"]

    assert (answer.exit_code, answer.error["code"]) == (3, "no_database")
    assert os.listdir(root) == []


@pytest.mark.parametrize("value", ["$" + "9" * 5_000 + ".id", [[[["$1.id"]]]]])
def test_batch_error_names_line_of_invalid_reference(batch, value):
    with pytest.raises(Usage) as refused:
        batch(line("W2", id=value, note="n"))
    assert refused.value.what.startswith("Line 1: ")


def test_batch_error_names_line_of_deeply_nested_list(batch):
    with pytest.raises(Usage) as refused:
        batch('{"command": "W2", "args": {"note": "n", "id": ' + "[" * 900 + "]" * 900 + "}}")
    assert refused.value.what.startswith("Line 1: ")


@pytest.mark.parametrize("byte", [b"\xff", b"\0"])
def test_batch_error_names_line_of_non_utf8_byte(cli, byte):
    lines = [line("W1", title="a", summary="s").encode(), b"", b'{"command": "W1' + byte]
    refused = cli("K5", "--json", stdin=b"\n".join(lines))

    assert refused.exit_code == 2 and "in line 3" in refused.error["what"] + refused.error["why"]


def test_batch_line_with_option_in_two_spellings_is_refused(kaizen, batch):
    with pytest.raises(Usage, match="An option is given twice"):
        batch(
            '{"command": "W1", "args": {"title": "t", "summary": "s", "done-when": ["a"], "done_when": ["b"]}}'
        )


def test_purge_removes_op_id_of_test_batch(kaizen, batch):
    trial = start(kaizen, test=True)["id"]
    batch(line("W2", id=trial, note="a note"), op_id="trial")
    kaizen("K7")

    with pytest.raises(NotFound):
        batch(line("W2", id=trial, note="a note"), op_id="trial")


def test_purge_keeps_op_id_of_mixed_batch(kaizen, batch):
    trial, real = start(kaizen, test=True)["id"], start(kaizen)["id"]
    lines = [line("W2", id=trial, note="a note"), line("W2", id=real, note="a note")]
    batch(*lines, op_id="both")
    kaizen("K7")

    assert batch(*lines, op_id="both")["replayed"]


def test_batch_line_with_repeated_json_key_is_refused(batch):
    with pytest.raises(Usage) as caught:
        batch('{"command": "W1", "args": {"title": "a", "title": "c", "summary": "b"}}')

    assert (
        caught.value.what == "Line 1: The text is not valid JSON."
        and "repeated" in caught.value.why
    )


def test_unknown_reference_error_lists_fields_of_its_line(batch):
    with pytest.raises(Usage) as caught:
        batch(line("W1", title="a", summary="b"), line("W2", id="$1.nope", note="n"))

    assert (
        caught.value.what == "Line 2: $1.nope refers to no earlier result."
        and "$1.id" in caught.value.why
    )


def test_unicode_line_separator_does_not_split_batch_line(kaizen, batch):
    batch('{"command": "W1", "args": {"title": "t", "summary": "a\u2028b\u0085c"}}')

    assert kaizen("W10", id="@last")["record"]["summary"] == "a\u2028b\u0085c"


def test_batch_value_of_one_dash_is_text(kaizen, batch):
    answer = batch(line("W1", title="-", summary="-"), line("W9", actor="somebody"))

    assert kaizen("W10", id="@last")["record"]["summary"] == "-"
    assert answer["records"][1]["records"] == []


def test_batch_reference_in_text_field_stays_text(kaizen, batch):
    batch(line("W1", title="first", summary="s"), line("W1", title="$1.id", summary="costs $5.00"))

    assert kaizen("W10", id="@last")["record"]["title"] == "$1.id"


def test_batch_with_repeated_op_id_is_replayed_completely(kaizen, batch):
    first = batch(line("W1", title="a", summary="s"), op_id="once")
    second = batch(line("W1", title="a", summary="s"), op_id="once")

    assert second["replayed"] and second["records"] == first["records"]
    assert kaizen("W9")["count"] == 1


def test_batch_prints_results_like_single_commands(cli):
    lines = "\n".join(
        [line("W1", title="First", summary="s"), line("W9"), line("W9", status="done")]
    )
    shown = cli("K5", "--op-id", "once", stdin=lines.encode()).out
    ready = cli("W9").out

    written, listed, nothing = re.split(r"^line \d+\n", shown, flags=re.M)[1:]
    assert "First" in written and "log index" in written
    assert listed.strip() == ready.strip()
    assert nothing.strip() == "Nothing found."
    assert "replayed" in cli("K5", "--op-id", "once", stdin=lines.encode()).out.splitlines()[-1]


# K7


def test_purge_removes_only_test_records_and_dependents(kaizen):
    real = start(kaizen)["id"]
    trial = start(kaizen, test=True)["id"]
    kaizen("W2", id=trial, status="active")
    kaizen("W3", task_id=trial, title="p", summary="s")
    kaizen("W13", id=trial)
    kaizen("W11", id=trial, kind="blocks", target_id=real)
    packet = kaizen("W5", task_id=trial, title="p", summary="s")["id"]
    kaizen("W6", id=packet, summary="s")
    start(kaizen, test=True, op_id="trial")
    assert real not in [row["id"] for row in kaizen("W12")["records"]]

    listed = kaizen("K7", dry_run=True)
    assert kaizen("W10", id=trial)
    removed = kaizen("K7")

    assert listed["count"] == removed["removed"] == 9
    assert [row["id"] for row in kaizen("W9")["records"]] == [real]
    assert [row["id"] for row in kaizen("W12")["records"]] == [real], "the real task is unblocked"
    assert kaizen("K8")["purged"] == 9
    assert set(kaizen("K1", integrity=True)["integrity"].values()) == {"ok"}
    assert kaizen("K7")["removed"] == 0
    assert start(kaizen, test=True, op_id="trial").get("replayed") is None


def test_purge_removes_op_ids_of_test_records(kaizen):
    trial = start(kaizen, test=True)["id"]
    kaizen("W2", id=trial, status="active", op_id="move")
    assert kaizen("W2", id=trial, status="active", op_id="move")["replayed"]
    kaizen("K7")
    start(kaizen)

    assert kaizen("W2", id="@last", status="done", op_id="move")["rev"] == 2
    assert kaizen("K8")["verified"]


def test_purge_removes_test_revision_of_real_task(kaizen):
    real = start(kaizen)["id"]
    kaizen("W2", id=real, status="done", test=True)
    kaizen("K7")

    assert kaizen("W10", id=real)["record"]["status"] == "open"
    assert kaizen("K8")["verified"]


# --op-id


def test_repeated_op_id_returns_first_result(kaizen):
    first, second = (start(kaizen, op_id="abc") for _ in range(2))

    assert second.pop("replayed") is True
    assert first == second
    assert kaizen("W9")["count"] == 1


@pytest.mark.parametrize(
    "code, change",
    [
        ("W1", {"title": "other"}),
        ("W1", {"body": "more"}),
        ("W1", {"test": True}),
        ("W1", {"actor": "bob"}),
    ],
)
def test_op_id_with_other_options_is_conflict(kaizen, code, change):
    start(kaizen, op_id="abc")
    with pytest.raises(Conflict, match="op-id"):
        kaizen(code, **{"title": "t", "summary": "s", "op_id": "abc", **change})
    assert kaizen("W9")["count"] == 1


def test_op_id_matches_call_with_explicit_default(kaizen):
    start(kaizen, op_id="abc")

    assert start(kaizen, op_id="abc", scope="project", priority="normal")["replayed"]


def test_op_id_of_failed_call_can_be_reused(kaizen):
    start(kaizen)
    with pytest.raises(NotFound):
        kaizen("W2", id="task_none", status="done", op_id="abc")

    assert kaizen("W2", id="@last", status="done", op_id="abc")["rev"] == 2


# Secrets: records/test_secrets.py has the patterns; here they meet every command

SECRET = "gh" + "p_" + "A1b2C3d4E5" * 3 + "f6G7h8"


@pytest.mark.parametrize(
    "code, given",
    [
        ("W1", {"title": SECRET, "summary": "s"}),
        ("W1", {"title": "t", "summary": f"use {SECRET} now"}),
        ("W1", {"title": "t", "summary": "s", "body": "x" * 100_000 + " " + SECRET}),
        ("W1", {"title": "t", "summary": "s", "scope": SECRET}),
        ("W1", {"title": "t", "summary": "s", "done_when": ["true", f"curl -H {SECRET}"]}),
        ("W1", {"title": "t", "summary": "s", "actor": SECRET}),
        ("W1", {"title": "t", "summary": "s", "op_id": SECRET}),
        ("W2", {"id": "@last", "note": SECRET}),
        (
            "W5",
            {
                "task_id": "@last",
                "title": "t",
                "summary": "s",
                "payload_json": {"env": [{"TOKEN": SECRET}]},
            },
        ),
        ("W5", {"task_id": "@last", "title": "t", "summary": "s", "payload_json": {SECRET: 1}}),
        ("W6", {"id": "@last", "summary": SECRET}),
        ("W13", {"id": "@last", "note": SECRET}),
        ("W9", {"scope": SECRET}),
        ("K0", {"intent": SECRET}),
    ],
)
def test_secret_is_refused_everywhere_and_never_repeated(kaizen, code, given):
    start(kaizen)
    kaizen("W5", task_id="@last", title="t", summary="s")
    before = kaizen("K1")["entries"]
    with pytest.raises(Refused) as caught:
        kaizen(code, **given)

    assert caught.value.code == "secret_refused"
    assert SECRET not in str(caught.value.as_dict())
    assert kaizen("K1")["entries"] == before


def test_secret_in_environment_or_file_is_refused(cli, root):
    (root / "body").write_text(SECRET)

    assert cli("W1", "--title", "t", "--summary", "s", env={"KAIZEN_ACTOR": SECRET}).exit_code == 1
    assert cli("W1", "--title", "t", "--summary", "s", "--body-file", "body").exit_code == 1
    refused = cli("W1", "--title", "t", "--summary", "-", "--json", stdin=SECRET.encode())
    assert "--summary" in refused.error["what"] and "GitHub" in refused.error["what"]
    assert not os.path.exists(root / "AI")


def test_text_about_secrets_can_be_recorded(kaizen):
    kaizen(
        "W1",
        title="Rotate the API key",
        summary="Set token=$TOKEN; AKIAIOSFODNN7EXAMPLE is only an example.",
    )

    assert (ROOT / "docs" / "secrets.md").exists()
