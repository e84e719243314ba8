"""Family M: Markdown lessons become records; scanned, previewed, applied, proven, reported."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Integrity, KaizenError, NotFound, Refused, Unavailable, Usage
from kaizen_components.records.ledger.transaction import RecordReader
from kaizen_components.records.lessons import backup as lesson_copy
from kaizen_components.records.search.full_text import find_best

from ..conftest import LAUNCHER, ROOT

GOTCHAS = "# Gotchas\n\n- The WAL grows. Close readers.\n  - nested\n- One writer only\n\n## Deploys\n\nNot on Friday.\n"
LEARNED = "Learned\n=======\n\n- Gelernt: Grüße, 日本 🎉\r\n- Twice\n- Twice\n"


@pytest.fixture
def lessons(root):
    """A project with two files of lessons and one without; `lessons[path]` is the text."""
    texts = {"GOTCHA.md": GOTCHAS, "docs/learned.md": LEARNED, "LEARNING.MD": ""}
    (root / "docs").mkdir()
    for path, text in texts.items():
        (root / path).write_bytes(text.encode())
    return texts


def rows(kaizen, kind):
    """Every record of a kind as it was written, the oldest first."""
    return kaizen.store.reader().rows(f"SELECT * FROM {kind} ORDER BY seq")


def bodies(kaizen):
    return sorted(
        row["body"] for kind in ("gotcha", "learning", "learned") for row in rows(kaizen, kind)
    )


ALL_BODIES = [
    "Gelernt: Grüße, 日本 🎉", "Not on Friday.", "One writer only", "The WAL grows. Close readers.\n- nested", "Twice",
    "Twice",
]  # fmt: skip


def states(kaizen, **more):
    return {
        row["file"]: (row["state"], row["entries"], row["new"])
        for row in kaizen("M1", **more)["records"]
    }


def everything(root):
    """Return every file but the database, with its bytes, mode and time."""
    return {
        str(path.relative_to(root)): (
            path.read_bytes(),
            path.stat().st_mode,
            path.stat().st_mtime_ns,
        )
        for path in root.rglob("*")
        if path.is_file() and "kaizen.db" not in path.name
    }


def leftovers(root):
    return [path.name for path in root.rglob("*") if path.name.endswith(".kaizen")]


# M1


def test_scan_finds_files_and_needs_no_database(kaizen, root, lessons):
    before = everything(root)

    assert states(kaizen) == {
        "GOTCHA.md": ("pending", 3, 3), "LEARNING.MD": ("empty", 0, 0), "docs/learned.md": ("pending", 3, 3),
    }  # fmt: skip
    assert {row["kind"] for row in kaizen("M1")["records"]} == {"gotcha", "learning", "learned"}
    assert everything(root) == before and not (root / "AI").exists()


def test_scan_counts_recorded_new_and_stub_entries(kaizen, root, lessons):
    kaizen("M3")
    assert states(kaizen)["GOTCHA.md"] == ("stub", 0, 0)
    (root / "GOTCHA.md").write_text(GOTCHAS)
    assert states(kaizen)["GOTCHA.md"] == ("recorded", 3, 0)
    (root / "GOTCHA.md").write_text(GOTCHAS.replace("- One", "- New\n- One"))

    assert states(kaizen)["GOTCHA.md"] == ("pending", 4, 1)


def test_scan_skips_tool_folders_and_outside_links(kaizen, root, tmp_path):
    (tmp_path / "GOTCHA.md").write_text("- Outside")
    for folder in (
        ".git",
        ".venv",
        "node_modules",
        "AI/db",
        ".mypy_cache",
        ".some-cache",
        "a/node_modules/b",
        "env",
        "c",
    ):
        (root / folder).mkdir(parents=True)
        (root / folder / "GOTCHA.md").write_text("- No")
    (root / "env" / "pyvenv.cfg").touch()
    (root / "c" / "CACHEDIR.TAG").touch()
    for folder in ("src/AI", ".github", "caches"):
        (root / folder).mkdir(parents=True)
        (root / folder / "GOTCHA.md").write_text("- Yes")
    (root / "LEARNED.md").symlink_to(tmp_path / "GOTCHA.md")
    (root / "LEARNING.md").symlink_to("nowhere.md")
    (root / "linked").symlink_to(root / "src")
    (root / "out").symlink_to(tmp_path)
    (root / "a" / "gotcha.md").mkdir()
    answer = kaizen("M1")

    assert [row["file"] for row in answer["records"]] == [
        ".github/GOTCHA.md",
        "caches/GOTCHA.md",
        "src/AI/GOTCHA.md",
    ]
    assert {row["path"]: row["why"] for row in answer["passed_over"]} == {
        "LEARNED.md": "a link that leads out of the project", "LEARNING.md": "not a file",
    }  # fmt: skip


def test_scan_lists_link_and_its_target_once(kaizen, root):
    (root / "docs").mkdir()
    (root / "GOTCHA.md").write_text("- One\n")
    (root / "docs" / "GOTCHA.md").symlink_to("../GOTCHA.md")
    (root / "notes.md").write_text("- Two\n")
    (root / "LEARNED.md").symlink_to("notes.md")
    answer = kaizen("M1")
    kaizen("M3")

    assert [row["file"] for row in answer["records"]] == ["GOTCHA.md", "LEARNED.md"]
    assert answer["passed_over"] == [{"path": "docs/GOTCHA.md", "why": "a link to GOTCHA.md"}]
    assert (root / "LEARNED.md").is_symlink() and "kaizen:stub" in (root / "notes.md").read_text()
    assert bodies(kaizen) == ["One", "Two"]


def test_scan_skips_lessons_of_nested_kaizen_project(kaizen, root):
    (root / "other").mkdir()
    (root / "other" / "GOTCHA.md").write_text("- Theirs")
    Door(str(root / "other"))("K1")

    assert kaizen("M1")["records"] == []
    assert kaizen("M1")["passed_over"] == [
        {"path": "other", "why": "a project with records of its own"}
    ]


def test_roots_limit_migration_and_overlaps_count_once(kaizen, root, lessons):
    assert list(states(kaizen, roots=["docs"])) == ["docs/learned.md"]
    assert list(states(kaizen, roots=["docs", ".", "docs/../docs"])) == [
        "GOTCHA.md",
        "LEARNING.MD",
        "docs/learned.md",
    ]
    kaizen("M3", roots=["docs"])

    assert (root / "GOTCHA.md").read_text() == GOTCHAS and len(bodies(kaizen)) == 3


@pytest.mark.parametrize(
    "roots, error",
    [
        ("..", Refused),
        ("/", Refused),
        ("out", Refused),
        ("nowhere", NotFound),
        ("GOTCHA.md", Usage),
        ("AI", Refused),
    ],
)
@pytest.mark.parametrize("code", ["M1", "M2", "M3"])
def test_roots_outside_project_are_refused(kaizen, root, lessons, tmp_path, code, roots, error):
    (root / "AI").mkdir()
    (root / "out").symlink_to(tmp_path)
    with pytest.raises(error):
        kaizen(code, roots=[roots])


def test_scan_names_front_matter_and_headings_without_text(kaizen, root):
    (root / "GOTCHA.md").write_text("---\ntitle: x\ntags: [a]\n---\n# G\n\n- One\n\n## Empty\n")
    answer = kaizen("M1")

    assert answer["records"][0]["front_matter"] == "title, tags"
    assert answer["headings_without_text"] == [{"file": "GOTCHA.md", "line": 9, "heading": "Empty"}]


# M2


def test_preview_equals_later_migration(kaizen, root, lessons):
    (root / "GOTCHA.md").write_text("- One writer only\n")
    kaizen("M3")
    (root / "GOTCHA.md").write_text(GOTCHAS)
    before = everything(root)
    preview = kaizen("M2")
    assert everything(root) == before
    done = kaizen("M3")

    def entries(found):
        return [(row["kind"], row["file"], row["line"], row["title"]) for row in found]

    assert [row["state"] for row in preview["records"]] == ["new", "recorded", "new"]
    assert entries(row for row in preview["records"] if row["state"] == "new") == entries(
        done["entries"]
    )
    assert preview["new"] == done["added"] == 2
    assert preview["would_become_stubs"] == [
        {"file": row["file"], "backup": row["backup"]} for row in done["files"]
    ]
    assert [row["now"] for row in done["files_now"]] == ["stub"]
    assert all((root / row["backup"]).exists() for row in done["files"])


def test_preview_without_database_creates_none(kaizen, root, lessons):
    assert {row["state"] for row in kaizen("M2")["records"]} == {"new"}
    assert not (root / "AI").exists()


# M3


def test_every_entry_becomes_record_with_its_file_and_line(kaizen, root, lessons):
    answer = kaizen("M3")
    assert (answer["added"], len(answer["entries"]), len(answer["files"])) == (6, 6, 2)

    first = rows(kaizen, "gotcha")[0]
    assert (first["title"], first["body"]) == (
        "The WAL grows.",
        "The WAL grows. Close readers.\n- nested",
    )
    assert (first["source_path"], first["source_line"], first["scope"]) == (
        "GOTCHA.md",
        3,
        "project",
    )
    assert json.loads(first["evidence"]) == ["GOTCHA.md:3"]
    assert kaizen.store.reader().value("SELECT DISTINCT status FROM gotcha_current") == "active"
    assert bodies(kaizen) == ALL_BODIES and kaizen("K8")["verified"]


def test_search_finds_migrated_entries(kaizen, lessons):
    kaizen("M3")
    db = RecordReader(kaizen.store.reader(), "agent")

    assert [kind for kind, _ in find_best(db, "Friday")] == ["gotcha"]
    assert [kind for kind, _ in find_best(db, "日本")] == ["learned"]


def test_files_become_stubs_that_name_records(kaizen, root, lessons):
    os.chmod(root / "GOTCHA.md", 0o640)
    kaizen("M3")
    stub = (root / "GOTCHA.md").read_text()

    for said in (
        "3 lessons",
        "kaizen G1",
        "kaizen G2",
        "kaizen M5",
        "AI/db/backups/lessons/GOTCHA.md-",
    ):
        assert said in stub
    assert "kaizen L7" in (root / "docs" / "learned.md").read_text()
    assert (root / "GOTCHA.md").stat().st_mode & 0o777 == 0o640
    assert (root / "LEARNING.MD").read_bytes() == b"", "a file without entries stays as it is"
    assert len(stub.splitlines()) <= 8 and leftovers(root) == []


def test_migration_backup_has_bytes_of_original_file(kaizen, root, lessons):
    data = b"\xef\xbb\xbf" + b"- One\r\n\t- two  \r\n\r\n<!-- hidden -->"
    (root / "GOTCHA.md").write_bytes(data)
    backup = kaizen("M3")["files"][0]["backup"]

    assert re.fullmatch(r"AI/db/backups/lessons/GOTCHA\.md-[0-9a-f]{12}\.md", backup)
    assert (root / backup).read_bytes() == data


def test_second_migration_changes_nothing(kaizen, root, lessons):
    kaizen("M3")
    before = everything(root)
    answer = kaizen("M3")

    assert (answer["added"], answer["files"]) == (0, []) and bodies(kaizen) == ALL_BODIES
    assert everything(root) == before


def test_migrating_restored_file_adds_nothing(kaizen, root, lessons):
    kaizen("M3")
    stub = (root / "GOTCHA.md").read_bytes()
    (root / "GOTCHA.md").write_bytes(GOTCHAS.replace("\n", "\r\n").encode())
    assert kaizen("M3")["added"] == 0
    (root / "GOTCHA.md").write_text(GOTCHAS)
    assert kaizen("M3")["added"] == 0

    assert (root / "GOTCHA.md").read_bytes() == stub and bodies(kaizen) == ALL_BODIES
    assert kaizen("M4")["verified"]


def test_text_below_stub_is_migrated(kaizen, root, lessons):
    kaizen("M3")
    with open(root / "GOTCHA.md", "a") as file:
        file.write("- A new one\n\n## And a section\nWith text.\n")
    answer = kaizen("M3")

    assert [row["title"] for row in answer["entries"]] == ["A new one", "And a section"]
    assert "5 lessons" in (root / "GOTCHA.md").read_text() and len(bodies(kaizen)) == 8
    assert kaizen("M3")["added"] == 0 and kaizen("M4")["entries"] == 8


def test_file_changed_meanwhile_is_migrated_next_time(kaizen, root, lessons, monkeypatch):
    look = kaizen.store.open_read_only

    def edit_first(*args, **more):
        monkeypatch.undo()
        with open(root / "GOTCHA.md", "a") as file:
            file.write("\nWritten meanwhile.\n")
        return look(*args, **more)

    monkeypatch.setattr(kaizen.store, "open_read_only", edit_first)
    answer = kaizen("M3")
    now = {row["file"]: row["now"] for row in answer["files_now"]}
    assert "changed meanwhile" in now["GOTCHA.md"] and now["docs/learned.md"] == "stub"
    assert (root / "GOTCHA.md").read_text() == GOTCHAS + "\nWritten meanwhile.\n"
    with pytest.raises(Refused):
        kaizen("M4")
    kaizen("M3")

    assert "Not on Friday.\n\nWritten meanwhile." in bodies(kaizen) and kaizen("M4")["verified"]
    assert "kaizen:stub" in (root / "GOTCHA.md").read_text()


def test_file_that_disappears_meanwhile_is_reported_gone(kaizen, root, lessons, monkeypatch):
    look = kaizen.store.open_read_only

    def remove_first(*args, **more):
        monkeypatch.undo()
        (root / "GOTCHA.md").unlink()
        return look(*args, **more)

    monkeypatch.setattr(kaizen.store, "open_read_only", remove_first)

    assert {row["file"]: row["now"] for row in kaizen("M3")["files_now"]}[
        "GOTCHA.md"
    ] == "kept: it is gone"
    assert kaizen("M4")["entries"] == 6


BAD = [
    (b"- ok\n- caf\xe9\n", "not_utf8", "GOTCHA.md:2"),
    (b"- ok\n\n- a\0b\n", "nul_character", "GOTCHA.md:3"),
    ("- ok\n".encode("utf-16"), "nul_character", "GOTCHA.md:1"),
    (b"- ok\n\n## H\n" + b"x " * 600_000, "entry_too_long", "GOTCHA.md:3"),
]


@pytest.mark.parametrize("data, code, where", BAD, ids=["latin-1", "nul", "utf-16", "too long"])
def test_unrecordable_file_stops_migration_before_any_write(
    kaizen, root, lessons, data, code, where
):
    (root / "GOTCHA.md").write_bytes(data)
    before = everything(root)
    for command in ("M2", "M3"):
        with pytest.raises(Refused) as caught:
            kaizen(command)
        assert caught.value.code == code and where in caught.value.what

    assert everything(root) == before and not (root / "AI").exists()
    assert states(kaizen)["GOTCHA.md"][0] == "problem"


def token():
    return "ghp_" + "a1B2c3D4e5" * 4


def key():
    return "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA1c7v3kq\n" * 3


@pytest.mark.parametrize(
    "text, line, kind",
    [
        ("- ok\n- the token is {token}\n", 2, "GitHub token"),
        ("- ok\n\n## The {token}\nText\n", 3, "GitHub token"),
        ("- ok\n<!-- {token} -->\n", 2, "GitHub token"),
        ("---\ntitle: {token}\n---\n- ok\n", 2, "GitHub token"),
        ("- ok\n\n## {token}\n", 3, "GitHub token"),
        ("# G\n\n```\n{key}```\n", 4, "private key"),
    ],
)
def test_secret_in_file_stops_migration_and_stays_hidden(cli, root, lessons, text, line, kind):
    (root / "GOTCHA.md").write_text(text.format(token=token(), key=key()))
    for command in ("M1", "M2", "M3"):
        for answer in (cli(command), cli(command, "--json")):
            assert (
                token()[:12] not in answer.out + answer.err
                and "MIIE" not in answer.out + answer.err
            )
            assert answer.exit_code == (0 if command == "M1" else 1)
    assert f"GOTCHA.md:{line} seems to hold a secret ({kind})." == answer.error["what"]

    assert (
        not (root / "AI").exists()
        and (root / "docs" / "learned.md").read_bytes() == LEARNED.encode()
    )


def test_secret_in_name_of_folder_is_refused_too(kaizen, root):
    (root / token()).mkdir()
    (root / token() / "GOTCHA.md").write_text("- One")
    with pytest.raises(Refused) as caught:
        kaizen("M3")

    assert caught.value.code == "secret_refused" and token() not in str(caught.value.as_dict())


def test_path_that_is_not_utf8_is_named_and_refused(kaizen, root):
    folder = os.fsencode(root) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/GOTCHA.md", "w") as file:
        file.write("- One")
    with pytest.raises(Refused, match=r"caf\\xe9|caf\\udce9"):
        kaizen("M3")


def test_odd_folder_names_are_recorded_unchanged(kaizen, root):
    for name in ("100% 'odd' \"name\"", "日本", "a --> b", "x" * 200, "x" * 200 + "/" + "y" * 200):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "GOTCHA.md").write_text(f"- In {len(name)}\n")
    kaizen("M3")

    assert kaizen("M4")["entries"] == 5 and {row["state"] for row in kaizen("M1")["records"]} == {
        "stub"
    }
    assert {row["source_path"] for row in rows(kaizen, "gotcha")} >= {
        "日本/GOTCHA.md",
        "a --> b/GOTCHA.md",
    }


def test_migration_with_test_option_is_refused(kaizen, root, lessons):
    with pytest.raises(Refused, match="--test"):
        kaizen("M3", test=True)

    assert (root / "GOTCHA.md").read_text() == GOTCHAS and not (
        root / "AI" / "db" / "backups" / "lessons"
    ).exists()


def test_migration_with_same_op_id_returns_first_answer(kaizen, root, lessons):
    first = kaizen("M3", op_id="lessons")
    (root / "GOTCHA.md").write_text("- Later\n")
    again = kaizen("M3", op_id="lessons")

    assert again["replayed"] and again["entries"] == first["entries"] and len(bodies(kaizen)) == 6
    assert kaizen("M3", op_id="more")["added"] == 1


def test_migration_in_batch_replaces_files_after_commit(kaizen, root, lessons):
    batch = root / "batch.jsonl"
    batch.write_text('{"command": "M3"}\n{"command": "W1", "args": {"title": "t"}}\n')
    with pytest.raises(Usage):
        kaizen("K5", file=str(batch))
    assert (root / "GOTCHA.md").read_text() == GOTCHAS
    batch.write_text('{"command": "M3"}\n{"command": "M3"}\n')
    first, second = kaizen("K5", file=str(batch))["records"]
    assert (first["added"], second["added"]) == (6, 0)
    assert all("not committed" in row["now"] for row in first["files_now"] + second["files_now"])
    assert (root / "GOTCHA.md").read_text() == GOTCHAS and states(kaizen)["GOTCHA.md"][
        0
    ] == "recorded"
    assert kaizen("M4")["not_yet_stubs"] == [{"file": "GOTCHA.md"}, {"file": "docs/learned.md"}]

    assert kaizen("K5", file=str(batch))["records"][0]["files_now"][0]["now"] == "stub", (
        "committed by the batch before"
    )
    assert bodies(kaizen) == ALL_BODIES and kaizen("M4")["verified"] and kaizen("K8")["verified"]


def test_ten_thousand_entries_are_migrated_and_proven(kaizen, root):
    (root / "GOTCHA.md").write_text("".join(f"- Lesson {number}\n" for number in range(10_000)))

    assert kaizen("M3")["added"] == 10_000
    assert kaizen("M4")["entries"] == 10_000


# Folders that cannot be written


@pytest.fixture
def bound(root, tool):
    """`bound(argv…)`: a command without the rights that let root write anywhere."""
    as_user = (
        [tool("setpriv"), "--bounding-set=-dac_override,-dac_read_search"]
        if os.getuid() == 0
        else []
    )

    def run(*argv):
        env = {**os.environ, "KAIZEN_REPO_ROOT": str(root)}
        command = [*as_user, sys.executable, str(LAUNCHER), *argv, "--json"]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout or done.stderr)

    return run


def test_migration_of_read_only_folder_writes_nothing(bound, root, lessons):
    (root / "docs").chmod(0o555)
    code, error = bound("M3")
    (root / "docs").chmod(0o755)

    assert (code, error["code"]) == (5, "file_not_writable") and error["what"].startswith(
        "docs/learned.md"
    )
    assert not (root / "AI").exists() and (root / "GOTCHA.md").read_text() == GOTCHAS
    assert bound("M3")[1]["added"] == 6


def test_migration_error_names_unreadable_file(bound, root, lessons):
    (root / "GOTCHA.md").chmod(0)
    assert bound("M1")[1]["records"][0]["state"] == "problem"
    code, error = bound("M3")

    assert (code, error["code"]) == (5, "file_unreadable") and "GOTCHA.md" in error["what"]


def test_migration_error_names_unreadable_folder(bound, root, lessons):
    (root / "docs").chmod(0)
    answer = bound("M1")[1]
    (root / "docs").chmod(0o755)

    assert answer["passed_over"] == [{"path": "docs", "why": "Permission denied"}]


def test_unwritable_backup_folder_stops_migration(bound, root, lessons):
    (root / "AI" / "db" / "backups").mkdir(parents=True)
    (root / "AI" / "db" / "backups").chmod(0o555)
    code, error = bound("M3")
    (root / "AI" / "db" / "backups").chmod(0o755)

    assert (code, error["code"]) == (5, "file_not_writable") and "backup" in error["why"]
    assert (root / "GOTCHA.md").read_text() == GOTCHAS and not (
        root / "AI" / "db" / "kaizen.db"
    ).exists()


def test_next_migration_writes_stub_that_failed_before(kaizen, root, lessons, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        lesson_copy.os, "replace", lambda *args: full() if "/docs/" in args[1] else os.rename(*args)
    )
    with pytest.raises(Unavailable, match=r"docs/learned\.md"):
        kaizen("M3")
    monkeypatch.undo()
    assert (root / "docs" / "learned.md").read_bytes() == LEARNED.encode() and bodies(
        kaizen
    ) == ALL_BODIES
    assert kaizen("M3")["added"] == 0

    assert "kaizen:stub" in (root / "docs" / "learned.md").read_text() and leftovers(root) == []
    assert bodies(kaizen) == ALL_BODIES and kaizen("M4")["verified"]


# kill -9

KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from kaizen_components.call import Door
from kaizen_components.store.connection import Connection
left = int(sys.argv[3])

def counted(function):
    def call(*args, **more):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **more)
    return call

for name in ("open", "replace", "fsync", "chmod", "unlink", "makedirs"):
    setattr(os, name, counted(getattr(os, name)))
for name in ("execute", "insert", "flush"):
    setattr(Connection, name, counted(getattr(Connection, name)))
Door(sys.argv[2])("M3")
"""


