"""Family A: files and folders by their hash, as their users meet them."""

import hashlib
import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from kaizen_components.errors import Integrity, KaizenError, NotFound, Usage
from kaizen_components.index import find_command

from ..conftest import LAUNCHER


@pytest.fixture
def file(root):
    """`file("docs/a.txt", "text")`: a file of the project; returns its SHA-256."""

    def write(name="a.txt", text="hello\n"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return hashlib.sha256(text.encode()).hexdigest()

    return write


@pytest.fixture
def outside(tmp_path):
    """A file that is not in the project."""
    path = tmp_path / "elsewhere" / "model.bin"
    path.parent.mkdir()
    path.write_text("weights")
    return path


def failure(do, *args, **given):
    with pytest.raises(KaizenError) as raised:
        do(*args, **given)
    return raised.value


def rows(kaizen, **filters):
    return [row["id"] for row in kaizen("A4", **filters)["records"]]


# A1 and A2


def test_artifact_stores_path_and_hash_of_file(kaizen, file):
    sha256 = file("docs/guide.md")
    added = kaizen("A1", path="docs/guide.md", title="The guide", summary="How to start.")
    kept = kaizen("A3", id=added["id"])

    assert (added["path"], added["sha256"], added["bytes"]) == ("docs/guide.md", sha256, 6)
    assert {name: kept["record"][name] for name in ("kind", "path", "name", "sha256", "bytes", "title", "summary")} == {
        "kind": "file", "path": "docs/guide.md", "name": "guide.md", "sha256": sha256, "bytes": 6,
        "title": "The guide", "summary": "How to start.",
    }  # fmt: skip
    assert kept["log"]["content_hash"] == added["hash"] and kept["log"]["command"] == "A1"


def test_every_spelling_of_path_is_stored_as_relative(kaizen, file, root):
    file("docs/guide.md")
    for path in (
        "docs/guide.md",
        "./docs/../docs/guide.md",
        str(root / "docs" / "guide.md"),
        "../a project/docs/guide.md",
    ):
        assert kaizen("A1", path=path)["path"] == "docs/guide.md"


def test_recording_file_again_adds_another_artifact(kaizen, file):
    file()
    first, second = kaizen("A1", path="a.txt"), kaizen("A1", path="a.txt")

    assert first["id"] != second["id"] and first["sha256"] == second["sha256"]
    assert [row["id"] for row in kaizen("A3", id=second["id"])["same_path"]] == [first["id"]]


def test_folder_is_recorded_with_its_file_and_byte_counts(kaizen, file, root):
    file("docs/a.md", "a")
    file("docs/deep/b.md", "bb")
    file("docs/.git/HEAD", "left out")
    added = kaizen("A1", path="docs/")
    whole = kaizen("A1", path=".")

    assert (added["path"], added["files"], added["bytes"]) == ("docs", 2, 3)
    assert kaizen("A3", id=added["id"])["record"]["kind"] == "folder"
    assert (whole["path"], whole["name"], whole["files"]) == (".", ".", 2), "AI/db is left out"
    assert kaizen("A1", path=".")["sha256"] == whole["sha256"]


def test_link_out_of_project_is_refused(kaizen, file, root, outside):
    file()
    (root / "in.txt").symlink_to("a.txt")
    (root / "leak.bin").symlink_to(outside)
    (root / "folder").symlink_to(outside.parent)

    assert kaizen("A1", path="in.txt")["path"] == "in.txt"
    for path in (
        "leak.bin",
        "folder/model.bin",
        "folder",
        "../elsewhere/model.bin",
        str(outside),
        "a/../../x",
    ):
        for code in ("A1", "A2"):
            error = failure(kaizen, code, path=path)
            assert (error.exit_code, error.code) == (1, "outside_project")
            assert str(root.parent) not in f"{error.what} {error.why} {error.next}"
    assert len(rows(kaizen)) == 1


def test_external_file_stores_only_name_and_hash(cli, root, outside):
    added = cli("A1", "--path", str(outside), "--allow-external", "--op-id", "once", "--json").json
    shown = cli("A3", "--id", "@last", "--json").json["record"]
    stored = b"".join(
        path.read_bytes() for path in (root / "AI" / "db").rglob("*") if path.is_file()
    )

    assert added["sha256"] == hashlib.sha256(b"weights").hexdigest()
    assert (shown["kind"], shown["name"], "path" in shown) == ("external", "model.bin", False)
    assert b"model.bin" in stored
    assert b"elsewhere" not in stored and str(root.parent).encode() not in stored


def test_allow_external_records_project_file_by_its_path(kaizen, file):
    file()

    assert kaizen("A1", path="a.txt", allow_external=True)["path"] == "a.txt"


def test_allow_external_accepts_folders_and_outside_links(kaizen, root, outside):
    (root / "leak").symlink_to(outside)

    assert kaizen("A1", path=str(outside.parent), allow_external=True)["files"] == 1
    assert kaizen("A1", path="leak", allow_external=True)["name"] == "leak"
    assert kaizen("A1", path="../elsewhere/model.bin", allow_external=True)["name"] == "model.bin"


def test_hashing_file_neither_needs_nor_creates_database(cli, root, outside):
    (root / "a.txt").write_text("x")
    inside = cli("A2", "--path", "a.txt", "--json").json
    external = cli("A2", "--path", str(outside), "--allow-external", "--json").json
    people = cli("A2", "--path", "a.txt")

    assert inside["sha256"] == hashlib.sha256(b"x").hexdigest() and inside["path"] == "a.txt"
    assert external["name"] == "model.bin" and "path" not in external
    assert inside["sha256"] in people.out, "whole, to be copied"
    assert os.listdir(root) == ["a.txt"]


@pytest.mark.parametrize("code", ["A1", "A2"])
def test_missing_file_creates_no_database(cli, root, code):
    (root / "broken").symlink_to("nothing")
    for path in ("nope.txt", "no/such/folder", "broken"):
        answer = cli(code, "--path", path, "--json")
        assert (answer.exit_code, answer.error["code"]) == (3, "file_not_found")

    assert not (root / "AI").exists()


@pytest.mark.parametrize("hidden", ["a.txt", "docs", "docs/b.txt"])
def test_unreadable_artifact_path_raises_unavailable(root, file, tool, hidden):
    file("a.txt")
    file("docs/b.txt")
    as_user = (
        [tool("setpriv"), "--bounding-set=-dac_override,-dac_read_search"]
        if os.getuid() == 0
        else []
    )
    (root / hidden).chmod(0)
    done = subprocess.run(
        [*as_user, sys.executable, str(LAUNCHER), "A1", "--path", ".", "--json"],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root)}, capture_output=True, timeout=60,
    )  # fmt: skip
    (root / hidden).chmod(0o755)

    assert done.returncode == 5
    assert json.loads(done.stderr)["code"] == "file_unreadable"


