"""Tricks that get past the checks of files must still have no effect on what is seen."""

import importlib.util
import json
import marshal
import os
import sys

import pytest

from kaizen_components.pipeline.gates.tests import session
from kaizen_components.pipeline.gates.tests.gate import judge_tests

from .conftest import BASE, DOUBLE, NEW

WRONG = BASE["app/main.py"] + DOUBLE.replace("* 2", "* 3")
PASSES = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""


def stale():
    code = compile(BASE["app/main.py"] + DOUBLE, "main.py", "exec")
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


TRICKS = {
    "conftest": {"conftest.py": PASSES},
    "conftest in tests": {"tests/conftest.py": PASSES},
    "ini": {"pytest.ini": "[pytest]\naddopts = --ignore=tests/test_new.py\n"},
    "sitecustomize": {"sitecustomize.py": "import os\nos._exit(0)\n"},
    "bytecode": {f"app/__pycache__/main.{sys.implementation.cache_tag}.pyc": stale()},
    "shadowed framework": {"pytest.py": "", "_pytest/__init__.py": "", "pluggy.py": ""},
}


@pytest.mark.parametrize("trick", TRICKS)
def test_wrong_code_is_seen_to_fail_behind(trick, candidate):
    job = candidate({"app/main.py": WRONG, **TRICKS[trick]})
    asked = session.plan_session("head", "head", [], 60.0)

    (seen,), _ = session.run_sessions(job, [asked], hash_seed=1)

    assert {one: outcome.kind for one, outcome in seen.outcomes.items()} == {
        "tests/test_main.py::test_one": "passed",
        f"{NEW}::test_double": "failed",
    }
    assert seen.doubts() == []


def test_conftest_of_the_base_that_rewrites_reports_is_not_believed(candidate):
    job = candidate({"app/main.py": WRONG}, base={**BASE, "conftest.py": PASSES})

    (seen,), _ = session.run_sessions(
        job, [session.plan_session("head", "head", [], 60.0)], hash_seed=1
    )

    assert seen.outcomes[f"{NEW}::test_double"].kind == "rewritten"
    assert any("passed only in the report" in doubt for doubt in seen.doubts())
    assert judge_tests(job).reason == "missing"  # the base cannot be judged


def test_what_one_session_does_to_the_tree_is_undone_before_the_next(candidate):
    vandal = (
        "import pathlib\n\n\ndef test_it():\n    here = pathlib.Path(__file__).parent\n"
        "    assert not (here / 'left').exists()\n    (here / 'left').write_text('')\n"
        "    (here / 'test_main.py').write_text('def test_one(): assert 0')\n"
        "    (here.parent / 'app/main.py').unlink()\n"
    )
    job = candidate(test=vandal)
    asked = [
        session.plan_session(f"run {at}", "head", [], 60.0, shuffle=f"{at}") for at in range(3)
    ]

    seen, _ = session.run_sessions(job, asked, hash_seed=1)

    ends = [
        {one.split("::")[1]: outcome.kind for one, outcome in run.outcomes.items()} for run in seen
    ]
    assert [end["test_it"] for end in ends] == ["passed"] * 3


def test_report_that_we_did_not_sign_is_not_read(tmp_path):
    body = json.dumps({"sessions": []}).encode()
    (tmp_path / "report.json").write_bytes(b"0" * 64 + b"\n" + body)

    with pytest.raises(session.SessionBroken):
        session._read(str(tmp_path), "ab" * 32, [], None)


def test_code_of_the_target_cannot_find_the_key_of_the_report(candidate):
    looks = (
        "import os, sys\n\n\ndef test_key():\n    frame, seen = sys._getframe(), []\n    while frame:\n"
        "        seen += [v for v in frame.f_locals.values() if isinstance(v, bytearray) and len(v) == 32]\n"
        "        frame = frame.f_back\n    assert seen and not any(any(one) for one in seen)\n"
        "    assert not os.path.exists('../../plan.json')\n"
    )

    (seen,), _ = session.run_sessions(
        candidate(test=looks), [session.plan_session("head", "head", [NEW], 60.0)], hash_seed=1
    )

    assert seen.outcomes[f"{NEW}::test_key"].passed, seen.outcomes[f"{NEW}::test_key"].text


FORGER = """
import os


def test_it():
    line = b'{"kind": "test", "id": "x", "own": "", "outcome": "passed"}\\n'
    for number in range(3, 40):
        try:
            os.write(number, line)
        except OSError:
            pass
"""


def test_lines_that_somebody_else_writes_into_the_report_are_noticed(candidate):
    (seen,), _ = session.run_sessions(
        candidate(test=FORGER), [session.plan_session("head", "head", [NEW], 60.0)], hash_seed=1
    )

    assert "somebody else wrote into its report" in seen.doubts()


def test_environment_and_path_of_a_session_are_ours(candidate, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    test = (
        "import os, sys\n\n\ndef test_it():\n"
        "    assert not [name for name in os.environ if name.startswith('PYTEST_ADD')]\n"
        f"    assert {str(tmp_path)!r} not in sys.path\n"
        f"    assert os.path.realpath(sys.path[0]).startswith(os.getcwd())\n"
        "    assert sys.dont_write_bytecode\n"
    )

    (seen,), _ = session.run_sessions(
        candidate(test=test), [session.plan_session("head", "head", [NEW], 60.0)], hash_seed=1
    )

    assert seen.outcomes[f"{NEW}::test_it"].passed, seen.outcomes[f"{NEW}::test_it"].text
    assert not [name for name in os.listdir(candidate().scratch) if name.startswith("box-")]
