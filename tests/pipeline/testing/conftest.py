"""A target's environment with pytest and coverage only, and candidates to be judged in it."""

import hashlib
import itertools
import json
import os
import sys

import pytest

from kaizen_components.pipeline.gates.tests import session
from kaizen_components.pipeline.gates.tests.gate import judge_tests
from kaizen_components.pipeline.job import Job, Settings, Tools

from ...conftest import ROOT

sys.path.insert(0, str(ROOT / "support_scripts"))

import gatebench_world as world  # (the path must be set first)

collect_ignore_glob = ["test_*.py"] if os.name == "nt" else []  # sessions are forked
NEW = "tests/test_new.py"
MAIN = "def one():\n    return 1\n"
BASE = {
    "app/__init__.py": "",
    "app/main.py": MAIN,
    "tests/test_main.py": "from app.main import one\n\n\ndef test_one():\n    assert one() == 1\n",
}
DOUBLE = "\n\ndef double(number):\n    return number * 2\n"
TEST = "from app.main import double\n\n\ndef test_double():\n    assert double(3) == 6\n    assert double(-1) == -2\n"


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    return world.copy_environment(tmp_path_factory.mktemp("target") / "environment")


@pytest.fixture(scope="session")
def candidate(tmp_path_factory, python):
    """Return make_job: `head` has the changes to the base (None deletes), `test` the new test.

    All jobs share a scratch folder, so that the same base is measured once.
    """
    scratch, numbers = tmp_path_factory.mktemp("scratch"), itertools.count()

    def make_job(head=None, test=TEST, base=BASE, tests=(NEW,), grants=(), tools=None, **more):
        files = {**base, "app/main.py": MAIN + DOUBLE, NEW: test, **(head or {})}
        files = {name: text for name, text in files.items() if text is not None}
        place = tmp_path_factory.mktemp(f"candidate{next(numbers)}")
        world.write_tree(place / "base", base)
        tree = world.write_tree(place / "head", files)
        digest = hashlib.sha256(json.dumps(base).encode()).hexdigest()
        reads, paths = (str(python.parent.parent), sys.base_prefix), more.pop("paths", (".",))
        tools = tools or Tools([str(python)], reads, paths)
        settings = Settings(**{"minimum_level": "L0", "timeout_s": 120.0, "repeats": 1, **more})
        folders, changed = (
            (str(place / "base"), str(place / "head")),
            world.find_changed_lines(base, files),
        )
        return Job(*folders, digest, tree, changed, tools, settings, tests, grants, str(scratch))

    return make_job


@pytest.fixture(scope="session")
def judge(candidate):
    """Return a function that judges the candidate made from its arguments."""
    return lambda *args, **options: judge_tests(candidate(*args, **options))


@pytest.fixture(scope="session")
def run_head():
    """Return a function that runs the tests of a job on head and returns the report."""

    def run(job, select=(), timeout_s=60.0, **more):
        plan = session.plan_session("head", "head", list(select), timeout_s, **more)
        (report,), _ = session.run_sessions(job, [plan], hash_seed=1)
        return report

    return run