def test_unreadable_artifact_content_raises_unavailable(kaizen):
    error = failure(kaizen, "A1", path="/proc/self/mem", allow_external=True)

    assert (error.exit_code, error.code) == (5, "file_unreadable")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "pipe"])
def test_fifo_and_device_are_refused_as_artifacts(cli, root, path):
    os.mkfifo(root / "pipe")
    answer = cli("A1", "--path", path, "--allow-external", "--json")

    assert (answer.exit_code, answer.error["code"]) == (1, "special_file")


def test_database_is_refused_as_artifact(kaizen):
    kaizen("K1")
    for path in ("AI/db/kaizen.db", "AI/db"):
        assert failure(kaizen, "A1", path=path).code == "own_data"


def test_non_utf8_name_is_refused_except_inside_folder(cli, root):
    cli("K1")
    (root / "docs").mkdir()
    name = os.fsdecode(b"caf\xe9.txt")
    (root / "docs" / name).write_text("x")
    for more in ((), ("--allow-external",), ("--op-id", "once")):
        answer = cli("A1", "--path", f"docs/{name}", *more, "--json")
        assert (answer.exit_code, answer.error["code"]) == (1, "path_not_utf8")
        assert "UTF-8" in answer.error["why"] and "Rename" in answer.error["next"]
    assert cli("A1", "--path", "docs", "--json").json["files"] == 1


@pytest.mark.parametrize(
    "name", ["100% 'quoted' \"twice\"; --.txt", "new\nline", "日本語 📦.txt", "-rf", " x ", "a\\b"]
)
def test_strange_file_name_is_stored_unchanged(cli, root, name):
    (root / name).write_text("x")
    added = cli("A1", f"--path={name}", "--json").json

    assert added["path"] == added["name"] == name
    assert cli("A4", f"--path={name}", "--json").json["records"][0]["path"] == name
    assert cli("A5", "--all").exit_code == 0
    assert cli("A3", "--id", "@last").exit_code == cli("A4").exit_code == 0


