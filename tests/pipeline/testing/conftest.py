"""A target's environment with pytest and coverage only, and candidates to be judged in it."""

import hashlib
import itertools
import json
import os
import sys

import pytest

from kaizen_components.pipeline.gates.tests.gate import judge_tests
from kaizen_components.pipeline.job import Job, Settings, Tools

from ...conftest import ROOT

sys.path.insert(0, str(ROOT / "support_scripts"))

import gatebench_world as world  # (the path must be set first)

collect_ignore_glob = ["test_*.py"] if os.name == "nt" else []  # sessions are forked
NEW = "tests/test_new.py"
BASE = {
    "app/__init__.py": "",
    "app/main.py": "def one():\n    return 1\n",
    "tests/test_main.py": "from app.main import one\n\n\ndef test_one():\n    assert one() == 1\n",
}
DOUBLE = "\n\ndef double(number):\n    return number * 2\n"
TEST = "from app.main import double\n\n\ndef test_double():\n    assert double(3) == 6\n    assert double(-1) == -2\n"


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    return world.environment(tmp_path_factory.mktemp("target") / "environment")


@pytest.fixture(scope="session")
def scratch(tmp_path_factory):
    """Shared, so that the same base is measured once; half of the time of these tests."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture
def candidate(tmp_path, python, scratch):
    """A job: `head` is what differs from the base (None deletes), `test` the new test."""
    numbers = itertools.count()

    def made(
        head=None,
        test=TEST,
        base=BASE,
        tests=(NEW,),
        granted=(),
        paths=(".",),
        tools=None,
        **settings,
    ):
        files = {
            **base,
            "app/main.py": BASE["app/main.py"] + DOUBLE,
            **({NEW: test} if test is not None else {}),
        }
        files = {name: text for name, text in {**files, **(head or {})}.items() if text is not None}
        place = tmp_path / f"candidate{next(numbers)}"
        world.write(place / "base", base)
        tree = world.write(place / "head", files)
        digest = hashlib.sha256(json.dumps(base).encode()).hexdigest()
        given = {"minimum_level": "L0", "timeout_s": 120.0, "repeats": 1, **settings}
        return Job(
            str(place / "base"), str(place / "head"), digest, tree, world.changed(base, files),
            tools or Tools([str(python)], (str(python.parent.parent), sys.base_prefix), paths), Settings(**given),
            tests, granted, str(scratch),
        )  # fmt: skip

    return made


@pytest.fixture
def verdict(candidate):
    return lambda *given, **named: judge_tests(candidate(*given, **named))
