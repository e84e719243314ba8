"""The base's tests before a run begins, when there is no candidate yet."""

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


def asked(tmp_path, python, **more):
    world.write(tmp_path / "base", BASE)
    (tmp_path / "scratch").mkdir(exist_ok=True)
    tools = Tools([str(python)], (str(python.parent.parent), sys.base_prefix))
    return Job(
        str(tmp_path / "base"),
        "",
        "tree",
        "",
        {},
        tools,
        Settings(**more),
        scratch=str(tmp_path / "scratch"),
    )


def test_ids_are_sorted_by_how_they_end_and_remembered(tmp_path, python):
    job = asked(tmp_path, python)
    first, second = measure_baseline(job), measure_baseline(job)

    assert first.passed == ["test_kinds.py::test_passes"]
    assert first.failed == [
        "test_bad.py",
        "test_kinds.py::test_fails",
        "test_kinds.py::test_fixture",
    ]
    assert first.skipped == ["test_kinds.py::test_expected", "test_kinds.py::test_skipped"]
    assert (first.flaky, first.doubts, first.is_sound) == ([], [], False)
    assert len(first.runs) == 2 and second.runs == []
    assert (second.passed, second.failed, second.skipped) == (
        first.passed,
        first.failed,
        first.skipped,
    )


def test_base_that_cannot_be_judged_says_why_and_is_not_remembered(tmp_path, python):
    job = asked(tmp_path, python.with_name("no-such-python"))

    assert "pip install" in measure_baseline(job).doubts[0]
    assert list((tmp_path / "scratch").iterdir()) == []