def require_complete(root):
    """After whatever happened: M3 again, and every entry is there exactly once."""
    door = Door(str(root))
    try:
        door("M3")
        assert bodies(door) == ALL_BODIES
        assert door("M4")["entries"] == 6 and door("K8")["verified"]
        assert {row["state"] for row in door("M1")["records"]} == {"stub", "empty"} and leftovers(
            root
        ) == []
    finally:
        door.close()


def require_nothing_lost(root, lessons):
    """A file that is no longer what it was is a stub, and then its entries are committed."""
    door = Door(str(root))
    try:
        for path, kind in (("GOTCHA.md", "gotcha"), ("docs/learned.md", "learned")):
            if (root / path).read_bytes() != lessons[path].encode():
                assert "kaizen:stub" in (root / path).read_text() and len(rows(door, kind)) == 3
    finally:
        door.close()


@pytest.mark.parametrize("first", range(4))
def test_migration_killed_at_any_step_loses_and_duplicates_nothing(root, lessons, first):
    """One process for each step of M3, which is killed there; four tests share the steps."""
    step, ended = 1 + first, 0
    while ended != 1:
        for path, text in lessons.items():
            (root / path).write_bytes(text.encode())
        subprocess.run(["rm", "-rf", str(root / "AI")], check=True)
        Door(str(root))("K1")
        done = subprocess.run([sys.executable, "-c", KILLED, str(ROOT), str(root), str(step)])
        assert done.returncode in (0, -signal.SIGKILL)
        ended += done.returncode == 0
        require_nothing_lost(root, lessons)
        require_complete(root)
        step += 4

    assert step > 60, "there were steps to be killed at"


