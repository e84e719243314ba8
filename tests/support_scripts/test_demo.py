"""The demo: the same bytes on every machine, a ledger that verifies, and nothing left behind when it fails."""

import importlib
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from kaizen_components.call import Door
from kaizen_components.records import ids
from kaizen_components.records.files import working_tree
from kaizen_components.sandbox import process as runner

from ..conftest import ROOT

SCRIPTS = ROOT / "support_scripts"
SAMPLES = ROOT / "docs" / "sample"
PAGE_BYTES_MAX = 150_000
TOLD = (
    *(
        "task",
        "task_revision",
        "task_link",
        "lease",
        "plan",
        "plan_revision",
        "packet",
        "packet_result",
        "waiver",
    ),
    *(
        "artifact",
        "proof",
        "verification",
        "gotcha",
        "gotcha_revision",
        "learning",
        "learned",
        "eval_case",
        "eval_run",
    ),
    *(
        "anti_pattern",
        "policy",
        "policy_revision",
        "source",
        "irl",
        "irl_prediction",
        "irl_correction",
        "irl_outcome",
    ),
    *("span", "score", "purge"),
)


@pytest.fixture(scope="module")
def demo():
    """The script as a module."""
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module("demo")
    sys.path.remove(str(SCRIPTS))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A demo as a person makes it, and what that printed."""
    folder = tmp_path_factory.mktemp("demo") / "a demo"
    done = subprocess.run(
        [sys.executable, SCRIPTS / "demo.py", folder], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return folder, done.stdout


@pytest.fixture
def ferry(told):
    """A door on the demo."""
    opened = Door(str(told[0]))
    yield opened
    opened.close()


def contents(folder):
    """path -> bytes of everything but what SQLite keeps beside a database, and the launcher, which knows its place."""
    passing = (".lock", "-shm", "-wal", "kaizen.py")
    found = (
        path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(passing)
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_every_demo_run_writes_the_same_bytes(told, tmp_path):
    elsewhere = {
        **os.environ,
        "TZ": "Asia/Kathmandu",
        "PYTHONHASHSEED": "7",
        "KAIZEN_ACTOR": "somebody",
        "LC_ALL": "C",
    }
    elsewhere["CLAUDE_CODE_SESSION_ID"] = "5f1c7a52-0b7e-4b0a-9a55-3f6f0c3d2e11"
    done = subprocess.run(
        [sys.executable, SCRIPTS / "demo.py", "d"],
        cwd=tmp_path,
        env=elsewhere,
        umask=0o077,
        capture_output=True,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert contents(tmp_path / "d") == contents(told[0])


def test_samples_in_docs_are_current(demo):
    made = importlib.import_module("make_docs").build_documents()
    stale = [
        name for name, text in made.items() if (ROOT / name).read_text(encoding="utf-8") != text
    ]

    assert stale == [], "run `make docs`"
    assert {path.name for path in SAMPLES.iterdir()} == {
        name.split("/")[2] for name in made if "/sample/" in name
    }


def test_demo_ledger_passes_verification(ferry):
    assert ferry("K8")["verified"] is True
    assert set(ferry("K1", integrity=True)["integrity"].values()) == {"ok"}


def test_demo_has_many_kinds_and_states(ferry):
    reader = ferry.store.reader()
    without = [kind for kind in TOLD if not reader.value(f"SELECT count(*) FROM {kind}")]
    states = dict(reader.tuples("SELECT status, count(*) FROM task_current GROUP BY status"))

    assert without == []
    assert states["done"] >= 15 and set(states) == {"open", "active", "blocked", "done", "canceled"}
    assert (
        reader.value("SELECT count(*) FROM verification_current WHERE superseded_by IS NOT NULL")
        >= 3
    )
    assert reader.value("SELECT count(DISTINCT substr(at, 1, 10)) FROM log") == 31


def test_demo_output_fits_a_terminal(told):
    folder, said = told
    *report, look, command = said.rstrip("\n").split("\n")

    assert max(len(line) for line in report) <= 80
    assert look == f"Open {folder / 'weekly.html'} in a browser, or look around:"
    assert command.endswith(f'"{folder / "kaizen.py"}" W9')


def test_demo_launcher_works_from_any_folder(told, tmp_path):
    done = subprocess.run(
        [sys.executable, told[0] / "kaizen.py", "W9", "--json", "--status", "blocked"], cwd=tmp_path,
        env={**os.environ, "KAIZEN_REPO_ROOT": str(tmp_path)}, capture_output=True,
    )  # fmt: skip

    assert [row["title"] for row in json.loads(done.stdout)["records"]] == ["Ask twenty passengers"]


def test_existing_demo_is_shown_but_not_rebuilt(told):
    before = contents(told[0])
    done = subprocess.run(
        [sys.executable, SCRIPTS / "demo.py", told[0]], capture_output=True, text=True
    )

    assert done.stdout.startswith("The demo is there already")
    assert contents(told[0]) == before


def test_folder_that_is_not_demo_stays_unchanged(tmp_path):
    (tmp_path / "thesis.txt").write_text("ten years of work")
    done = subprocess.run(
        [sys.executable, SCRIPTS / "demo.py", tmp_path], capture_output=True, text=True
    )

    assert done.returncode == 1 and "is not the demo" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_failed_demo_leaves_no_folder(demo, tmp_path, monkeypatch):
    before = ids.now_ms, ids.random_number, runner.run_process, working_tree.read_working_tree
    monkeypatch.setattr(demo, "show_report", lambda stage: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        demo.make_demo(tmp_path / "demo")

    assert list(tmp_path.iterdir()) == []
    assert (
        ids.now_ms,
        ids.random_number,
        runner.run_process,
        working_tree.read_working_tree,
    ) == before


def test_only_demo_databases_have_the_demo_origin(ferry, kaizen):
    assert ferry("K1")["origin"] == "kaizen.local/demo"
    assert kaizen("K1")["origin"] != "kaizen.local/demo"


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.svg")), ids=lambda path: path.name)
def test_chart_image_is_self_contained(path):
    text = path.read_text(encoding="utf-8")
    kinds = [element.tag.partition("}")[2] for element in ElementTree.fromstring(text)]

    assert "title" in kinds and "desc" in kinds and "style" in kinds
    assert "var(" not in text and "prefers-color-scheme: dark" in text
    assert set(re.findall(r"url\(#([\w-]+)\)", text)) <= set(
        re.findall(r'<pattern id="([\w-]+)"', text)
    )


def test_sample_page_is_small():
    assert [
        path.name for path in SAMPLES.glob("*.html") if path.stat().st_size > PAGE_BYTES_MAX
    ] == []


def test_files_named_on_reports_page_exist():
    for page in ("docs/reports.md", "README.md"):
        names = re.findall(
            r"\]\(((?:docs/)?sample/[^)]+)\)", (ROOT / page).read_text(encoding="utf-8")
        )
        assert (
            names and [name for name in names if not ((ROOT / page).parent / name).exists()] == []
        )
