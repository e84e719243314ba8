"""The workspace of a run: the input of its gates, and the result files at its end."""

import hashlib
import json
import os
import sqlite3
import sys

import pytest

from kaizen_components.pipeline.gates.static import gate as static
from kaizen_components.pipeline.protocol import load_shipped
from kaizen_components.pipeline.run.results import write_results
from kaizen_components.pipeline.target.target import Target
from kaizen_components.pipeline.target.workspace import Workspace
from kaizen_components.records.files.working_tree import read_working_tree
from kaizen_components.store.place import Place

from ..conftest import ROOT
from .targets import FASTAPI, everything, repository, write

SPEC = {
    "title": "Add /health",
    "criteria": [{"id": "C1", "text": "GET /health answers with status ok"}],
}
GIVEN = {**SPEC, "constraints": [], "out_of_scope": [], "grants": []}
BRIEF = {"files": ["app/main.py"], "conventions": ["routes return dict[str, str]"]}
ROUTE = '\n\n@app.get("/health")\ndef health() -> dict[str, str]:\n    return {"status": "ok"}\n'
TEST = (
    'from app.main import app\n\n\ndef test_health() -> None:\n    assert app.title == "FastAPI"\n'
)


def whole(path, text):
    return f"FILE: {path}\n<<<<<<< WHOLE\n{text}>>>>>>> END\n"


BUILD = whole("app/main.py", FASTAPI["app/main.py"] + ROUTE)
TESTS = whole("tests/test_health.py", TEST)


class Records:
    """The events of a run in an SQLite database with the tables of the migration."""

    def __init__(self, run):
        self.run = run
        self.connection = sqlite3.connect(":memory:")
        self.connection.row_factory = sqlite3.Row
        migration = ROOT / "kaizen_components" / "store" / "migrations" / "0016_run.sql"
        self.connection.executescript(migration.read_text())

    def answer(self, step, attempt, text):
        n = self.value("SELECT count(*) + 1 FROM run_event", ())
        self.connection.execute(
            "INSERT INTO run_event (id, at, actor, test, run_id, n, event, step, attempt, body, state, phase)"
            " VALUES (?, 'now', 'me', 0, ?, ?, 'answered', ?, ?, ?, '{}', 'answered')",
            (f"evt_{n}", self.run["id"], n, step, attempt, text),
        )

    def rows(self, sql, values):
        return [dict(row) for row in self.connection.execute(sql, values)]

    def value(self, sql, values):
        return self.connection.execute(sql, values).fetchone()[0]


@pytest.fixture
def repo(tmp_path):
    return repository(tmp_path / "the target", FASTAPI)


@pytest.fixture
def work(root, repo):
    run = {
        "id": "run_1", "repo": os.path.relpath(repo, root), "base_commit": Target(str(repo)).find_head(),
        "request": "add /health", "definition": json.dumps(load_shipped("factory").definition),
    }  # fmt: skip
    return Workspace(Place(str(root)), run, {"python": sys.executable})


@pytest.fixture
def records(work):
    return Records(work.run)


def test_gate_job_has_trees_hashes_and_changed_lines(repo, work):
    write(repo, {"app/main.py": "dirty = 1\n"})
    before = everything(repo)
    job = work.make_job(GIVEN, BUILD, TESTS)

    assert read_working_tree(job.base).sha256 == job.base_tree
    assert read_working_tree(job.head).sha256 == job.head_tree
    assert job.changed == {
        "app/main.py": set(range(9, 14)),
        "tests/test_health.py": set(range(1, 6)),
    }
    assert (job.tests, job.grants) == (("tests/test_health.py",), ())
    assert os.path.isdir(job.scratch)
    assert set(job.tools.versions) == {"python", "ruff", "mypy", "pytest", "coverage"}
    assert everything(repo) == before


def test_repeated_gate_job_has_the_same_tree(work):
    first = work.make_job(GIVEN, whole("app/left.py", "X = 1\n"), None)
    second = work.make_job(GIVEN, BUILD, None)

    assert not os.path.exists(os.path.join(second.head, "app", "left.py"))
    assert first.head_tree != second.head_tree == work.make_job(GIVEN, BUILD, None).head_tree


def test_gate_before_any_edit_gets_the_base(work):
    job = work.make_base_job()

    assert job.base == job.head
    assert read_working_tree(job.base).sha256 == job.base_tree == job.head_tree
    assert (job.changed, job.tests) == ({}, ())


def test_validate_gate_gets_the_candidate(work):
    work.settings.minimum_level = "L0"
    bad = BUILD.replace('"status": "ok"', '"status": 1')

    assert static.judge_static(work.make_job(GIVEN, BUILD, TESTS)).reason == "pass"
    assert [one.rule for one in static.judge_static(work.make_job(GIVEN, bad, TESTS)).findings] == [
        "dict-item"
    ]


def test_run_results_are_spec_brief_and_diff(root, repo, work, records):
    for step, text in (("plan", SPEC), ("scout", BRIEF)):
        records.answer(step, 1, f"Here it is:\n{json.dumps(text)}\n")
    records.answer("build", 1, whole("app/other.py", "X = 1\n"))
    records.answer("build", 2, BUILD)
    records.answer("tests", 1, TESTS)
    work.make_job(GIVEN, BUILD, TESTS)
    before = everything(repo)
    kept = write_results(work, records)

    folder = root / "AI" / "work" / "runs" / "run_1"
    assert sorted(os.listdir(folder)) == ["brief.json", "change.diff", "spec.md"] == sorted(kept)
    for name, facts in kept.items():
        data = (root / facts["path"]).read_bytes()
        assert (facts["sha256"], facts["bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
        assert (facts["name"], facts["kind"]) == (name, "file")
        assert facts["title"].endswith(" of run_1")
    diff = (folder / "change.diff").read_text()
    assert '+@app.get("/health")' in diff
    assert "b/tests/test_health.py" in diff
    assert "other.py" not in diff
    assert json.loads((folder / "brief.json").read_text())["files"] == ["app/main.py"]
    assert "- C1: GET /health" in (folder / "spec.md").read_text()
    assert everything(repo) == before


def test_run_results_written_twice_are_equal(work, records):
    records.answer("plan", 1, json.dumps(SPEC))
    records.answer("build", 1, BUILD)
    first = write_results(work, records)

    assert write_results(work, records) == first
    assert work.base  # is created again


def test_run_results_use_newest_valid_answers(root, work, records):
    records.answer("plan", 1, json.dumps(SPEC))
    records.answer("build", 1, BUILD)
    records.answer("build", 2, "I would rather write prose.")
    records.answer("plan", 2, "{")
    kept = write_results(work, records)

    assert sorted(kept) == ["change.diff", "spec.md"]
    assert "/health" in (root / kept["change.diff"]["path"]).read_text()


def test_run_without_valid_answers_has_no_results(root, work, records):
    records.answer("plan", 1, "no idea")

    assert write_results(work, records) == {}


def test_secret_in_candidate_is_not_stored(root, work, records):
    secret = "ghp_" + "a1B2" * 9
    records.answer("plan", 1, json.dumps(SPEC))
    records.answer("build", 1, whole("app/key.py", f'KEY = "{secret}"\n'))
    kept = write_results(work, records)

    assert secret not in (root / kept["change.diff"]["path"]).read_text()