@pytest.mark.parametrize("path", ["", " ", "a\0b", "x" * 5000, 7, None])
def test_invalid_path_is_usage_error(kaizen, path):
    assert failure(kaizen, "A1", path=path).exit_code == 2


def test_overlong_or_non_utf8_path_is_refused(kaizen):
    assert failure(kaizen, "A1", path="x" * 4000).exit_code == 5
    assert failure(kaizen, "A1", path="\ud800").code == "path_not_utf8"


def test_secret_in_title_is_refused(kaizen, file):
    file()
    token = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    assert failure(kaizen, "A1", path="a.txt", title=token).code == "secret_refused"


def test_hashing_large_file_blocks_no_writer(cli, root):
    cli("K1")
    with open(root / "large", "wb") as large:
        large.truncate(20_000_000_000)
    hashing = subprocess.Popen(
        [sys.executable, str(LAUNCHER), "A1", "--path", "large"], stdout=subprocess.DEVNULL,
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
    )  # fmt: skip
    try:
        for _ in range(5):
            assert (
                cli(
                    "W1", "--title", "t", "--summary", "s", env={"KAIZEN_BUSY_TIMEOUT_S": "2"}
                ).exit_code
                == 0
            )
        assert hashing.poll() is None, "it was to be still at work"
    finally:
        hashing.kill()
        hashing.wait()


def test_artifact_may_name_task_and_any_subject(kaizen, file):
    file()
    task = kaizen("W1", title="A task", summary="s")["id"]
    plan = kaizen("W3", task_id=task, title="A plan", summary="s")["id"]
    shown = kaizen("A3", id=kaizen("A1", path="a.txt", task_id=task, about=plan)["id"])
    again = kaizen(
        "A3", id=kaizen("A1", path="a.txt", about=kaizen("A4")["records"][0]["id"])["id"]
    )

    assert shown["task"] == {"id": task, "title": "A task", "state": "open"}
    assert shown["about"] == {"id": plan, "kind": "plan", "title": "A plan"}
    assert again["about"]["kind"] == "artifact"


@pytest.mark.parametrize(
    "given", [{"task_id": "task_nope"}, {"about": "plan_nope"}, {"about": "nope"}]
)
def test_artifact_naming_unknown_record_is_refused(kaizen, file, given):
    file()
    kaizen("W1", title="A task", summary="s")

    with pytest.raises(NotFound):
        kaizen("A1", path="a.txt", **given)
    assert rows(kaizen) == []


def test_same_op_id_records_artifact_once(kaizen, file):
    file()
    first, again = (kaizen("A1", path="a.txt", op_id="once") for _ in range(2))

    assert again == {**first, "replayed": True}
    assert len(rows(kaizen)) == 1


def test_purging_test_artifacts_keeps_ledger_intact(kaizen, file):
    file()
    real = kaizen("A1", path="a.txt")["id"]
    task = kaizen("W1", title="T", summary="s", test=True)["id"]
    kaizen("A1", path="a.txt", test=True)
    kaizen("A1", path="a.txt", task_id=task)
    kaizen("A1", path="a.txt", about=task)

    assert kaizen("K7")["removed"] == 4
    assert rows(kaizen) == rows(kaizen, query="txt") == [real]
    assert kaizen("K8")["verified"] is True
    assert set(kaizen("K1", integrity=True)["integrity"].values()) == {"ok"}