def test_migration_killed_at_random_loses_and_duplicates_nothing(root, lessons):
    rng = random.Random(11)
    Door(str(root))("K1")
    for _ in range(15):
        process = subprocess.Popen(
            [sys.executable, str(LAUNCHER), "M3", "--json"], env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(rng.uniform(0.02, 0.25))
        process.kill()
        process.wait()
        require_nothing_lost(root, lessons)
        for path, text in lessons.items():
            (root / path).write_bytes(text.encode())

    require_complete(root)


def test_concurrent_migrations_record_every_entry_once(root, lessons):
    env = {**os.environ, "KAIZEN_REPO_ROOT": str(root)}
    racers = [
        subprocess.Popen(
            [sys.executable, str(LAUNCHER), "M3", "--json"], env=env, stdout=subprocess.PIPE
        )
        for _ in range(8)
    ]
    answers = [json.loads(racer.communicate()[0]) for racer in racers]

    assert sum(answer["added"] for answer in answers) == 6
    require_complete(root)


# M4


def test_migration_verify_counts_files_and_entries_by_kind(kaizen, lessons):
    kaizen("M3")
    answer = kaizen("M4")

    assert answer["verified"] and (answer["imports"], answer["files"], answer["entries"]) == (
        2,
        2,
        6,
    )
    assert (answer["gotcha"], answer["learning"], answer["learned"]) == (3, 0, 3)


def test_revised_or_retired_lesson_is_not_lost(kaizen, lessons):
    id = kaizen("M3")["entries"][0]["id"]
    with kaizen.store.begin_write_transaction() as connection:  # as G5 does
        connection.execute(
            "INSERT INTO gotcha_revision (seq, id, at, actor, test, gotcha_id, rev, status, body) "
            "VALUES (9, 'grev_1', 'x', 'x', 0, ?, 2, 'retired', 'Another text.')", (id,),
        )  # fmt: skip

    assert kaizen("M4")["verified"]


def test_files_not_yet_migrated_are_pending(kaizen, root, lessons):
    kaizen("M3")
    (root / "LEARNING.MD").write_text("- Not yet\n- Nor this\n")
    with pytest.raises(Refused, match=r"LEARNING\.MD has 2 entries not recorded yet") as caught:
        kaizen("M4")

    assert "M3" in caught.value.next and caught.value.findings == [
        {"file": "LEARNING.MD", "new": 2, "problem": None}
    ]


def tampered(kaizen, sql, *params):
    """A record changed or removed behind our back, as a damaged file would have it."""
    with kaizen.store.begin_write_transaction() as connection:
        for row in connection.rows(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%no_%'"
        ):
            connection.execute(f"DROP TRIGGER {row['name']}")
        connection.execute(sql, params)


@pytest.mark.parametrize(
    "sql, says",
    [
        ("DELETE FROM gotcha WHERE source_line = 5", "GOTCHA.md:5 is not in the database."),
        (
            "UPDATE gotcha SET body = 'Other' WHERE source_line = 5",
            "GOTCHA.md:5 reads differently in gotcha_",
        ),
        (
            "UPDATE gotcha SET title = 'Other' WHERE source_line = 7",
            "GOTCHA.md:7 reads differently in gotcha_",
        ),
    ],
)
def test_migration_verify_names_lost_or_changed_entry(kaizen, lessons, sql, says):
    kaizen("M3")
    tampered(kaizen, sql)
    with pytest.raises(Integrity) as caught:
        kaizen("M4")

    assert (
        caught.value.what.startswith(says)
        and caught.value.exit_code == 7
        and len(caught.value.findings) == 1
    )


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_migration_verify_fails_on_missing_or_changed_backup(kaizen, root, lessons, damage):
    backup = root / kaizen("M3")["files"][0]["backup"]
    backup.unlink() if damage == "missing" else backup.write_text("- Forged\n")
    with pytest.raises(Integrity, match=r"GOTCHA\.md: its backup AI/db/backups/lessons/"):
        kaizen("M4")
    (root / "GOTCHA.md").write_text(GOTCHAS)
    kaizen("M3")

    assert kaizen("M4")["verified"] and bodies(kaizen) == ALL_BODIES


# M5


def test_migration_report_has_time_counts_and_backup_paths(kaizen, root, lessons):
    kaizen("M3", actor="ada")
    with open(root / "GOTCHA.md", "a") as file:
        file.write("- Later\n")
    (root / "docs" / "learned.md").unlink()
    answer = kaizen("M5")

    assert [(row["file"], row["kind"], row["entries"], row["actor"], row["now"]) for row in answer["records"]] == [
        ("GOTCHA.md", "gotcha", 3, "ada", "1 new"), ("docs/learned.md", "learned", 3, "ada", "gone"),
    ]  # fmt: skip
    assert all((root / row["backup"]).exists() and row["at"] for row in answer["records"])
    assert (answer["gotcha"], answer["learned"]) == (3, 3)
    assert answer["pending"] == [{"file": "GOTCHA.md", "state": "pending", "new": 1}]


# As people see it


@pytest.mark.parametrize("code", ["M4", "M5"])
def test_verify_without_database_is_not_found(kaizen, lessons, code):
    with pytest.raises(NotFound):
        kaizen(code)


def test_project_without_lessons_migrates_nothing(cli):
    for code in ("M1", "M2", "M3", "M4", "M5"):
        answer = cli(code)
        assert answer.exit_code == 0 and answer.out.strip(), answer.err


def test_migration_text_output_names_files_and_titles(cli, lessons):
    assert "docs/learned.md" in cli("M1").out
    assert "The WAL grows." in cli("M2").out
    assert "6 entries recorded from 2 files" in cli("M3").out
    assert "verified" in cli("M4").out and "AI/db/backups" in cli("M5", env={"COLUMNS": "200"}).out


def test_verify_exits_7_on_damage_and_1_on_pending(cli, root, lessons):
    cli("M3")
    (root / "LEARNING.MD").write_text("- Not yet\n")
    assert cli("M4", "--json").exit_code == 1
    next((root / "AI" / "db" / "backups" / "lessons").glob("GOTCHA*")).unlink()

    assert cli("M4", "--json").exit_code == 7


def test_migration_of_malformed_file_raises_no_internal_error(kaizen, root):
    """Names and contents that nobody would write on purpose."""
    for number, data in enumerate(
        [b"\xff\xfe", b"---", b"<!--", b"```", b"- ", b"#", b">" * 5_000, b"- " * 5_000, b"\r"]
    ):
        (root / str(number)).mkdir()
        (root / str(number) / "LEARNED.md").write_bytes(data)
        try:
            kaizen("M3", roots=[str(number)])
        except KaizenError as error:
            assert error.exit_code == 1
