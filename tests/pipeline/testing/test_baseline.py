"""The baseline that is measured before there is a candidate."""

import sys

from kaizen_components.pipeline.gates.tests.baseline import measure_baseline
from kaizen_components.pipeline.job import Job, Settings, Tools

from .conftest import world

BASE = {
    "pack.py": "",
    "test_kinds.py": """import pytest


def test_passes():
    assert 1


def test_fails():
    assert 0


@pytest.mark.skip
def test_skipped():
    pass


@pytest.mark.xfail
def test_expected():
    assert 0


@pytest.fixture
def broken():
    raise OSError


def test_fixture(broken):
    pass
""",
    "test_bad.py": "import nothing_like_it\n",
}


def make_job(place, python):
    world.write_tree(place / "base", BASE)
    (place / "scratch").mkdir()
    tools = Tools([str(python)], (str(python.parent.parent), sys.base_prefix))
    scratch = str(place / "scratch")
    return Job(str(place / "base"), "", "tree", "", {}, tools, Settings(), scratch=scratch)


def test_baseline_groups_test_ids_and_is_cached(tmp_path, python):
    job = make_job(tmp_path, python)
    first, second = measure_baseline(job), measure_baseline(job)

    assert first.passed == ["test_kinds.py::test_passes"]
    failed = ["test_bad.py", "test_kinds.py::test_fails", "test_kinds.py::test_fixture"]
    assert first.failed == failed
    assert first.skipped == ["test_kinds.py::test_expected", "test_kinds.py::test_skipped"]
    assert (first.flaky, first.doubts) == ([], [])
    assert len(first.runs) == 2 and second.runs == []
    assert {**vars(first), "runs": []} == vars(second)


def test_baseline_without_interpreter_is_not_cached(tmp_path, python):
    job = make_job(tmp_path, python.with_name("no-such-python"))

    assert "pip install" in measure_baseline(job).doubts[0]
    assert list((tmp_path / "scratch").iterdir()) == []