def test_files_can_be_recorded_in_batch(kaizen, file, root):
    file()
    lines = [
        {"command": "W1", "args": {"title": "T", "summary": "s"}},
        {"command": "A1", "args": {"path": "a.txt", "task_id": "$1.id"}},
        {"command": "A5", "args": {"id": "$2.id"}},
    ]
    (root / "batch.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = kaizen("K5", file=str(root / "batch.jsonl"))

    assert done["records"][2]["state"] == "ok"
    assert len(rows(kaizen)) == 1


# A3 and A4


def test_artifact_shows_proofs_whose_output_it_is(kaizen, file):
    file("out.txt")
    file("err.txt")
    out, err = (kaizen("A1", path=name)["id"] for name in ("out.txt", "err.txt"))
    values = {
        "title": "P", "tier": "reported", "outcome": "passed", "command": "pytest -q", "stdout_id": out,
        "stderr_id": err,
    }  # fmt: skip
    proof = kaizen._write(
        find_command("W1"), {}, "agent", None, False, lambda tx: tx.add("proof", values)
    )

    for id, stream in ((out, "stdout"), (err, "stderr")):
        found = kaizen("A3", id=id)["proofs"]
        assert [(row["id"], row["stream"], row["command"]) for row in found] == [
            (proof["id"], stream, "pytest -q")
        ]


def test_artifact_shows_earlier_hashes_of_its_path(kaizen, file):
    hashes = []
    for text in ("one", "two", "three"):
        hashes.append(file("a.txt", text))
        kaizen("A1", path="a.txt")
    file("b.txt")
    kaizen("A1", path="b.txt")

    shown = kaizen("A3", id=rows(kaizen, path="a.txt")[0])
    assert shown["record"]["sha256"] == hashes[2]
    assert [row["sha256"] for row in shown["same_path"]] == [hashes[1], hashes[0]]


def test_artifact_list_filters_by_options_and_ranks_query_matches(kaizen, file, root, outside):
    for name in ("docs/guide.md", "docs/deep/api.md", "docs.md", "docs-old/x"):
        file(name)
    task = kaizen("W1", title="T", summary="s")["id"]
    guide = kaizen("A1", path="docs/guide.md", title="The guide", task_id=task)["id"]
    api = kaizen("A1", path="docs/deep/api.md", actor="bob", summary="A guide of sorts.")["id"]
    plain = kaizen("A1", path="docs.md")["id"]
    old = kaizen("A1", path="docs-old/x")["id"]
    folder = kaizen("A1", path="docs")["id"]
    external = kaizen("A1", path=str(outside), allow_external=True)["id"]

    assert rows(kaizen) == [external, folder, old, plain, api, guide]
    assert rows(kaizen, task_id=task) == [guide]
    assert rows(kaizen, actor="bob") == [api]
    assert (
        rows(kaizen, path="docs") == rows(kaizen, path=str(root / "docs")) == [folder, api, guide]
    )
    assert rows(kaizen, path="docs.md") == [plain]
    assert rows(kaizen, path=".") == [folder, old, plain, api, guide]
    assert rows(kaizen, path="/etc") == rows(kaizen, path="doc") == []
    assert rows(kaizen, since="1h") == rows(kaizen) and rows(kaizen, until="1h") == []
    assert rows(kaizen, query="guide") == [guide, api]
    assert rows(kaizen, query="guide", actor="bob") == [api]
    assert rows(kaizen, query="model.bin") == [external]
    assert rows(kaizen, limit=2) == [external, folder] and kaizen("A4", limit=2)["more"] is True


def test_artifact_list_shortens_hashes_only_in_text(cli, file):
    sha256 = file()
    cli("A1", "--path", "a.txt")

    assert cli("A4", "--json").json["records"][0]["sha256"] == sha256
    assert sha256[:12] in cli("A4").out and sha256 not in cli("A4").out


@pytest.mark.parametrize("code", ["A3", "A5"])
def test_unknown_artifact_id_is_not_found(kaizen, file, code):
    assert failure(kaizen, code, id="art_2020").code == "no_database"
    kaizen("K1")
    assert failure(kaizen, code, id="art_2020").code == "unknown_id"
    assert failure(kaizen, code, id="@last").code == "no_last_record"


# A5


def test_unchanged_file_is_verified(kaizen, file):
    sha256 = file()
    added = kaizen("A1", path="a.txt")
    checked = kaizen("A5", id=added["id"])

    assert (checked["state"], checked["sha256"], checked["path"]) == ("ok", sha256, "a.txt")


def test_verify_of_changed_or_missing_file_exits_7(kaizen, file, root):
    before = file("docs/a.txt")
    id = kaizen("A1", path="docs/a.txt")["id"]
    after = file("docs/a.txt", "something else")
    changed = failure(kaizen, "A5", id=id)
    (root / "docs" / "a.txt").unlink()
    missing = failure(kaizen, "A5", id=id)

    assert (changed.exit_code, changed.code) == (7, "artifact_changed")
    assert "docs/a.txt" in changed.what and before[:12] in changed.why and after[:12] in changed.why
    assert (missing.exit_code, missing.code) == (7, "artifact_missing")
    assert "docs/a.txt" in missing.what and before[:12] in missing.why and missing.next


def test_hash_mismatch_names_newer_artifact_of_path(kaizen, file):
    file()
    old = kaizen("A1", path="a.txt")["id"]
    file("a.txt", "newer")
    new = kaizen("A1", path="a.txt")["id"]

    assert new in failure(kaizen, "A5", id=old).why
    assert kaizen("A5", id=new)["state"] == "ok"


@pytest.mark.parametrize("now", ["a folder", "a link out", "a fifo"])
def test_file_replaced_by_another_type_is_mismatch(kaizen, file, root, outside, now):
    file("a.txt", "weights")
    id = kaizen("A1", path="a.txt")["id"]
    path = root / "a.txt"
    path.unlink()
    if now == "a folder":
        path.mkdir()
    elif now == "a link out":
        path.symlink_to(outside)  # of the same content
    else:
        os.mkfifo(path)

    assert failure(kaizen, "A5", id=id).code == "artifact_changed"
    assert failure(kaizen, "A5", all=True).code == "artifacts_differ"


def test_folder_is_verified_by_its_tree_hash(kaizen, file, root):
    file("docs/a.md")
    id = kaizen("A1", path="docs")["id"]
    assert kaizen("A5", id=id)["state"] == "ok"
    file("docs/b.md")

    assert failure(kaizen, "A5", id=id).exit_code == 7


def test_external_artifact_is_verified_at_given_path(kaizen, outside, file):
    id = kaizen("A1", path=str(outside), allow_external=True)["id"]
    unknown = failure(kaizen, "A5", id=id)

    assert (unknown.exit_code, unknown.code) == (2, "no_place") and "--path" in unknown.next
    assert kaizen("A5", id=id, path=str(outside))["state"] == "ok"
    outside.write_text("others")
    changed = failure(kaizen, "A5", id=id, path=str(outside))
    assert (
        changed.exit_code == 7
        and str(outside.parent) not in f"{changed.what} {changed.why} {changed.next}"
    )
    assert failure(kaizen, "A5", id=id, path="/nowhere/x").code == "artifact_missing"
    assert failure(kaizen, "A5", id=id, path="\ud800").code == "path_not_utf8"
    file()
    assert (
        failure(kaizen, "A5", id=kaizen("A1", path="a.txt")["id"], path="a.txt").code
        == "place_is_known"
    )


@pytest.mark.parametrize(
    "given", [{}, {"id": "art_1", "all": True}, {"all": True, "path": "x"}, {"path": "x"}]
)
def test_verify_without_exactly_one_target_is_refused(kaizen, given):
    kaizen("K1")
    with pytest.raises(Usage, match="either --id or --all"):
        kaizen("A5", **given)


def test_verify_all_continues_after_mismatch(kaizen, file, root, outside):
    file("old.txt", "first")
    kaizen("A1", path="old.txt")
    file("old.txt", "second")
    for name in ("changed.txt", "missing.txt", "good.txt"):
        file(name)
    for name in ("changed.txt", "missing.txt", "good.txt", "old.txt"):
        kaizen("A1", path=name)
    kaizen("A1", path=str(outside), allow_external=True)
    clean = kaizen("A5", all=True)
    file("changed.txt", "x")
    (root / "missing.txt").unlink()
    error = failure(kaizen, "A5", all=True)

    assert {name: clean[name] for name in ("checked", "ok", "changed", "missing", "external", "superseded")} == {
        "checked": 4, "ok": 4, "changed": 0, "missing": 0, "external": 1, "superseded": 1,
    }  # fmt: skip
    assert (type(error), error.exit_code) == (Integrity, 7)
    assert [(one["path"], one["state"]) for one in error.findings] == [
        ("changed.txt", "changed"), ("missing.txt", "missing"),
    ]  # fmt: skip
    assert "2 ok, 1 changed, 1 missing" in error.why and "1 external, 1 superseded" in error.why
    assert error.findings[0]["expected"] != error.findings[0]["found"]


def test_test_artifact_does_not_replace_real_one_in_verify(kaizen, file):
    file()
    real = kaizen("A1", path="a.txt")["id"]
    file("a.txt", "tried")
    kaizen("A1", path="a.txt", test=True)

    assert [one["id"] for one in failure(kaizen, "A5", all=True).findings] == [real]


def test_verify_all_without_artifacts_succeeds(kaizen):
    kaizen("K1")

    assert kaizen("A5", all=True)["checked"] == 0


def test_verify_all_reports_unreadable_files_and_continues(cli, root, file, tool):
    for name in ("a.txt", "b.txt"):
        file(name)
        cli("A1", "--path", name)
    as_user = (
        [tool("setpriv"), "--bounding-set=-dac_override,-dac_read_search"]
        if os.getuid() == 0
        else []
    )

    def run():
        return subprocess.run(
            [*as_user, sys.executable, str(LAUNCHER), "A5", "--all", "--json"],
            env={**os.environ, "KAIZEN_REPO_ROOT": str(root)}, capture_output=True, timeout=60,
        )  # fmt: skip

    (root / "a.txt").chmod(0)
    unreadable = run()
    (root / "b.txt").unlink()
    both = run()

    assert (unreadable.returncode, both.returncode) == (5, 7)
    assert [one["state"] for one in json.loads(both.stderr)["findings"]] == [
        "unreadable",
        "missing",
    ]


def test_verify_all_prints_every_finding(cli, file, root):
    for name in ("a.txt", "b.txt", "c.txt"):
        file(name)
        cli("A1", "--path", name)
    file("a.txt", "x")
    (root / "b.txt").unlink()
    machine, person = cli("A5", "--all", "--json"), cli("A5", "--all")

    assert machine.exit_code == person.exit_code == 7
    assert [one["path"] for one in machine.error["findings"]] == ["a.txt", "b.txt"]
    assert "a.txt" in person.err and "b.txt" in person.err and "[" not in person.err
    assert machine.out == person.out == ""


class OnTerminal:
    """A command whose stderr is a terminal and whose stdout is not."""

    def __init__(self, root, *argv):
        self.master, slave = pty.openpty()
        self.child = subprocess.Popen(
            [sys.executable, str(LAUNCHER), *argv], stdout=subprocess.PIPE, stderr=slave,
            env={**os.environ, "KAIZEN_REPO_ROOT": str(root), "TERM": "xterm"},
        )  # fmt: skip
        os.close(slave)
        self.err = b""

    def read_until(self, mark=None):
        while mark is None or mark not in self.err:
            try:
                piece = os.read(self.master, 4096)
            except OSError:
                break
            if not piece:
                break
            self.err += piece

    def finish(self):
        self.read_until()
        out, _ = self.child.communicate(timeout=60)
        os.close(self.master)
        return out.decode()


def on_screen(output):
    """What the last line of a terminal shows after all carriage returns."""
    line: list[str] = []
    at = 0
    for c in output:
        if c == "\r":
            at = 0
        else:
            line[at : at + 1] = [c]
            at += 1
    return "".join(line).strip()


def test_progress_bar_appears_only_on_terminal(cli, root, file):
    for number in range(3):
        file(f"{number}.txt")
        cli("A1", "--path", f"{number}.txt")
    watched = OnTerminal(root, "A5", "--all", "--json")
    out = watched.finish()
    piped = cli("A5", "--all", "--json")

    assert "0 of 3" in watched.err.decode() and "[..." in watched.err.decode()
    assert on_screen(watched.err.decode()) == ""
    assert json.loads(out)["ok"] == piped.json["ok"] == 3
    assert piped.err == ""


def test_ctrl_c_during_verify_exits_quietly(cli, root, file):
    file("large", "")
    cli("A1", "--path", "large")
    with open(root / "large", "wb") as large:
        large.truncate(50_000_000_000)
    watched = OnTerminal(root, "A5", "--all")
    watched.read_until(b"0 of 1")
    time.sleep(0.2)
    watched.child.send_signal(signal.SIGINT)
    out = watched.finish()

    assert watched.child.returncode == 130
    assert on_screen(watched.err.decode()) == "" and out == ""
    assert cli("K8").exit_code == 0


def test_verify_all_does_not_block_writes_or_manifest(cli, root, file):
    file("large", "")
    cli("A1", "--path", "large")
    with open(root / "large", "wb") as large:
        large.truncate(50_000_000_000)
    watched = OnTerminal(root, "A5", "--all")
    watched.read_until(b"0 of 1")
    try:
        assert cli("W1", "--title", "t", "--summary", "s").exit_code == 0
        assert cli("K6").exit_code == 0, "which needs that nobody holds an older state"
        assert watched.child.poll() is None
    finally:
        watched.child.kill()
        watched.finish()
